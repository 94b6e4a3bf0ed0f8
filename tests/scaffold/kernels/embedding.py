# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def embedding_kernel(weight_ptr, indices_ptr, out_ptr, embedding_dim, BLOCK_SIZE: tl.constexpr):
    token = tl.program_id(0)
    index = tl.load(indices_ptr + token)
    columns = tl.program_id(1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = columns < embedding_dim
    values = tl.load(weight_ptr + index * embedding_dim + columns, mask=mask)
    tl.store(out_ptr + token * embedding_dim + columns, values, mask=mask)
