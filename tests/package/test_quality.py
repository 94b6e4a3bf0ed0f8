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
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(cache), str(importing)]
    # In a package, whose settings decide what is remembered.
    done = subprocess.run(command, cwd=built(ROOT / SPECS[0]), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return cache


@pytest.fixture
def cache(libraries: Path, tmp_path: Path) -> Path:
    """A cache of the package's own: mypy tells files of one name apart by size and second, which two packages share."""
    return shutil.copytree(libraries, tmp_path / "mypy")


@pytest.mark.parametrize("command", ["ruff check", "ruff format --check", "mypy"])
def test_generated_package_is_clean(package: Path, command: str, cache: Path) -> None:
    # Nothing of a cache in the package, which other tests share.
    options = {"mypy": ["--cache-dir", str(cache)]}.get(command, ["--no-cache"])
    done = subprocess.run(
        [sys.executable, "-m", *command.split(), *options], cwd=package, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_generated_code_has_no_trace_of_templates(package: Path) -> None:
    for file in package.rglob("*"):
        if file.is_file() and file.suffix in (".py", ".md", ".toml") and file.name != "_kernel.py":
            text = file.read_text(encoding="utf-8")
            assert not any(mark in text for mark in ("{%", "%}", "jinja", "None  #", "Undefined")), file
