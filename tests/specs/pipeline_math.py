import pipeline_base
import triton
import triton.language as tl


@triton.jit
def total(values):
    return tl.sum(values, axis=0)


@triton.jit
def centred(x, whole, count):
    return x - pipeline_base.mean(whole, count)
