import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": block}, num_warps=2) for block in (32, 128)], key=["n"])
@triton.jit
def histogram_kernel(Index, Counts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(Index + at, mask=at < n, other=0)
    tl.atomic_add(Counts + index, tl.full((BLOCK,), 1, tl.int32), mask=at < n)


def reference(index, bins):
    return torch.bincount(index, minlength=bins).int()
