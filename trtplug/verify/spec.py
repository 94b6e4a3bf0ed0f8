"""`spec`: the spec is sound, and torch itself accepts its schema."""

from __future__ import annotations

from pathlib import Path

from trtplug.problems import SpecError
from trtplug.resolve import resolve
from trtplug.spec import load
from trtplug.verify.stage import Context, Stage, StageResult, Status

_ACCEPT = """
import sys
try:
    import torch
except ModuleNotFoundError:
    sys.exit(3)
try:
    torch._C.parse_schema(sys.argv[1])
except RuntimeError as error:
    sys.exit(f"torch refuses the schema: {error}")
"""


def _run(context: Context) -> StageResult:
    (subject,) = context.subjects
    if context.target.files is None:
        try:
            resolve(load(Path(subject.given)))
        except SpecError:
            return StageResult("spec", Status.SKIPPED, "verified as a package")
    # Other specs were resolved when they were read, so that torch has the last word.
    schema = f"{subject.qualified}{subject.schema}"
    done = context.run(["-I", "-c", _ACCEPT, schema], context.work)
    if done.reason == "exit status 3":
        return StageResult("spec", Status.PASSED, "torch is not installed: its own parser has not seen the schema")
    if done.reason:
        message = done.stderr.strip().splitlines() or [done.reason]
        return StageResult("spec", Status.FAILED, message[0], output=done.output)
    return StageResult("spec", Status.PASSED)


STAGE = Stage("spec", "the spec is sound", (), _run, installed=False, gpu=False)
