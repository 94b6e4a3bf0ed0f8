"""`package`: the wheel builds, installs into an environment of its own, and imports without GPU and TensorRT."""

from __future__ import annotations

import json
import shutil

from trtplug.doctor import BUILD, HATCHLING, NUMPY, PIP, TORCH, TRITON
from trtplug.process import Done
from trtplug.verify import import_check
from trtplug.verify.stage import Context, Stage, StageResult, Status


def _run(context: Context) -> StageResult:
    wheels = context.work / "wheel"
    source = context.work / "source"
    shutil.copytree(context.tree, source)
    done = context.run(["-m", "build", "--wheel", "--no-isolation", "--outdir", wheels, "."], source)
    built = sorted(wheels.glob("*.whl"))
    if done.reason or len(built) != 1:
        return _failed("the wheel does not build", done)
    # Ignoring what is installed, because pip would else turn to a package of this name that the environment shows.
    options = ["--isolated", "--no-deps", "--no-index", "--ignore-installed", "--quiet"]
    done = context.run(["-m", "pip", "install", *options, built[0]], context.work)
    if done.reason:
        return _failed("the wheel does not install", done)
    ops = [subject.qualified for subject in context.subjects]
    expected = [context.target.import_name, str(context.work / "env"), *ops]
    done = context.run(["-I", import_check.__file__, *expected], context.work, CUDA_VISIBLE_DEVICES="")
    if done.reason:
        return _failed("the installed package does not import", done)
    figures = json.loads(done.stdout.splitlines()[-1])
    return StageResult("package", Status.PASSED, figures={"wheel_bytes": built[0].stat().st_size, **figures})


def _failed(what: str, done: Done) -> StageResult:
    lines = done.output.splitlines() or [done.reason]
    return StageResult("package", Status.FAILED, f"{what}: {lines[-1].strip()}", output=done.output)


STAGE = Stage(
    "package",
    "the wheel builds, installs alone, imports without a GPU",
    (BUILD, HATCHLING, PIP, TORCH, TRITON, NUMPY),
    _run,
    installed=False,
    gpu=False,
    whole=True,
)
