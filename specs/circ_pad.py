"""Circular padding: each padded dimension continues from its other end."""

import torch
import triton
import triton.language as tl

# The sizes change with every input and their divisibility buys nothing here, since rows begin at odd offsets:
# unspecialised, one compiled kernel serves every shape.
_SIZES = ["s0", "s1", "s2", "n0", "n1", "n2", "n3", "p0", "p1", "p2", "p3", "m1", "m2", "m3", "start", "rows", "blocks"]


@triton.jit(do_not_specialize=_SIZES)
def circ_pad_kernel(
    X,
    Y,
    s0,  # strides of X in elements; its last dimension is dense
    s1,
    s2,
    n0,  # sizes of the kept part of X
    n1,
    n2,
    n3,
    p0,  # elements added before it
    p1,
    p2,
    p3,
    m1,  # sizes of Y
    m2,
    m3,
    start,  # offset in X of the first kept element
    rows,  # m0 * m1 * m2
    blocks,  # column blocks in a row
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """One program fills ROWS rows by BLOCK columns of Y. It divides once a row, never once an element."""
    program = tl.program_id(0)
    # In the type of the size that bounds them, mostly int32, which divides far faster than int64. What lies beyond the
    # last row or column may overflow that type, and is then negative.
    row = (program // blocks).to(rows.dtype) * ROWS + tl.arange(0, ROWS)
    column = (program % blocks).to(m3.dtype) * BLOCK + tl.arange(0, BLOCK)
    mask = ((row >= 0) & (row < rows))[:, None] & ((column >= 0) & (column < m3))[None, :]
    outer = row // m2
    source = start + _source(outer // m1, p0, n0, s0) + _source(outer % m1, p1, n1, s1) + _source(row % m2, p2, n2, s2)
    values = tl.load(X + source[:, None] + _wrap(column, p3, n3)[None, :], mask=mask)
    tl.store(Y + row.to(tl.int64)[:, None] * m3 + column[None, :], values, mask=mask)


@triton.jit
def _source(index, before, size, stride):
    """The offset in X of an index of one dimension of Y."""
    return _wrap(index, before, size).to(tl.int64) * stride


@triton.jit
def _wrap(index, before, size):
    """Maps an index of y to one of x; at most one turn, which the checks of the spec ensure."""
    index = index - before
    index = tl.where(index < 0, index + size, index)
    return tl.where(index >= size, index - size, index)


def reference(x: torch.Tensor, padding: list[int]) -> torch.Tensor:
    """Index arithmetic in plain PyTorch: any rank, any number of padded dimensions, negative padding crops first."""
    for i in range(len(padding) // 2):
        dim = x.ndim - 1 - i
        before, after = padding[2 * i], padding[2 * i + 1]
        kept = x.narrow(dim, max(-before, 0), x.shape[dim] - max(-before, 0) - max(-after, 0))
        before, after = max(before, 0), max(after, 0)
        size = kept.shape[dim]
        index = torch.arange(-before, size + after, device=x.device)
        x = kept.index_select(dim, index % size if size else index)
    return x
