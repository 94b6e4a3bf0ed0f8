# mypy: ignore-errors
import row_io
import triton
import triton.language as tl
from row_io import read_row as read


@triton.jit
def rms_norm(inp, weight, out, hidden_size, eps=1e-6, BLOCK: tl.constexpr = 1024):
    row = tl.program_id(0)
    x = read(inp, row, hidden_size, hidden_size, BLOCK).to(tl.float32)
    y = x * tl.rsqrt(tl.sum(x * x, axis=0) / hidden_size + eps)
    if weight is not None:
        y *= read(weight, 0, 0, hidden_size, BLOCK)
    row_io.write_row(out, row, hidden_size, hidden_size, y, BLOCK=BLOCK)
