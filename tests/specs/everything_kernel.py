import triton
import triton.language as tl


@triton.jit
def everything_kernel(
    columns,
    x_ptr,
    alpha,
    beta,
    w_ptr,
    y_ptr,
    rows,
    shift,
    sign_ptr,
    signs,
    factor,
    REPEAT: tl.constexpr,
    MODE: tl.constexpr,
    NEGATE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = column < columns
    x = tl.load(x_ptr + row * columns + column, mask=mask & (row < rows), other=0.0).to(tl.float32)
    w = tl.load(w_ptr + column, mask=mask)
    y = (x * alpha + w * beta + shift) * factor
    if NEGATE:
        y = -y
    if MODE == "relu":
        y = tl.where(y < 0, 0.0, y)
    for i in range(REPEAT):
        tl.store(y_ptr + (row * REPEAT + i) * columns + column, y.to(y_ptr.dtype.element_ty), mask=mask)
    tl.store(sign_ptr + row * columns + column, column, mask=mask & (row * columns + column < signs))
    if row == 0:
        rest = tl.num_programs(0) * columns
        while rest < signs:
            index = rest + tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
            tl.store(sign_ptr + index, tl.program_id(1) * BLOCK + tl.arange(0, BLOCK), mask=mask & (index < signs))
            rest += columns
