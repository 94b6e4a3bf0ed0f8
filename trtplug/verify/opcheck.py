"""`opcheck`: torch.library.opcheck passes, the fake agrees with the real op, torch.export takes dynamic dims."""

from __future__ import annotations

from trtplug.doctor import NUMPY, PYTEST, TORCH, TRITON
from trtplug.verify import pytests
from trtplug.verify.stage import Stage

STAGE = Stage(
    "opcheck", "torch accepts the op: opcheck, fake, export", (PYTEST, TORCH, TRITON, NUMPY), pytests.runs("opcheck")
)
