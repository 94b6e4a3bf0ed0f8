"""The models whose way through Torch-TensorRT tests.converter.worker reports; a new one is a function in MODELS."""

from __future__ import annotations

import importlib
import logging
import operator
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from tests.harness import no_gpu
from tests.harness.dry_run import dry_run

if TYPE_CHECKING:  # the worker is the process's __main__, and would be a second module if it were imported
    from tests.converter.worker import Bench, Built, Package

Dtypes = tuple[torch.dtype, ...]
Tensor = torch.Tensor | None  # Torch-TensorRT names dynamic inputs after parameters, so models take no *tensors


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


class Writing(Model):
    """Calls an op that writes to its arguments, as a user's model does."""

    def forward(self, a: Tensor = None, b: Tensor = None, c: Tensor = None) -> Any:
        calls = self.package.calls
        given = {**self.fixed, **dict(zip(self.names, (a, b, c), strict=False))}
        call = [given[name] for name in self.positional], {name: given[name] for name in self.keywords}
        written = calls.results([given[name] for name in self.package.parameters], calls.OP(*call[0], **call[1]))
        return tuple(op(output, **more) for (op, more), output in zip(self.after, written, strict=True))


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
