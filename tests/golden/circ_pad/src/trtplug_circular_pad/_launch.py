"""The launch of circular_pad: grids, kernel arguments, compilation, and the start on a stream.

The torch op and the TensorRT plugin both prepare and start the kernels here, and nowhere else.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import torch
from triton.runtime.interpreter import InterpretedFunction

from . import _shapes
from ._kernel import circ_pad_kernel


@dataclass(frozen=True)
class Pointer:
    """All that Triton needs of a tensor to compile for it: the element type, and an address to judge alignment by."""

    dtype: torch.dtype
    address: int

    def data_ptr(self) -> int:
        """The address."""
        return self.address


@dataclass(frozen=True)
class Step:
    """One kernel of a launch.

    `arguments` gives the kernel's arguments for buffers, and `options` are Triton's, which choose the compiled code as
    much as the kernel's text does.
    """

    kernel: Any
    grid: tuple[int, int, int]
    arguments: Callable[..., tuple[Any, ...]]
    options: Mapping[str, int]

    def __post_init__(self) -> None:
        for programs, limit in zip(self.grid, (2**31 - 1, 65535, 65535), strict=True):
            if programs > limit:
                raise ValueError(
                    f"circular_pad: a grid of {self.grid} is larger than CUDA allows; the tensors are too large"
                )


class Launch:
    """A prepared launch: all that follows from shapes, dtypes and attributes, nothing that follows from addresses.

    A buffer is the device address of a tensor's first element; buffers are the inputs, the outputs.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        dtypes: tuple[torch.dtype, ...],
    ) -> None:
        self.steps = tuple(step for step in steps if 0 not in step.grid)
        self.dtypes = dtypes

    def start(self, *buffers: int, stream: int) -> None:
        """Starts the kernels on a CUDA stream, given by its handle, and does not wait for them."""
        kernels = self._unaligned if any(buffer % 16 for buffer in buffers) else self._aligned
        for step, kernel in zip(self.steps, kernels, strict=True):
            kernel(*step.arguments(*buffers), stream=stream)

    def warm(self) -> None:
        """Compiles and loads all that start() may need, so that start() never does."""
        _ = self._aligned, self._unaligned

    def interpret(self, *tensors: torch.Tensor) -> None:
        """Runs the kernels on CPU tensors under Triton's interpreter."""
        if not isinstance(circ_pad_kernel, InterpretedFunction):
            raise RuntimeError(
                "circular_pad runs on CUDA tensors; to interpret its kernel on the CPU, "
                "set TRITON_INTERPRET=1 before trtplug_circular_pad is imported"
            )
        for step in self.steps:
            step.kernel[step.grid](*step.arguments(*tensors), **step.options)

    @cached_property
    def _aligned(self) -> tuple[Callable[..., None], ...]:
        return tuple(self._compile(step, address=0) for step in self.steps)

    @cached_property
    def _unaligned(self) -> tuple[Callable[..., None], ...]:
        return tuple(self._compile(step, address=1) for step in self.steps)

    def _compile(self, step: Step, address: int) -> Callable[..., None]:
        pointers = [Pointer(dtype, address) for dtype in self.dtypes]
        compiled = step.kernel.warmup(*step.arguments(*pointers), grid=step.grid, **step.options)
        runner: Callable[..., None] = compiled[step.grid]  # loads the module on the current device
        return runner


@lru_cache(maxsize=1024)
def prepare(
    device: int | None,
    x_dtype: torch.dtype,
    x_shape: tuple[int, ...],
    padding: tuple[int, ...],
) -> Launch:
    """The launch for one set of shapes, dtypes and attributes, for the current CUDA device.

    `device` is the index of that device, or None for the interpreter; it keeps apart what is loaded on each.
    """
    y_shape = _shapes.y_shape(x_shape, padding)
    dims = [1, 1, 1, *x_shape][-4:]
    out = [1, 1, 1, *y_shape][-4:]
    before = [*padding[::2], 0, 0, 0, 0][:4]
    after = [*padding[1::2], 0, 0, 0, 0][:4]
    crop = [max(-p, 0) for p in before]
    left = [max(p, 0) for p in before]
    kept = [dims[3 - i] - crop[i] - max(-after[i], 0) for i in range(4)]
    s2 = dims[3]
    s1 = dims[2] * s2
    s0 = dims[1] * s1
    rows = math.prod(out[:3])
    columns = max(min(64, _next_power_of_2(out[3])), min(128, _next_power_of_2(out[3]) // 4))
    ROWS = 512 // columns
    BLOCK = columns
    values = (
        s0,
        s1,
        s2,
        kept[3],
        kept[2],
        kept[1],
        kept[0],
        left[3],
        left[2],
        left[1],
        left[0],
        out[1],
        out[2],
        out[3],
        crop[3] * s0 + crop[2] * s1 + crop[1] * s2 + crop[0],
        rows,
        -(-out[3] // BLOCK),
        ROWS,
        BLOCK,
    )
    steps = (
        Step(
            circ_pad_kernel,
            (-(-rows // ROWS) * -(-out[3] // BLOCK), 1, 1),
            lambda x, y: (x, y, *values),
            {"num_warps": 1},
        ),
    )
    if all(0 in step.grid for step in steps) and math.prod(y_shape):
        raise ValueError(f"circular_pad: nothing would write the output: the grid is {steps[0].grid}")
    return Launch(steps, (x_dtype, _shapes.y_dtype(x_dtype)))


def _next_power_of_2(n: int) -> int:
    """The least power of two that is not below n; of a launch only, since a dimension expression has no such form."""
    return 1 << max(n - 1, 0).bit_length()
