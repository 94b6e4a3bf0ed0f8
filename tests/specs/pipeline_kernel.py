import triton
import triton.language as tl
from pipeline_math import centred, total


@triton.heuristics(
    {"EVEN": lambda given: given["columns"] % given["BLOCK"] == 0, "SEEN": lambda given: given["EVEN"] + 1}
)
@triton.jit
def sums_kernel(
    X, Partial, Positive, Seen, stride, columns, EVEN: tl.constexpr, SEEN: tl.constexpr, BLOCK: tl.constexpr
):
    row, block = tl.program_id(0), tl.program_id(1)
    column = block * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        x = tl.load(X + row * stride + column).to(tl.float32)
    else:
        x = tl.load(X + row * stride + column, mask=column < columns, other=0.0).to(tl.float32)
    place = row * tl.num_programs(1) + block
    tl.store(Partial + place, total(x))
    tl.store(Seen + place, SEEN)
    tl.atomic_add(Positive + row, tl.sum((x > 0).to(tl.int32), axis=0))


@triton.jit
def scale_kernel(
    Y,
    X,
    Most,
    Partial,
    Positive,
    Seen,
    outer,
    inner,
    columns,
    blocks,
    scale,
    BLOCK: tl.constexpr,
    ALL: tl.constexpr,
):
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)
    block = tl.arange(0, ALL)
    seen = tl.load(Seen + row * blocks + block, mask=block < blocks, other=0)
    parts = tl.load(Partial + row * blocks + block, mask=(block < blocks) & (seen > 0), other=0.0)
    positive = tl.load(Positive + row)
    place = tl.program_id(2) * outer + tl.program_id(1) * inner + column
    x = tl.load(X + place, mask=column < columns, other=0.0).to(tl.float32)
    y = centred(x, total(parts), columns) * positive * scale
    tl.store(Y + place, y.to(Y.dtype.element_ty), mask=column < columns)
    tl.atomic_max(Most + tl.program_id(2), positive)
