"""Runs a probe: a module of this package, by its text and in a process of its own, which a library may take down."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from trtplug.process import Done, Processes

_SECONDS = 120


def run(probe: str, *arguments: str) -> Done:
    """How the probe of this name ended, and what it had said by then; nothing that it imports is imported here."""
    script = Path(__file__).with_name(f"{probe}.py").read_text(encoding="utf-8")
    # An empty folder, because Python looks for modules in the current one first.
    with tempfile.TemporaryDirectory() as empty:
        return Processes().run([sys.executable, "-c", script, *arguments], Path(empty), os.environ, _SECONDS)
