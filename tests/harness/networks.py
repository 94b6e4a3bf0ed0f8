"""Networks of TensorRT-RTX take plugins by the module that packages of an IPluginV3 have; here for other packages."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

_MODULE = Path(__file__).parents[1] / "golden/circ_pad/src/trtplug_circular_pad/_network.py"


def add_layer_of(package: str) -> Callable[..., Any]:
    """The function `add_layer`, in a package that has no `_network.py` of its own."""
    module = types.ModuleType(f"{package}._network")
    vars(module)["__package__"] = package
    sys.modules[module.__name__] = module
    exec(_MODULE.read_text(encoding="utf-8"), vars(module))
    add: Callable[..., Any] = vars(module)["add_layer"]
    return add
