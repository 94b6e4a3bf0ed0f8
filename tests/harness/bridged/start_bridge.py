"""Imported when Python starts: mends TensorRT-RTX with rtx_bridge once something imports it.

With this folder on PYTHONPATH sitecustomize.py imports this in every process, so that the tests of a generated package
run as they are, and so do the fresh processes that they start. In the scratch environments of `trtplug verify`, which
show their processes the folders of PYTHONPATH as libraries, start_bridge.pth does. Neither can import TensorRT-RTX: the
folder that has it may come later in the path.

Each network that such a process makes takes one plugin, of as many outputs as the variable BRIDGED_OUTPUTS says; one
that Torch-TensorRT makes takes those of its graph.
"""

from __future__ import annotations

import importlib
import importlib.abc
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class _Waiting(importlib.abc.MetaPathFinder):
    """Finds TensorRT-RTX as Python would, and mends it when it has been imported."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == "tensorrt_rtx" else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Mending(spec.loader)
        return spec


class _Mending(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        bridge = importlib.import_module("rtx_bridge")
        bridge.mend_for_torch_tensorrt_2_11()
        bridge.install(int(os.environ.get("BRIDGED_OUTPUTS", "1")))


sys.meta_path.insert(0, _Waiting())
