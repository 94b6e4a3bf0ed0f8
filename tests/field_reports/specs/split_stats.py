import torch
import triton
import triton.language as tl


@triton.jit
def split_stats_kernel(X, Doubled, Sums, Ends, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(X + row * columns + column, mask=mask, other=0.0)
    tl.store(Doubled + row * columns + column, 2 * x, mask=mask)
    tl.store(Sums + row, tl.sum(x, axis=0))
    tl.store(Ends + 2 * row, tl.min(tl.where(mask, x, float("inf")), axis=0))
    tl.store(Ends + 2 * row + 1, tl.max(tl.where(mask, x, -float("inf")), axis=0))


def reference(x):
    return (2 * x).contiguous(), x.sum(1), torch.stack([x.amin(1), x.amax(1)], 1)[:, None]
