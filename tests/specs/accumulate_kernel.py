import torch
import triton
import triton.language as tl


@triton.jit
def accumulate_kernel(X, Total, Weight, Sums, columns, decay, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(X + row * columns + column, mask=mask, other=0).to(tl.float32)
    if Weight is not None:
        x *= tl.load(Weight + column, mask=mask, other=0).to(tl.float32)
    total = tl.load(Total + row * columns + column, mask=mask, other=0).to(tl.float32) * decay + x
    tl.store(Total + row * columns + column, total.to(Total.dtype.element_ty), mask=mask)
    tl.store(Sums + row, tl.sum(total, axis=0))


@triton.jit
def sum_kernel(Sums, Y, rows, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, rows, BLOCK):
        row = first + tl.arange(0, BLOCK)
        total += tl.load(Sums + row, mask=row < rows, other=0)
    tl.store(Y, tl.sum(total, axis=0))


def reference(
    x: torch.Tensor, total: torch.Tensor, weight: torch.Tensor | None = None, decay: float = 0.9
) -> torch.Tensor:
    added = x.float() if weight is None else x.float() * weight.float()
    new = total.float() * decay + added
    total.copy_(new)
    return new.sum()
