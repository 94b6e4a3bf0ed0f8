import torch
import triton
import triton.language as tl



@triton.jit
def scale(X, Y, n, by, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + at, tl.load(X + at, mask=at < n) * by, mask=at < n)


def ref(x: torch.Tensor, scale: float) -> torch.Tensor:
    return x * scale
