"""Softmax of the last dimension; of rows longer than a block, the online form."""

import torch
import triton
import triton.language as tl


# `rows` only bounds a mask: unspecialised, one compiled kernel serves every batch. `n` is specialised, since rows whose
# length is a multiple of 16 are loaded in wide pieces.
@triton.jit(do_not_specialize=["rows"])
def softmax_kernel(
    X,
    Y,
    rows,
    n,  # elements in a row
    COLUMNS: tl.constexpr,
    ROWS: tl.constexpr,
    ONE_BLOCK: tl.constexpr,  # n <= COLUMNS
):
    """One program makes ROWS rows, each held in registers if it is of one block."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    first = row * n
    if ONE_BLOCK:
        mask = (row < rows)[:, None] & (column < n)[None, :]
        offset = first[:, None] + column[None, :]
        x = tl.load(X + offset, mask=mask, other=-float("inf")).to(tl.float32)
        e = tl.exp(x - tl.max(x, axis=1)[:, None])
        tl.store(Y + offset, e * (1.0 / tl.sum(e, axis=1))[:, None], mask=mask)
    else:
        largest = tl.full([ROWS], -float("inf"), tl.float32)
        sums = tl.zeros([ROWS, COLUMNS], tl.float32)  # added up after the loop: one reduction a block is enough
        for start in range(0, n.to(tl.int64), COLUMNS):
            mask = (row < rows)[:, None] & (column < n - start)[None, :]
            offset = (first + start)[:, None] + column[None, :]
            x = tl.load(X + offset, mask=mask, other=-float("inf")).to(tl.float32)
            grown = tl.maximum(largest, tl.max(x, axis=1))
            # While all that was read is -inf, so is the maximum, and -inf minus itself is NaN.
            base = tl.where(grown == -float("inf"), 0.0, grown)
            sums = sums * tl.exp(largest - base)[:, None] + tl.exp(x - base[:, None])
            largest = grown
        scale = 1.0 / tl.sum(sums, axis=1)
        for start in range(0, n.to(tl.int64), COLUMNS):
            mask = (row < rows)[:, None] & (column < n - start)[None, :]
            offset = (first + start)[:, None] + column[None, :]
            x = tl.load(X + offset, mask=mask, other=-float("inf")).to(tl.float32)
            tl.store(Y + offset, tl.exp(x - largest[:, None]) * scale[:, None], mask=mask)


def reference(x: torch.Tensor) -> torch.Tensor:
    """In float32, rounded once at the end."""
    return torch.softmax(x, -1, dtype=torch.float32).to(x.dtype)
