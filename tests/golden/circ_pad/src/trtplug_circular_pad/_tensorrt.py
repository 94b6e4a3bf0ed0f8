"""The TensorRT in use, and its names for the dtypes of circular_pad.

Once torch_tensorrt is imported, ``tensorrt`` means the library that torch_tensorrt was built for. Without it, standard
TensorRT comes first and TensorRT-RTX second.
"""

import torch

try:
    import tensorrt as trt
except ModuleNotFoundError:
    import tensorrt_rtx as trt

__all__ = ["TENSORRT_DTYPES", "TORCH_DTYPES", "trt"]

TORCH_DTYPES = {
    trt.DataType.FLOAT: torch.float32,
    trt.DataType.HALF: torch.float16,
    trt.DataType.BF16: torch.bfloat16,
}
TENSORRT_DTYPES = {torch_dtype: dtype for dtype, torch_dtype in TORCH_DTYPES.items()}
