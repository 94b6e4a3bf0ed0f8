"""`engine`: the engine runs in a fresh process and equals the reference."""

from __future__ import annotations

from trtplug.doctor import CUDA, NUMPY, PYTEST, TENSORRT, TORCH, TRITON
from trtplug.verify import pytests
from trtplug.verify.stage import Stage

STAGE = Stage(
    "engine", "the engine equals the reference", (CUDA, PYTEST, TORCH, TRITON, NUMPY, TENSORRT), pytests.runs("engine")
)
