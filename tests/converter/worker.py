"""Takes a generated package through the real Torch-TensorRT on a CPU and prints, as JSON, what came of each model.

Usage: ``python -m tests.converter.worker PACKAGE MODEL|all``, where PACKAGE is a folder that trtplug generated. It is a
process of its own, since the stand-ins of tests.harness.no_gpu last. The models are those of tests.converter.models.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"  # lowering may run the op on constants

import tensorrt_rtx as trt
import torch

from tests.converter.models import MODELS, Dtypes, Model, by_hand, coverage, positional
from tests.converter.plan import fields
from tests.harness import no_gpu
from tests.harness.networks import add_layer_of


@dataclass
class Built:
    """One network and its engine; `names_plugin` says that the engine's bytes name the plugin."""

    plugins: list[list[str]] = field(default_factory=list)  # name, version, namespace, attributes
    given: list[str] = field(default_factory=list)  # the attributes of the calls in the model
    fields: list[list[tuple[str, str, str]]] = field(default_factory=list)  # of the plugins in the engine
    layers: list[str] = field(default_factory=list)
    inputs: list[list[int]] = field(default_factory=list)
    names_plugin: bool = False


class Package:
    """A generated package: its import name, its op, and the calls that its own tests make."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (self.name,) = (path.parent.name for path in folder.glob("src/*/plugin.py"))
        sys.path.insert(0, str(folder / "src"))
        self.calls: Any = importlib.import_module(f"{_as_package(folder / 'tests')}.calls")
        # What an exported graph holds of an op that writes to its arguments.
        self.functional = hasattr(self.calls, "FUNCTIONAL")
        self.op = (self.calls.FUNCTIONAL if self.functional else self.calls.OP).default
        self.parameters = [argument.name for argument in self.op._schema.arguments]
        self.positional = [argument.name for argument in self.op._schema.arguments if not argument.kwarg_only]
        self.outputs = len(self.op._schema.returns)
        self.optional = [name for name in self.calls.TENSORS if str(self._argument(name).type).startswith("Optional")]

    def _argument(self, name: str) -> Any:
        return next(argument for argument in self.op._schema.arguments if argument.name == name)

    def attributes(self, call: dict[str, Any]) -> str:
        """What a plugin of this call keeps."""
        kept = {name: value for name, value in call.items() if name not in self.calls.TENSORS}
        kept = _immutable(kept) | {f"has_{name}": call[name] is not None for name in self.optional}
        return repr(kept | ({"aliased": False} if self.functional else {}))

    def after(self, call: dict[str, Any]) -> list[Any]:
        """For each output an operator that TensorRT knows and that takes it."""
        names = [name for name in call if name not in self.positional]
        result = self.op(*(call[name] for name in self.positional), **{name: call[name] for name in names})
        outputs = result if isinstance(result, tuple) else (result,)
        return [_operator(output.dtype) for output in outputs]

    def dtypes(self) -> list[Dtypes]:
        return list(self.calls.DTYPES)

    def call(self, case: Any, dtypes: Dtypes) -> dict[str, Any]:
        """The arguments of a case on the CPU, by name."""
        values = self.calls.arguments(case, dtypes, device=torch.device("cpu"))
        return dict(zip(self.parameters, values, strict=True))

    def inputs(self, torch_tensorrt: Any, dtypes: Dtypes) -> list[Any]:
        """The optimisation profile as Torch-TensorRT takes it."""
        usual = self.call(self.calls.USUAL, dtypes)
        given = {name: usual[name] for name in self.calls.TENSORS}
        return [
            torch_tensorrt.Input(
                min_shape=getattr(self.calls.LEAST, name),
                opt_shape=getattr(self.calls.USUAL, name),
                max_shape=getattr(self.calls.MOST, name),
                dtype=value.dtype,
            )
            for name, value in given.items()
        ]

    def fixed_inputs(self, torch_tensorrt: Any, call: dict[str, Any]) -> list[Any]:
        """The tensors of a call as Torch-TensorRT takes them, their sizes fixed."""
        given = [call[name] for name in self.calls.TENSORS if call[name] is not None]
        return [torch_tensorrt.Input(shape=tuple(tensor.shape), dtype=tensor.dtype) for tensor in given]


def _as_package(folder: Path) -> str:
    """Imports a folder under a name of its own, since `tests` is this repository's."""
    name = "generated_tests"
    found = importlib.util.spec_from_file_location(name, folder / "__init__.py")
    assert found is not None
    sys.modules[name] = importlib.util.module_from_spec(found)
    return name


def _operator(dtype: torch.dtype) -> tuple[Any, dict[str, Any]]:
    """An operator that TensorRT has and that takes a tensor of this dtype, and its further arguments."""
    if dtype == torch.bool:
        return torch.ops.aten.logical_not.default, {}
    if dtype.is_floating_point:
        return torch.ops.aten.abs.default, {}
    return torch.ops.aten._to_copy.default, {"dtype": torch.float32}


