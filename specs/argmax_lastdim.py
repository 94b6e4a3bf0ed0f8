"""The largest value of each row, and where it stands first."""

import torch
import triton
import triton.language as tl


@triton.jit
def argmax_kernel(
    X,
    Maxima,
    Indices,
    rows,
    columns,  # in 32 bits, which a check of the spec ensures
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One program reads ROWS rows, BLOCK columns at a time. Each lane keeps its best; they meet once, at the end."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    in_rows = row < rows
    lane = tl.arange(0, BLOCK)
    best = tl.full([ROWS, BLOCK], float("-inf"), tl.float32)
    place = tl.zeros([ROWS, BLOCK], tl.int32) + lane[None, :]
    for start in range(0, columns, BLOCK):
        column = start + lane
        mask = in_rows[:, None] & (column < columns)[None, :]
        x = tl.load(X + row[:, None] * columns + column[None, :], mask=mask, other=float("-inf")).to(tl.float32)
        # Not "x > best": NaN is larger than all numbers, and the first NaN stays.
        better = (best == best) & ((x <= best) == 0)
        best = tl.where(better, x, best)
        place = tl.where(better, column[None, :], place)
    is_nan = best != best
    any_nan = tl.max(is_nan.to(tl.int32), axis=1) != 0
    largest = tl.max(tl.where(is_nan, float("-inf"), best), axis=1)
    # Lanes beyond the last column hold -inf and the highest places, so that they win over no lane of the row.
    wins = tl.where(any_nan[:, None], is_nan, best == largest[:, None])
    index = tl.min(tl.where(wins, place, 2147483647), axis=1).to(tl.int64)
    # Read again, for its own bits: zero has two signs and NaN has many.
    tl.store(Maxima + row, tl.load(X + row * columns + index, mask=in_rows), mask=in_rows)
    tl.store(Indices + row, index, mask=in_rows)


def reference(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """torch says of max that it gives the first of equal values, and that NaN is the largest."""
    values, indices = torch.max(x, dim=-1)
    return values, indices
