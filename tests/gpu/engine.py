"""The tutorial's model in Torch-TensorRT: the dry run with and without the converter, then one engine, run.

What holds for any op is proven by its generated tests; this is what the tutorial shows, a convolution behind the op.
A process of its own; usage: ``python -m tests.gpu.engine``, with the generated package installed.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Sequence
from typing import Any

import torch
import torch_tensorrt

from tests.gpu.row import report, versions
from tests.gpu.tutorial import PADDING, PRINTED, Model
from tests.harness.dry_run import dry_run

SIZES = ((3, 3), (8, 8), (17, 5), (64, 64), (31, 200), (256, 256))
CLOSE = 1e-5
LEAST, USUAL, MOST = (1, 1, 3, 3), (1, 1, 64, 64), (1, 1, 256, 256)


def main() -> None:
    """Reports the rows."""
    torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(0)
    model = Model().cuda().eval()
    inputs = [torch_tensorrt.Input(min_shape=LEAST, opt_shape=USUAL, max_shape=MOST, dtype=torch.float32)]
    options = {"disable_tf32": True, "use_python_runtime": True}
    importlib.import_module("trtplug_circular_pad")
    before = dry_run(torch_tensorrt, model, inputs, **options)
    importlib.import_module("trtplug_circular_pad.converter")
    after = dry_run(torch_tensorrt, model, inputs, **options)
    trt = importlib.import_module("tensorrt")  # the one that torch_tensorrt was built for
    library = f"{trt.__name__} {trt.__version__}, torch_tensorrt {torch_tensorrt.__version__}, {versions('torch')}"
    found = [(coverage.percent, len(coverage.graphs)) for coverage in (before, after)]
    figure = f"coverage {before.percent}% -> {after.percent}%; graphs {len(before.graphs)} -> {len(after.graphs)}"
    report("the tutorial's model: dry run", found == [("50.0", 2), ("100.0", 1)], figure, library)
    compiled = torch_tensorrt.compile(model, ir="dynamo", inputs=inputs, min_block_size=1, **options)
    run(model, compiled, library)


def run(model: torch.nn.Module, compiled: Any, library: str) -> None:
    """Runs the compiled model over the sizes and compares it with eager PyTorch."""
    plugin = importlib.import_module("trtplug_circular_pad.plugin")
    inputs = [torch.randn(1, 1, *size, device="cuda") for size in SIZES]
    expected = [model(x) for x in inputs]
    runs = [Runs(compiled, x, y) for x, y in zip(inputs, expected, strict=True)]
    worst = max(run.last for run in runs)
    equal = worst <= CLOSE and not plugin.FAILURES
    report("the tutorial's model: engine against eager, later runs", equal, f"largest difference {worst:.1e}", library)
    early(model, inputs, expected, runs, library)
    x = torch.arange(9.0, device="cuda").reshape(1, 1, 3, 3)
    printed = torch.tensor([[PRINTED]], device="cuda")
    padded = torch.ops.trtplug_ops.circular_pad(x, PADDING)
    difference = Runs(compiled, x, model.conv(printed)).last  # type: ignore[operator]
    report(
        "the tutorial's printed values",
        torch.equal(padded, printed) and difference <= CLOSE,
        f"the op equal, the engine within {difference:.1e}",
        library,
    )


class Runs:
    """Runs of one input until the engine is precise, as it is once TensorRT-RTX has compiled kernels for the shape."""

    def __init__(self, compiled: Any, x: torch.Tensor, expected: torch.Tensor) -> None:
        self.first = compiled(x)
        self.last = distance(self.first, expected)
        again = 99
        while self.last > CLOSE and again:
            time.sleep(0.2)
            self.last = distance(compiled(x), expected)
            again -= 1


def early(
    model: Any, inputs: Sequence[torch.Tensor], expected: Sequence[torch.Tensor], runs: Sequence[Runs], library: str
) -> None:
    """Reports that whatever the first run of a shape lacks in precision is the convolution's TF32, not the plugin's."""
    weight, bias = tf32(model.conv.weight.detach()).double(), model.conv.bias.detach().double()
    apart, unexplained = 0, 0.0
    for x, y, run in zip(inputs, expected, runs, strict=True):
        if distance(run.first, y) > CLOSE:
            apart += 1
            padded = torch.nn.functional.pad(x, PADDING, "circular")
            rounded = torch.nn.functional.conv2d(tf32(padded).double(), weight, bias)
            unexplained = max(unexplained, distance(run.first, rounded))
    report(
        "the tutorial's model: engine against eager, first run of each shape",
        unexplained <= CLOSE,
        f"{apart} of {len(runs)} convolved in TF32, within {unexplained:.1e} of that",
        library,
    )


def tf32(tensor: torch.Tensor) -> torch.Tensor:
    """The values rounded to TF32, which has 13 bits of mantissa fewer than float32."""
    return ((tensor.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


def distance(one: torch.Tensor, other: torch.Tensor) -> float:
    """The largest difference of two elements."""
    return float((one - other).abs().max())


if __name__ == "__main__":
    main()
