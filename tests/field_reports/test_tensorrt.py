"""Field reports on networks: ONNX export, TensorRT's own parser and builder, registration; see docs/field-reports.md.

Tests of registration are alone in their process, since there is one registry for each.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import os
import subprocess
import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from tests.field_reports.packages import SPECS, Built, imported, module, refusal, variant

in_tensorrt = pytest.mark.in_tensorrt
own_process = pytest.mark.own_process
needs_torch_tensorrt = pytest.mark.skipif(
    importlib.util.find_spec("torch_tensorrt") is None, reason="needs torch-tensorrt-rtx"
)


def mixed_module(package: Any) -> Any:
    """A module that calls the op of mixed.yaml."""
    import torch

    class Model(torch.nn.Module):
        def forward(self, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, h: Any) -> Any:
            return package.mixed(a, b, c, d, e, f, g, h)

    return Model()


def dynamic(*dimensions: int) -> Any:
    """Dimensions of a tensor that torch.export is to keep dynamic."""
    from torch.export import Dim

    return dict.fromkeys(dimensions, Dim.DYNAMIC)


@in_tensorrt
def test_s01_three_outputs_of_three_ranks_in_an_engine(built: Built) -> None:
    import torch

    from tests.field_reports.models import Network, exported, shapes

    package = imported(built(SPECS / "split_stats.yaml"), "plugin", "onnx")

    def model(x: torch.Tensor) -> Any:
        doubled, sums, ends = package.split_stats(x)
        return 2 * doubled, 2 * sums, 2 * ends

    network = Network(exported(module(model), {"x": torch.randn(5, 7)}, [package], {"x": dynamic(0)}))
    (layer,) = network.plugins
    assert shapes(layer) == [[-1, 7], [-1], [-1, 1, 2]]
    assert network.build(x=((2, 7), (5, 7), (9, 7))), network.log.lines


@needs_torch_tensorrt
@own_process
def test_s01_converter_returns_every_output(built: Built) -> None:
    from tests.harness import no_gpu

    no_gpu.import_torch_tensorrt()
    package = imported(built(SPECS / "split_stats.yaml"), "converter")

    class Layer:
        def get_output(self, i: int) -> str:
            return f"output {i}"

    class Context:
        """A conversion whose network takes plugins at once, as TensorRT-RTX's do not."""

        def __init__(self) -> None:
            self.added: list[Any] = []
            self.net = self

        def add_plugin_v3(self, inputs: Any, shape_inputs: Any, plugin: Any) -> Layer:
            self.added.append((len(inputs), type(plugin)))
            return Layer()

    package.converter.get_trt_tensor = lambda context, tensor, name: tensor
    context = Context()
    result = package.converter.convert(context, None, ("x",), {}, "call")
    assert result == ("output 0", "output 1", "output 2")
    assert context.added == [(1, package.plugin.SplitStatsPlugin)]


@own_process
@pytest.mark.parametrize("order", list(itertools.permutations(("scale", "split_stats"))), ids="-".join)
def test_s02_two_packages_in_one_network(order: tuple[str, str], built: Built) -> None:
    import torch

    from tests.field_reports.models import Network, exported, shapes

    both = {name: imported(built(SPECS / f"{name}.yaml"), "plugin", "onnx") for name in order}

    def model(x: torch.Tensor) -> Any:
        return both["split_stats"].split_stats(both["scale"].scale(x, x[0], 0.5))

    x = torch.randn(5, 7)
    for torch_result, reference in zip(model(x), (x * x[0], (x * x[0] / 2).sum(1)), strict=False):
        torch.testing.assert_close(torch_result, reference)
    network = Network(exported(module(model), {"x": x}, both.values(), {"x": dynamic(0)}))
    assert sorted(map(shapes, network.plugins)) == sorted([[[-1, 7]], [[-1, 7], [-1], [-1, 1, 2]]])
    assert network.build(x=((2, 7), (5, 7), (9, 7))), network.log.lines


@own_process
def test_s02_importing_again_registers_once(built: Built) -> None:
    package = imported(built(SPECS / "scale.yaml"), "plugin", "onnx")
    first = package.plugin.CREATOR
    for name in ("plugin", "onnx"):
        importlib.reload(getattr(package, name))
        del sys.modules[f"trtplug_scale.{name}"]
        importlib.import_module(f"trtplug_scale.{name}")
    registry = package._tensorrt.trt.get_plugin_registry()
    assert [creator for creator in registry.all_creators if creator.name == "scale"] == [first]
    assert package.plugin.CREATOR is first


@in_tensorrt
def test_s02_second_package_of_one_name_is_refused(built: Built, tmp_path: Path) -> None:
    changes = {"cases:": "package: {name: other-scale}\ncases:"}
    first = imported(built(SPECS / "scale.yaml"), "plugin")
    message = r"other_scale.op: trtplug_scale.op has defined torch.ops.field_reports.scale already; give one of the two"
    with pytest.raises(ImportError, match=message):
        imported(built(variant("scale", tmp_path, changes)))
    # The plugin refuses by itself too: an op of another namespace may come with a plugin of this one.
    register = FunctionType(first.plugin._register.__code__, {**vars(first.plugin), "__name__": "other_scale.plugin"})
    message = r"other_scale.plugin: trtplug_scale.plugin has registered plugin 'scale', version '1'"
    with pytest.raises(ImportError, match=message):
        register()


