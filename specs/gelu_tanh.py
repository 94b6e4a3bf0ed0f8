"""GELU of each element, by tanh or exact."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def gelu_kernel(X, Y, n, BLOCK: tl.constexpr, TANH: tl.constexpr):
    """One program makes BLOCK elements."""
    start = tl.program_id(0).to(tl.int64) * BLOCK
    index = tl.arange(0, BLOCK)
    mask = index < n - start
    x = tl.load(X + start + index, mask=mask, other=0.0).to(tl.float32)
    if TANH:
        # 2 * sqrt(2 / pi) = 1.59...; 0.5 * (1 + tanh(u)) = sigmoid(2 * u)
        y = x * tl.sigmoid(1.5957691216057308 * x * (1.0 + 0.044715 * x * x))
    else:
        y = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(Y + start + index, y, mask=mask)


def reference(x: torch.Tensor, approximate: str = "tanh") -> torch.Tensor:
    """In float32, rounded once at the end."""
    x, dtype = x.float(), x.dtype
    if approximate == "tanh":
        return F.gelu(x, approximate="tanh").to(dtype)
    # As it is defined: F.gelu's own exact form is fast rather than exact on CPUs.
    return (0.5 * x * (1 + torch.erf(x / 2**0.5))).to(dtype)
