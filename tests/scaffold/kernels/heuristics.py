# mypy: ignore-errors
import triton
import triton.language as tl


@triton.heuristics(
    {
        "HAS_BIAS": lambda args: args["bias_ptr"] is not None,
        "BLOCK_N": lambda args: triton.next_power_of_2(args["n_cols"]),
    }
)
@triton.jit
def add_bias(x_ptr, bias_ptr, out_ptr, x_stride, out_stride, n_cols, HAS_BIAS: tl.constexpr, BLOCK_N: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK_N)
    mask = cols < n_cols
    y = tl.load(x_ptr + row * x_stride + cols, mask=mask)
    if HAS_BIAS:
        y += tl.load(bias_ptr + cols, mask=mask)
    tl.store(out_ptr + row * out_stride + cols, y, mask=mask)
