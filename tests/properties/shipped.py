"""The rules as generated packages carry them: the text that ships is what these tests run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import torch

from trtplug import expr
from trtplug.views import spelling


def _functions(symbolic: bool) -> Mapping[str, Any]:
    """All rules by name, made of their source and of nothing but what the templates of the modules import."""
    module: dict[str, Any] = {"math": math, "Sequence": Sequence, "Fraction": Fraction, "Any": Any}
    if symbolic:
        module |= {"torch": torch, "Dim": Any}
    calls = [expr.Call(function.returns, name, ()) for name, function in expr.FUNCTIONS.items()]
    exec("\n\n".join(spelling.used_rules(calls, symbolic)), module)
    return {name: module[spelling.private(name)] for name in expr.FUNCTIONS if spelling.private(name) in module}


# By whether the text serves SymInts and TensorRT's dimension expressions, or ints alone.
SHIPPED: Mapping[bool, Mapping[str, Any]] = {symbolic: _functions(symbolic) for symbolic in (True, False)}
