import triton
import triton.language as tl

BLOCKS = [32, 64]
CONFIGS = [triton.Config({"BLOCK": block, "ROWS": rows}, num_warps=rows) for block in BLOCKS for rows in (1, 2)]
RULES = {"EVEN": lambda given: given["columns"] % given["BLOCK"] == 0}


@triton.autotune(configs=CONFIGS, key=["columns"])
@triton.heuristics(RULES)
@triton.jit
def tuned_kernel(X, Bias, Y, rows, columns, EVEN: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    mask = (row < rows)[:, None] & (column < columns)[None, :]
    if EVEN:
        mask = (row < rows)[:, None]
    place = row[:, None] * columns + column[None, :]
    y = tl.load(X + place, mask=mask)
    if Bias is not None:
        y += tl.load(Bias + column, mask=column < columns)[None, :]
    tl.store(Y + place, y, mask=mask)


def reference(x, bias=None):
    return x + bias if bias is not None else x.clone()
