"""int8 to floats: (x - zero_point) * scale, per tensor, per channel or per token."""

import torch
import triton
import triton.language as tl


# `rows` only bounds a mask: unspecialised, one compiled kernel serves every batch. `columns` is specialised, since rows
# whose length is a multiple of 16 are loaded in wide pieces.
@triton.jit(do_not_specialize=["rows"])
def dequantize_kernel(
    X,
    S,
    Z,  # None: zero points are 0
    Y,
    rows,
    columns,
    blocks,  # column blocks in a row
    scales,
    COLUMNS: tl.constexpr,
    ROWS: tl.constexpr,
    BY_ROW: tl.constexpr,  # a row shares a scale, and scales repeat every so many rows; otherwise a column does
):
    """One program makes ROWS rows by COLUMNS columns."""
    program = tl.program_id(0)
    row = (program // blocks).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    start = (program % blocks).to(tl.int64) * COLUMNS
    column = tl.arange(0, COLUMNS)
    in_rows, in_columns = row < rows, column < columns - start
    mask = in_rows[:, None] & in_columns[None, :]
    offset = (row * columns + start)[:, None] + column[None, :]
    x = tl.load(X + offset, mask=mask, other=0).to(tl.float32)
    if BY_ROW:
        zero, scale = _parameters(Z, S, row % scales, in_rows)
        y = (x - zero[:, None]) * scale[:, None]
    else:
        zero, scale = _parameters(Z, S, start + column, in_columns)
        y = (x - zero[None, :]) * scale[None, :]
    tl.store(Y + offset, y, mask=mask)


@triton.jit
def _parameters(Z, S, which, mask):
    """The zero points and the scales of rows or columns."""
    scale = tl.load(S + which, mask=mask, other=0.0)
    zero = tl.load(Z + which, mask=mask, other=0).to(tl.float32) if Z is not None else tl.zeros_like(scale)
    return zero, scale


def reference(
    x: torch.Tensor, scale: torch.Tensor, zero_point: torch.Tensor | None, axis: int, dtype: torch.dtype
) -> torch.Tensor:
    """By broadcasting, in float32, rounded once at the end."""
    if scale.numel() == 1:
        shape = [1] * x.ndim
    elif scale.ndim == 1:
        shape = [1] * x.ndim
        shape[axis] = x.shape[axis]
    else:
        shape = [*x.shape[:-1], 1]
    y = x.float()
    if zero_point is not None:
        y = y - zero_point.float().view(shape)
    return (y * scale.view(shape)).to(dtype)
