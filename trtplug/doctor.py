"""What is installed here and what that is enough for; a new requirement of a stage is a `Need` here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trtplug import probing


@dataclass(frozen=True)
class Library:
    """What the probe found; without a version, `problem` says why."""

    version: str | None
    problem: str


@dataclass(frozen=True)
class Facts:
    """The libraries and the GPU of a machine, by the names that Python imports, and `cuda` for the device."""

    found: Mapping[str, Library]

    def has(self, name: str) -> bool:
        return self.found.get(name, _UNKNOWN).version is not None


@dataclass(frozen=True)
class Need:
    """Something a stage cannot do without: any one of `names`, and what to do where there is none."""

    label: str
    names: tuple[str, ...]
    remedy: str


_UNKNOWN = Library(None, "not probed: an import before it took the process down")
_VERIFY = "pip install 'trtplug[verify]'"
BUILD, HATCHLING, PIP, PYTEST, TORCH, TRITON, NUMPY, ONNX, ONNXSCRIPT = (
    Need(name, (name,), _VERIFY)
    for name in ("build", "hatchling", "pip", "pytest", "torch", "triton", "numpy", "onnx", "onnxscript")
)
TENSORRT = Need("TensorRT", ("tensorrt_rtx", "tensorrt"), _VERIFY)
TORCH_TENSORRT = Need(
    "torch_tensorrt", ("torch_tensorrt", "torch_tensorrt_rtx"), "pip install 'trtplug[torch-tensorrt]'"
)
CUDA = Need("a CUDA device", ("cuda",), "use a machine with an NVIDIA GPU and a CUDA build of torch")


def examine() -> Facts:
    """Probe this machine, in one process that a broken library may take down."""
    return facts(probing.run("probe").stdout)


def facts(output: str) -> Facts:
    """What the probe's output says; of two lines on one library the later one holds."""
    found = {}
    for line in output.splitlines():
        marker, _, text = line.partition(" ")
        if marker == "trtplug-probe":
            row = json.loads(text)
            found[row["name"]] = Library(row["version"], row["problem"])
    return Facts(found)


def missing(needs: Iterable[Need], facts: Facts) -> tuple[Need, ...]:
    """Those of `needs` that this machine does not meet."""
    return tuple(need for need in needs if not any(map(facts.has, need.names)))


def reason(missing: Iterable[Need], facts: Facts) -> str:
    """Why a stage that misses these cannot run."""
    return "needs " + ", ".join(need.label + _broken(need, facts) for need in missing)


def remedy(missing: Iterable[Need], facts: Facts) -> str:
    """What would enable a stage that misses these."""
    return "; then ".join(dict.fromkeys(_remedy(need, facts) for need in missing))


def _remedy(need: Need, facts: Facts) -> str:
    """A library that is there and does not import needs another remedy than one that is absent."""
    if not _broken(need, facts):
        return need.remedy
    if need.names[0] not in facts.found:
        return "mend the library that takes the process down"
    return f"python -c 'import {need.names[0]}' shows what to mend"


def _broken(need: Need, facts: Facts) -> str:
    """What is wrong with a library that is there, or was not looked for."""
    library = facts.found.get(need.names[0], _UNKNOWN)
    absent = library.problem == "not installed" or (need is CUDA and library is not _UNKNOWN)
    return "" if absent else f" ({library.problem})"
