"""Shape rules of generated packages as TensorRT computes them; test_tensorrt.py runs this file, in its own process.

A package is rendered, imported and parsed into a network by TensorRT's ONNX parser, which asks the plugin for its
output shapes; those are held against the same generated function on ints.
"""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import tensorrt_rtx as trt
from hypothesis import HealthCheck, Phase, assume, example, given, settings
from hypothesis import strategies as st
from onnx import AttributeProto, TensorProto, helper

from tests.conftest import ROOT
from tests.properties.expressions import Call, calls, expected, lists
from tests.properties.torch_rules import RULES
from trtplug import render, resolve, spec
from trtplug.expr import Site

# Without shrinking: each try renders a package.
LENIENT = settings(
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
OUTPUTS = 4
COUNT = itertools.count()

SPEC = """\
spec: 1
name: {name}
summary: Shape rules to try.
schema: "(Tensor x, Tensor w, int a, int b, str mode, bool flag, int[] pads) -> ({tensors})"
kernel: {{file: op.py, function: the_kernel}}
inputs:
  x: {{rank: [1, 5], dtypes: [float32]}}
  w: {{rank: [1, 5], dtypes: [float32]}}
outputs:
{outputs}
launch:
  grid: [1]
  args: {{X: x, W: w, a: a, b: b, pads: len(pads), {arguments}}}
  constexpr: {{MODE: mode, FLAG: flag}}
reference: "op.py:reference"
tolerance: {{float32: 0}}
cases:
  - {{x: {x}, w: {w}, a: {a}, b: {b}, mode: "", flag: {flag}, pads: {pads}}}
"""
FILE = """\
import triton
import triton.language as tl


@triton.jit
def the_kernel(X, W, a, b, pads, {parameters}, MODE: tl.constexpr, FLAG: tl.constexpr):
    pass


def reference(x, w, a, b, mode, flag, pads):
    pass
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where packages are imported from."""
    path = tmp_path_factory.mktemp("packages")
    sys.path.insert(0, str(path))
    return path


def package(folder: Path, path: Path) -> Any:
    """The package of a spec, imported; its plugin registered."""
    op = resolve.resolve(spec.load(path))
    for file, content in render.render(op).items():
        if file.parts[0] == "src":
            target = folder.joinpath(*file.parts[1:])
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(content)
    importlib.invalidate_caches()
    for module in ("plugin", "_shapes", "_names"):
        importlib.import_module(f"{op.names.import_name}.{module}")
    return importlib.import_module(op.names.import_name)


def synthetic(folder: Path, shapes: Sequence[str], call: Call) -> Any:
    """A package whose outputs have these shapes; the call is its case."""
    name = f"try_{next(COUNT)}"
    numbered = [f"y{i}" for i in range(len(shapes))]
    (folder / "op.py").write_text(FILE.format(parameters=", ".join(numbered)), encoding="utf-8")
    path = folder / f"{name}.yaml"
    text = SPEC.format(
        name=name,
        tensors=", ".join("Tensor" for _ in shapes),
        outputs="\n".join(f"  {y}: {{dtype: x.dtype, shape: '{s}'}}" for y, s in zip(numbered, shapes, strict=True)),
        arguments=", ".join(f"{y}: {y}" for y in numbered),
        **{key: list(value) if isinstance(value, tuple) else value for key, value in vars(call).items()},
    )
    path.write_text(text, encoding="utf-8")
    return package(folder, path)


def parsed(names: Any, inputs: Mapping[str, Sequence[int]], attributes: Mapping[str, Any], outputs: int) -> list[Any]:
    """The output shapes of a network with the plugin alone in it."""
    info = helper.make_tensor_value_info
    results = [f"out_{i}" for i in range(outputs)]
    node = helper.make_node(names.NAME, list(inputs), results, domain=names.NAMESPACE)
    for key, value in attributes.items():
        kind = AttributeProto.INTS if isinstance(value, tuple) else None
        node.attribute.append(helper.make_attribute(key, value, attr_type=kind))
    node.attribute.append(helper.make_attribute("plugin_version", names.VERSION))
    node.attribute.append(helper.make_attribute("plugin_namespace", names.NAMESPACE))
    graph = helper.make_graph(
        [node],
        "one_plugin",
        [info(key, TensorProto.FLOAT, shape) for key, shape in inputs.items()],
        [info(result, TensorProto.FLOAT, None) for result in results],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(names.NAMESPACE, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    builder = trt.Builder(LOGGER)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(network, LOGGER)
    assert parser.parse(model.SerializeToString()), [parser.get_error(i).desc() for i in range(parser.num_errors)]
    (layer,) = [
        layer for layer in map(network.get_layer, range(network.num_layers)) if layer.type == trt.LayerType.PLUGIN_V3
    ]
    return [list(layer.get_output(i).shape) for i in range(outputs)]


LOGGER = trt.Logger(trt.Logger.ERROR)


def is_shape(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= 8 and all(0 <= size < 2**31 for size in value)


@settings(LENIENT, max_examples=40)
@given(data=st.data())
def test_expressions(data: st.DataObject, folder: Path) -> None:
    call = data.draw(calls(least=1))
    shape = lists(Site.SHAPE, 3).filter(lambda text: is_shape(expected(text, call)))
    shapes = data.draw(st.lists(shape, min_size=OUTPUTS, max_size=OUTPUTS))
    check(folder, shapes, call)


@pytest.mark.parametrize("x", [(7, 5), (1, 9), (12, 4)])
@pytest.mark.parametrize("b", [-3, 2])
def test_every_operator(x: tuple[int, int], b: int, folder: Path) -> None:
    shapes = [
        "[x.shape[0] + w.shape[0], x.shape[0] - w.shape[0] + 9, 9 - x.shape[0] + 9, 3 * x.shape[1] * w.shape[0]]",
        "[x.shape[0] // w.shape[0], (x.shape[0] - 20) // w.shape[1] + 20, 50 // w.shape[1], -x.shape[0] // 3 + 9]",
        "[x.shape[0] % w.shape[0], (x.shape[0] - 20) % w.shape[1], 50 % w.shape[1], -(x.shape[0] % 3) + 9]",
        "[x.shape[0] // b + 20, x.shape[0] % b + 20, cdiv(x.shape[0], b) + 20, cdiv(-x.shape[1], w.shape[0]) + 20]",
        "[min(x.shape[0], w.shape[0], 4), max(3, x.shape[1], w.shape[1]), cdiv(x.shape[0], w.shape[1])]",
        "[sum(x.shape), prod(w.shape), numel(x), sum([v * v for v in w.shape]), prod(x.shape[2:])]",
        "x.shape[::-1] + w.shape[-1:] + [len(pads), x.ndim]",
        "pad(x.shape + w.shape, pads)",
    ]
    check(folder, shapes, Call(x=x, w=(3, 2), b=b, pads=(1, 2, 0, 3)))


@pytest.mark.parametrize("rule", RULES)
@settings(LENIENT, max_examples=25)
@given(data=st.data())
def test_rules_as_torch_has_them(rule: str, data: st.DataObject, folder: Path) -> None:
    call, shape = data.draw(RULES[rule].calls)
    text = RULES[rule].text
    # Once for a rule, and two outputs, since one has at most eight dimensions.
    if rule not in PACKAGES:
        PACKAGES[rule] = synthetic(folder, [f"({text})[:7]", f"({text})[7:]"], call)
    assert run(PACKAGES[rule], call, outputs=2) == [shape[:7], shape[7:]]


PACKAGES: dict[str, Any] = {}


def check(folder: Path, shapes: Sequence[str], call: Call) -> None:
    assert run(synthetic(folder, shapes, call), call, len(shapes)) == [expected(text, call) for text in shapes]


def run(generated: Any, call: Call, outputs: int) -> list[list[int]]:
    """The output shapes that TensorRT gets from a synthetic package for a call."""
    inputs = {"x": call.x, "w": call.w}
    attributes = {"a": call.a, "b": call.b, "mode": call.mode, "flag": int(call.flag), "pads": call.pads}
    return parsed(generated._names, inputs, attributes, outputs)


@pytest.fixture(scope="module")
def circ_pad(folder: Path) -> Any:
    return package(folder, ROOT / "specs/circ_pad.yaml")


@settings(LENIENT, max_examples=40)
@given(
    x=st.lists(st.integers(0, 9), min_size=1, max_size=4), padding=st.lists(st.integers(-3, 9), max_size=8).map(tuple)
)
@example(x=[1, 1, 3, 3], padding=(1, 1, 2, 0))
def test_circular_padding(x: list[int], padding: tuple[int, ...], circ_pad: Any) -> None:
    assume(len(padding) % 2 == 0 and len(padding) <= 2 * len(x))
    on_ints = circ_pad._shapes.y_shape(x, padding)
    assume(min(on_ints) >= 0)
    assert parsed(circ_pad._names, {"x": x}, {"padding": padding}, 1) == [on_ints]
