import triton
import triton.language as tl


@triton.jit
def kinds_kernel(
    X,
    W,
    Mask,
    Y,
    Positive,
    Code,
    elements,
    columns,
    wide,
    masked,
    number,
    bonus,
    FLAG: tl.constexpr,
    MODE: tl.constexpr,
    LABEL: tl.constexpr,
    GIVEN: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    source = (row * columns + column) % elements
    y = tl.load(X + source, mask=column < columns, other=0.0).to(tl.float32)
    tl.store(Positive + row * columns + column, y > 0, mask=column < columns)
    tl.store(Code + row, row - number % 50)
    if W is not None:
        y *= tl.load(W + column, mask=column < columns, other=0.0).to(tl.float32)
    if Mask is not None:
        keep = tl.load(Mask + source % masked, mask=column < columns, other=0) != 0
        y = tl.where(keep, y, -2.0)
    if MODE == "tanh":
        y = 1.0 - 2.0 / (tl.exp(2.0 * y) + 1.0)
    elif MODE == "":
        y = 2.0 * y
    elif MODE == "two  words":
        y = 3.0 * y
    if not FLAG:
        y = -y
    if LABEL == "tanh":
        y += 1.0
    if not GIVEN:
        y += 2.0
    y = y + bonus + number % 50
    tl.store(Y + row * wide + column, y.to(Y.dtype.element_ty), mask=column < wide)
