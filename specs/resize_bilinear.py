"""Bilinear resizing of images."""

from decimal import Decimal

import torch
import triton
import triton.language as tl


# Unspecialised, so that it has a type also where it is 1.
@triton.jit(do_not_specialize=["rows"])
def resize_bilinear_kernel(
    X,
    Y,
    rows,  # of all images of Y
    height,
    width,
    out_height,
    out_width,
    scale_h,
    scale_w,
    blocks,  # of columns
    ALIGN_CORNERS: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One program fills ROWS rows by BLOCK columns of Y. Positions are found once a row and a column, never a pixel."""
    program = tl.program_id(0)
    # What lies beyond the last row or column may overflow these types, and is then negative.
    row = (program // blocks).to(rows.dtype) * ROWS + tl.arange(0, ROWS)
    column = (program % blocks) * BLOCK + tl.arange(0, BLOCK)
    mask = ((row >= 0) & (row < rows))[:, None] & ((column >= 0) & (column < out_width))[None, :]

    top, bottom, down = _between(row % out_height, height, out_height, scale_h, ALIGN_CORNERS)
    left, right, across = _between(column, width, out_width, scale_w, ALIGN_CORNERS)
    first = (row // out_height).to(tl.int64) * height
    upper, lower = ((first + top) * width)[:, None], ((first + bottom) * width)[:, None]
    left, right, across, down = left[None, :], right[None, :], across[None, :], down[:, None]
    a = tl.load(X + upper + left, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(X + upper + right, mask=mask, other=0.0).to(tl.float32)
    c = tl.load(X + lower + left, mask=mask, other=0.0).to(tl.float32)
    d = tl.load(X + lower + right, mask=mask, other=0.0).to(tl.float32)
    y = (1 - down) * ((1 - across) * a + across * b) + down * ((1 - across) * c + across * d)
    tl.store(Y + row.to(tl.int64)[:, None] * out_width + column[None, :], y.to(Y.dtype.element_ty), mask=mask)


@triton.jit
def _between(index, size, out_size, scale, ALIGN_CORNERS: tl.constexpr):
    """The two indices of X that an index of Y lies between, and how far it is from the first to the second."""
    index = index.to(tl.float32)
    # Rounded as IEEE says, since the error of the usual fast division grows with the position.
    if ALIGN_CORNERS:
        position = tl.div_rn(index * (size - 1), tl.maximum(out_size - 1, 1).to(tl.float32))
    else:
        position = tl.maximum(tl.div_rn(index + 0.5, scale) - 0.5, 0.0)
    low = tl.minimum(position.to(tl.int32), size - 1)
    return low, tl.minimum(low + 1, size - 1), position - low.to(tl.float32)


def reference(x: torch.Tensor, scale_h: float, scale_w: float, align_corners: bool = False) -> torch.Tensor:
    """Resizes one dimension after the other, in float32, and rounds once."""
    y = x.float()
    for dim, scale in ((3, scale_w), (2, scale_h)):
        size = x.shape[dim]
        out_size = _scaled(size, scale)
        index = torch.arange(out_size, dtype=torch.float32, device=x.device)
        if align_corners:
            position = index * (size - 1) / torch.full_like(index, max(out_size - 1, 1))
        else:
            position = ((index + 0.5) / torch.full_like(index, scale) - 0.5).clamp(min=0)
        low = position.long().clamp(max=size - 1)
        high = (low + 1).clamp(max=size - 1)
        weight = (position - low).unflatten(0, (-1,) + (1,) * (3 - dim))
        y = (1 - weight) * y.index_select(dim, low) + weight * y.index_select(dim, high)
    return y.to(x.dtype)


def _scaled(size: int, scale: float) -> int:
    """The size times the factor, rounded down: ten times 0.7 is seven, which binary fractions do not promise."""
    return int(size * Decimal(repr(scale)))
