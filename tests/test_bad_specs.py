"""Every folder of bad_specs: the whole of what `trtplug check spec.yaml` says, its exit code, and nothing written.

A new case is a folder with spec.yaml, the files that it names, and expected.txt. To accept changed messages:
TRTPLUG_REGENERATE=1 pytest tests/test_bad_specs.py, then read the diff of each expected.txt.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trtplug.cli import app

CASES = sorted(path.parent for path in (Path(__file__).parent / "bad_specs").glob("*/expected.txt"))


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_all_problems_are_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob("*"))
    result = CliRunner().invoke(app, ["check", "spec.yaml"], catch_exceptions=False)
    if os.environ.get("TRTPLUG_REGENERATE"):
        (folder / "expected.txt").write_text(result.stderr, encoding="utf-8")
    assert result.stderr == (folder / "expected.txt").read_text(encoding="utf-8")
    assert result.stdout == ""
    assert result.exit_code == 2
    assert sorted(folder.rglob("*")) == before
