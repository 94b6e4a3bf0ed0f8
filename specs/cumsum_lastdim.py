"""Running sums of rows."""

import torch
import triton
import triton.language as tl


@triton.jit
def totals_kernel(
    X,
    Totals,
    columns,
    others,  # segments of a row but for its last, whose total nobody needs
    length,  # of a segment, a multiple of BLOCK
    BLOCK: tl.constexpr,
):
    """One program adds up one segment of one row."""
    program = tl.program_id(0)
    row = (program // others).to(tl.int64)
    first = (program % others).to(tl.int64) * length
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, length, BLOCK):
        column = first + start + tl.arange(0, BLOCK)
        total += tl.load(X + row * columns + column, mask=column < columns, other=0.0).to(tl.float32)
    tl.store(Totals + program, tl.sum(total, axis=0))


@triton.jit
def cumsum_kernel(
    X,
    Totals,
    Y,
    rows,
    columns,
    segments,  # of a row
    length,
    SEGMENTS: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One program serves one segment of ROWS rows, BLOCK columns at a time, and begins with the totals before it."""
    program = tl.program_id(0)
    segment = program % segments
    row = (program // segments).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    in_rows = (row < rows)[:, None]
    carry = tl.zeros([ROWS], tl.float32)
    if SEGMENTS > 1:
        other = tl.arange(0, SEGMENTS)[None, :]
        before = in_rows & (other < segment)
        carry = tl.sum(tl.load(Totals + row[:, None] * (segments - 1) + other, mask=before, other=0.0), axis=1)
    first = segment.to(tl.int64) * length
    lane = tl.arange(0, BLOCK)[None, :]
    for start in range(0, length, BLOCK):
        column = first + start + lane
        mask = in_rows & (column < columns)
        x = tl.load(X + row[:, None] * columns + column, mask=mask, other=0.0).to(tl.float32)
        y = carry[:, None] + tl.cumsum(x, axis=1)
        tl.store(Y + row[:, None] * columns + column, y.to(Y.dtype.element_ty), mask=mask)
        # The last of the running sums. Adding up x again would cost as much, and Triton 3.7 fails to compile it.
        carry = tl.sum(tl.where(lane == BLOCK - 1, y, 0.0), axis=1)


def reference(x: torch.Tensor) -> torch.Tensor:
    """Adds in float64 and rounds once, so that all error is the kernel's."""
    return x.double().cumsum(-1).to(x.dtype)
