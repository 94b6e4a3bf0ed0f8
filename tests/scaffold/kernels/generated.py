# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def triton_per_fused_add_mean_0(in_ptr0, in_ptr1, out_ptr0, xnumel, rnumel, XBLOCK: tl.constexpr, RBLOCK: tl.constexpr):
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    rindex = tl.arange(0, RBLOCK)[None, :]
    mask = (xindex < xnumel) & (rindex < rnumel)
    tmp0 = tl.load(in_ptr0 + (rindex + rnumel * xindex), mask, other=0.0)
    tmp1 = tl.load(in_ptr1 + (rindex + rnumel * xindex), mask, other=0.0)
    tmp2 = tl.sum(tmp0 + tmp1, 1)[:, None] / rnumel
    tl.store(out_ptr0 + xindex, tmp2, xindex < xnumel)
