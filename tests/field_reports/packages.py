"""What the tests of the field reports share: small specs and variants of them, their packages, and what check says."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from trtplug.cli import app
from trtplug.process import Processes
from trtplug.verify import pytests
from trtplug.verify.environment import variables
from trtplug.verify.stage import StageResult

SPECS = Path(__file__).parent / "specs"


def variant(name: str, folder: Path, changes: Mapping[str, str]) -> Path:
    """A spec with some of its text changed, in a folder of its own beside its kernel."""
    text = (SPECS / f"{name}.yaml").read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text, f"{name}.yaml has changed; change this test with it"
        text = text.replace(old, new)
    path = folder / f"{name}.yaml"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    (folder / f"{name}.py").write_bytes((SPECS / f"{name}.py").read_bytes())
    return path


def imported(package: Path, *modules: str) -> Any:
    """The package in a folder that trtplug wrote, imported, and modules of it."""
    (init,) = package.glob("src/*/__init__.py")
    source = str(package / "src")
    if source not in sys.path:
        sys.path.insert(0, source)
        importlib.invalidate_caches()
    for module in modules:
        importlib.import_module(f"{init.parent.name}.{module}")
    return importlib.import_module(init.parent.name)


def refusal(path: Path) -> str:
    """What `trtplug check` says of a spec that it refuses."""
    result = CliRunner().invoke(app, ["check", str(path)], catch_exceptions=False)
    assert result.exit_code == 2, result.stdout + result.stderr
    return result.stderr


def stage(package: Path, name: str, work: Path, *options: str) -> StageResult:
    """What verify makes of the generated tests/test_<name>.py, without the wheel and the environment of its own."""
    report = work / "report.xml"
    command = [sys.executable, "-m", "pytest", f"tests/test_{name}.py", "-q", "--tb=short", "-p", "no:cacheprovider"]
    command += [f"--junitxml={report}", "-o", "junit_family=xunit1", *options]
    (work / "run").mkdir()
    paths = {"PYTHONPATH": str(package / "src")}
    done = Processes().run(command, package, {**variables(work / "run"), **paths})
    return pytests.result(name, done, report)


Built = Callable[[Path], Path]


def module(call: Any) -> Any:
    """A torch module that makes one call."""
    import torch

    class Model(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return call(x)

    return Model()


def noted(monkeypatch: pytest.MonkeyPatch, creator: Any) -> list[Any]:
    """The plugins that a creator makes from now on."""
    made: list[Any] = []
    create = creator.create_plugin

    def create_plugin(creator: Any, *given: Any) -> Any:
        made.append(create(creator, *given))
        return made[-1]

    monkeypatch.setattr(creator, "create_plugin", create_plugin)
    return made
