import triton
import triton.language as tl


@triton.jit
def mixed_kernel(A, B, C, D, E, F, G, H, Sums, Counts, Both, n):
    at = tl.program_id(0) * 64 + tl.arange(0, 64)
    mask = at < n
    floats = tl.load(A + at, mask=mask).to(tl.float32) + tl.load(B + at, mask=mask).to(tl.float32)
    floats += tl.load(C + at, mask=mask).to(tl.float32)
    ints = tl.load(D + at, mask=mask).to(tl.int64) + tl.load(E + at, mask=mask).to(tl.int64)
    ints += tl.load(F + at, mask=mask).to(tl.int64) + tl.load(G + at, mask=mask)
    tl.store(Sums + at, floats.to(Sums.dtype.element_ty), mask=mask)
    tl.store(Counts + at, ints.to(Counts.dtype.element_ty), mask=mask)
    tl.store(Both + at, floats + ints + tl.load(H + at, mask=mask), mask=mask)


def reference(a, b, c, d, e, f, g, h):
    floats, ints = a.float() + b.float() + c.float(), d.long() + e + f + g
    return floats.to(a.dtype), ints.to(d.dtype), floats + ints + h
