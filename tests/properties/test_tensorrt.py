"""The properties that hold of real TensorRT dimension expressions, where a crash of native code is a failure."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from trtplug.verify.environment import variables


@pytest.mark.skipif(importlib.util.find_spec("tensorrt_rtx") is None, reason="needs tensorrt-rtx")
def test_shape_rules_as_tensorrt_dimension_expressions(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "xdist", "tests/properties/in_tensorrt.py"]
    done = subprocess.run(command, cwd=ROOT, env=variables(tmp_path), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
