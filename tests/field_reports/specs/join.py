import torch
import triton
import triton.language as tl


@triton.jit
def join_kernel(A, B, Joined, Sums, rows, more, columns, BLOCK: tl.constexpr):
    column = tl.program_id(0)
    row = tl.arange(0, BLOCK)
    first = tl.load(A + row * columns + column, mask=row < rows, other=0.0)
    second = tl.load(B + (row - rows) * columns + column, mask=(row >= rows) & (row < rows + more), other=0.0)
    tl.store(Joined + row * columns + column, first + second, mask=row < rows + more)
    tl.store(Sums + column, tl.sum(first + second, axis=0))


def reference(a, b):
    joined = torch.cat([a, b])
    return joined, joined.sum(0)
