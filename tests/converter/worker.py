"""Takes a generated package through the real Torch-TensorRT on a CPU and prints, as JSON, what came of each model.

Usage: ``python -m tests.converter.worker PACKAGE MODEL|all``, where PACKAGE is a folder that trtplug generated. It is a
process of its own, since the stand-ins of tests.harness.no_gpu last. A new model is a function in MODELS.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import logging
import operator
import os
import sys
import tempfile
import traceback
import types
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"  # lowering may run the op on constants

import tensorrt_rtx as trt
import torch

from tests.converter.plan import fields
from tests.harness import no_gpu
from tests.harness.dry_run import dry_run
from trtplug.resources import templates

Dtypes = tuple[torch.dtype, ...]
Tensor = torch.Tensor | None  # Torch-TensorRT names dynamic inputs after parameters, so models take no *tensors


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


class Model(torch.nn.Module):
    """Calls the op with some arguments fixed, some given by name, then an operator that TensorRT knows."""

    def __init__(
        self,
        package: Package,
        call: dict[str, Any],
        keywords: Sequence[str] = (),
        constants: Sequence[str] = (),
        parameters: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.package = package
        self.op = package.op
        self.attributes = package.attributes(call)
        self.after = package.after(call)
        self.constants = (*constants, *parameters)
        tensors = [name for name in package.calls.TENSORS if call[name] is not None]
        self.names = [name for name in tensors if name not in self.constants]
        self.fixed = {name: value for name, value in call.items() if name not in tensors}
        names = package.positional
        # What follows an argument by name is by name too.
        first = next((i for i, name in enumerate(names) if name in keywords), len(names))
        self.positional = names[:first]
        self.keywords = [name for name in call if name not in self.positional]
        for name in constants:
            self.register_buffer(f"constant_{name}", call[name])
        for name in parameters:
            self.register_parameter(f"constant_{name}", torch.nn.Parameter(call[name], requires_grad=False))

    def forward(self, a: Tensor = None, b: Tensor = None, c: Tensor = None) -> Any:
        given = {**self.fixed, **dict(zip(self.names, (a, b, c), strict=False))}
        given |= {name: getattr(self, f"constant_{name}") for name in self.constants}
        result = self.op(*(given[name] for name in self.positional), **{name: given[name] for name in self.keywords})
        outputs = result if isinstance(result, tuple) else (result,)
        return tuple(op(output, **more) for (op, more), output in zip(self.after, outputs, strict=True))


class Two(torch.nn.Module):
    """Two models side by side; the first takes as many tensors as it has names."""

    def __init__(self, first: Model, second: Model) -> None:
        super().__init__()
        self.first, self.second = first, second

    def forward(
        self,
        a: Tensor = None,
        b: Tensor = None,
        c: Tensor = None,
        d: Tensor = None,
        e: Tensor = None,
        f: Tensor = None,
    ) -> Any:
        tensors = [tensor for tensor in (a, b, c, d, e, f) if tensor is not None]
        count = len(self.first.names)
        return self.first(*tensors[:count]), self.second(*tensors[count:])


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
        """Has networks take an IPluginV2DynamicExt, inside the IPluginV3 that the package's tests have for it.

        How TensorRT-RTX's networks take that, packages of an IPluginV3 know.
        """
        carrier = importlib.import_module("generated_tests.carrier").Carrier
        module = types.ModuleType(f"{self.package.name}._network")
        vars(module)["__package__"] = self.package.name
        sys.modules[module.__name__] = module
        exec((templates() / "package/src/_network.py.jinja").read_text(encoding="utf-8"), vars(module))

        def added(network: Any, inputs: Any, plugin: Any) -> Any:
            carried = carrier(plugin)
            self.plugins.append((network, carried))
            return module.add_layer(network, f"v2-{len(self.plugins)}", inputs, carried)

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
    call = package.call(package.calls.USUAL, dtypes)
    return bench.compile(Model(package, call), [call], dynamic=True)


def keywords(bench: Bench, dtypes: Dtypes) -> Built:
    """Every fixed argument by name, in a graph that keeps the names."""
    package = bench.package
    call = package.call(package.calls.USUAL, dtypes)
    names = [name for name, value in call.items() if not isinstance(value, torch.Tensor)]
    model = Model(package, call, keywords=names)
    inputs = package.inputs(bench.torch_tensorrt, dtypes)
    return bench.interpret(model, inputs)


def cases(bench: Bench, dtypes: Dtypes) -> list[Built]:
    """Each case of the spec, and so each value of an attribute in it, and each choice of the optional tensors."""
    package = bench.package
    calls = [package.call(case, dtypes) for case in package.calls.CASES]
    return [
        bench.interpret(Model(package, call), package.fixed_inputs(bench.torch_tensorrt, call))
        for call in calls
        if all(value.numel() for value in call.values() if isinstance(value, torch.Tensor))
    ]


def constants(bench: Bench, dtypes: Dtypes) -> list[Built]:
    """One tensor after another is a constant of the model; graphs as exported, since lowering might run the op."""
    package = bench.package
    call = package.call(package.calls.USUAL, dtypes)
    inputs = dict(zip(package.calls.TENSORS, package.inputs(bench.torch_tensorrt, dtypes), strict=True))
    return [
        bench.interpret(Model(package, call, constants=[name]), [inputs[other] for other in inputs if other != name])
        for name in inputs
    ]


def parameters(bench: Bench, dtypes: Dtypes) -> Built | None:
    """All tensors but the first are parameters of the model, as weights are."""
    package = bench.package
    call = package.call(package.calls.USUAL, dtypes)
    _, *others = package.calls.TENSORS
    model = Model(package, call, parameters=others)
    return bench.compile(model, [call], dynamic=False) if others else None


def two_calls(bench: Bench, dtypes: Dtypes) -> Built:
    """Two calls whose attributes differ, in one network."""
    package = bench.package
    first = package.call(package.calls.USUAL, dtypes)
    second = next(call for call in (package.call(case, dtypes) for case in package.calls.CASES) if _differ(first, call))
    model = Two(Model(package, first), Model(package, second))
    return bench.compile(model, [first, second], dynamic=False)


class Writing(Model):
    """Calls an op that writes to its arguments, as a user's model does."""

    def forward(self, a: Tensor = None, b: Tensor = None, c: Tensor = None) -> Any:
        calls = self.package.calls
        given = {**self.fixed, **dict(zip(self.names, (a, b, c), strict=False))}
        call = [given[name] for name in self.positional], {name: given[name] for name in self.keywords}
        written = calls.results([given[name] for name in self.package.parameters], calls.OP(*call[0], **call[1]))
        return tuple(op(output, **more) for (op, more), output in zip(self.after, written, strict=True))


