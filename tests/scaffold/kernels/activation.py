# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def fused_bias_act(
    x, bias, residual, y, size, n_cols, negative_slope: tl.constexpr, USE_RESIDUAL: tl.constexpr, ACT: tl.constexpr,
    APPROXIMATE: tl.constexpr, BLOCK: tl.constexpr = 256
):  # fmt: skip
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < size)
    if bias is not None:
        v += tl.load(bias + i % n_cols, mask=i < size)
    if USE_RESIDUAL:
        v += tl.load(residual + i, mask=i < size)
    if ACT == "relu":
        v = tl.maximum(v, 0.0)
    elif ACT == "leaky":
        v = tl.where(v > 0, v, v * negative_slope)
    if APPROXIMATE:
        v = v * 1.0
    tl.store(y + i, v, mask=i < size)
