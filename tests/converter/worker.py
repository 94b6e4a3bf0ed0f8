"""Takes a generated package through the real Torch-TensorRT on a CPU and prints, as JSON, what came of each model.

Usage: ``python -m tests.converter.worker PACKAGE bridged|plain``, where PACKAGE is a folder that trtplug generated.
A process of its own, since the stand-ins of tests.harness.no_gpu last. A new model is a function in MODELS.
"""

from __future__ import annotations

import importlib
import json
import logging
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

from tests.harness import no_gpu, rtx_bridge
from tests.harness.dry_run import dry_run

Dtypes = tuple[torch.dtype, ...]
Tensor = torch.Tensor | None  # Torch-TensorRT names dynamic inputs after parameters, so models take no *tensors


@dataclass
class Built:
    """One network and its engine; `names_plugin` says that the engine's bytes name the plugin."""

    plugins: list[list[str]] = field(default_factory=list)  # name, version, namespace, attributes
    given: list[str] = field(default_factory=list)  # the attributes of the calls in the model
    layers: list[str] = field(default_factory=list)
    inputs: list[list[int]] = field(default_factory=list)
    names_plugin: bool = False


class Package:
    """A generated package: its import name, its op, and the calls that its own tests make."""

    def __init__(self, folder: Path) -> None:
        (self.name,) = (path.parent.name for path in folder.glob("src/*/plugin.py"))
        sys.path[:0] = [str(folder / "src"), str(folder / "tests")]
        self.calls: Any = importlib.import_module("calls")
        self.op = self.calls.OP.default
        self.parameters = [argument.name for argument in self.op._schema.arguments]
        self.positional = [argument.name for argument in self.op._schema.arguments if not argument.kwarg_only]

    def dtypes(self) -> list[Dtypes]:
        return list(self.calls.DTYPES)

    def call(self, case: Any, dtypes: Dtypes) -> dict[str, Any]:
        """The arguments of a case on the CPU, by name."""
        values = self.calls.arguments(case, dtypes, device=torch.device("cpu"))
        return dict(zip(self.parameters, values, strict=True))

    def inputs(self, torch_tensorrt: Any, dtypes: Dtypes) -> list[Any]:
        """The optimisation profile as Torch-TensorRT takes it."""
        usual = self.call(self.calls.USUAL, dtypes)
        return [
            torch_tensorrt.Input(
                min_shape=getattr(self.calls.LEAST, name),
                opt_shape=getattr(self.calls.USUAL, name),
                max_shape=getattr(self.calls.MOST, name),
                dtype=value.dtype,
            )
            for name, value in usual.items()
            if isinstance(value, torch.Tensor)
        ]


class Model(torch.nn.Module):
    """Calls the op with some arguments fixed, some given by name, then an operator that TensorRT knows."""

    def __init__(
        self, package: Package, call: dict[str, Any], keywords: Sequence[str] = (), constant: str = ""
    ) -> None:
        super().__init__()
        self.op = package.op
        self.names = [name for name, value in call.items() if isinstance(value, torch.Tensor) and name != constant]
        self.fixed = {name: value for name, value in call.items() if not isinstance(value, torch.Tensor)}
        names = package.positional
        # What follows an argument by name is by name too.
        first = next((i for i, name in enumerate(names) if name in keywords), len(names))
        self.positional = names[:first]
        self.keywords = [name for name in call if name not in self.positional]
        self.constant = constant
        if constant:
            self.register_buffer("constant_input", call[constant])

    def forward(self, a: torch.Tensor, b: Tensor = None, c: Tensor = None, d: Tensor = None) -> Any:
        given = {**self.fixed, **dict(zip(self.names, (a, b, c, d), strict=False))}
        if self.constant:
            given[self.constant] = self.constant_input
        result = self.op(*(given[name] for name in self.positional), **{name: given[name] for name in self.keywords})
        return tuple(_doubled(output) for output in result) if isinstance(result, tuple) else _doubled(result)


class Two(torch.nn.Module):
    """Two models side by side; the first takes as many tensors as it has names."""

    def __init__(self, first: Model, second: Model) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(self, a: torch.Tensor, b: Tensor = None, c: Tensor = None, d: Tensor = None) -> Any:
        tensors = [tensor for tensor in (a, b, c, d) if tensor is not None]
        count = len(self.first.names)
        return self.first(*tensors[:count]), self.second(*tensors[count:])


