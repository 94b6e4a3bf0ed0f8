import triton
import triton.language as tl


@triton.jit
def attributes_kernel(
    X,
    Y,
    n,
    shift,
    gain,
    bias,
    floor,
    ceiling,
    NEGATE: tl.constexpr,
    KEEP: tl.constexpr,
    TWICE: tl.constexpr,
    RIGHT: tl.constexpr,
):
    index = tl.program_id(0) * 128 + tl.arange(0, 128)
    y = tl.load(X + index, mask=index < n) * gain + bias + shift
    if NEGATE:
        y = -y
    if TWICE:
        y = 2 * y
    if RIGHT:
        y = y + 1
    if KEEP:
        y = tl.minimum(tl.maximum(y, floor), ceiling)
    tl.store(Y + index, y, mask=index < n)


def reference(x, i, offsets, table, gain, bias, negate, keep, mode, side, j, k, m, floor, ceiling):
    y = x * gain + bias + (i + j + k + m + sum(offsets) + len(table))
    y = -y if negate else y
    y = 2 * y if mode == "twice" else y
    y = y + 1 if side == "right" else y
    return (y.clamp(floor, ceiling) if keep else y).contiguous()
