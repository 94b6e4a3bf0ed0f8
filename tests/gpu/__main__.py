"""Everything that needs a GPU, in one table: ``python -m tests.gpu [SPEC ...] [--output FILE]``, in this folder's root.

Each spec (default: specs/circ_pad.yaml) becomes a wheel, is installed into a temporary folder, and its generated
tests run from there with the compiled kernel. Circular padding is then compiled by Torch-TensorRT inside the tutorial's
model, and measured beside the tutorial's kernel. A row that could not run says why; one that failed makes the exit
code 1.

Besides PyTorch with CUDA and Triton it takes the requirements of trtplug, build, hatchling, pytest, onnx, onnxscript,
and CuPy, and for the rows with engines torch-tensorrt or torch-tensorrt-rtx. docs/gpu-results.md has the latest table
and says how to take all this to a machine without a network. More measurements of an operator: a module of this folder,
named in MEASURED.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import platform
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

from tests.gpu.packages import ROOT, TESTS, Installed, install, needs_bridge, run_test
from tests.gpu.row import FAILED, NOT_RUN, Row, reported, table, versions

INTRODUCTION = Path(__file__).with_name("introduction.md")


@dataclass(frozen=True)
class Measurement:
    """A module that reports rows, what it needs beside PyTorch and Triton, and whether it wants the GPU to itself."""

    module: str
    needs: str
    alone: bool


MEASURED = {
    "circular_pad": (
        Measurement("tests.gpu.engine", needs="torch_tensorrt", alone=False),
        Measurement("tests.gpu.speed", needs="cupy", alone=True),
    )
}


def measure(installed: Installed, measurement: Measurement) -> list[Row]:
    """The rows that a module reports, run in a process of its own; and one more if that ended badly."""
    module, needed = measurement.module, measurement.needs
    if importlib.util.find_spec(needed) is None:
        return [Row(module, NOT_RUN, f"needs {needed}")]
    done = installed.run(["-m", module], ROOT, bridged=needs_bridge() and needed == "torch_tensorrt")
    rows = reported(done.stdout)
    if done.reason or not rows:
        print(done.output)
        rows.append(Row(module, FAILED, done.reason or "reported nothing"))
    return rows


def of_spec(path: Path) -> list[Row]:
    """All rows of one spec."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        row, installed = install(path, Path(folder))
        if installed is None:
            return [row]
        measured = MEASURED.get(installed.op.names.op, ())
        tests = [pool.submit(run_test, installed, name) for name in TESTS]
        beside = [pool.submit(measure, installed, measurement) for measurement in measured if not measurement.alone]
        rows = [row, *(test.result() for test in tests), *(row for rows in beside for row in rows.result())]
        for measurement in measured:
            if measurement.alone:
                rows += measure(installed, measurement)
        return rows


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu", description="What needs a GPU, in one table.")
    parser.add_argument("specs", nargs="*", type=Path, default=[ROOT / "specs" / "circ_pad.yaml"])
    parser.add_argument("--output", type=Path, help="write the table to this Markdown file")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("no CUDA device: nothing was run", file=sys.stderr)
        return 1
    rows = [row for path in arguments.specs for row in of_spec(path)]
    count = {result: sum(row.result == result for row in rows) for result in (FAILED, NOT_RUN)}
    text = (
        f"{datetime.date.today()}, {torch.cuda.get_device_name()}, Python {platform.python_version()}, "
        f"{versions('torch', 'triton')}: {len(rows)} rows, {count[FAILED]} failed, {count[NOT_RUN]} not run.\n\n"
        f"{table(rows)}"
    )
    print(text)
    if arguments.output:
        arguments.output.write_text(INTRODUCTION.read_text(encoding="utf-8") + text, encoding="utf-8")
    return 1 if count[FAILED] else 0


if __name__ == "__main__":
    sys.exit(main())
