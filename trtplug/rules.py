"""The named shape rules of the expression language; a new rule is one function here.

Each is plain Python over dimensions, so one text serves ints, SymInts and TensorRT dimension expressions. Generated
packages carry the source of the rules that they use, and `trtplug check` runs the same functions. A rule may use
`+ - * // %`, `len`, `torch.sym_min` and `torch.sym_max`, and must never branch on the value of a dimension.
"""

from collections.abc import Sequence
from typing import Any

Dim = Any


def pad(shape: Sequence[Dim], padding: Sequence[int]) -> list[Dim]:
    """Adds a before and an after to each padded dimension, the last one first, as torch.nn.functional.pad does."""
    padded = list(shape)
    for i in range(len(padding) // 2):
        padded[-1 - i] = padded[-1 - i] + padding[2 * i] + padding[2 * i + 1]
    return padded


def next_power_of_2(n: int) -> int:
    """The least power of two that is not below n; of a launch only, since a dimension expression has no such form."""
    return 1 << max(n - 1, 0).bit_length()
