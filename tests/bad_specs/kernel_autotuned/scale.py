import torch
import triton
import triton.language as tl


def _sizes():
    return [64, 128]


@triton.autotune(configs=[triton.Config({"BLOCK": size}) for size in _sizes()], key=["m"])
@triton.heuristics({"EVEN": lambda given: given["n"] % 2 == 0, "BLOCK": lambda given: 64})
@triton.jit
def scale_kernel(X, Y, by, n, *rest, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    tl.store(Y + index, tl.load(X + index, mask=mask) * by, mask=mask)


def reference(x: torch.Tensor, by: int) -> torch.Tensor:
    return x * by
