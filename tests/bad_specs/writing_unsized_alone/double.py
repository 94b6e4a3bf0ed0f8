import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(X, n, BLOCK: tl.constexpr):
    index = tl.arange(0, BLOCK)
    mask = index < n
    tl.store(X + index, tl.load(X + index, mask=mask) * 2, mask=mask)


def reference(x: torch.Tensor, n: int) -> None:
    x *= 2
