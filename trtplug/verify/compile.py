"""`compile`: the kernel compiles for each target architecture."""

from __future__ import annotations

from trtplug.doctor import NUMPY, PYTEST, TORCH, TRITON
from trtplug.verify import pytests
from trtplug.verify.stage import Stage

STAGE = Stage(
    "compile",
    "the kernel compiles for each architecture",
    (PYTEST, TORCH, TRITON, NUMPY),
    pytests.runs("compile"),
    gpu=False,
)
