import torch
import triton
import triton.language as tl


@triton.jit
def windows_kernel(X, Y, Flat, ys, flats):
    index = tl.program_id(0) * 256 + tl.arange(0, 256)
    ones = tl.full((256,), 1.0, tl.float32)
    tl.store(Y + index, ones, mask=index < ys)
    tl.store(Flat + index, ones, mask=index < flats)


def reference(x, k, s, p):
    a, b, c = x.shape
    sizes = (a + 2 * p - k) // s + 1, -(-b // s), max(b, c)
    return torch.ones(sizes, device=x.device), torch.ones(a * b * c, device=x.device)
