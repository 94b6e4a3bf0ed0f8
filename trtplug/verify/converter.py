"""`converter`: Torch-TensorRT's registry dispatches the op, and the plugin layer is in the engine."""

from __future__ import annotations

from trtplug.doctor import NUMPY, PYTEST, TENSORRT, TORCH, TORCH_TENSORRT, TRITON
from trtplug.verify import pytests
from trtplug.verify.stage import Stage

STAGE = Stage(
    "converter",
    "Torch-TensorRT puts the plugin into its engine",
    (PYTEST, TORCH, TRITON, NUMPY, TENSORRT, TORCH_TENSORRT),
    pytests.runs("converter"),
)
