"""Circular padding's bandwidth beside a device copy, and the host time of one enqueue, ours beside the tutorial's.

A process of its own; usage: ``python -m tests.gpu.speed``, with the generated package installed.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
import triton

from tests.gpu import tutorial
from tests.gpu.row import report, versions

REQUIRED = 3.5  # TB/s, of the first shape in float32
SHAPES = ((32, 64, 512, 512), (64, 256, 56, 56))
DTYPES = (torch.float32, torch.float16)
LIBRARY = versions("torch", "triton", "cupy-cuda13x")


class Ours:
    """The generated plugin, prepared as TensorRT prepares it, for the tensors x and y."""

    def __init__(self, x: torch.Tensor, y: torch.Tensor) -> None:
        module = importlib.import_module("trtplug_circular_pad.plugin")
        self.plugin = module.CREATOR.create_plugin(
            "measured",
            module.CircularPadPlugin(padding=tutorial.PADDING).get_fields_to_serialize(),
            module.trt.TensorRTPhase.RUNTIME,
        ).attach_to_context(None)
        self.described = [[self._description(module, tensor)] for tensor in (x, y)]
        self.addresses = [[tensor.data_ptr()] for tensor in (x, y)]
        self.plugin.on_shape_change(*self.described)
        self.stream = torch.cuda.current_stream().cuda_stream

    def __call__(self) -> None:
        self.plugin.enqueue(*self.described, *self.addresses, 0, self.stream)

    @staticmethod
    def _description(module: Any, tensor: torch.Tensor) -> Any:
        described = module.trt.PluginTensorDesc()
        described.dims = module.trt.Dims(list(tensor.shape))
        described.type = module.TENSORRT_DTYPES[tensor.dtype]
        described.format = module.trt.TensorFormat.LINEAR
        return described


def bandwidth() -> None:
    """Reports terabytes a second, read and written, in median."""
    device_copy()
    for dtype in DTYPES:
        for shape in SHAPES:
            required = REQUIRED if (dtype, shape) == (DTYPES[0], SHAPES[0]) else 0.0
            of_shape(dtype, shape, required)


def device_copy() -> None:
    """Reports what a copy inside the GPU reaches."""
    source = torch.randn(2**30, device="cuda")
    copy = torch.empty_like(source)
    seconds = median(lambda: copy.copy_(source))
    report("bandwidth: device copy", True, f"{2 * source.nbytes / seconds / 1e12:.2f} TB/s", LIBRARY)


def of_shape(dtype: torch.dtype, shape: tuple[int, ...], required: float) -> None:
    """Reports a row for each way to pad a tensor."""
    x = torch.randn(shape, device="cuda", dtype=dtype)
    expected = torch.nn.functional.pad(x, tutorial.PADDING, "circular")
    y = torch.empty_like(expected)
    pads, padded = tutorial.pads_of(tutorial.PADDING, shape)
    ours = Ours(x, y)
    moved = x.nbytes + y.nbytes
    name = f"{tuple(shape)} {str(dtype).removeprefix('torch.')}"
    ways: tuple[tuple[str, Callable[[], object], float], ...] = (
        ("ours, torch.ops", lambda: torch.ops.trtplug_ops.circular_pad(x, tutorial.PADDING), required),
        ("ours, enqueue of the plugin", ours, required),
        ("the tutorial's kernel", lambda: tutorial.launch(x, y, shape, padded, pads), 0.0),
        ("torch.nn.functional.pad", lambda: torch.nn.functional.pad(x, tutorial.PADDING, "circular"), 0.0),
    )
    for way, pad, least in ways:
        y.fill_(float("nan"))
        result = pad()
        equal = torch.equal(result if isinstance(result, torch.Tensor) else y, expected)
        del result
        rate = moved / median(pad) / 1e12
        wanted = f", {least} required" if least else ""
        report(f"bandwidth: {name}: {way}", equal and rate >= least, f"{rate:.2f} TB/s{wanted}", LIBRARY)


def host_time() -> None:
    """Reports microseconds of the host for one enqueue of a tensor so small that the GPU keeps up."""
    x = torch.randn(1, 1, 8, 8, device="cuda")
    expected = torch.nn.functional.pad(x, tutorial.PADDING, "circular")
    y = torch.empty_like(expected)
    ours = Ours(x, y)
    (x_described, y_described), (x_address, y_address) = ours.described, ours.addresses
    theirs = tutorial.Plugin(tutorial.PADDING, x.shape)
    ways: tuple[tuple[str, Callable[[], object]], ...] = (
        ("enqueue of the plugin, ours", ours),
        (
            "enqueue of the plugin, the tutorial's",
            lambda: theirs.enqueue(x_described, y_described, x_address, y_address, 0, ours.stream),
        ),
        ("torch.ops, ours", lambda: torch.ops.trtplug_ops.circular_pad(x, tutorial.PADDING)),
        ("torch.nn.functional.pad", lambda: torch.nn.functional.pad(x, tutorial.PADDING, "circular")),
        ("for scale: x + 1", lambda: x + 1),
    )
    for way, call in ways:
        y.fill_(float("nan"))
        result = call()
        torch.cuda.synchronize()
        equal = way.startswith("for scale") or torch.equal(result if isinstance(result, torch.Tensor) else y, expected)
        report(f"host time: {way}", equal, f"{microseconds(call):.1f} µs", LIBRARY)


def median(call: Callable[[], object]) -> float:
    """Seconds of the GPU for one call."""
    return float(triton.testing.do_bench(call, warmup=50, rep=200, return_mode="median")) / 1e3


def microseconds(call: Callable[[], object], calls: int = 2000, rounds: int = 7) -> float:
    """Microseconds of the host for one call, the median of some rounds."""
    for _ in range(200):
        call()
    times = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - began) / calls * 1e6)
    torch.cuda.synchronize()
    return statistics.median(times)


if __name__ == "__main__":
    bandwidth()
    host_time()
