"""Torch-TensorRT: its registry dispatches the converter, and one engine holds the whole model. Needs a GPU."""

import importlib
from typing import Any

import pytest
import torch

from .calls import DTYPES, DYNAMIC, LEAST, MOST, USUAL, Model, arguments, random_case, tensors

if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)
torch_tensorrt = pytest.importorskip("torch_tensorrt")  # first: it decides what `tensorrt` is

from trtplug_circular_pad import _launch, plugin  # noqa: E402
from trtplug_circular_pad._tensorrt import trt  # noqa: E402

if not hasattr(trt.INetworkDefinition, "add_plugin_v3"):
    pytest.skip(f"networks of {trt.__name__} {trt.__version__} take no plugin", allow_module_level=True)


class Between(torch.nn.Module):
    """The op between operators that TensorRT knows."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()

    def forward(self, x: torch.Tensor) -> Any:
        """Calls the op as a user's model does."""
        result = self.model(x)
        return tuple(map(_doubled, result)) if isinstance(result, tuple) else _doubled(result)


def _doubled(output: torch.Tensor) -> torch.Tensor:
    return 2 * output.float()


def compiled(dtypes: tuple[torch.dtype, ...], **options: Any) -> Any:
    """The model compiled by Torch-TensorRT for the profile."""
    given = tensors(arguments(USUAL, dtypes))
    shapes: dict[str, dict[int, Any]] = {name: {} for name in given}
    for tensor, dimension, least, most in DYNAMIC:
        shapes[tensor][dimension] = torch.export.Dim.DYNAMIC(min=least, max=most)
    program = torch.export.export(Between(), tuple(given.values()), dynamic_shapes=shapes)
    return torch_tensorrt.dynamo.compile(
        program, tuple(given.values()), min_block_size=1, use_python_runtime=True, **options
    )


@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
def test_one_engine_holds_the_plugin_and_equals_eager(dtypes: tuple[torch.dtype, ...], record_property: Any) -> None:
    importlib.import_module("trtplug_circular_pad.converter")
    plugin.FAILURES.clear()
    streams = []
    start = _launch.Launch.start

    def noted(launch: _launch.Launch, *buffers: int, stream: int) -> None:
        streams.append(stream)
        start(launch, *buffers, stream=stream)

    model = compiled(dtypes)
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
