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

from .calls import DTYPES, LEAST, MOST, OP, TENSORS, USUAL, arguments, random_case, tensors
from .convert_without_gpu import NO_IMPORT, Between, exported

GPU = torch.cuda.is_available()

if find_spec("torch_tensorrt") is None:
    pytest.skip("needs torch_tensorrt", allow_module_level=True)
if GPU:
    torch_tensorrt = importlib.import_module("torch_tensorrt")  # first: it decides what `tensorrt` is

from trtplug_circular_pad import _launch, plugin  # noqa: E402
from trtplug_circular_pad._network import obstacle  # noqa: E402
from trtplug_circular_pad._tensorrt import trt  # noqa: E402

if obstacle():
    pytest.skip(obstacle(), allow_module_level=True)


@pytest.mark.skipif(not GPU, reason="needs a CUDA device")
@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
def test_one_engine_holds_the_plugin_and_equals_eager(dtypes: tuple[torch.dtype, ...], record_property: Any) -> None:
    importlib.import_module("trtplug_circular_pad.converter")
    plugin.FAILURES.clear()
    streams = []
    start = _launch.Launch.start

    def noted(launch: _launch.Launch, *buffers: int, stream: int) -> None:
        streams.append(stream)
        start(launch, *buffers, stream=stream)

    model = torch_tensorrt.dynamo.compile(*exported(dtypes), min_block_size=1, use_python_runtime=True)
    parts = [name for name, _ in model.named_children()]
    assert len(parts) == 1, f"the graph is broken into {parts}"
    assert "_run_on_acc" in parts[0], f"{parts[0]} runs in PyTorch"
    for case in (USUAL, LEAST, MOST, random_case()):
        given = tensors(arguments(case, dtypes)).values()
        expected = Between()(*given)
        streams.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_launch.Launch, "start", noted)
            actual = model(*given)
        assert streams, "the engine did not run the plugin"
        torch.testing.assert_close(actual, expected)
    assert not plugin.FAILURES
    record_property("library", f"{trt.__name__} {trt.__version__}, torch_tensorrt {torch_tensorrt.__version__}")
    record_property("graphs", len(parts))


@pytest.mark.skipif(GPU, reason="a GPU is here, and the test above runs on it")
def test_one_engine_is_built_around_the_plugin_without_a_gpu(record_property: Any) -> None:
    # As a module of the tests' own package, which stands in the folder above.
    module, above = f"{__package__}.convert_without_gpu", Path(__file__).parents[__package__.count(".") + 1]
    done = subprocess.run([sys.executable, "-m", module], cwd=above, capture_output=True, text=True, check=False)
    if done.returncode == NO_IMPORT:
        pytest.skip(f"torch_tensorrt does not import without a GPU: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    assert len(results) == len(DTYPES), "a compilation ended without an engine"
    for result in results:
        assert len(result["graphs"]) == 1, f"the graph is broken into {result['graphs']}"
        assert "_run_on_acc" in result["graphs"][0], f"{result['graphs'][0]} runs in PyTorch"
        assert len(result["plugins"]) == 1
        assert (result["inputs"], result["outputs"]) == (len(TENSORS), len(OP.default._schema.returns))
        assert result["named"], "the engine does not name the plugin"
    record_property("library", f"{trt.__name__} {trt.__version__}, torch_tensorrt, without a GPU")
    record_property("graphs", 1)
    record_property("plugin_layer", results[0]["plugins"][0])
