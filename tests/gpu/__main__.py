"""Everything that needs a GPU, in one table: ``python -m tests.gpu [SPEC ...] [--output FILE]``, in this folder's root.

Each spec (default: all of specs/, tests/specs/ and tests/gpu/specs/) becomes a wheel, is installed into a temporary
folder, and its generated tests run from there, those of several specs side by side. Circular padding is then compiled
by Torch-TensorRT inside the tutorial's model, and measured beside the tutorial's kernel. A row that could not run says
why; one that failed makes the exit code 1.

Besides PyTorch with CUDA and Triton it takes the requirements of trtplug, build, hatchling, pytest, onnx, onnxscript,
and CuPy, and for the rows with engines torch-tensorrt or torch-tensorrt-rtx. docs/gpu-results.md has the latest table
and says how to take all this to a machine without a network. More measurements of an operator: a module of this folder,
named in MEASURED.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

from tests.gpu.packages import ROOT, Installed, install, needs_bridge, run_test
from tests.gpu.row import FAILED, NOT_RUN, Row, reported, table, versions
from trtplug.plugin_api import PluginApi

FOLDERS = ("specs", "tests/specs", "tests/gpu/specs")
SPECS = [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.yaml"))]
# Those whose plugin is an IPluginV2DynamicExt a second time.
AS_V2 = [
    ROOT / path for path in ("specs/circ_pad.yaml", "specs/quantize_per_token.yaml", "tests/specs/everything.yaml")
]
INTRODUCTION = Path(__file__).with_name("introduction.md")


@dataclass(frozen=True)
class Measurement:
    """A module that reports rows, what it needs beside PyTorch and Triton, and whether it wants the GPU to itself."""

    module: str
    needs: str
    alone: bool


MEASURED: dict[str, tuple[Measurement, ...]] = {
    "circular_pad": (
        Measurement("tests.gpu.engine", needs="torch_tensorrt", alone=False),
        Measurement("tests.gpu.verify", needs="torch_tensorrt", alone=False),
        Measurement("tests.gpu.speed", needs="cupy", alone=True),
    ),
    "roi_align": (Measurement("tests.gpu.registered", needs="tensorrt_rtx", alone=False),),
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


def of_specs(paths: Sequence[Path]) -> list[Row]:
    """All rows: what may run side by side first, then what wants the GPU to itself."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        given: list[tuple[Path, PluginApi | None]] = [(path, None) for path in paths]
        given += [(path, PluginApi.V2) for path in AS_V2 if path in map(Path.absolute, paths)]
        works = [Path(folder, str(i)) for i in range(len(given))]
        for work in works:
            work.mkdir()
        results = list(pool.map(install, *zip(*given, strict=True), works))
        started: list[tuple[Row, list[Future[list[Row]]]]] = []
        for row, installed in results:
            tests = [pool.submit(run_test, installed, name) for name in installed.test_names] if installed else []
            measured = [pool.submit(measure, installed, m) for m in _measured(installed) if not m.alone and installed]
            started.append((row, [*tests, *measured]))
        rows = [row for first, futures in started for row in (first, *(r for f in futures for r in f.result()))]
        for _, installed in results:
            rows += [row for m in _measured(installed) if m.alone and installed for row in measure(installed, m)]
        return rows


def _measured(installed: Installed | None) -> tuple[Measurement, ...]:
    if installed is None or installed.op.plugin is PluginApi.V2:
        return ()
    return MEASURED.get(installed.op.names.op, ())


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu", description="What needs a GPU, in one table.")
    parser.add_argument("specs", nargs="*", type=Path, default=SPECS)
    parser.add_argument("--output", type=Path, help="write the table to this Markdown file")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("no CUDA device: nothing was run", file=sys.stderr)
        return 1
    rows = of_specs(arguments.specs)
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
