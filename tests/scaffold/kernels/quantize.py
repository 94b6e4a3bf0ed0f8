# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def quantize_rowwise(
    x_ptr,
    output_ptr,
    output_maxs,
    n_elements,
    BLOCK_SIZE: tl.constexpr,
    P2: tl.constexpr,
):
    row = tl.program_id(axis=0)
    lanes = tl.arange(0, P2)
    offsets = row * BLOCK_SIZE + lanes
    mask = lanes < BLOCK_SIZE
    x = tl.load(x_ptr + offsets, mask=mask)
    largest = tl.max(tl.where(mask, tl.abs(x), 0), axis=0)
    scaled = 127.0 * (x / largest)
    rounded = tl.floor(scaled + 0.5).to(tl.int8)
    tl.store(output_ptr + offsets, rounded, mask=mask & (offsets < n_elements))
    tl.store(output_maxs + row, largest)
