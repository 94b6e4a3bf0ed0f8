"""Torch-TensorRT: its registry dispatches the converter, and one engine holds the whole model. Needs a GPU."""

from pathlib import Path
from typing import Any

import pytest
import torch

from .calls import DTYPES, LEAST, MOST, OP, USUAL, Case, arguments, random_case, tensors

if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)
torch_tensorrt = pytest.importorskip("torch_tensorrt")  # first: it decides what `tensorrt` is

from trtplug_circular_pad import _launch, plugin  # noqa: E402
from trtplug_circular_pad._tensorrt import trt  # noqa: E402

if not hasattr(trt.INetworkDefinition, "add_plugin_v3"):
    pytest.skip(f"networks of {trt.__name__} {trt.__version__} take no plugin", allow_module_level=True)

from .fresh_process import outputs_of_engine  # noqa: E402
from .in_torch_tensorrt import Followed, Twice, compiled, dry_run, plugin_layers  # noqa: E402


@pytest.fixture(autouse=True)
def _library(record_property: Any) -> None:
    record_property("library", f"{trt.__name__} {trt.__version__}, torch_tensorrt {torch_tensorrt.__version__}")


def assert_equals_eager(
    compiled_model: Any, model: torch.nn.Module, case: Case, dtypes: tuple[torch.dtype, ...]
) -> None:
    """The compiled model runs the plugin for a case, and returns what the model returns in PyTorch."""
    plugin.FAILURES.clear()
    streams = []
    start = _launch.Launch.start

    def noted(launch: _launch.Launch, *buffers: int, stream: int) -> None:
        streams.append(stream)
        start(launch, *buffers, stream=stream)

    given = tensors(arguments(case, dtypes)).values()
    expected = model(*given)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_launch.Launch, "start", noted)
        actual = compiled_model(*given)
    assert streams, "the engine did not run the plugin"
    torch.testing.assert_close(actual, expected)
    assert not plugin.FAILURES


def test_converter_closes_the_graph_break(tmp_path: Path, record_property: Any) -> None:
    percent_before, graphs_before = dry_run(tmp_path / "before", torch_executed_ops={OP.default})
    percent, graphs = dry_run(tmp_path / "after")
    assert percent_before < 100, "the op was not left to PyTorch"
    assert (percent, graphs) == (100, 1)
    record_property("coverage", f"{percent_before}% -> {percent}%")
    record_property("graphs", f"{graphs_before} -> {graphs}")


@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
def test_one_engine_holds_the_plugin_and_equals_eager(dtypes: tuple[torch.dtype, ...], record_property: Any) -> None:
    with plugin_layers() as layers:
        model = compiled(Followed(), dtypes)
    parts = [name for name, _ in model.named_children()]
    assert len(parts) == 1, f"the graph is broken into {parts}"
    assert "_run_on_acc" in parts[0], f"{parts[0]} runs in PyTorch"
    assert len(layers) == 1, f"the network holds the plugin as {layers}"
    for case in (USUAL, LEAST, MOST, random_case()):
        assert_equals_eager(model, Followed(), case, dtypes)
    record_property("plugin_layer", layers[0])


def test_two_engines_in_one_process_run_in_turn(record_property: Any) -> None:
    static, dynamic = (compiled(Followed(), DTYPES[0], dynamic=each) for each in (False, True))
    for case in (LEAST, MOST, random_case()):
        assert_equals_eager(static, Followed(), USUAL, DTYPES[0])
        assert_equals_eager(dynamic, Followed(), case, DTYPES[0])
    record_property("in_one_process", "2 engines (static and dynamic shapes)")


def test_two_calls_in_one_engine_keep_their_attributes(record_property: Any) -> None:
    with plugin_layers() as layers:
        model = compiled(Twice(), DTYPES[0], dynamic=False)
    assert len(list(model.children())) == 1
    assert len(layers) == 2, f"the network holds the plugin as {layers}"
    assert_equals_eager(model, Twice(), USUAL, DTYPES[0])
    record_property("in_one_engine", "2 calls (different padding)")


def test_engine_is_loaded_in_a_fresh_process(tmp_path: Path, record_property: Any) -> None:
    model = compiled(Followed(), DTYPES[0])
    (engine,) = model.children()
    names = [node.name for node in model.graph.nodes if node.op == "placeholder"]
    calls = [tuple(tensors(arguments(case, DTYPES[0])).values()) for case in (USUAL, LEAST, MOST, random_case())]
    given = [dict(zip(names, call, strict=True)) for call in calls]
    results = outputs_of_engine(engine.serialized_engine, given, tmp_path)
    for call, result in zip(calls, results, strict=True):
        actual = tuple(tensor.cuda() for tensor in result.values())
        torch.testing.assert_close(actual, (Followed()(*call),))
    record_property("in_a_fresh_process", f"an engine of {len(engine.serialized_engine)} bytes")
