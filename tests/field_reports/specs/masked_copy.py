import torch
import triton
import triton.language as tl


@triton.jit
def masked_copy_kernel(X, Mask, Index, Y, Hit, n):
    at = tl.program_id(0) * 64 + tl.arange(0, 64)
    mask = tl.load(Mask + at, mask=at < n, other=0) != 0
    index = tl.load(Index + at, mask=at < n, other=0).to(tl.int32)
    hit = mask & (index >= 0)
    tl.store(Y + at, tl.load(X + index, mask=hit, other=0.0), mask=at < n)
    tl.store(Hit + at, hit, mask=at < n)


def reference(x, mask, index):
    hit = mask & (index >= 0)
    return torch.where(hit, x[index.clamp(min=0).long()], 0.0), hit
