"""The scratch environment that a package is installed into, and the variables that its processes run with."""

from __future__ import annotations

import importlib.util
import os
import site
import sys
from pathlib import Path

from trtplug.process import Done, Processes


def create(work: Path, processes: Processes) -> Done:
    """An environment that sees the running one's libraries, after its own: what it installs wins."""
    folder = work / "env"
    done = processes.run([sys.executable, "-m", "venv", "--without-pip", folder], work, os.environ)
    for packages in folder.glob("lib/python*/site-packages"):
        lines = [f"import site; site.addsitedir({str(path)!r})\n" for path in _libraries()]
        (packages / "running_environment.pth").write_text("".join(lines), encoding="utf-8")
    return done


def variables(work: Path) -> dict[str, str]:
    """The variables of every process in the environment, with which it finds nothing beside what `create` shows it."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "PIP_"))}
    own["TRITON_CACHE_DIR"] = str(work / "triton")  # neither a stale kernel nor files in the user's home
    own["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    own["PYTHONNOUSERSITE"] = "1"
    own["PYTHONFAULTHANDLER"] = "1"
    if library := _tensorrt_rtx():
        link = work / "lib" / "libtensorrt_rtx.so"
        link.parent.mkdir()
        link.symlink_to(library)
        own["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(link.parent), own.get("LD_LIBRARY_PATH")]))
    return own


def _libraries() -> list[str]:
    """Folders with libraries, in the order in which the running interpreter looks."""
    listed = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return [os.path.abspath(path) for path in (*listed, *user, *site.getsitepackages())]


def _tensorrt_rtx() -> Path | None:
    """TensorRT-RTX's ONNX parser opens this library, without the 1 at the end, which its package does not have."""
    spec = importlib.util.find_spec("tensorrt_rtx_libs")
    folders = (spec.submodule_search_locations or []) if spec else []
    libraries = [Path(folder) / "libtensorrt_rtx.so.1" for folder in folders]
    return next(filter(Path.exists, libraries), None)
