import triton
import triton.language as tl


@triton.jit
def scale_kernel(X, Y, n, factor, MODE: tl.constexpr):
    index = tl.program_id(0) * 128 + tl.arange(0, 128)
    y = tl.load(X + index, mask=index < n) * factor
    if MODE == "negative":
        y = -y
    tl.store(Y + index, y, mask=index < n)


def reference(x, factor, mode="plain"):
    return x * (-factor if mode == "negative" else factor)
