# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def transpose_kernel(
    input, output, M, N, stride_im, stride_in, stride_on, stride_om, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    m, n = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    source = tl.make_block_ptr(
        base=input,
        shape=(M, N),
        strides=(stride_im, stride_in),
        offsets=(m, n),
        block_shape=(BLOCK_M, BLOCK_N),
        order=(1, 0),
    )
    target = tl.make_block_ptr(output, (N, M), (stride_on, stride_om), (n, m), (BLOCK_N, BLOCK_M), (1, 0))
    values = tl.load(source, boundary_check=(0, 1))
    tl.store(target, tl.trans(values), boundary_check=(0, 1))