class Bench:
    """Torch-TensorRT among stand-ins, and a package to take through it."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.torch_tensorrt = no_gpu.import_torch_tensorrt()
        self.networks: list[Any] = []
        self.plugins: list[tuple[Any, Any]] = []  # each with its network
        build = trt.Builder.build_serialized_network

        def noted(builder: Any, network: Any, config: Any) -> Any:
            self.networks.append(network)
            return build(builder, network, config)

        trt.Builder.build_serialized_network = noted

    def register(self) -> None:
        """Registers the package's converter, and has an eye on the plugins that it adds."""
        importlib.import_module(f"{self.package.name}.converter")
        if (self.package.folder / "tests" / "carrier.py").exists():
            self._take_v2()
            return
        module = importlib.import_module(f"{self.package.name}._network")
        add = module.add_layer

        def noted(network: Any, name: str, inputs: Any, plugin: Any) -> Any:
            self.plugins.append((network, plugin))
            return add(network, name, inputs, plugin)

        vars(module)["add_layer"] = noted

    def _take_v2(self) -> None:
        """Has networks take an IPluginV2DynamicExt, inside the IPluginV3 that the package's tests have for it."""
        carrier = importlib.import_module("generated_tests.carrier").Carrier
        add_layer = add_layer_of(self.package.name)

        def added(network: Any, inputs: Any, plugin: Any) -> Any:
            carried = carrier(plugin)
            self.plugins.append((network, carried))
            return add_layer(network, f"v2-{len(self.plugins)}", inputs, carried)

        trt.INetworkDefinition.add_plugin_v2 = added

    def compile(self, model: torch.nn.Module, calls: Sequence[dict[str, Any]], dynamic: bool) -> Built:
        """The model of these calls through Torch-TensorRT's compiler, down to an engine."""
        parts = [part for part in model.modules() if isinstance(part, Model)]
        names = [name for part in parts for name in part.names]
        given = [call[name] for part, call in zip(parts, calls, strict=True) for name in part.names]
        sizes: list[dict[int, Any]] = [{} for _ in given]
        for tensor, dimension, least, most in self.package.calls.DYNAMIC if dynamic else ():
            sizes[names.index(tensor)][dimension] = torch.export.Dim.DYNAMIC(min=least, max=most)
        # Exported here, since torch_tensorrt.compile takes dimensions that are tied to each other for independent.
        program = torch.export.export(model.eval(), tuple(given), dynamic_shapes=tuple(sizes))
        try:
            self.torch_tensorrt.dynamo.compile(program, tuple(given), min_block_size=1)
        except no_gpu.EngineBuilt as built:
            return self._described(self.networks[-1], built.plan, model)
        raise AssertionError("the compilation ended without an engine")

    def interpret(self, model: Model, inputs: Sequence[Any]) -> Built:
        """The graph of a model as it is, not lowered, through the real interpreter, down to an engine."""
        from torch_tensorrt.dynamo._settings import CompilationSettings
        from torch_tensorrt.dynamo.conversion._TRTInterpreter import TRTInterpreter

        graph = by_hand(self.package, model)
        interpreter = TRTInterpreter(graph, list(inputs), compilation_settings=CompilationSettings(min_block_size=1))
        try:
            interpreter.run()
        except no_gpu.EngineBuilt as built:
            return self._described(self.networks[-1], built.plan, model)
        raise AssertionError("the interpreter ended without an engine")

    def _described(self, network: Any, plan: bytes, model: torch.nn.Module) -> Built:
        plugins = [plugin for of, plugin in self.plugins if of is network]
        first = plugins[0].get_fields_to_serialize()[0].name  # which each has
        layers = [network.get_layer(i) for i in range(network.num_layers)]
        return Built(
            plugins=[[p.plugin_name, p.plugin_version, p.plugin_namespace, repr(self._attributes(p))] for p in plugins],
            given=[part.attributes for part in model.modules() if isinstance(part, Model)],
            fields=[[(each.name, each.type, each.data) for each in found] for found in fields(plan, first)],
            layers=[str(layer.type).split(".")[-1] for layer in layers],
            inputs=[list(network.get_input(i).shape) for i in range(network.num_inputs)],
            names_plugin=all(p.plugin_name.encode() in plan for p in plugins),
        )

    def _attributes(self, plugin: Any) -> dict[str, Any]:
        names = [*self.package.parameters, *(f"has_{name}" for name in self.package.optional), "aliased"]
        plugin = getattr(plugin, "carried", plugin)
        return {name: getattr(plugin, name) for name in names if name in vars(plugin)}


def _immutable(call: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in call.items()}


def main(folder: str, chosen: str) -> None:
    """Prints one JSON object, {model: {dtypes: result or {"error": traceback}}}."""
    bench = Bench(Package(Path(folder)))
    every = bench.package.dtypes()
    results: dict[str, dict[str, Any]] = {"unregistered": {str(every[0]): _attempt(coverage, bench, every[0])}}
    bench.register()
    for model in MODELS:
        if chosen not in ("all", model.__name__):
            continue
        some = every if model is positional else every[:1]
        results[model.__name__] = {str(dtypes): _attempt(model, bench, dtypes) for dtypes in some}
    print(json.dumps(results))


def _attempt(model: Callable[[Bench, Dtypes], Any], bench: Bench, dtypes: Dtypes) -> Any:
    try:
        result = model(bench, dtypes)
    except Exception:
        return {"error": traceback.format_exc()}
    if isinstance(result, list):
        return [asdict(built) for built in result]
    return asdict(result) if isinstance(result, Built) else result


if __name__ == "__main__":
    main(*sys.argv[1:])
