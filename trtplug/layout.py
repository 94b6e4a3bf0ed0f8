"""Generated files as ruff lays them out; what it made of the same files before is remembered in a folder."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from ruff.__main__ import find_ruff_bin

# Imports that a package does not need go, the others are sorted, and then the code is laid out.
_COMMANDS = (["check", "--fix", "--exit-zero", "--select", "F401,I"], ["format"])


def laid_out(files: Mapping[str, str], memory: Path | None) -> dict[str, str]:
    """The files by path, formatted by the settings of the pyproject.toml among them.

    Running ruff is a third of a build, so its result is kept in `memory`, a folder that is the user's own, under a name
    that follows from all that it depends on. None is no memory.
    """
    ruff = find_ruff_bin()
    if memory is None:
        return _run(ruff, files)
    key = json.dumps([ruff, os.stat(ruff).st_mtime_ns, _COMMANDS, files], sort_keys=True)
    kept = memory / f"trtplug-{sha256(key.encode()).hexdigest()}.json"
    with contextlib.suppress(OSError, ValueError):
        remembered = json.loads(kept.read_text(encoding="utf-8"))
        if isinstance(remembered, dict) and remembered.keys() == files.keys():
            return {path: str(text) for path, text in remembered.items()}
    result = _run(ruff, files)
    with contextlib.suppress(OSError):
        # Whole or not at all, whoever else builds at the same time.
        unfinished = kept.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(result), encoding="utf-8")
        unfinished.replace(kept)
    return result


def _run(ruff: str, files: Mapping[str, str]) -> dict[str, str]:
    # Imported here, because a build that remembers does without them.
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        for command in _COMMANDS:
            done = subprocess.run([ruff, *command, "--no-cache", folder], capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(
                    f"generated code is not valid Python; this is a fault of trtplug:\n{done.stdout}{done.stderr}"
                )
        return {path: Path(folder, path).read_text(encoding="utf-8") for path in files}
