"""`trtplug verify` itself, on this GPU: a row of each stage, with the figures that it shows a user.

A process of its own; usage: ``python -m tests.gpu.verify [SPEC ...] [--output FILE]``. Where networks take no plugins,
verify's own processes have tests/harness/bridged, as those of the other rows do.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from tests.gpu.packages import BRIDGED, ROOT, needs_bridge, of_stage
from tests.gpu.row import FAILED, Row, hand_over, table
from trtplug import resolve, spec
from trtplug.verify.stage import StageResult, Status

# Of one output and of two; that the generated tests pass for every spec is what the rows of the specs say.
SPECS = [ROOT / "specs" / "circ_pad.yaml", ROOT / "specs" / "quantize_per_token.yaml"]
INTRODUCTION = Path(__file__).with_name("verify.md")


def verify(path: Path) -> list[Row]:
    """The rows of one spec."""
    what = f"trtplug verify {path.name}"
    op = resolve.resolve(spec.load(path))
    folders = [str(BRIDGED)] * needs_bridge() + [os.environ.get("PYTHONPATH", "")]
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, folders)),
        "BRIDGED_OUTPUTS": str(len(op.results)),
    }
    with tempfile.TemporaryDirectory() as work:
        answer = Path(work, "report.json")
        command = [sys.executable, "-m", "trtplug", "verify", str(path.absolute()), "--json", str(answer)]
        done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
        text = answer.read_text(encoding="utf-8") if answer.exists() else ""
    rows = [
        of_stage(f"{what}: {stage['name']}", StageResult(**{**stage, "status": Status(stage["status"])}))
        for package in (json.loads(text)["packages"] if text else ())
        for stage in package["stages"]
    ]
    if done.returncode:
        print(done.stdout, done.stderr)
    if bool(done.returncode) != any(row.result == FAILED for row in rows) or not rows:
        rows.append(Row(what, FAILED, f"exit status {done.returncode}"))
    return rows


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.gpu.verify", description="trtplug verify, as rows.")
    parser.add_argument("specs", nargs="*", type=Path, default=SPECS)
    parser.add_argument("--output", type=Path, help="write the rows as a table to this Markdown file")
    given = parser.parse_args(arguments)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = [row for some in pool.map(verify, given.specs) for row in some]
    for row in rows:
        hand_over(row)
    if given.output:
        where = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
        head = f"{datetime.date.today()}, {where}:\n\n"
        given.output.write_text(INTRODUCTION.read_text(encoding="utf-8") + head + table(rows), encoding="utf-8")
    return 1 if any(row.result == FAILED for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
