# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(values_ptr, counts, n, num_bins, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bins = tl.load(values_ptr + index, mask=index < n, other=0)
    tl.atomic_add(counts + bins, 1, mask=(index < n) & (bins < num_bins))
