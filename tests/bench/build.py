"""How long `trtplug build` takes beside the bare imports of the libraries that it is made of; run it by hand.

python tests/bench/build.py prints medians of interleaved runs and their ratio, and fails above the limit of 2.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 15
LIMIT = 2.0
SPEC = Path(__file__).parents[2] / "specs" / "circ_pad.yaml"
IMPORTS = [sys.executable, "-c", "import typer, rich, jinja2, yaml, pydantic"]


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> int:
    """1 if building takes more than LIMIT times as long as the imports."""
    imports, builds = [], []
    with tempfile.TemporaryDirectory() as folder:
        for round_ in range(ROUNDS):
            # A fresh folder each time, so that every file is written.
            build = [sys.executable, "-m", "trtplug", "build", str(SPEC), "-o", f"{folder}/{round_}"]
            imports.append(seconds(IMPORTS))
            builds.append(seconds(build))
    one, other = statistics.median(imports), statistics.median(builds)
    print(f"imports {one * 1e3:.0f} ms, build {other * 1e3:.0f} ms, ratio {other / one:.2f} (limit {LIMIT})")
    return other > LIMIT * one


if __name__ == "__main__":
    sys.exit(main())
