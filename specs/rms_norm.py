"""RMS normalisation of the last dimension: x / sqrt(mean(x * x) + eps) * weight."""

import torch
import triton
import triton.language as tl


# `rows` only bounds a mask: unspecialised, one compiled kernel serves every batch. `n` is specialised, since rows whose
# length is a multiple of 16 are loaded in wide pieces.
@triton.jit(do_not_specialize=["rows"])
def rms_norm_kernel(
    X,
    W,  # None: no weight
    Y,
    rows,
    n,  # elements in a row
    eps,
    COLUMNS: tl.constexpr,
    ROWS: tl.constexpr,
    ONE_BLOCK: tl.constexpr,  # n <= COLUMNS
):
    """One program normalises ROWS rows, each held in registers if it is of one block."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    first = row * n
    if ONE_BLOCK:
        mask = (row < rows)[:, None] & (column < n)[None, :]
        offset = first[:, None] + column[None, :]
        x = tl.load(X + offset, mask=mask, other=0.0).to(tl.float32)
        y = x * tl.rsqrt(tl.sum(x * x, axis=1) / n + eps)[:, None]
        tl.store(Y + offset, _weighted(y, W, column, column < n), mask=mask)
    else:
        squares = tl.zeros([ROWS, COLUMNS], tl.float32)
        for start in range(0, n.to(tl.int64), COLUMNS):
            mask = (row < rows)[:, None] & (column < n - start)[None, :]
            x = tl.load(X + (first + start)[:, None] + column[None, :], mask=mask, other=0.0).to(tl.float32)
            squares += x * x
        scale = tl.rsqrt(tl.sum(squares, axis=1) / n + eps)[:, None]
        for start in range(0, n.to(tl.int64), COLUMNS):
            mask = (row < rows)[:, None] & (column < n - start)[None, :]
            offset = (first + start)[:, None] + column[None, :]
            y = tl.load(X + offset, mask=mask, other=0.0).to(tl.float32) * scale
            tl.store(Y + offset, _weighted(y, W, start + column, column < n - start), mask=mask)


@triton.jit
def _weighted(y, W, column, mask):
    """A block times the weights of its columns, if there are any."""
    if W is not None:
        y *= tl.load(W + column, mask=mask, other=0.0).to(tl.float32)[None, :]
    return y


def reference(x: torch.Tensor, weight: torch.Tensor | None = None, eps: float = 1e-6) -> torch.Tensor:
    """In float32, rounded once at the end."""
    y = x.float()
    y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + eps)
    if weight is not None:
        y = y * weight.float()
    return y.to(x.dtype)
