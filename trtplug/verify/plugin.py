"""`plugin`: creator, fields and clone round trip; on a GPU also streams, unwritten outputs and CUDA graphs."""

from __future__ import annotations

from trtplug.doctor import NUMPY, PYTEST, TENSORRT, TORCH, TRITON
from trtplug.verify import pytests
from trtplug.verify.stage import Stage

STAGE = Stage(
    "plugin", "the plugin keeps TensorRT's rules", (PYTEST, TORCH, TRITON, NUMPY, TENSORRT), pytests.runs("plugin")
)
