"""What circular_pad accepts and returns: the one copy of its shape and dtype rules.

Shapes are sequences of Python ints (launch), of SymInts (fake) or of TensorRT dimension expressions (plugin) alike.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch

# An int, a torch.SymInt or a _dims.Dim.
Dim = Any

# The accepted dtypes, a row for each combination of x.
DTYPES = (
    (torch.float32,),
    (torch.float16,),
    (torch.bfloat16,),
)


def check(x_dtype: torch.dtype, x_shape: Sequence[Dim], padding: Sequence[int]) -> None:
    """Raises RuntimeError if circular_pad does not accept a call."""
    dtypes = (x_dtype,)
    torch._check(dtypes in DTYPES, lambda: f"circular_pad: the dtypes {dtypes} are not in {DTYPES}")
    torch._check(1 <= len(x_shape) <= 4, lambda: f"circular_pad: x has {len(x_shape)} dimensions, not 1 to 4")
    torch._check(
        len(padding) % 2 == 0, lambda: "circular_pad: padding holds a before and an after for each padded dimension"
    )
    torch._check(len(padding) <= 2 * len(x_shape), lambda: "circular_pad: padding names more dimensions than x has")
    for i in range(len(padding) // 2):
        torch._check(
            x_shape[-1 - i] + padding[2 * i] + padding[2 * i + 1] >= 0,
            lambda: "circular_pad: negative padding crops more than there is",
        )
    for i in range(len(padding) // 2):
        torch._check(
            max(padding[2 * i], padding[2 * i + 1]) <= x_shape[-1 - i],
            lambda: "circular_pad: padding would wrap around more than once",
        )
    for i in range(len(padding) // 2):
        torch._check(
            max(padding[2 * i], padding[2 * i + 1])
            <= x_shape[-1 - i] - max(-padding[2 * i], 0) - max(-padding[2 * i + 1], 0)
            or math.prod(_pad(x_shape, padding)) == 0,
            lambda: "circular_pad: padding would wrap around more than once after cropping",
        )


def y_shape(x_shape: Sequence[Dim], padding: Sequence[int]) -> list[Dim]:
    """The shape of y."""
    return _pad(x_shape, padding)


def y_dtype(x_dtype: torch.dtype) -> torch.dtype:
    """The dtype of y."""
    return x_dtype


def _pad(shape: Sequence[Dim], padding: Sequence[int]) -> list[Dim]:
    """Adds a before and an after to each padded dimension, the last one first, as torch.nn.functional.pad does."""
    padded = list(shape)
    for i in range(len(padding) // 2):
        padded[-1 - i] = padded[-1 - i] + padding[2 * i] + padding[2 * i + 1]
    return padded
