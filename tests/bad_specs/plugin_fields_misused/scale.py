import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(X, Y, by, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    tl.store(Y + index, tl.load(X + index, mask=mask) * by, mask=mask)


def reference(x: torch.Tensor, by: int) -> torch.Tensor:
    return x * by
