# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def cross_entropy_fwd(
    loss_ptr, lse_ptr, logits_ptr, labels_ptr, smoothing, ignore_index, n_cols, n_rows, logits_row_stride,
    BLOCK_SIZE: tl.constexpr,
):  # fmt: skip
    row_idx = tl.program_id(0).to(tl.int64)
    logits_ptr += row_idx * logits_row_stride
    label = tl.load(labels_ptr + row_idx)
    cols = tl.arange(0, BLOCK_SIZE)
    logits = tl.load(logits_ptr + cols, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
    largest = tl.max(logits, 0)
    lse = tl.log(tl.sum(tl.exp(logits - largest), 0)) + largest
    loss = lse - tl.load(logits_ptr + label) if label != ignore_index else 0.0
    tl.store(loss_ptr + row_idx, loss * (1 - smoothing))
    tl.store(lse_ptr + row_idx, lse)
