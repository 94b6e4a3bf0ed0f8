"""The generated package of specs/circ_pad.yaml, file by file: a change of a template or a view shows here as a diff.

To accept a change: TRTPLUG_REGENERATE=1 pytest tests/test_golden.py, then read the diff.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.conftest import ROOT, Built

GOLDEN = Path(__file__).parent / "golden" / "circ_pad"


def files(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".trtplug.json"
    }


def test_package_of_circ_pad_is_the_golden_one(built: Built) -> None:
    package = built(ROOT / "specs/circ_pad.yaml")
    if os.environ.get("TRTPLUG_REGENERATE"):
        shutil.rmtree(GOLDEN, ignore_errors=True)
        shutil.copytree(package, GOLDEN, ignore=shutil.ignore_patterns(".trtplug.json"))
    assert files(package) == files(GOLDEN)
