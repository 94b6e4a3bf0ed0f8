# mypy: ignore-errors
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(
    output_ptr, input_ptr, input_row_stride, output_row_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr
):
    first = tl.program_id(0)
    step = tl.num_programs(0)
    for row in tl.range(first, n_rows, step):
        row_start_ptr = input_ptr + row * input_row_stride
        columns = tl.arange(0, BLOCK_SIZE)
        mask = columns < n_cols
        values = tl.load(row_start_ptr + columns, mask=mask, other=-float("inf"))
        numerator = tl.exp(values - tl.max(values, axis=0))
        output_row_start_ptr = output_ptr + row * output_row_stride
        tl.store(output_row_start_ptr + columns, numerator / tl.sum(numerator, axis=0), mask=mask)
