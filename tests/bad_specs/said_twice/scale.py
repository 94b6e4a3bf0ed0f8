import torch
import triton
import triton.language as tl


@triton.autotune(configs=[triton.Config({"BLOCK": 64}, num_warps=2), triton.Config({"BLOCK": 256})], key=["n"])
@triton.jit
def scale_kernel(X, W, Y, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    tl.store(Y + index, tl.load(X + index, mask=mask) * tl.load(W + index, mask=mask), mask=mask)


def reference(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x * w
