"""Runs native code in processes of its own, so that a crash or a hang there is a result here."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_SECONDS = 900


@dataclass(frozen=True)
class Done:
    """How a process ended; `reason` is empty only for success."""

    reason: str
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        return "\n".join(text.strip() for text in (self.stdout, self.stderr) if text.strip())


class Processes:
    """Every process that runs, so that all can be stopped at once."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self.stopped = False

    def run(
        self, command: Sequence[str | Path], folder: Path, variables: Mapping[str, str], seconds: float = _SECONDS
    ) -> Done:
        with self._lock:
            if self.stopped:
                return Done("interrupted", "", "")
            process = subprocess.Popen(
                [str(part) for part in command],
                cwd=folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,  # a group of its own, so that its children stop with it
            )
            self._running.add(process)
        try:
            stdout, stderr = process.communicate(timeout=seconds)
            reason = _reason(process.returncode)
        except subprocess.TimeoutExpired:
            _kill(process)
            stdout, stderr = process.communicate()
            reason = f"did not end within {seconds:.0f} s"
        except BaseException:
            _kill(process)
            raise
        finally:
            with self._lock:
                self._running.discard(process)
        return Done(reason, stdout, stderr)

    def stop(self) -> None:
        """Kill what runs; nothing starts afterwards."""
        with self._lock:
            self.stopped = True
            for process in self._running:
                _kill(process)


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _reason(code: int) -> str:
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"signal {-code}"
        return f"the process crashed ({name})"
    return f"exit status {code}" if code else ""
