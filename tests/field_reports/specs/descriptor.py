import triton
import triton.language as tl


@triton.jit
def descriptor_kernel(X, Y, rows, columns):
    x = tl.make_tensor_descriptor(X, [rows, columns], [columns, 1], [16, 32])
    y = tl.make_tensor_descriptor(Y, [rows, columns], [columns, 1], [16, 32])
    at = tl.program_id(0) * 16
    y.store([at, 0], x.load([at, 0]))


def reference(x):
    return x.clone().contiguous()
