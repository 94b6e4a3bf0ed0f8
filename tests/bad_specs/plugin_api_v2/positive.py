import triton
import triton.language as tl  # noqa: F401


@triton.jit
def positive_kernel(X, Seen, Y, Count): ...


def reference(x, seen): ...
