"""`trtplug verify` itself, on this GPU: a row of each stage, with the figures that it shows a user.

A process of its own; usage: ``python -m tests.gpu.verify [SPEC ...]``. Where networks take no plugins, verify's own
processes have tests/harness/bridged, as those of the other rows do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.gpu.packages import BRIDGED, RESULTS, ROOT, needs_bridge
from tests.gpu.row import FAILED, Row, hand_over
from trtplug import resolve, spec
from trtplug.verify.stage import Status

# Of one output and of two; that the generated tests pass for every spec is what the rows of the specs say.
SPECS = ("specs/circ_pad.yaml", "specs/quantize_per_token.yaml")


def verify(path: Path, work: Path) -> list[Row]:
    """The rows of one spec."""
    op = resolve.resolve(spec.load(path))
    folders = [str(BRIDGED)] * needs_bridge() + [os.environ.get("PYTHONPATH", "")]
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, folders)),
        "BRIDGED_OUTPUTS": str(len(op.results)),
    }
    answer = work / f"{path.stem}.json"
    command = [sys.executable, "-m", "trtplug", "verify", str(path), "--json", str(answer)]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout, done.stderr)
    if not answer.exists():
        return [Row(f"trtplug verify {path.name}", FAILED, f"exit status {done.returncode}")]
    rows = []
    (package,) = json.loads(answer.read_text(encoding="utf-8"))["packages"]
    for stage in package["stages"]:
        figures = dict(stage["figures"])
        library = figures.pop("library", "")
        said = [*(f"{key} {value}" for key, value in figures.items()), *filter(None, [stage["reason"]])]
        what, result = f"trtplug verify {path.name}: {stage['name']}", RESULTS[Status(stage["status"])]
        rows.append(Row(what, result, "; ".join(said), library))
    return rows


def main() -> None:
    """Prints the rows."""
    with tempfile.TemporaryDirectory() as folder:
        for path in sys.argv[1:] or SPECS:
            for row in verify(Path(path), Path(folder)):
                hand_over(row)


if __name__ == "__main__":
    main()
