"""What all tests share: packages rendered from specs, and how to run the command line in a process of its own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from trtplug.plugin_api import PluginApi

ROOT = Path(__file__).parent.parent
# Kernels run in this process too, without a GPU; Triton reads this when it is imported.
os.environ.setdefault("TRITON_INTERPRET", "1")

Built = Callable[..., Path]

# CI says that it has installed it, so that a missing one fails there.
TORCH_TENSORRT = (
    importlib.util.find_spec("torch_tensorrt") is not None or os.environ.get("TRTPLUG_REQUIRE") == "torch_tensorrt"
)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Writes the package of a spec into a folder, once a session, and returns the folder.

    A plugin interface may follow, which takes the place of what the spec says.
    """
    from trtplug import fileset, render, resolve, spec

    folders: dict[tuple[Path, PluginApi | None], Path] = {}

    def build(path: Path, api: PluginApi | None = None) -> Path:
        if (path, api) not in folders:
            folder = tmp_path_factory.mktemp(path.stem) / "package"
            fileset.apply(fileset.plan(render.render(resolve.resolve(spec.load(path), api)), folder))
            folders[path, api] = folder
        return folders[path, api]

    return build


def run_trtplug(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """`trtplug ARGUMENTS`, as a user runs it."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    command = [sys.executable, "-m", "trtplug", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=cwd)
