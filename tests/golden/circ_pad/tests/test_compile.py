"""The kernel compiles for each architecture, and takes the parameters that the launch passes; no GPU is needed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ARCHITECTURES = ("80", "86", "89", "90", "100", "120")


@cache
def compilations() -> dict[str, list[dict[str, Any]]]:
    """For each architecture, what came of each kernel and dtype combination."""
    # A process of its own: this one may interpret kernels, which Triton decides once.
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    # As a module of the tests' own package, which stands in the folder above.
    module, above = f"{__package__}.compile_kernel", Path(__file__).parents[__package__.count(".") + 1]
    done = subprocess.run(
        [sys.executable, "-m", module, *ARCHITECTURES],
        cwd=above,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    results: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    return results


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_kernel_compiles(architecture: str, record_property: Callable[[str, object], None]) -> None:
    assert compilations()[architecture]
    for result in compilations()[architecture]:
        assert result["error"] is None, result
        # Triton appends up to two scratch pointers of its own to what the launch passes.
        assert result["passed"] <= result["taken"] <= result["passed"] + 2, result
        assert result["global_scratch"] == 0, "the kernel needs scratch memory, which its launch does not pass"
    record_property("architectures", " ".join(ARCHITECTURES))
