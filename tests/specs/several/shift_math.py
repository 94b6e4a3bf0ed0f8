import triton
import triton.language as tl  # noqa: F401  (which the interpreter looks for in each file)


@triton.jit
def shifted(x, by):
    return x + by
