"""The command line, run in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from trtplug.cli import app


class Trtplug:
    """The result of one command."""

    def __init__(self, *arguments: str | Path) -> None:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
        self.code = result.exit_code
        self.out = result.stdout
        self.err = result.stderr


@pytest.fixture
def trtplug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Trtplug]:
    monkeypatch.chdir(tmp_path)
    return Trtplug
