"""`compile`: the kernel compiles for each target architecture."""

from __future__ import annotations

from trtplug.doctor import NUMPY, PYTEST, TORCH, TRITON
from trtplug.verify import pytests
from trtplug.verify.stage import Context, Stage, StageResult, Status

_TESTS = pytests.runs("compile")


def _run(context: Context) -> StageResult:
    (subject,) = context.subjects
    if not subject.kernels:
        return StageResult("compile", Status.SKIPPED, "the op runs its reference: there is no kernel to compile")
    return _TESTS(context)


STAGE = Stage(
    "compile",
    "the kernel compiles for each architecture",
    (PYTEST, TORCH, TRITON, NUMPY),
    _run,
    gpu=False,
)
