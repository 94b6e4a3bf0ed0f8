"""The kinds and nodes of an expression, and the functions that it may call: all that a printer needs to know."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple


class Scalar(enum.Enum):
    """What one value is. A dimension may be unknown until the call; an int is known when an engine is built."""

    INT = "an int"
    DIM = "a dimension"
    FLOAT = "a float"
    BOOL = "a bool"
    STR = "a string"
    DTYPE = "a dtype"
    TENSOR = "a tensor"


class Kind(NamedTuple):
    """A scalar, or a list of scalars whose length may be unknown; an optional one may be None."""

    scalar: Scalar
    is_list: bool = False
    optional: bool = False

    def __str__(self) -> str:
        text = f"a list, each item {self.scalar.value}" if self.is_list else self.scalar.value
        return f"{text}, or None" if self.optional else text


INT, DIM, FLOAT, BOOL, STR, DTYPE, TENSOR = (Kind(scalar) for scalar in Scalar)
INTS, DIMS = Kind(Scalar.INT, is_list=True), Kind(Scalar.DIM, is_list=True)


@dataclass(frozen=True, eq=False, repr=False)
class Expr:
    """One node; children are nodes too."""

    kind: Kind


@dataclass(frozen=True, eq=False, repr=False)
class Literal(Expr):
    value: int | float | bool | str


@dataclass(frozen=True, eq=False, repr=False)
class Value(Expr):
    """An attribute, a `let` name, a constexpr, a loop variable, or a tensor as a kernel argument."""

    name: str


@dataclass(frozen=True, eq=False, repr=False)
class Property(Expr):
    """`x.shape`, `x.ndim` or `x.dtype`."""

    tensor: str
    name: str


@dataclass(frozen=True, eq=False, repr=False)
class Unary(Expr):
    operator: str  # "-" or "not "
    operand: Expr


@dataclass(frozen=True, eq=False, repr=False)
class Binary(Expr):
    operator: str  # + - * // % and comparisons
    left: Expr
    right: Expr


@dataclass(frozen=True, eq=False, repr=False)
class Logic(Expr):
    operator: str  # "and" or "or"
    operands: tuple[Expr, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Items(Expr):
    """A list literal; concatenation of lists is flattened into it, as `Spread` items."""

    items: tuple[Expr, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Spread(Expr):
    """All items of a list, inside a list literal."""

    operand: Expr


@dataclass(frozen=True, eq=False, repr=False)
class Index(Expr):
    operand: Expr
    index: Expr


@dataclass(frozen=True, eq=False, repr=False)
class Slice(Expr):
    operand: Expr
    start: Expr | None
    stop: Expr | None
    step: Expr | None


@dataclass(frozen=True, eq=False, repr=False)
class Call(Expr):
    function: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Each(Expr):
    """`[body for variable in source]`, or with `every` the test `all(body for variable in source)`."""

    body: Expr
    variable: str
    source: Expr
    every: bool


class Function(NamedTuple):
    """A callable of the language: its parameters, and what it returns; the last one of `variadic` may be repeated."""

    parameters: tuple[Kind, ...]
    returns: Kind
    launch_only: bool = False
    is_rule: bool = False
    variadic: bool = False


FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "cdiv": Function((DIM, DIM), DIM),
        "sum": Function((DIMS,), DIM),
        "prod": Function((DIMS,), DIM),
        "next_power_of_2": Function((INT,), INT, launch_only=True),
        "pad": Function((DIMS, INTS), DIMS, is_rule=True),
        "broadcast": Function((DIMS, DIMS), DIMS, is_rule=True),
        "broadcasts": Function((DIMS, DIMS), BOOL, is_rule=True),
        "reduce": Function((DIMS, INTS, BOOL), DIMS, is_rule=True),
        "matmul": Function((DIMS, DIMS), DIMS, is_rule=True),
        "concat": Function((INT, DIMS), DIMS, is_rule=True, variadic=True),
        "permute": Function((DIMS, INTS), DIMS, is_rule=True),
        "transpose": Function((DIMS, INT, INT), DIMS, is_rule=True),
        "conv": Function((DIMS, DIMS, INTS, INTS, INTS), DIMS, is_rule=True),
        "pool": Function((DIMS, INTS, INTS, INTS, INTS, BOOL), DIMS, is_rule=True),
        "strides": Function((DIMS,), DIMS, is_rule=True),
        "scaled": Function((DIM, FLOAT), DIM, is_rule=True),
    }
)
# Typed by hand in parse.py: they take several kinds, or stand in one place only.
_SPECIAL = ("min", "max", "len", "numel", "range", "all", "present", "or_else")
RESERVED = (*FUNCTIONS, *_SPECIAL)


def functions(node: Expr) -> frozenset[str]:
    """The functions that a tree calls."""
    return frozenset(child.function for child in walk(node) if isinstance(child, Call))


def walk(node: Expr, but: Collection[str] = ()) -> Iterator[Expr]:
    """The node and all nodes below it, from left to right, without calls of the functions `but`."""
    if isinstance(node, Call) and node.function in but:
        return
    yield node
    for value in vars(node).values():
        for child in value if isinstance(value, tuple) else (value,):
            if isinstance(child, Expr):
                yield from walk(child, but)
