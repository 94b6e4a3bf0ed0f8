"""Circular padding as Torch-TensorRT's tutorial on custom kernels has it: kernel, enqueue, model, printed values.

Written anew after "Using Custom Kernels within TensorRT Engines with Torch-TensorRT", to be measured beside ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy  # type: ignore[import-not-found, unused-ignore]
import numpy as np
import torch
import triton
import triton.language as tl

PADDING = (1, 1, 2, 0)

# What the tutorial prints for arange(9) as 1 x 1 x 3 x 3.
PRINTED = [
    [5.0, 3.0, 4.0, 5.0, 3.0],
    [8.0, 6.0, 7.0, 8.0, 6.0],
    [2.0, 0.0, 1.0, 2.0, 0.0],
    [5.0, 3.0, 4.0, 5.0, 3.0],
    [8.0, 6.0, 7.0, 8.0, 6.0],
]
BLOCK = 256


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def kernel(X, p0, p2, p4, p6, n0, n1, n2, n3, Y, m1, m2, m3, x_len, y_len, BLOCK_SIZE: tl.constexpr):  # type: ignore[no-untyped-def]
    """One element a thread, with seven divisions each."""
    i = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    i3 = i % m3
    i2 = (i // m3) % m2
    i1 = (i // m3 // m2) % m1
    i0 = i // m3 // m2 // m1
    j0 = (i0 - p0 + n0) % n0
    j1 = (i1 - p2 + n1) % n1
    j2 = (i2 - p4 + n2) % n2
    j3 = (i3 - p6 + n3) % n3
    source = n3 * n2 * n1 * j0 + n3 * n2 * j1 + n3 * j2 + j3
    x = tl.load(X + source, mask=source < x_len)
    tl.store(Y + i, x, mask=i < y_len)


def launch(x: Any, y: Any, dims: Sequence[int], padded: Sequence[int], pads: Sequence[int]) -> None:
    """Starts the tutorial's kernel on torch's current stream."""
    x_len, y_len = int(np.prod(dims)), int(np.prod(padded))
    grid = ((y_len + BLOCK - 1) // BLOCK,)
    kernel[grid](x, pads[0], pads[2], pads[4], pads[6], *dims, y, *padded[1:], x_len, y_len, BLOCK_SIZE=BLOCK)


def pads_of(padding: Any, dims: Any) -> tuple[list[int], list[int]]:
    """Before and after for each dimension, the first one first; and the padded sizes, by the tutorial's arithmetic."""
    rank = len(dims)
    pads = np.zeros((rank * 2,), dtype=np.int32)
    padded = np.array(dims, dtype=np.int32)
    for i in range(np.size(padding) // 2):
        padded[rank - i - 1] += padding[i * 2] + padding[i * 2 + 1]
        pads[rank * 2 - 2 * i - 2] = padding[i * 2]
        pads[rank * 2 - 2 * i - 1] = padding[i * 2 + 1]
    return pads.tolist(), padded.tolist()


class Plugin:
    """The host work of the tutorial's plugin; not a TensorRT class, so that it needs no particular TensorRT."""

    def __init__(self, padding: Sequence[int], dims: Sequence[int]) -> None:
        self.padding = np.array(padding, dtype=np.int32)
        self.dims = np.array(dims, dtype=np.float64)

    def enqueue(
        self, input_desc: Any, output_desc: Any, inputs: Any, outputs: Any, workspace: int, stream: int
    ) -> None:
        """As the tutorial does it: CuPy views of the buffers, torch tensors of those; `stream` is ignored."""
        dtype = np.float32
        itemsize = cupy.dtype(dtype).itemsize
        x_memory = cupy.cuda.UnownedMemory(inputs[0], np.prod(input_desc[0].dims) * itemsize, self)
        y_memory = cupy.cuda.UnownedMemory(outputs[0], np.prod(output_desc[0].dims) * itemsize, self)
        x_pointer, y_pointer = cupy.cuda.MemoryPointer(x_memory, 0), cupy.cuda.MemoryPointer(y_memory, 0)
        x_array = cupy.ndarray((np.prod(input_desc[0].dims)), dtype=dtype, memptr=x_pointer)
        y_array = cupy.ndarray((np.prod(output_desc[0].dims)), dtype=dtype, memptr=y_pointer)
        x, y = torch.as_tensor(x_array, device="cuda"), torch.as_tensor(y_array, device="cuda")
        dims = np.array(self.dims, dtype=np.int32).tolist()
        pads, padded = pads_of(self.padding, dims)
        launch(x, y, dims, padded, pads)


class Model(torch.nn.Module):
    """The tutorial's model: circular padding, then a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 5, kernel_size=3)

    def forward(self, x: torch.Tensor) -> Any:
        """The padded input, convolved."""
        return self.conv(torch.ops.trtplug_ops.circular_pad(x, PADDING))
