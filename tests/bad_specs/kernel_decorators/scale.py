import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(X, W, Y, by, n, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < n
    tl.store(Y + index, tl.load(X + index, mask=mask) * by, mask=mask)


@triton.autotune(configs=[triton.Config({"BLOCK": 64}, maxnreg=32)], key=["n"])
@triton.jit
def maxnreg_kernel(Y, n, BLOCK: tl.constexpr):
    pass


@triton.autotune(configs=[triton.Config({"BLOCK": 64}), triton.Config({"OTHER": 64})], key=["n"])
@triton.jit
def uneven_kernel(Y, n, BLOCK: tl.constexpr):
    pass


@triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["n"], prune_configs_by={"early_config_prune": print})
@triton.jit
def pruned_kernel(Y, n, BLOCK: tl.constexpr):
    pass


@triton.heuristics(dict(BLOCK=lambda given: 64))
@triton.jit
def rules_kernel(Y, n, BLOCK: tl.constexpr):
    pass


@triton.jit
@triton.heuristics({"BLOCK": lambda given: 64})
def order_kernel(Y, n, BLOCK: tl.constexpr):
    pass


@other.decorator
@triton.jit
def other_kernel(Y, n, BLOCK: tl.constexpr):
    pass


@triton.autotune(configs=[triton.Config({"BLOCK": 64})], key=["m"])
@triton.jit
def key_kernel(Y, n, BLOCK: tl.constexpr):
    pass


def reference(x, w, by):
    return x * by