@in_tensorrt
def test_s07_bools_travel_as_int8_between_casts(built: Built) -> None:
    import torch

    from tests.field_reports.models import Network, exported

    package = imported(built(SPECS / "masked_copy.yaml"), "plugin", "onnx")

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor, mask: torch.Tensor, index: torch.Tensor) -> Any:
            return package.masked_copy(x, mask, index)

    mask, index = torch.rand(70) < 0.5, torch.randint(-1, 9, (70,), dtype=torch.int8)
    inputs = {"x": torch.randn(9), "mask": mask, "index": index}
    network = Network(exported(Model(), inputs, [package]))
    (layer,) = network.plugins
    trt = package._tensorrt.trt
    assert [layer.get_input(i).dtype for i in range(3)] == [trt.DataType.FLOAT, trt.DataType.INT8, trt.DataType.INT8]
    ends = [network.network.get_input(1).dtype, network.network.get_output(1).dtype]
    assert ends == [trt.DataType.BOOL, trt.DataType.BOOL]
    assert network.build(), network.log.lines


@in_tensorrt
def test_s13_bfloat16_with_a_constant(built: Built) -> None:
    import torch

    from tests.field_reports.models import Network, exported

    package = imported(built(SPECS / "scale.yaml"), "plugin", "onnx")

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Buffer(torch.tensor([0.1, -2.0, 3e38], dtype=torch.bfloat16))

        def forward(self, x: torch.Tensor) -> Any:
            return package.scale(x, self.w)

    x = torch.randn(5, 3).bfloat16()
    network = Network(exported(Model(), {"x": x}, [package], {"x": dynamic(0)}))
    (layer,) = network.plugins
    bfloat16 = package._tensorrt.trt.DataType.BF16
    assert [layer.get_input(0).dtype, layer.get_input(1).dtype, layer.get_output(0).dtype] == [bfloat16] * 3
    assert network.build(x=((1, 3), (5, 3), (9, 3))), network.log.lines
    torch.testing.assert_close(Model()(x), (x.float() * Model().w.float() * 0.5).bfloat16(), rtol=0.01, atol=0)


@in_tensorrt
def test_s16_engine_holds_the_fields_as_they_are(built: Built) -> None:
    import numpy as np
    import torch

    from tests.field_reports.models import Network, one_node

    package = imported(built(SPECS / "attributes.yaml"), "plugin", "onnx")
    table = torch.randn(2**17).double().tolist()
    scalars = {"gain": 0.1, "bias": -1e-12, "mode": "twice", "j": 2**40 + 3, "m": -(2**63), "floor": -1e-300}
    text = {name: value if isinstance(value, str) else repr(value) for name, value in scalars.items()}
    node = {"i": str(2**50 + 1), "offsets": f"3 {2**40 + 5}", "table": " ".join(map(repr, table)), **text}
    network = Network(one_node(package, node, (3, 5)))
    plan = network.build()
    assert plan, network.log.lines
    for value in (table, [3, 2**40 + 5], 2**50 + 1, *scalars.values()):
        raw = value.encode() if isinstance(value, str) else np.array(value).tobytes()
        assert raw in plan, value


