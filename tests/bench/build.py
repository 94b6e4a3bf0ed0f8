"""How long `trtplug build` takes beside the bare imports of the libraries that it is made of; run it by hand.

python tests/bench/build.py prints medians of interleaved runs and their ratio, and fails above the limit of 2. A build
remembers what jinja2 and ruff made of the same text before; the time of builds that remember nothing is printed too.
Python keeps the bytecode of all of it, as it does of what pip installs, whatever PYTHONDONTWRITEBYTECODE says.
"""

from __future__ import annotations

import os
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
BUILD = [str(Path(sys.executable).with_name("trtplug")), "build", str(SPEC), "-o"]


def seconds(command: list[str], temporary: str | None = None) -> float:
    """The time of one command; what it remembers lies in its temporary folder."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    if temporary:
        environment["TMPDIR"] = temporary
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - start


def main() -> int:
    """1 if building takes more than LIMIT times as long as the imports."""
    imports, builds, forgetful = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        seconds([*BUILD, f"{folder}/first"])
        for round_ in range(ROUNDS):
            empty = Path(folder, f"temporary{round_}")
            empty.mkdir()
            imports.append(seconds(IMPORTS))
            # A fresh folder each time, so that every file is written.
            builds.append(seconds([*BUILD, f"{folder}/{round_}"]))
            forgetful.append(seconds([*BUILD, f"{folder}/forgetful{round_}"], str(empty)))
    one, other, first = map(statistics.median, (imports, builds, forgetful))
    print(f"imports {one * 1e3:.0f} ms, build {other * 1e3:.0f} ms, ratio {other / one:.2f} (limit {LIMIT})")
    print(f"a build that remembers nothing: {first * 1e3:.0f} ms, ratio {first / one:.2f}")
    return other > LIMIT * one


if __name__ == "__main__":
    sys.exit(main())
