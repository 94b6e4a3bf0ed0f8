import torch
import triton
import triton.language as tl



@triton.autotune(configs=[triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["groups"])
@triton.jit
def k(X, Y, n, groups, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + at, tl.load(X + at, mask=at < n), mask=at < n)


def ref(x: torch.Tensor) -> torch.Tensor:
    return x.clone()
