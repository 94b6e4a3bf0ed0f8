import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(A, B, C, D, E, F, X, Y, n, stride, rank, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    x = tl.load(X + index, mask=mask)
    tl.store(A + index, x, mask=mask)
    tl.store(B + index * stride, x, mask=mask)
    tl.store(C + index * rank, x, mask=mask)
    tl.store(D + index, x, mask=mask)
    tl.store(E + index, x, mask=mask)
    tl.store(F, 1.0)
    tl.store(Y + index, x, mask=mask)


def reference(*given: torch.Tensor) -> torch.Tensor:
    return given[-1]
