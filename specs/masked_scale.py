"""x * scale where the mask holds, fill elsewhere."""

import torch
import triton
import triton.language as tl


@triton.jit
def masked_scale_kernel(
    X,
    Mask,
    Y,
    rows,  # how often x repeats the mask
    columns,  # elements of the mask
    scale,
    fill,
    blocks,  # of columns
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One program serves ROWS rows by BLOCK columns of Y, and reads their part of the mask once."""
    program = tl.program_id(0)
    row = (program // blocks).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = (program % blocks).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    in_row = column < columns
    keep = tl.load(Mask + column, mask=in_row, other=0) != 0
    offset = row[:, None] * columns + column[None, :]
    inside = (row < rows)[:, None] & in_row[None, :]
    # Reads what is hidden too: a mask that differs from element to element would split the loads into single elements.
    x = tl.load(X + offset, mask=inside, other=0.0).to(tl.float32)
    y = tl.where(keep[None, :], x * scale, fill)
    tl.store(Y + offset, y.to(Y.dtype.element_ty), mask=inside)


def reference(x: torch.Tensor, mask: torch.Tensor, scale: float = 1.0, fill: float = 0.0) -> torch.Tensor:
    """Computes in float32 and rounds once, as the kernel does."""
    return torch.where(mask, x.float() * scale, fill).to(x.dtype)
