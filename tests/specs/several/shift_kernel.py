import triton
import triton.language as tl
from shift_math import shifted


@triton.jit
def shift_kernel(X, Y, n, by):
    index = tl.program_id(0) * 128 + tl.arange(0, 128)
    tl.store(Y + index, shifted(tl.load(X + index, mask=index < n), by), mask=index < n)
