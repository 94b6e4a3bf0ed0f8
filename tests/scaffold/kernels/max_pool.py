# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def max_pool_2x2(x_ptr, out_ptr, channels, height, width, BLOCK: tl.constexpr):
    image = tl.program_id(1)
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    out_width = width // 2
    mask = place < (height // 2) * out_width
    first = x_ptr + image * height * width + place // out_width * 2 * width + place % out_width * 2
    top = tl.maximum(tl.load(first, mask=mask), tl.load(first + 1, mask=mask))
    bottom = tl.maximum(tl.load(first + width, mask=mask), tl.load(first + width + 1, mask=mask))
    tl.store(out_ptr + image * (height // 2) * out_width + place, tl.maximum(top, bottom), mask=mask)
