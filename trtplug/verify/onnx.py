"""`onnx`: the op exports, and TensorRT's parser builds an engine with the plugin in it."""

from __future__ import annotations

from trtplug.doctor import NUMPY, ONNX, ONNXSCRIPT, PYTEST, TENSORRT, TORCH, TRITON
from trtplug.verify import pytests
from trtplug.verify.stage import Stage

STAGE = Stage(
    "onnx",
    "the export parses into an engine with the plugin in it",
    (PYTEST, TORCH, TRITON, NUMPY, ONNX, ONNXSCRIPT, TENSORRT),
    pytests.runs("onnx"),
)
