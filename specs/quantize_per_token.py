"""Symmetric int8 quantisation, with a scale for each row of the last dimension."""

import torch
import torch.nn.functional as F
import triton
import triton.language as tl


# `rows` only bounds a mask: unspecialised, one compiled kernel serves every batch. `n` is specialised, since rows whose
# length is a multiple of 16 are loaded in wide pieces.
@triton.jit(do_not_specialize=["rows"])
def quantize_kernel(
    X,
    Y,
    S,
    rows,
    n,  # elements in a row
    COLUMNS: tl.constexpr,
    ROWS: tl.constexpr,
    ONE_BLOCK: tl.constexpr,  # n <= COLUMNS
):
    """One program quantises ROWS rows, each held in registers if it is of one block."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, COLUMNS)
    first = row * n
    if ONE_BLOCK:
        mask = (row < rows)[:, None] & (column < n)[None, :]
        offset = first[:, None] + column[None, :]
        x = tl.load(X + offset, mask=mask, other=0.0).to(tl.float32)
        scale = _scale(tl.max(tl.abs(x), axis=1))
        tl.store(Y + offset, _quantized(x, scale), mask=mask)
    else:
        largest = tl.zeros([ROWS, COLUMNS], tl.float32)
        for start in range(0, n.to(tl.int64), COLUMNS):
            mask = (row < rows)[:, None] & (column < n - start)[None, :]
            x = tl.load(X + (first + start)[:, None] + column[None, :], mask=mask, other=0.0).to(tl.float32)
            largest = tl.maximum(largest, tl.abs(x))
        scale = _scale(tl.max(largest, axis=1))
        for start in range(0, n.to(tl.int64), COLUMNS):
            mask = (row < rows)[:, None] & (column < n - start)[None, :]
            offset = (first + start)[:, None] + column[None, :]
            x = tl.load(X + offset, mask=mask, other=0.0).to(tl.float32)
            tl.store(Y + offset, _quantized(x, scale), mask=mask)
    tl.store(S + row, scale, mask=row < rows)


@triton.jit
def _scale(largest):
    """The scale of a row, 1 where it would be 0."""
    scale = tl.div_rn(largest, 127.0)
    return tl.where(scale == 0.0, 1.0, scale)


@triton.jit
def _quantized(x, scale):
    """x in units of its row's scale, rounded half to even."""
    units = tl.div_rn(x, scale[:, None])
    # At 1.5 * 2^23 floats are whole numbers, so that adding it rounds, and as IEEE does: half to even.
    rounded = (units + 12582912.0) - 12582912.0
    # A scale that is subnormal is itself rounded, so much that x may be above 127 of it.
    return tl.minimum(tl.maximum(rounded, -127.0), 127.0).to(tl.int8)


def reference(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """In float32; torch.round rounds half to even."""
    x = x.float()
    largest = F.pad(x.abs(), (0, 1)).amax(-1, keepdim=True)  # padded by a zero, since a row may have no elements
    # By a tensor: on CUDA torch divides by a number as it multiplies by its reciprocal, which rounds twice.
    scale = largest / largest.new_tensor(127.0)
    scale = torch.where(scale == 0, 1.0, scale)
    return torch.round(x / scale).clamp(-127, 127).to(torch.int8), scale
