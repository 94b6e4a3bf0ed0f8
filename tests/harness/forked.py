"""Runs pytest on the tests of a package in forks of a process that has imported what takes long to import.

A fork leaves nothing behind in that process, so each begins with the same. What they share is the folder of the kernels
that Triton compiled before.
"""

from __future__ import annotations

import multiprocessing
import multiprocessing.forkserver
import os
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

_PRELOADED = ["torch", "triton", "numpy", "onnx", "onnxscript", "pytest", __name__]
_ROOT = str(Path(__file__).parents[2])
_NOT_RUN = 70  # the exit code where pytest did not come to run, which none of its own is
_SECONDS = 600


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
        process.join(_SECONDS)
        if process.is_alive():
            process.kill()
            process.join()
        assert process.exitcode is not None
        return process.exitcode, log.read_text(encoding="utf-8", errors="replace")


def start(variables: Mapping[str, str]) -> Forks:
    """Starts the process, with these variables, some of which take effect when a process starts and not later."""
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
    try:
        _prepare(package, variables)
    except BaseException:
        traceback.print_exc()
        sys.exit(_NOT_RUN)
    sys.exit(pytest.main(list(arguments)))


def _prepare(package: Path, variables: Mapping[str, str]) -> None:
    """Makes a fork what a new process would be; raises an error where it comes of another process than `start` made."""
    late = {name for name in _PRELOADED if name not in sys.modules}
    late |= {name for name, value in variables.items() if os.environ.get(name) != value}
    if late:
        raise RuntimeError(f"the process that is forked began without {late}")
    source = str(package / "src")
    os.environ.clear()
    os.environ.update(variables, PYTHONPATH=source)
    os.chdir(package)
    # The package's own tests are `tests` too.
    sys.path[:] = [source, *(path for path in sys.path if path and os.path.abspath(path) != _ROOT)]
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
