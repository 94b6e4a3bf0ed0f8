import triton
import triton.language as tl


@triton.jit
def race_kernel(X, Y, n):
    at = tl.program_id(0)
    tl.store(Y, tl.load(X + at, mask=at < n, other=0.0))


def reference(x):
    return x[-1:].clone()
