# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def row_pointers(base, row, stride, BLOCK: tl.constexpr):
    return base + row * stride + tl.arange(0, BLOCK)


@triton.jit
def read_row(base, row, stride, n, BLOCK: tl.constexpr):
    return tl.load(row_pointers(base, row, stride, BLOCK), mask=tl.arange(0, BLOCK) < n, other=0.0)


@triton.jit
def write_row(base, row, stride, n, values, BLOCK: tl.constexpr):
    tl.store(row_pointers(base, row, stride, BLOCK), values, mask=tl.arange(0, BLOCK) < n)
