"""How the tests of the field reports run: seeded, and some in a process of their own."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.conftest import ROOT
from trtplug.verify.environment import variables

_INSIDE = "FIELD_REPORTS_INSIDE"
_MARKERS = {
    "in_tensorrt": "runs in a process, one for all of a file, in which TensorRT's ONNX parser finds its library",
    "compiling": "runs in such a process, in which Triton compiles kernels and interprets none",
    "own_process": "runs as in_tensorrt, but alone",
}
# What came of the tests of a file that share a process, by marker and name; "" if they passed.
_SHARED: dict[tuple[Path, str], dict[str, str]] = {}


def pytest_configure(config: pytest.Config) -> None:
    """Declares the markers of this folder."""
    for name, meaning in _MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {meaning}")


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Makes random inputs repeatable; captured, so that a failure shows how."""
    seed = int(os.environ.get("TEST_SEED", random.randrange(2**32)))
    print(f"repeat with TEST_SEED={seed}")
    random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a marked test by another pytest: what it registers leaves no trace here, and a crash is its failure."""
    marker, items = _marker(pyfuncitem), pyfuncitem.session.items
    if marker is None or os.environ.get(_INSIDE):
        return None
    if marker == "own_process":
        outcomes = _outcomes(pyfuncitem, marker, [pyfuncitem])
    else:
        key = (pyfuncitem.path, marker)
        if key not in _SHARED:
            _SHARED[key] = _outcomes(pyfuncitem, marker, [i for i in items if (i.path, _marker(i)) == key])
        outcomes = _SHARED[key]
    if failure := outcomes.get(pyfuncitem.name, "the process ended before this test"):
        pytest.fail(failure, pytrace=False)
    return True


def _marker(item: pytest.Item) -> str | None:
    return next((name for name in _MARKERS if item.get_closest_marker(name)), None)


def _outcomes(item: pytest.Item, marker: str, items: Sequence[pytest.Item]) -> dict[str, str]:
    """What came of tests that ran elsewhere: "" for those that passed, else why they did not."""
    folder = item.config._tmp_path_factory.mktemp("process")  # type: ignore[attr-defined]
    environment = {**variables(folder), _INSIDE: "1", "TRITON_INTERPRET": str(int(marker != "compiling"))}
    report = folder / "report.xml"
    options = ["-q", "-n0", "-p", "xdist", "--tb=short", f"--junitxml={report}", "-o", "junit_logging=all"]
    command = [sys.executable, "-m", "pytest", *options, *(each.nodeid for each in items)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    outcomes = {}
    for case in ET.parse(report).iter("testcase") if report.exists() else ():
        broken = [element.text or "" for element in case if not element.tag.startswith("system")]
        outcomes[case.get("name", "")] = "\n".join([*broken, *_captured(case)]) if broken else ""
    return outcomes or {item.name: done.stdout + done.stderr}


def _captured(case: ET.Element) -> list[str]:
    return [element.text or "" for element in case if element.tag.startswith("system")]
