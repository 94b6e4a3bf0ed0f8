"""The torch op ``torch.ops.trtplug_ops.circular_pad``, its fake, and its kernel under Triton's interpreter."""

from collections.abc import Sequence

import torch
from torch._library.custom_ops import OPDEFS

from . import _launch, _shapes

_known = OPDEFS.get("trtplug_ops::circular_pad")
if _known is not None and _known._init_fn.__module__ != __name__:
    raise ImportError(
        f"{__name__}: {_known._init_fn.__module__} has defined torch.ops.trtplug_ops.circular_pad already; "
        "give one of the two another name or namespace"
    )


@torch.library.custom_op(
    "trtplug_ops::circular_pad",
    mutates_args=(),
    schema="(Tensor x, int[] padding) -> Tensor",
    device_types="cuda",
)
def circular_pad(x: torch.Tensor, padding: Sequence[int]) -> torch.Tensor:
    """Circular padding of the trailing dimensions; a negative padding crops first."""
    y = _empty_outputs(x, padding)
    x = x.contiguous()
    with torch.cuda.device(x.device):
        launch = _launch.prepare(x.device.index, x.dtype, tuple(x.shape), tuple(padding))
        launch.start(x.data_ptr(), y.data_ptr(), stream=torch.cuda.current_stream().cuda_stream)
    return y


@circular_pad.register_kernel("cpu")
def _interpret(x: torch.Tensor, padding: Sequence[int]) -> torch.Tensor:
    y = _empty_outputs(x, padding)
    x = x.contiguous()
    launch = _launch.prepare(None, x.dtype, tuple(x.shape), tuple(padding))
    launch.interpret(x, y)
    return y


def _empty_outputs(x: torch.Tensor, padding: Sequence[int]) -> torch.Tensor:
    """Checks a call and allocates what it returns: all of the fake, and the first step of the op."""
    _shapes.check(x.dtype, x.shape, padding)
    return x.new_empty(_shapes.y_shape(x.shape, padding), dtype=_shapes.y_dtype(x.dtype))


circular_pad.register_fake(_empty_outputs)
