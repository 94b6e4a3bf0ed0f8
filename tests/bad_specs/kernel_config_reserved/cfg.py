import torch
import triton
import triton.language as tl



@triton.autotune(configs=[triton.Config({"config": 16}), triton.Config({"config": 32})], key=["n"])
@triton.jit
def k(X, Y, n, config: tl.constexpr):
    at = tl.program_id(0) * config + tl.arange(0, config)
    tl.store(Y + at, tl.load(X + at, mask=at < n), mask=at < n)


def ref(x, *rest):
    return x.clone()
