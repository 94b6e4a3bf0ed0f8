"""Sliding patches of images as columns."""

import torch
import triton
import triton.language as tl


# Unspecialised, so that it has a type also where it is 1.
@triton.jit(do_not_specialize=["rows"])
def unfold_kernel(
    X,
    Y,
    rows,  # of all images of Y: one for each channel and element of a patch
    places,  # columns of Y: where a patch may lie
    height,
    width,
    out_width,  # places beside each other
    stride_h,
    stride_w,
    padding_h,
    padding_w,
    dilation_h,
    dilation_w,
    blocks,  # of places
    KERNEL_H: tl.constexpr,
    KERNEL_W: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One program fills ROWS rows by BLOCK columns of Y. It divides once a row and a column, never once an element."""
    program = tl.program_id(0)
    # What lies beyond the last row or column may overflow these types, and is then negative.
    row = (program // blocks).to(rows.dtype) * ROWS + tl.arange(0, ROWS)
    place = (program % blocks) * BLOCK + tl.arange(0, BLOCK)
    mask = ((row >= 0) & (row < rows))[:, None] & ((place >= 0) & (place < places))[None, :]

    # The pixel is at the sum of what the row and what the column say.
    dy = row // KERNEL_W % KERNEL_H * dilation_h - padding_h
    dx = row % KERNEL_W * dilation_w - padding_w
    y = place // out_width * stride_h
    x = place % out_width * stride_w
    inside_y = (y[None, :] + dy[:, None] >= 0) & (y[None, :] + dy[:, None] < height)
    inside_x = (x[None, :] + dx[:, None] >= 0) & (x[None, :] + dx[:, None] < width)
    channel = (row // (KERNEL_H * KERNEL_W)).to(tl.int64)
    source = ((channel * height + dy) * width + dx)[:, None] + (y.to(tl.int64) * width + x)[None, :]
    values = tl.load(X + source, mask=mask & inside_y & inside_x, other=0.0)
    tl.store(Y + row.to(tl.int64)[:, None] * places + place[None, :], values, mask=mask)


def reference(
    x: torch.Tensor, kernel_size: list[int], stride: list[int], padding: list[int], dilation: list[int]
) -> torch.Tensor:
    """One slice of the padded images for each element of a patch."""
    padded = torch.nn.functional.pad(x, (padding[1], padding[1], padding[0], padding[0]))
    extent = [dilation[i] * (kernel_size[i] - 1) for i in range(2)]  # from the first to the last element of a patch
    last = [padded.shape[-2 + i] - extent[i] for i in range(2)]
    slices = [
        padded[..., dy : last[0] + dy : stride[0], dx : last[1] + dx : stride[1]]
        for dy in range(0, extent[0] + 1, dilation[0])
        for dx in range(0, extent[1] + 1, dilation[1])
    ]
    return torch.stack(slices, dim=-3).flatten(-2).flatten(-3, -2)