def writing(bench: Bench, dtypes: Dtypes) -> Built | None:
    """The op itself where it writes to its arguments, dynamic sizes."""
    package = bench.package
    call = package.call(package.calls.USUAL, dtypes)
    return bench.compile(Writing(package, call), [call], dynamic=True) if package.functional else None


def coverage(bench: Bench, dtypes: Dtypes, **options: Any) -> dict[str, Any]:
    """A dry run, and what the package logged meanwhile."""
    package = bench.package
    call = package.call(package.calls.USUAL, dtypes)
    model = Model(package, call).eval()
    lines = _Lines()
    logger = logging.getLogger(package.name)
    logger.addHandler(lines)
    try:
        found = dry_run(bench.torch_tensorrt, model, package.fixed_inputs(bench.torch_tensorrt, call), **options)
    finally:
        logger.removeHandler(lines)
    return {**asdict(found), "log": lines.lines}


def excluded(bench: Bench, dtypes: Dtypes) -> dict[str, Any]:
    """A dry run in which the op is left to PyTorch, though it has a converter."""
    return coverage(bench, dtypes, torch_executed_ops={bench.package.op})


def demonstration(bench: Bench, dtypes: Dtypes) -> dict[str, Any]:
    """What the functions of the package's own tests find: coverage, graphs, plugin layers, the names of inputs."""
    tests: Any = importlib.import_module("generated_tests.in_torch_tensorrt")
    with tempfile.TemporaryDirectory() as folder:
        before = tests.dry_run(Path(folder, "before"), torch_executed_ops={bench.package.op})
        after = tests.dry_run(Path(folder, "after"))
    graph = tests.compiled(tests.Followed(), dtypes, dryrun=True).graph
    found = {"before": before, "after": after, "inputs": [n.name for n in graph.nodes if n.op == "placeholder"]}
    models = {"dynamic": (tests.Followed(), True), "static": (tests.Followed(), False), "twice": (tests.Twice(), False)}
    for name, (model, dynamic) in models.items():
        with tests.plugin_layers() as layers:
            try:
                tests.compiled(model, dtypes, dynamic=dynamic)
            except no_gpu.EngineBuilt as built:
                plan = built.plan
        network = bench.networks[-1]
        inputs = {network.get_input(i).name: list(network.get_input(i).shape) for i in range(network.num_inputs)}
        found[name] = {"layers": layers, "named": tests.NAME.encode() in plan, "inputs": inputs}
    return found


def by_hand(package: Package, model: Model, unknown: str = "") -> torch.fx.GraphModule:
    """The graph of a model, no argument normalised; an attribute named `unknown` is a size, known only at run time."""
    graph = torch.fx.Graph()
    call: dict[str, Any] = dict(model.fixed)
    for name in model.names:
        call[name] = graph.placeholder(name)
    for name in model.constants:
        call[name] = graph.get_attr(f"constant_{name}")
    if unknown:
        size = graph.call_function(torch.ops.aten.sym_size.int, (call[model.names[0]], 0))
        call[unknown] = [size, size] if isinstance(call[unknown], (list, tuple)) else size
    positional = tuple(call[name] for name in model.positional)
    result = graph.call_function(package.op, positional, {name: call[name] for name in model.keywords})
    outputs = [result]
    if len(package.op._schema.returns) > 1:
        outputs = [graph.call_function(operator.getitem, (result, i)) for i in range(len(package.op._schema.returns))]
    after = zip(model.after, outputs, strict=True)
    graph.output(tuple(graph.call_function(op, (output,), more) for (op, more), output in after))
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
        importlib.import_module(f"{package.name}.converter")._warn_once.cache_clear()
        graph = by_hand(package, model, unknown=name)
        (node,) = (node for node in graph.graph.nodes if node.target == package.op)
        answers[name] = {"converter": node in DYNAMO_CONVERTERS, "log": lines.lines}
        logger.removeHandler(lines)
    return answers


def _immutable(call: dict[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in call.items()}


def _differ(first: dict[str, Any], second: dict[str, Any]) -> bool:
    pairs = zip(first.values(), second.values(), strict=True)
    return any(not isinstance(one, torch.Tensor) and one != other for one, other in pairs)


MODELS: tuple[Callable[[Bench, Dtypes], Any], ...] = (
    positional,
    keywords,
    cases,
    constants,
    parameters,
    two_calls,
    writing,
    coverage,
    excluded,
    demonstration,
    declined,
)


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
