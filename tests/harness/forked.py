"""Runs pytest on the tests of a package in forks of a process that has imported what takes long to import.

A fork leaves nothing behind in that process, so each is as if it had begun anew, as those of `trtplug verify` do.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.forkserver
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

_PRELOADED = ["torch", "triton", "numpy", "onnx", "onnxscript", "pytest", __name__]
_ROOT = str(Path(__file__).parents[2])


@dataclass(frozen=True)
class Forks:
    """What forks are made from, and the environment variables of each."""

    context: ForkServerContext
    variables: Mapping[str, str]

    def pytest(self, package: Path, *arguments: str) -> tuple[int, str]:
        """The exit code, negative if a signal ended the process, and the output, with the package where it stands."""
        log = package.with_name(f"{package.name}.log")
        process = self.context.Process(target=_run, args=(package, self.variables, arguments, log))
        process.start()
        process.join()
        assert process.exitcode is not None
        return process.exitcode, log.read_text(encoding="utf-8", errors="replace")


def start(variables: Mapping[str, str]) -> Forks:
    """Starts the process; the variables have what takes effect when a process starts."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        multiprocessing.forkserver.ensure_running()
    return Forks(context, variables)


def _run(package: Path, variables: Mapping[str, str], arguments: tuple[str, ...], log: Path) -> None:
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(file, stream)
    source = str(package / "src")
    os.environ.clear()
    os.environ.update(variables, PYTHONPATH=source)
    os.chdir(package)
    # The package's own tests are `tests` too.
    sys.path[:] = [source, *(path for path in sys.path if path and os.path.abspath(path) != _ROOT)]
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    sys.exit(pytest.main(list(arguments)))
