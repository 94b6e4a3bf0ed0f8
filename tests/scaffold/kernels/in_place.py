# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def momentum_kernel(grad_ptr, momentum_ptr, n_elements, decay, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    momentum = tl.load(momentum_ptr + offsets, mask=mask) * decay
    tl.store(momentum_ptr + offsets, momentum + tl.load(grad_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def add_rms_norm(X, Residual, W, Rstd, x_row_stride, n_cols, eps, BLOCK_SIZE: tl.constexpr):
    row, columns = tl.program_id(0), tl.arange(0, BLOCK_SIZE)
    offsets, mask = row * x_row_stride + columns, columns < n_cols
    residual = tl.load(Residual + offsets, mask=mask, other=0) + tl.load(X + offsets, mask=mask, other=0)
    tl.store(Residual + offsets, residual, mask=mask)
    rstd = tl.rsqrt(tl.sum(residual * residual, axis=0) / n_cols + eps)
    tl.store(Rstd + row, rstd)
    tl.store(X + offsets, residual * rstd * tl.load(W + columns, mask=mask, other=0), mask=mask)
