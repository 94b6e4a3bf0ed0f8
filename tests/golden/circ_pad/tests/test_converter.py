"""Torch-TensorRT: its registry dispatches the converter, and one engine holds the whole model, which a GPU runs."""

import importlib
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch

from .calls import DTYPES, LEAST, MOST, TENSORS, TOLERANCE, USUAL, Case, arguments, random_case, tensors
from .convert_without_gpu import NO_IMPORT

GPU = torch.cuda.is_available()

if find_spec("torch_tensorrt") is None:
    pytest.skip("needs torch_tensorrt", allow_module_level=True)
if GPU:
    torch_tensorrt = importlib.import_module("torch_tensorrt")  # first: it decides what `tensorrt` is

from trtplug_circular_pad import _launch, plugin  # noqa: E402
from trtplug_circular_pad._network import obstacle  # noqa: E402
from trtplug_circular_pad._tensorrt import trt  # noqa: E402

from .fresh_process import outputs_of_engine  # noqa: E402

if obstacle():
    pytest.skip(obstacle(), allow_module_level=True)
if GPU:
    models: Any = importlib.import_module(f"{__package__}.in_torch_tensorrt")

gpu = pytest.mark.skipif(not GPU, reason="needs a CUDA device")


@pytest.fixture
def _library(record_property: Any) -> None:
    record_property("library", f"{trt.__name__} {trt.__version__}, torch_tensorrt {torch_tensorrt.__version__}")


def assert_close(actual: Any, expected: Any, dtypes: tuple[torch.dtype, ...]) -> None:
    """Equal within the spec's tolerance of what was doubled, or float32's own if that is larger."""
    tolerance = max(TOLERANCE.get(dtype, 0) for dtype in (torch.float32, *dtypes))
    torch.testing.assert_close(actual, expected, rtol=max(tolerance, 1.3e-6), atol=max(2 * tolerance, 1e-5))


def assert_equals_eager(compiled: Any, model: torch.nn.Module, case: Case, dtypes: tuple[torch.dtype, ...]) -> None:
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
        actual = compiled(*given)
    assert streams, "the engine did not run the plugin"
    assert_close(actual, expected, dtypes)
    assert not plugin.FAILURES


@gpu
@pytest.mark.usefixtures("_library")
def test_converter_closes_the_graph_break(tmp_path: Path, record_property: Any) -> None:
    percent_before, graphs_before = models.dry_run(tmp_path / "before", **models.LEFT_TO_PYTORCH)
    percent, graphs = models.dry_run(tmp_path / "after")
    assert percent_before < 100, "the op was not left to PyTorch"
    assert (percent, graphs) == (100, 1)
    record_property("coverage", f"{percent_before}% -> {percent}%")
    record_property("graphs", f"{graphs_before} -> {graphs}")


@gpu
@pytest.mark.usefixtures("_library")
@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
def test_one_engine_holds_the_plugin_and_equals_eager(dtypes: tuple[torch.dtype, ...], record_property: Any) -> None:
    with models.plugin_layers() as layers:
        compiled = models.compiled(models.Followed(), dtypes)
    parts = [name for name, _ in compiled.named_children()]
    assert len(parts) == 1, f"the graph is broken into {parts}"
    assert "_run_on_acc" in parts[0], f"{parts[0]} runs in PyTorch"
    assert len(layers) == 1, f"the network holds the plugin as {layers}"
    cases = (USUAL, LEAST, MOST, random_case())
    for case in cases:
        assert_equals_eager(compiled, models.Followed(), case, dtypes)
    record_property("plugin_layer", layers[0])
    record_property("equal_to_eager", f"{len(cases)} sizes, {len(DTYPES)} combinations of dtypes")


@gpu
@pytest.mark.usefixtures("_library")
def test_two_engines_in_one_process_run_in_turn(record_property: Any) -> None:
    static, dynamic = (models.compiled(models.Followed(), DTYPES[0], dynamic=each) for each in (False, True))
    for case in (LEAST, MOST, random_case()):
        assert_equals_eager(static, models.Followed(), USUAL, DTYPES[0])
        assert_equals_eager(dynamic, models.Followed(), case, DTYPES[0])
    record_property("in_one_process", "2 engines (static and dynamic shapes)")


@gpu
@pytest.mark.usefixtures("_library")
def test_two_calls_in_one_engine_keep_their_attributes(record_property: Any) -> None:
    with models.plugin_layers() as layers:
        compiled = models.compiled(models.Twice(), DTYPES[0], dynamic=False)
    assert len(list(compiled.children())) == 1
    assert len(layers) == 2, f"the network holds the plugin as {layers}"
    assert_equals_eager(compiled, models.Twice(), USUAL, DTYPES[0])
    record_property("in_one_engine", "2 calls (different padding)")


@gpu
@pytest.mark.usefixtures("_library")
def test_engine_is_loaded_in_a_fresh_process(tmp_path: Path, record_property: Any) -> None:
    compiled = models.compiled(models.Followed(), DTYPES[0])
    (engine,) = compiled.children()
    names = [node.name for node in compiled.graph.nodes if node.op == "placeholder"]
    calls = [arguments(case, DTYPES[0]) for case in (USUAL, LEAST, MOST, random_case())]
    given = [dict(zip(names, tensors(call).values(), strict=True)) for call in calls]
    results = outputs_of_engine(engine.serialized_engine, given, tmp_path)
    for call, result in zip(calls, results, strict=True):
        actual = tuple(tensor.cuda() for tensor in result.values())
        expected = models.Followed()(*tensors(call).values())
        assert_close(actual, (expected,), DTYPES[0])
    record_property("in_a_fresh_process", f"an engine of {len(engine.serialized_engine)} bytes")


if not GPU:

    def test_one_engine_is_built_around_the_plugin_without_a_gpu(record_property: Any) -> None:
        # As a module of the tests' own package, which stands in the folder above.
        module, above = f"{__package__}.convert_without_gpu", Path(__file__).parents[__package__.count(".") + 1]
        done = subprocess.run([sys.executable, "-m", module], cwd=above, capture_output=True, text=True, check=False)
        if done.returncode == NO_IMPORT:
            pytest.skip(f"torch_tensorrt does not import without a GPU: {done.stderr.splitlines()[-1]}")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout.splitlines()[-1])
        percent_before, graphs_before = found["before"]
        percent, graphs = found["after"]
        assert percent_before < 100, "the op was not left to PyTorch"
        assert (percent, graphs) == (100, 1)
        assert len(found["engines"]) == len(DTYPES), "a compilation ended without an engine"
        for engine in found["engines"]:
            assert len(engine["plugins"]) == 1
            assert (engine["inputs"], engine["outputs"]) == (len(TENSORS), engine["results"])
            assert engine["named"], "the engine does not name the plugin"
        record_property(
            "library", f"{trt.__name__} {trt.__version__}, torch_tensorrt {found['version']}, without a GPU"
        )
        record_property("coverage", f"{percent_before}% -> {percent}%")
        record_property("graphs", f"{graphs_before} -> {graphs}")
        record_property("plugin_layer", found["engines"][0]["plugins"][0])
