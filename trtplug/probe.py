"""Run by its text in a process of its own: imports each library and reports it; a new library is a name in `LIBRARIES`.

One line before and one after each, so that the reader knows which import took the process down.
"""

import contextlib
import importlib
import json
import sys
from importlib import metadata

LIBRARIES = (
    *("build", "hatchling", "pip", "pytest", "numpy", "torch", "triton", "onnx", "onnxscript"),
    *("tensorrt_rtx", "tensorrt", "torch_tensorrt"),
)
# Without a GPU torch_tensorrt does not import, yet its tests can do with this distribution of it, there alone.
DISTRIBUTIONS = ("torch_tensorrt_rtx",)


def _report(name: str, version: str | None = None, problem: str = "") -> None:
    print("\ntrtplug-probe", json.dumps({"name": name, "version": version, "problem": problem}), flush=True)


def _library(name: str) -> str:
    if name in DISTRIBUTIONS:
        installed = metadata.version(name)
        if importlib.import_module("torch").cuda.is_available():
            raise RuntimeError(f"{installed} is installed, and beside a GPU torch_tensorrt itself has to import")
        return installed
    module = importlib.import_module(name)
    version = getattr(module, "__version__", None)
    return str(version or metadata.version(name))


def _device() -> str:
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        raise RuntimeError("torch finds none")
    major, minor = torch.cuda.get_device_capability()
    return f"{torch.cuda.get_device_name()}, compute capability {major}.{minor}"


def main() -> None:
    _report("python", sys.version.split()[0])
    for name in (*LIBRARIES, *DISTRIBUTIONS, "cuda"):
        _report(name, problem="takes the process down")
        try:
            with contextlib.redirect_stdout(sys.stderr):
                version = _device() if name == "cuda" else _library(name)
        except ModuleNotFoundError as error:
            _report(name, problem="not installed" if error.name == name else str(error))
        except BaseException as error:
            _report(name, problem=f"{type(error).__name__}: {error}".splitlines()[0])
        else:
            _report(name, version)


if __name__ == "__main__":
    main()
