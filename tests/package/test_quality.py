"""Generated packages are as clean as hand-written ones: ruff, its formatter, mypy (strict), by their own settings."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, Built, run_trtplug

SPECS = (
    *(
        path.relative_to(ROOT).as_posix()
        for folder in ("specs", "tests/specs")
        for path in sorted((ROOT / folder).glob("*.yaml"))
    ),
    "my_op.yaml",
)


@pytest.fixture(params=SPECS)
def package(request: pytest.FixtureRequest, built: Built, tmp_path: Path) -> Path:
    spec = ROOT / request.param
    if request.param == "my_op.yaml":
        assert run_trtplug("new", "my_op", cwd=tmp_path).returncode == 0
        spec = tmp_path / "specs" / request.param
    return built(spec)


@pytest.fixture(scope="session")
def libraries(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What mypy remembers of the libraries of packages, which is most of its work, and nothing of a package."""
    cache = tmp_path_factory.mktemp("mypy")
    importing = tmp_path_factory.mktemp("importing") / "libraries.py"
    importing.write_text("import numpy, onnx_ir, pytest, torch\n")
    # In a package, whose settings decide what is remembered.
    succeeds("mypy", "--cache-dir", str(cache), str(importing), package=built(ROOT / SPECS[0]))
    return cache


# Nothing of a cache in the package, which other tests share.


@pytest.mark.parametrize("command", ["check", "format --check"])
def test_generated_package_is_clean(package: Path, command: str) -> None:
    succeeds("ruff", *command.split(), "--no-cache", package=package)


def test_generated_package_is_typed(package: Path, libraries: Path, tmp_path: Path) -> None:
    # A cache of its own: mypy tells files of one name apart by size and second, which those of two packages share.
    cache = shutil.copytree(libraries, tmp_path / "mypy")
    succeeds("mypy", "--cache-dir", str(cache), package=package)


def succeeds(*command: str, package: Path) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=package, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_generated_code_has_no_trace_of_templates(package: Path) -> None:
    for file in package.rglob("*"):
        if file.is_file() and file.suffix in (".py", ".md", ".toml") and file.name != "_kernel.py":
            text = file.read_text(encoding="utf-8")
            assert not any(mark in text for mark in ("{%", "%}", "jinja", "None  #", "Undefined")), file