@in_tensorrt
def test_s17_shape_rules_with_unknown_sizes(built: Built) -> None:
    import torch

    from tests.field_reports.models import Network, exported, shapes

    package = imported(built(SPECS / "windows.yaml"), "plugin", "onnx")

    def model(x: torch.Tensor) -> Any:
        y, flat = package.windows(x, 3, 2, 1)
        return torch.nn.functional.max_pool1d(2 * y, 2), flat + 1  # layers that need the sizes to be right

    ends = ((3, 3, 4), (6, 7, 5), (11, 13, 17))
    network = Network(exported(module(model), {"x": torch.randn(ends[1])}, [package], {"x": dynamic(0, 1, 2)}))
    (layer,) = network.plugins
    assert shapes(layer) == [[-1, -1, -1], [-1]]
    assert network.build(x=ends), network.log.lines
    for a, b, c in ends:
        (layer,) = Network(exported(module(model), {"x": torch.randn(a, b, c)}, [package])).plugins
        assert shapes(layer) == [[(a + 2 - 3) // 2 + 1, -(-b // 2), max(b, c)], [a * b * c]]


@in_tensorrt
def test_s17_sizes_that_depend_on_data(built: Built) -> None:
    import torch

    from tests.field_reports.models import Network, exported, shapes

    package = imported(built(SPECS / "positive.yaml"), "plugin", "onnx")
    some, one = torch.randn(20), -torch.ones(20)
    one[13] = 1
    for x in (some, one, -torch.ones(20), torch.ones(20), torch.empty(0)):
        assert torch.equal(package.positive(x), (x > 0).nonzero()[:, 0])
    network = Network(exported(module(lambda x: package.positive(x) + 1), {"x": some}, [package], {"x": dynamic(0)}))
    (layer,) = network.plugins
    assert shapes(layer) == [[-1], []], "the output, and its size, which a kernel writes"
    assert network.build(x=((1,), (20,), (50,))), network.log.lines


def test_s17_sizes_that_no_shape_tells_are_refused(tmp_path: Path) -> None:
    ways = {
        "[sum(x)]": "expected a list, each item a dimension; this is a tensor",
        "[numel(x) / k]": "true division has no dimension; write // or cdiv(a, b)",
        "[k if k > 1 else 2]": "there is no if-else, since a dimension may be unknown; use min and max",
    }
    for text, expected in ways.items():
        spec = variant("windows", tmp_path, {'"[x.shape[0] * x.shape[1] * x.shape[2]]"': f'"{text}"'})
        assert expected in refusal(spec)


def mixed_inputs(*dtypes: Any) -> dict[str, Any]:
    """The inputs of mixed.yaml."""
    import torch

    return {name: torch.ones(70).to(dtype) for name, dtype in zip("abcdefgh", dtypes, strict=True)}


@in_tensorrt
def test_s18_eight_inputs_of_mixed_types_in_an_engine(built: Built) -> None:
    from torch import float16, float32, int32, int64

    from tests.field_reports.models import Network, exported

    package = imported(built(SPECS / "mixed.yaml"), "plugin", "onnx")
    for floats, ints in ((float16, int64), (float32, int32)):
        inputs = mixed_inputs(floats, floats, float16, ints, ints, int32, int64, float32)
        network = Network(exported(mixed_module(package), inputs, [package]))
        (layer,) = network.plugins
        expected = [package._tensorrt.TENSORRT_DTYPES[dtype] for dtype in (floats, ints, float32)]
        assert [layer.get_output(i).dtype for i in range(3)] == expected
        assert network.build(), network.log.lines


@in_tensorrt
def test_s18_other_combinations_are_refused(built: Built) -> None:
    from onnx import TensorProto
    from torch import float16, float32, int32, int64

    from tests.field_reports.models import Network, exported

    package = imported(built(SPECS / "mixed.yaml"), "plugin", "onnx")
    inputs = mixed_inputs(float16, float16, float16, int32, int32, int32, int64, float32)
    model = exported(mixed_module(package), inputs, [package])
    assert Network(model).build()
    # b is to have the dtype of a.
    with pytest.raises(RuntimeError, match=r"mixed: the dtypes \(torch.float16, torch.float32, "):
        package.mixed(*{**inputs, "b": inputs["b"].float()}.values())
    model.graph.input[1].type.tensor_type.elem_type = TensorProto.FLOAT
    network = Network(model)
    assert network.build() is None, "TensorRT runs a kernel for half precision on float32"
    assert any("format" in line for line in network.log.lines), network.log.lines


@own_process
def test_s19_import_registers_the_plugin_in_a_fresh_process(built: Built, tmp_path: Path) -> None:
    import torch

    from tests.field_reports.models import exported

    package = imported(built(SPECS / "scale.yaml"), "plugin", "onnx")
    model = exported(module(lambda x: package.scale(x, x[0])), {"x": torch.randn(3, 5)}, [package])
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    script = tmp_path / "script.py"
    script.write_text(FRESH.replace("MODEL", repr(str(tmp_path / "model.onnx"))), encoding="utf-8")
    paths = {**os.environ, "PYTHONPATH": str(built(SPECS / "scale.yaml") / "src")}
    answers = {}
    for way in ("nothing", "trtplug_scale", "trtplug_scale.plugin"):
        done = subprocess.run([sys.executable, script, way], env=paths, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        answers[way] = done.stdout
    assert answers["trtplug_scale.plugin"] == "parsed\n"
    for way in ("nothing", "trtplug_scale"):  # the op alone imports nothing of TensorRT
        assert "Plugin not found, are the plugin name, version, and namespace correct?" in answers[way]
    (readme,) = built(SPECS / "scale.yaml").glob("README.md")
    assert "import trtplug_scale.plugin" in readme.read_text(encoding="utf-8")


FRESH = """\
import importlib, sys
from pathlib import Path
import tensorrt_rtx as trt
if sys.argv[1] != "nothing":
    importlib.import_module(sys.argv[1])
assert sys.argv[1].endswith("plugin") or "trtplug_scale.plugin" not in sys.modules
logger = trt.Logger(trt.Logger.INTERNAL_ERROR)
network = trt.Builder(logger).create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
parser = trt.OnnxParser(network, logger)
parsed = parser.parse(Path(MODEL).read_bytes())
print("parsed" if parsed else [parser.get_error(i).desc() for i in range(parser.num_errors)])
"""
