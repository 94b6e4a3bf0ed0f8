"""`parity`: the op equals its reference over cases, dtypes, strided inputs and odd sizes."""

from __future__ import annotations

from trtplug.doctor import NUMPY, PYTEST, TORCH, TRITON
from trtplug.verify import pytests
from trtplug.verify.stage import Stage

STAGE = Stage("parity", "the op equals its reference", (PYTEST, TORCH, TRITON, NUMPY), pytests.runs("parity"))
