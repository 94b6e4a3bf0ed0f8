"""Random expressions of the language, as text, and Python's own opinion of what they mean: the oracle of these tests.

A new function of the language goes into `ORACLE` and into one of the strategies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

from trtplug import expr
from trtplug.expr import Kind, Scalar, Scope, Site

VALUES: Mapping[str, Kind] = {
    "a": expr.INT,
    "b": expr.INT,
    "mode": expr.STR,
    "flag": expr.BOOL,
    "pads": Kind(Scalar.INT, is_list=True),
}
SCOPES = {site: Scope(site, ("x", "w"), VALUES) for site in Site}


@dataclass(frozen=True)
class Call:
    """Shapes and attributes to evaluate an expression on."""

    x: tuple[int, ...]
    w: tuple[int, ...]
    a: int = 3
    b: int = -2
    mode: str = "it's"
    flag: bool = True
    pads: tuple[int, ...] = (1, 0, 2, -1)


def _pad(shape: Any, padding: Any) -> list[int]:
    """As torch.nn.functional.pad documents it: pairs, from the last dimension on."""
    pairs = list(zip(padding[::2], padding[1::2], strict=False))
    if len(pairs) > len(shape):
        raise IndexError
    grow = [0] * (len(shape) - len(pairs)) + [before + after for before, after in reversed(pairs)]
    return [size + more for size, more in zip(shape, grow, strict=True)]


def _broadcast(a: Any, b: Any) -> list[int]:
    """As NumPy documents it: shapes stand right-aligned, and a missing size is 1."""
    pairs = list(itertools.zip_longest(reversed(list(a)), reversed(list(b)), fillvalue=1))
    if any(m != n and m != 1 and n != 1 for m, n in pairs):
        raise ValueError
    return [n if m == 1 else m for m, n in reversed(pairs)]


def _reduce(shape: Any, dims: Any, keepdim: bool) -> list[int]:
    """As torch.sum documents it."""
    if any(not -max(len(shape), 1) <= dim < max(len(shape), 1) for dim in dims):
        raise IndexError
    at = [list(range(len(shape)))[dim] for dim in dims] if shape and dims else range(len(shape))
    kept = [1 if i in at else size for i, size in enumerate(shape)]
    return kept if keepdim else [size for i, size in enumerate(shape) if i not in at]


def _transpose(shape: Any, i: int, j: int) -> list[int]:
    """As torch.transpose documents it."""
    turned = list(shape)
    if turned or not {i, j} <= {0, -1}:
        turned[i], turned[j] = turned[j], turned[i]
    return turned


ORACLE: Mapping[str, Any] = {
    "broadcast": _broadcast,
    "reduce": _reduce,
    "transpose": _transpose,
    "strides": lambda shape: [math.prod(shape[i + 1 :]) for i in range(len(shape))],
    "scaled": lambda n, factor: math.floor(n * Fraction(repr(factor))),
    "cdiv": lambda a, b: a // b + (a % b != 0),
    "prod": math.prod,
    "numel": lambda tensor: math.prod(tensor.shape),
    "pad": _pad,
    "next_power_of_2": lambda n: next(2**i for i in range(99) if 2**i >= n),
}


def expected(text: str, call: Call) -> Any:
    """The value that Python gives the text itself, or the type of its exception."""
    tensors = {
        name: SimpleNamespace(shape=list(shape), ndim=len(shape)) for name, shape in (("x", call.x), ("w", call.w))
    }
    values = {"a": call.a, "b": call.b, "mode": call.mode, "flag": call.flag, "pads": list(call.pads)}
    try:
        return eval(text, {**ORACLE, **tensors, **values})
    except (ArithmeticError, LookupError, ValueError) as error:
        return type(error)


# --- strategies -----------------------------------------------------------------------------------------------------


def _join(*parts: str | st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map("".join)


def numbers(site: Site, depth: int, loop: bool = False) -> st.SearchStrategy[str]:
    """Ints and dimensions, with and without parentheses, so that precedence decides."""
    names = ["a", "b", "x.ndim", "numel(w)", "x.shape[0]", "x.shape[-1]", "w.shape[1]", *(["v"] if loop else [])]
    leaves = st.one_of(st.integers(-3, 9).map(str), st.sampled_from(names))
    if depth == 0:
        return leaves
    number, items = numbers(site, depth - 1, loop), lists(site, depth - 1, loop)
    known = ints(depth - 1) if site is not Site.LAUNCH else number
    several = st.lists(number, min_size=2, max_size=4).map(", ".join)
    return st.one_of(
        leaves,
        _join(number, st.sampled_from([" + ", " - ", " * ", " // ", " % "]), number),
        _join("(", number, ")"),
        _join("-", number),
        _join("cdiv(", number, ", ", number, ")"),
        _join("scaled(", number, ", ", st.sampled_from(["0.7", "2.5", "0.3333333333333333"]), ")"),
        _join(st.sampled_from(["min(", "max("]), several, ")"),
        _join(st.sampled_from(["sum(", "prod(", "len("]), items, ")"),
        _join("(", items, ")[", known, "]"),
        *([_join("next_power_of_2(", number, ")")] if site is Site.LAUNCH else []),
    )


def ints(depth: int) -> st.SearchStrategy[str]:
    """What is known when an engine is built, and may index."""
    leaves = st.sampled_from(["0", "1", "-1", "2", "a", "b", "x.ndim", "pads[0]", "len(pads)"])
    if depth == 0:
        return leaves
    return st.one_of(leaves, _join(ints(depth - 1), st.sampled_from([" + ", " - ", " % "]), ints(depth - 1)))


def lists(site: Site, depth: int, loop: bool = False) -> st.SearchStrategy[str]:
    leaves = st.sampled_from(["x.shape", "w.shape", "pads", "[]"])
    if depth == 0:
        return leaves
    number, items = numbers(site, depth - 1, loop), lists(site, depth - 1, loop)
    bound = st.one_of(st.just(""), ints(1))
    bools = st.sampled_from(["flag", "True", "not flag", "len(x.shape) > 2"])
    return st.one_of(
        leaves,
        _join("[", st.lists(number, min_size=1, max_size=3).map(", ".join), "]"),
        _join(items, " + ", items),
        _join("(", items, ")[", bound, ":", bound, "]"),
        _join("(", items, ")[", bound, ":", bound, ":", st.sampled_from(["2", "-1", "-2"]), "]"),
        _join("pad(", items, ", ", st.sampled_from(["pads", "pads[:2]", "[a, b]"]), ")"),
        _join("broadcast(", items, ", ", st.sampled_from(["[1]", "[1, 1]", "x.shape", "[1] + w.shape", "[]"]), ")"),
        _join("reduce(", items, ", ", st.sampled_from(["[]", "[0]", "[-1]", "[1, 0]"]), ", ", bools, ")"),
        _join("transpose(", items, ", ", st.sampled_from(["0, 1", "-1, 0", "-2, -1"]), ")"),
        _join("strides(", items, ")"),
        *([] if loop else [_join("[", numbers(site, depth - 1, loop=True), " for v in ", items, "]")]),
        *([] if loop else [_join("[", numbers(site, depth - 1, loop=True), " for v in range(", ints(0), ")]")]),
    )


def conditions(depth: int) -> st.SearchStrategy[str]:
    number, items = numbers(Site.CHECK, max(depth - 1, 0)), lists(Site.CHECK, max(depth - 1, 0))
    compare = st.sampled_from([" == ", " != ", " < ", " <= ", " > ", " >= "])
    leaves = st.one_of(
        st.sampled_from(["flag", "True", 'mode == "it\'s"', "mode != 'x\"\\n'"]),
        _join(number, compare, number),
        _join(number, compare, number, compare, number),
        _join(items, st.sampled_from([" == ", " != "]), items),
    )
    if depth == 0:
        return leaves
    condition = conditions(depth - 1)
    body = _join(numbers(Site.CHECK, depth - 1, loop=True), compare, "v")
    return st.one_of(
        leaves,
        _join(condition, st.sampled_from([" and ", " or "]), condition),
        _join("not ", condition),
        _join("(", condition, ")"),
        _join("(", condition, ") == (", condition, ")"),
        _join("all(", body, " for v in ", items, ")"),
    )


def calls(least: int = 0) -> st.SearchStrategy[Call]:
    size = st.integers(least, 9)
    return st.builds(
        Call,
        x=st.lists(size, min_size=1, max_size=4).map(tuple),
        w=st.lists(size, min_size=2, max_size=3).map(tuple),
        a=st.integers(-4, 6),
        b=st.integers(-4, 6),
        mode=st.sampled_from(["it's", 'x"\n', ""]),
        flag=st.booleans(),
        pads=st.lists(st.integers(-2, 3), max_size=4).map(tuple),
    )
