import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(X, W, Y, by, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    tl.store(Y + index, tl.load(X + index, mask=mask) * by, mask=mask)


def reference(x, w, by):
    return x * by