def _doubled(tensor: torch.Tensor) -> torch.Tensor:
    return tensor + tensor


class Bench:
    """Torch-TensorRT among stand-ins, and a package to take through it."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.torch_tensorrt = no_gpu.import_torch_tensorrt()
        self.networks: list[Any] = []
        build = trt.Builder.build_serialized_network

        def noted(builder: Any, network: Any, config: Any) -> Any:
            self.networks.append(network)
            return build(builder, network, config)

        trt.Builder.build_serialized_network = noted

    def register(self) -> None:
        """Registers the package's converter."""
        importlib.import_module(f"{self.package.name}.converter")

    def compile(self, model: torch.nn.Module, inputs: Sequence[Any], plugins: int) -> Built:
        """The model through torch_tensorrt.compile, down to an engine."""
        rtx_bridge.install(plugins)
        try:
            self.torch_tensorrt.compile(model.eval(), ir="dynamo", inputs=list(inputs), min_block_size=1)
        except no_gpu.EngineBuilt as built:
            return self._described(self.networks[-1], built.plan, model)
        raise AssertionError("the compilation ended without an engine")

    def interpret(self, model: Model, inputs: Sequence[Any]) -> Built:
        """The graph of a model as it is, not lowered, through the real interpreter, down to an engine."""
        from torch_tensorrt.dynamo._settings import CompilationSettings
        from torch_tensorrt.dynamo.conversion._TRTInterpreter import TRTInterpreter

        rtx_bridge.install(1)
        graph = by_hand(self.package, model)
        interpreter = TRTInterpreter(graph, list(inputs), compilation_settings=CompilationSettings(min_block_size=1))
        try:
            interpreter.run()
        except no_gpu.EngineBuilt as built:
            return self._described(self.networks[-1], built.plan, model)
        raise AssertionError("the interpreter ended without an engine")

    def _described(self, network: Any, plan: bytes, model: torch.nn.Module) -> Built:
        plugins = rtx_bridge.plugins_of(network)
        assert len(rtx_bridge.plugin_layers(network)) == len(plugins)
        layers = [network.get_layer(i) for i in range(network.num_layers)]
        return Built(
            plugins=[[p.plugin_name, p.plugin_version, p.plugin_namespace, repr(self._attributes(p))] for p in plugins],
            given=[repr(_immutable(part.fixed)) for part in model.modules() if isinstance(part, Model)],
            layers=[str(layer.type).split(".")[-1] for layer in layers],
            inputs=[list(network.get_input(i).shape) for i in range(network.num_inputs)],
            names_plugin=all(p.plugin_name.encode() in plan for p in plugins),
        )

    def _attributes(self, plugin: Any) -> dict[str, Any]:
        return {name: getattr(plugin, name) for name in self.package.parameters if name in vars(plugin)}


