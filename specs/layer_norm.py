"""Layer normalisation of the last dimension: (x - mean) / sqrt(variance + eps) * weight + bias."""

import torch
import triton
import triton.language as tl


# `rows` only bounds a mask: unspecialised, one compiled kernel serves every batch. `n` is specialised, since rows whose
# length is a multiple of 16 are loaded in wide pieces.
@triton.jit(do_not_specialize=["rows"])
def layer_norm_kernel(
    X,
    W,  # None: no weight
    B,  # None: no bias
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
        mean, squares = _statistics(x, mask, n)
        y = (x - mean[:, None]) * tl.rsqrt(squares / n + eps)[:, None]
        tl.store(Y + offset, _affine(y, W, B, column, column < n), mask=mask)
    else:
        mean = tl.zeros([ROWS], tl.float32)
        squares = tl.zeros([ROWS], tl.float32)
        for start in range(0, n.to(tl.int64), COLUMNS):
            mask = (row < rows)[:, None] & (column < n - start)[None, :]
            x = tl.load(X + (first + start)[:, None] + column[None, :], mask=mask, other=0.0).to(tl.float32)
            size = tl.minimum(n - start, COLUMNS)
            block_mean, block_squares = _statistics(x, mask, size)
            # Two sets of differences from their means become one (Chan, Golub and LeVeque).
            share = size / (start + size)
            change = block_mean - mean
            squares += block_squares + change * change * share * start
            mean += change * share
        scale = tl.rsqrt(squares / n + eps)
        for start in range(0, n.to(tl.int64), COLUMNS):
            mask = (row < rows)[:, None] & (column < n - start)[None, :]
            offset = (first + start)[:, None] + column[None, :]
            x = tl.load(X + offset, mask=mask, other=0.0).to(tl.float32)
            y = (x - mean[:, None]) * scale[:, None]
            tl.store(Y + offset, _affine(y, W, B, start + column, column < n - start), mask=mask)


@triton.jit
def _statistics(x, mask, size):
    """The mean of each row of a block, and the sum of squared differences from it; outside of the mask, x is 0."""
    mean = tl.sum(x, axis=1) / size
    difference = tl.where(mask, x - mean[:, None], 0.0)
    return mean, tl.sum(difference * difference, axis=1)


@triton.jit
def _affine(y, W, B, column, mask):
    """A block times the weights of its columns plus their biases, if there are any."""
    if W is not None:
        y *= tl.load(W + column, mask=mask, other=0.0).to(tl.float32)[None, :]
    if B is not None:
        y += tl.load(B + column, mask=mask, other=0.0).to(tl.float32)[None, :]
    return y


def reference(
    x: torch.Tensor, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None, eps: float = 1e-5
) -> torch.Tensor:
    """In float32, rounded once at the end."""
    y = x.float()
    y = y - y.mean(-1, keepdim=True)
    y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + eps)
    if weight is not None:
        y = y * weight.float()
    if bias is not None:
        y = y + bias.float()
    return y.to(x.dtype)
