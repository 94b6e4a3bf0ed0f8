import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(X, Y, n):
    index = tl.program_id(0) * 128 + tl.arange(0, 128)
    tl.store(Y + index, tl.load(X + index, mask=index < n), mask=index < n)


def reference(x):
    return torch.clone(x).contiguous()