class _Lines(logging.Handler):
    """Keeps the lines of a log."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def positional(bench: Bench, dtypes: Dtypes) -> Built:
    """Every argument by position, dynamic sizes."""
    package = bench.package
    model = Model(package, package.call(package.calls.USUAL, dtypes))
    return bench.compile(model, package.inputs(bench.torch_tensorrt, dtypes), plugins=1)


def keywords(bench: Bench, dtypes: Dtypes) -> Built:
    """Every fixed argument by name, in a graph that keeps the names."""
    package = bench.package
    call = package.call(package.calls.USUAL, dtypes)
    names = [name for name, value in call.items() if not isinstance(value, torch.Tensor)]
    model = Model(package, call, keywords=names)
    inputs = package.inputs(bench.torch_tensorrt, dtypes)
    return bench.interpret(model, inputs)


def constant(bench: Bench, dtypes: Dtypes) -> Built:
    """The first tensor is a constant of the model; a graph as exported, since lowering would run the op on it."""
    package = bench.package
    call = package.call(package.calls.USUAL, dtypes)
    first = next(name for name, value in call.items() if isinstance(value, torch.Tensor))
    inputs = package.inputs(bench.torch_tensorrt, dtypes)
    return bench.interpret(Model(package, call, constant=first), inputs[1:])


def two_calls(bench: Bench, dtypes: Dtypes) -> Built:
    """Two calls whose attributes differ, in one network."""
    package = bench.package
    first = package.call(package.calls.USUAL, dtypes)
    second = next(call for call in (package.call(case, dtypes) for case in package.calls.CASES) if _differ(first, call))
    model = Two(Model(package, first), Model(package, second))
    tensors = [value for call in (first, second) for value in call.values() if isinstance(value, torch.Tensor)]
    inputs = [bench.torch_tensorrt.Input(shape=tuple(t.shape), dtype=t.dtype) for t in tensors]
    return bench.compile(model, inputs, plugins=2)


def coverage(bench: Bench, dtypes: Dtypes) -> dict[str, Any]:
    """A dry run, and what the package logged meanwhile."""
    package = bench.package
    model = Model(package, package.call(package.calls.USUAL, dtypes)).eval()
    lines = _Lines()
    logger = logging.getLogger(package.name)
    logger.addHandler(lines)
    try:
        found = dry_run(bench.torch_tensorrt, model, package.inputs(bench.torch_tensorrt, dtypes))
    finally:
        logger.removeHandler(lines)
    return {**asdict(found), "log": lines.lines}


def by_hand(package: Package, model: Model, unknown: str = "") -> torch.fx.GraphModule:
    """The graph of a model, no argument normalised; an attribute named `unknown` is a size, known only at run time."""
    graph = torch.fx.Graph()
    call: dict[str, Any] = dict(model.fixed)
    for name in model.names:
        call[name] = graph.placeholder(name)
    if model.constant:
        call[model.constant] = graph.get_attr("constant_input")
    if unknown:
        size = graph.call_function(torch.ops.aten.sym_size.int, (call[model.names[0]], 0))
        call[unknown] = [size, size] if isinstance(call[unknown], (list, tuple)) else size
    positional = tuple(call[name] for name in model.positional)
    result = graph.call_function(package.op, positional, {name: call[name] for name in model.keywords})
    outputs = [result]
    if len(package.op._schema.returns) > 1:
        outputs = [graph.call_function(_getitem, (result, i)) for i in range(len(package.op._schema.returns))]
    graph.output(tuple(graph.call_function(torch.ops.aten.add.Tensor, (output, output)) for output in outputs))
    return torch.fx.GraphModule(model, graph)


def declined(bench: Bench, dtypes: Dtypes) -> dict[str, Any]:
    """Whether the registry has a converter for a call with each attribute unknown, and what the package logged."""
    from torch_tensorrt.dynamo.conversion import DYNAMO_CONVERTERS

    package = bench.package
    model = Model(package, package.call(package.calls.USUAL, dtypes))
    answers = {}
    for name in ("", *model.fixed):
        lines = _Lines()
        logger = logging.getLogger(package.name)
        logger.addHandler(lines)
        graph = by_hand(package, model, unknown=name)
        (node,) = (node for node in graph.graph.nodes if node.target == package.op)
        answers[name] = {"converter": node in DYNAMO_CONVERTERS, "log": lines.lines}
        logger.removeHandler(lines)
    return answers


def _immutable(call: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in call.items()}


def _getitem(values: Sequence[Any], i: int) -> Any:
    return values[i]


def _differ(first: dict[str, Any], second: dict[str, Any]) -> bool:
    pairs = zip(first.values(), second.values(), strict=True)
    return any(not isinstance(one, torch.Tensor) and one != other for one, other in pairs)


MODELS: tuple[Callable[[Bench, Dtypes], Any], ...] = (positional, keywords, constant, two_calls, coverage, declined)


def main(folder: str, way: str) -> None:
    """Prints one JSON object, {model: {dtypes: result or {"error": traceback}}}."""
    bench = Bench(Package(Path(folder)))
    every = bench.package.dtypes()
    results: dict[str, dict[str, Any]] = {"unregistered": {str(every[0]): _attempt(coverage, bench, every[0])}}
    if way == "bridged":
        rtx_bridge.install(1)
    bench.register()
    models = MODELS if way == "bridged" else (coverage,)
    for model in models:
        some = every if model is positional else every[:1]
        results[model.__name__] = {str(dtypes): _attempt(model, bench, dtypes) for dtypes in some}
    print(json.dumps(results))


def _attempt(model: Callable[[Bench, Dtypes], Any], bench: Bench, dtypes: Dtypes) -> Any:
    try:
        result = model(bench, dtypes)
    except Exception:
        return {"error": traceback.format_exc()}
    return asdict(result) if isinstance(result, Built) else result


if __name__ == "__main__":
    main(*sys.argv[1:])
