import triton
import triton.language as tl  # noqa: F401  (Triton's interpreter looks for it)


@triton.jit
def mean(whole, count):
    return whole / count
