"""Field reports on the torch op: fakes, sizes, empty tensors, what an interpreter proves; see docs/field-reports.md."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from torch._dynamo.testing import CompileCounter
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.conftest import ROOT
from tests.field_reports.packages import SPECS, Built, imported, refusal, stage, variant
from trtplug.verify.stage import Status


def as_tuple(result: Any) -> tuple[torch.Tensor, ...]:
    return result if isinstance(result, tuple) else (result,)


def test_s01_arguments_that_are_written_to_are_exported(built: Built) -> None:
    package = imported(built(ROOT / "tests" / "specs" / "accumulate.yaml"))

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor, state: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            total = package.accumulate(x, state[0])  # a part of it is written to
            return total, state

    x, state = torch.randn(4, 6), torch.randn(2, 4, 6)
    program = torch.export.export(Model(), (x, state)).run_decompositions()
    targets = [str(node.target) for node in program.graph.nodes]
    assert "trtplug_tests.accumulate_functional.default" in targets
    assert not any("auto_functionalized" in target for target in targets)
    expected = torch.stack([state[0] * 0.9 + x, state[1]])
    assert program.module()(x, state)[1] is state
    torch.testing.assert_close(state, expected)


ALIASES = {
    "(Tensor x, Tensor(a!)? out=None) -> (Tensor, Tensor, Tensor)": "'out' is written to and may be None, ",
    "(Tensor(a) x) -> (Tensor(a), Tensor, Tensor)": "the op returns an alias, 'Tensor(a)'; ",
    "(Tensor(a!) x) -> (Tensor(a!), Tensor, Tensor)": "the op returns an alias, 'Tensor(a!)'; ",
}


@pytest.mark.parametrize("schema", ALIASES)
def test_s01_other_aliases_are_refused(schema: str, tmp_path: Path) -> None:
    changed = {"(Tensor x) -> (Tensor, Tensor, Tensor)": schema}
    assert ALIASES[schema] in refusal(variant("split_stats", tmp_path, changed))


def test_s09_verify_says_that_the_kernel_was_interpreted(built: Built, tmp_path: Path) -> None:
    result = stage(built(SPECS / "race.yaml"), "parity", tmp_path)
    # An interpreter runs one program after another, so that the race does not show: that it passes proves little.
    assert (result.status, result.figures["kernel"]) == (Status.PASSED, "interpreted")
    assert result.reason == "the kernel was interpreted, not compiled"


@pytest.mark.parametrize("layout", ["dense", "permuted", "stepped", "expanded", "offset"])
def test_s24_fake_and_real_outputs_are_dense_whatever_the_inputs_are(layout: str, built: Built) -> None:
    split_stats = imported(built(SPECS / "split_stats.yaml")).split_stats
    x = {
        "dense": torch.randn(5, 7),
        "permuted": torch.randn(7, 5).T,
        "stepped": torch.randn(5, 14)[:, ::2],
        "expanded": torch.randn(1, 7).expand(5, 7),
        "offset": torch.randn(36)[1:].view(5, 7),
    }[layout]
    real = split_stats(x)
    with FakeTensorMode() as mode:
        fake = split_stats(mode.from_tensor(x))
    assert [t.stride() for t in real] == [(7, 1), (1,), (2, 2, 1)]
    properties = [(t.shape, t.stride(), t.storage_offset(), t.dtype, t.device) for t in real]
    assert [(t.shape, t.stride(), t.storage_offset(), t.dtype, t.device) for t in fake] == properties
    torch.testing.assert_close(real[1], x.sum(1))


def test_s24_fake_takes_what_the_op_takes(built: Built) -> None:
    package = imported(built(SPECS / "attributes.yaml"))
    # None of them the default, since torch drops such arguments on the way.
    others = {"gain": 2.0, "negate": True, "keep": False, "mode": "twice", "side": "right", "j": 5, "ceiling": 1.0}
    x = torch.randn(3, 5)
    for given in ({}, {"gain": 2.0}, {"mode": "twice", "side": "right"}, others):
        with FakeTensorMode() as mode:
            fake = package.attributes(mode.from_tensor(x), 1, [], [0.5], **given)
        real = package.attributes(x, 1, [], [0.5], **given)
        assert (fake.shape, fake.stride(), fake.dtype) == (real.shape, real.stride(), real.dtype)


class Crop(torch.nn.Module):
    """A length that is another tensor's size."""

    def __init__(self, op: Any) -> None:
        super().__init__()
        self.op = op

    def forward(self, x: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        """Calls the op."""
        result: torch.Tensor = self.op(x, 1, like.shape[0])
        return result


def compilations(op: Any) -> int:
    """How often torch.compile compiles for six sizes."""
    torch._dynamo.reset()
    counter = CompileCounter()
    model = torch.compile(Crop(op), fullgraph=True, backend=counter, dynamic=True)
    for rows, columns, length in ((5, 7, 3), (6, 11, 4), (9, 13, 5), (2, 8, 6), (12, 17, 8), (4, 4, 2)):
        x, like = torch.randn(rows, columns), torch.randn(length)
        assert torch.equal(model(x, like), x[:, 1 : 1 + length])
    return counter.frame_count


def test_s25_symint_compiles_once_for_all_sizes(built: Built, tmp_path: Path) -> None:
    assert compilations(imported(built(SPECS / "crop.yaml")).crop) == 1
    # The same op with plain ints shows the fault: that is what SymInt is for.
    changes = {"name: crop\n": "name: crop_int\n", "SymInt start, SymInt length": "int start, int length"}
    plain = variant("crop", tmp_path, changes)
    assert compilations(imported(built(plain)).crop_int) > 1


def test_s25_equal_sizes_of_the_sample_stay_two_dimensions(built: Built) -> None:
    model = Crop(imported(built(SPECS / "crop.yaml")).crop)
    dynamic = {"x": {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}, "like": {0: torch.export.Dim.DYNAMIC}}
    program = torch.export.export(model, (torch.randn(5, 5), torch.randn(3)), dynamic_shapes=dynamic)
    x, like = (node.meta["val"] for node in program.graph.nodes if node.op == "placeholder")
    assert len({str(size) for size in (*x.shape, *like.shape)}) == 3
    for rows, columns, length in ((7, 11, 4), (11, 7, 5)):
        x, like = torch.randn(rows, columns), torch.randn(length)
        assert torch.equal(program.module()(x, like), x[:, 1 : 1 + length])


@pytest.mark.parametrize(
    ("rows", "more", "columns"), [(3, 4, 5), (0, 4, 5), (3, 0, 5), (0, 0, 5), (3, 4, 0), (0, 0, 0)]
)
def test_s26_empty_tensors_in_the_op(rows: int, more: int, columns: int, built: Built) -> None:
    join = imported(built(SPECS / "join.yaml")).join
    a, b = torch.randn(rows, columns), torch.randn(more, columns)
    joined, sums = join(a, b)
    assert torch.equal(joined, torch.cat([a, b]))
    torch.testing.assert_close(sums, torch.cat([a, b]).sum(0))  # over no rows: zeros


def test_s26_output_that_nothing_would_write_is_refused(built: Built, tmp_path: Path) -> None:
    # Programs along the rows: where there are none, nothing writes the sums.
    changes = {"name: join\n": "name: join_rows\n", 'grid: ["a.shape[1]"]': 'grid: ["a.shape[0] * a.shape[1]"]'}
    changes["  - {a: [0, 5], b: [4, 5]}\n"] = changes["  - {a: [0, 5], b: [0, 5]}\n"] = ""
    changes["a: {0: [0, 3, 8]}"] = "a: {0: [1, 3, 8]}"
    join_rows = imported(built(variant("join", tmp_path, changes))).join_rows
    with pytest.raises(ValueError, match=r"join_rows: nothing would write the output: the grid is \(0, 1, 1\)"):
        join_rows(torch.empty(0, 5), torch.randn(4, 5))


@pytest.mark.parametrize("shapes", [((0, 5), (4, 5)), ((3, 5), (0, 5)), ((0, 5), (0, 5)), ((3, 0), (4, 0))], ids=str)
def test_s26_empty_tensors_in_the_plugin(
    shapes: tuple[tuple[int, int], ...], built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = imported(built(SPECS / "join.yaml"), "plugin")
    trt, launches = package._tensorrt.trt, list[tuple[Any, ...]]()

    def compile_(launch: Any, step: Any, address: int) -> Any:
        return lambda *values, stream: launches.append((address, *values))

    monkeypatch.setattr(package._launch.Launch, "_compile", compile_)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    package._launch.prepare.cache_clear()
    descriptions = []
    for shape in shapes:
        description = trt.PluginTensorDesc()
        description.dims, description.type = trt.Dims(list(shape)), trt.DataType.FLOAT
        descriptions.append(description)
    plugin = package.plugin.JoinPlugin().attach_to_context(None)
    plugin.on_shape_change(descriptions, [])
    addresses = [0 if 0 in shape else 16 * random.randrange(1, 999) for shape in shapes]
    plugin.enqueue(descriptions, [], addresses, [0x1000, 0x2000], 0, 7)
    (rows, columns), (more, _) = shapes
    block = 1 << max(rows + more - 1, 0).bit_length()
    # A null pointer is an aligned one. CUDA refuses a grid of none, and without columns there is nothing to write.
    expected = (0, *addresses, 0x1000, 0x2000, rows, more, columns, block)
    assert launches == ([expected] if columns else [])
    package._launch.prepare.cache_clear()
