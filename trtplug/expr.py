"""The expression language of a spec: text to a typed tree, and the tree to Python.

A spec's expressions are a checked subset of Python. `parse` turns text into `Expr` nodes that know their kind, and
`Python` prints them. A new function is one row in `FUNCTIONS` and, if it is a shape rule, one function in rules.py;
another target language is another printer of the same nodes.
"""

from __future__ import annotations

import ast
import difflib
import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NoReturn


class Scalar(enum.Enum):
    """What one value is. A dimension may be unknown until the call; an int is known when an engine is built."""

    INT = "an int"
    DIM = "a dimension"
    FLOAT = "a float"
    BOOL = "a bool"
    STR = "a string"
    DTYPE = "a dtype"
    TENSOR = "a tensor"


@dataclass(frozen=True)
class Kind:
    """A scalar, or a list of scalars whose length may be unknown."""

    scalar: Scalar
    is_list: bool = False

    def __str__(self) -> str:
        return f"a list, each item {self.scalar.value}" if self.is_list else self.scalar.value


INT, DIM, FLOAT, BOOL, STR, DTYPE, TENSOR = (Kind(scalar) for scalar in Scalar)
INTS, DIMS = Kind(Scalar.INT, is_list=True), Kind(Scalar.DIM, is_list=True)


class Names(enum.Enum):
    """Where an expression stands, which decides the functions it may call."""

    SHAPE = "a shape rule"  # must have a form in TensorRT's dimension expressions
    CHECK = "a check"
    LAUNCH = "a launch"  # everything is a Python int


@dataclass(frozen=True)
class Scope:
    """The names that an expression may use: tensors, and values of a kind."""

    place: Names
    tensors: tuple[str, ...] = ()
    values: Mapping[str, Kind] = field(default_factory=lambda: MappingProxyType({}))

    def with_value(self, name: str, kind: Kind) -> Scope:
        return replace(self, values={**self.values, name: kind})


class ExpressionError(Exception):
    """What is wrong, what to do, and where: `offset` counts characters of the text from 0."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@dataclass(frozen=True)
class Expr:
    """One node; children are nodes too."""

    kind: Kind


@dataclass(frozen=True)
class Literal(Expr):
    value: int | float | bool | str


@dataclass(frozen=True)
class Value(Expr):
    """An attribute, a `let` name, a constexpr, a loop variable, or a tensor as a kernel argument."""

    name: str


@dataclass(frozen=True)
class Property(Expr):
    """`x.shape`, `x.ndim` or `x.dtype`."""

    tensor: str
    name: str


@dataclass(frozen=True)
class Unary(Expr):
    operator: str  # "-" or "not "
    operand: Expr


@dataclass(frozen=True)
class Binary(Expr):
    operator: str  # + - * // % and comparisons
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Logic(Expr):
    operator: str  # "and" or "or"
    operands: tuple[Expr, ...]


@dataclass(frozen=True)
class Items(Expr):
    """A list literal; concatenation of lists is flattened into it, as `Spread` items."""

    items: tuple[Expr, ...]


@dataclass(frozen=True)
class Spread(Expr):
    """All items of a list, inside a list literal."""

    operand: Expr


@dataclass(frozen=True)
class Index(Expr):
    operand: Expr
    index: Expr


@dataclass(frozen=True)
class Slice(Expr):
    operand: Expr
    start: Expr | None
    stop: Expr | None
    step: Expr | None


@dataclass(frozen=True)
class Call(Expr):
    function: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True)
class Each(Expr):
    """`[body for variable in source]`, or with `every` the test `all(body for variable in source)`."""

    body: Expr
    variable: str
    source: Expr
    every: bool


@dataclass(frozen=True)
class Function:
    """A callable of the language: its parameters, what it returns, and how Python spells it."""

    parameters: tuple[Kind, ...]
    returns: Kind
    launch_only: bool = False
    is_rule: bool = False
    needs: str | None = None  # a module that the Python text imports


# `min` and `max` take two or more numbers, all of a kind, and are typed by hand below, as are `len`, `numel`, `all`.
FUNCTIONS: Mapping[str, Function] = MappingProxyType(
    {
        "cdiv": Function((DIM, DIM), DIM),
        "sum": Function((DIMS,), DIM),
        "prod": Function((DIMS,), DIM, needs="math"),
        "next_power_of_2": Function((INT,), INT, launch_only=True),
        "pad": Function((DIMS, INTS), DIMS, is_rule=True),
    }
)
_SPECIAL = ("min", "max", "len", "numel", "range", "all")
RESERVED = (*FUNCTIONS, *_SPECIAL)

_BINARY: Mapping[type[ast.AST], str] = MappingProxyType(
    {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
)
_COMPARE: Mapping[type[ast.AST], str] = MappingProxyType(
    {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
)
_ADVICE: Mapping[type[ast.AST], str] = MappingProxyType(
    {
        ast.Div: "true division has no dimension; write // or cdiv(a, b)",
        ast.Pow: "there is no power; multiply",
        ast.IfExp: "there is no if-else, since a dimension may be unknown; use min and max",
        ast.Lambda: "there are no functions of your own; use a let name",
    }
)
_PROPERTIES: Mapping[str, Kind] = MappingProxyType({"shape": DIMS, "ndim": INT, "dtype": DTYPE})


def parse(text: str, scope: Scope) -> Expr:
    """The typed tree of an expression; raises ExpressionError."""
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, RecursionError) as error:
        offset = (getattr(error, "offset", None) or 1) - 1
        what = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ExpressionError(f"this is no expression ({what})", offset) from None
    return _Parser(text, scope).expression(tree.body)


def accepts(wanted: Kind, got: Kind) -> bool:
    """Whether a value of a kind may stand where another is wanted: an int is a dimension, and in a launch an int."""
    return wanted == got or (wanted.scalar is Scalar.DIM and got == Kind(Scalar.INT, wanted.is_list))


class _Parser:
    def __init__(self, text: str, scope: Scope) -> None:
        self._text = text
        self._scope = scope

    def expression(self, node: ast.expr) -> Expr:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as value):
                kind = {bool: BOOL, int: INT, float: FLOAT, str: STR}[type(value)]
                return Literal(kind, value)
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.Attribute(value=ast.Name(id=tensor), attr=name):
                return self._property(node, tensor, name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._negative(operand)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Unary(BOOL, "not ", self._want(operand, BOOL))
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _BINARY:
                return self._binary(node, left, _BINARY[type(operator)], right)
            case ast.Compare(left=left, ops=operators, comparators=rest):
                return self._compare(node, [left, *rest], operators)
            case ast.BoolOp(op=operator, values=values):
                return Logic(
                    BOOL, "and" if isinstance(operator, ast.And) else "or", tuple(self._want(v, BOOL) for v in values)
                )
            case ast.List(elts=items):
                return self._items(node, [self.expression(item) for item in items])
            case ast.Subscript(value=value, slice=index):
                return self._subscript(value, index)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(node, name, arguments)
            case ast.ListComp(elt=body, generators=generators):
                each = self._each(node, body, generators, every=False)
                return replace(each, kind=Kind(each.body.kind.scalar, is_list=True))
        advice = _ADVICE.get(type(getattr(node, "op", node))) or _ADVICE.get(type(node))
        self._fail(advice or f"'{ast.unparse(node)}' is not part of the expression language; see docs/spec.md", node)

    def _name(self, node: ast.expr, name: str) -> Expr:
        if name in self._scope.values:
            return Value(self._scope.values[name], name)
        if name in self._scope.tensors:
            return Value(TENSOR, name)
        if name in RESERVED:
            self._fail(f"'{name}' is a function; call it", node)
        self._fail(f"unknown name '{name}'{self._suggest(name, [*self._scope.values, *self._scope.tensors])}", node)

    def _property(self, node: ast.expr, tensor: str, name: str) -> Expr:
        if tensor not in self._scope.tensors:
            if tensor in self._scope.values:
                self._fail(f"'{tensor}' is {self._scope.values[tensor]}, not a tensor; use it without '.{name}'", node)
            self._fail(f"unknown tensor '{tensor}'{self._suggest(tensor, self._scope.tensors)}", node)
        if name not in _PROPERTIES:
            self._fail(f"a tensor has no '{name}' here{self._suggest(name, list(_PROPERTIES))}", node)
        return Property(_PROPERTIES[name], tensor, name)

    def _negative(self, operand: ast.expr) -> Expr:
        value = self._number(operand)
        if isinstance(value, Literal) and not isinstance(value.value, str):
            return replace(value, value=-value.value)
        return Unary(value.kind, "-", value)

    def _binary(self, node: ast.expr, left: ast.expr, operator: str, right: ast.expr) -> Expr:
        one = self.expression(left)
        if one.kind.is_list:
            other = self.expression(right)
            if operator != "+" or not other.kind.is_list:
                self._fail("a list takes only '+' and another list; write [1] + [2], or [f(v) for v in values]", node)
            return self._items(node, [Spread(one.kind, one), Spread(other.kind, other)])
        one, other = self._number(left), self._number(right)
        return Binary(self._common(node, one, other), operator, one, other)

    def _common(self, node: ast.expr, *values: Expr) -> Kind:
        scalars = {value.kind.scalar for value in values}
        if Scalar.FLOAT in scalars:
            if Scalar.DIM in scalars and self._scope.place is not Names.LAUNCH:
                self._fail("a dimension and a float do not mix; use ints", node)
            return FLOAT
        return DIM if Scalar.DIM in scalars else INT

    def _compare(self, node: ast.expr, operands: list[ast.expr], operators: list[ast.cmpop]) -> Expr:
        values = [self.expression(operand) for operand in operands]
        tests: list[Expr] = []
        for left, operator, right in zip(values, operators, values[1:]):  # noqa: B905 - one shorter
            if type(operator) not in _COMPARE:
                self._fail("compare with == != < <= > >=", node)
            numbers = {Scalar.INT, Scalar.DIM, Scalar.FLOAT}
            alike = left.kind == right.kind or {left.kind.scalar, right.kind.scalar} <= numbers
            if not alike or left.kind.is_list != right.kind.is_list or TENSOR in (left.kind, right.kind):
                self._fail(f"cannot compare {left.kind} with {right.kind}", node)
            tests.append(Binary(BOOL, _COMPARE[type(operator)], left, right))
        return tests[0] if len(tests) == 1 else Logic(BOOL, "and", tuple(tests))

    def _items(self, node: ast.expr, items: list[Expr]) -> Expr:
        flat: list[Expr] = []
        for item in items:
            if isinstance(item, Spread) and isinstance(item.operand, Items):
                flat.extend(item.operand.items)
            elif not isinstance(item, Spread) and item.kind.is_list:
                self._fail("a list of lists is no value here; join lists with '+'", node)
            else:
                flat.append(item)
        scalars = {item.kind.scalar for item in flat} or {Scalar.INT}
        if scalars == {Scalar.INT, Scalar.DIM}:
            scalars = {Scalar.DIM}
        if len(scalars) > 1:
            self._fail("the items of a list are of one kind", node)
        return Items(Kind(scalars.pop(), is_list=True), tuple(flat))

    def _subscript(self, value: ast.expr, index: ast.expr) -> Expr:
        operand = self.expression(value)
        if not operand.kind.is_list:
            self._fail(f"this is {operand.kind}, not a list; it has no items", value)
        if isinstance(index, ast.Slice):
            bounds = [
                None if part is None else self._want(part, INT) for part in (index.lower, index.upper, index.step)
            ]
            return Slice(operand.kind, operand, *bounds)
        return Index(Kind(operand.kind.scalar), operand, self._want(index, INT))

    def _call(self, node: ast.expr, name: str, arguments: list[ast.expr]) -> Expr:
        if name not in RESERVED:
            self._fail(f"unknown function '{name}'{self._suggest(name, RESERVED)}", node)
        if name in ("min", "max"):
            if len(arguments) < 2:
                self._fail(f"{name} takes two numbers or more", node)
            values = tuple(self._number(argument) for argument in arguments)
            return Call(self._common(node, *values), name, values)
        if name == "range":
            self._fail("range(n) stands only after 'for i in'", node)
        if name == "all":
            match arguments:
                case [ast.GeneratorExp(elt=body, generators=generators)]:
                    each = self._each(node, body, generators, every=True)
                    if each.body.kind != BOOL:
                        self._fail(f"all takes a condition for each item; this is {each.body.kind}", node)
                    return each
            self._fail("write all(condition for v in values)", node)
        if len(arguments) != (wanted := len(FUNCTIONS[name].parameters) if name in FUNCTIONS else 1):
            self._fail(f"{name} takes {wanted} argument{'s' * (wanted > 1)}, not {len(arguments)}", node)
        if name == "len":
            value = self.expression(arguments[0])
            if not value.kind.is_list:
                self._fail(f"len takes a list; this is {value.kind}", arguments[0])
            return Call(INT, name, (value,))
        if name == "numel":
            return Call(DIM, name, (self._want(arguments[0], TENSOR),))
        function = FUNCTIONS[name]
        if function.launch_only and self._scope.place is not Names.LAUNCH:
            self._fail(f"{name} has no form in {self._scope.place.value}; use it under launch or let", node)
        values = tuple(self._want(a, kind) for a, kind in zip(arguments, function.parameters, strict=True))
        ints = function.returns.scalar is Scalar.DIM and all(value.kind.scalar is Scalar.INT for value in values)
        return Call(Kind(Scalar.INT, function.returns.is_list) if ints else function.returns, name, values)

    def _each(self, node: ast.expr, body: ast.expr, generators: list[ast.comprehension], every: bool) -> Each:
        match generators:
            case [ast.comprehension(target=ast.Name(id=variable), iter=source, ifs=[], is_async=0)]:
                pass
            case _:
                self._fail("write one 'for v in values', without 'if'", node)
        if variable in self._scope.values or variable in self._scope.tensors or variable in RESERVED:
            self._fail(f"'{variable}' means something else already; choose another name", node)
        match source:
            case ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[]):
                items: Expr = Call(INTS, "range", (self._want(stop, INT),))
            case _:
                items = self.expression(source)
        if not items.kind.is_list:
            self._fail(f"'for' goes over a list or range(n); this is {items.kind}", source)
        inner = _Parser(self._text, self._scope.with_value(variable, Kind(items.kind.scalar)))
        value = inner.expression(body)
        if value.kind.is_list or value.kind == TENSOR:
            self._fail(f"each item must be one value; this is {value.kind}", body)
        return Each(BOOL, value, variable, items, every)

    def _number(self, node: ast.expr) -> Expr:
        value = self.expression(node)
        if value.kind not in (INT, DIM, FLOAT):
            self._fail(f"expected a number; this is {value.kind}", node)
        return value

    def _want(self, node: ast.expr, kind: Kind) -> Expr:
        value = self.expression(node)
        launch_int = self._scope.place is Names.LAUNCH and kind.scalar is Scalar.INT
        if not (accepts(kind, value.kind) or (launch_int and accepts(Kind(Scalar.DIM, kind.is_list), value.kind))):
            self._fail(f"expected {kind}; this is {value.kind}", node)
        return value

    def _suggest(self, name: str, known: list[str] | tuple[str, ...]) -> str:
        close = difflib.get_close_matches(name, known, n=1)
        if close:
            return f"; did you mean '{close[0]}'?"
        return f"; known here: {', '.join(known)}" if known else ""

    def _fail(self, message: str, node: ast.expr) -> NoReturn:
        # ast counts bytes of UTF-8 and lines; an expression of a spec is one line, or its first line is near enough
        line = self._text.encode().splitlines()[0] if node.lineno == 1 else b""
        raise ExpressionError(message, len(line[: node.col_offset].decode(errors="ignore")))


# --- printing -------------------------------------------------------------------------------------------------------

_COMPARISONS = frozenset(_COMPARE.values())
_LEVEL = {"or": 1, "and": 2, "not ": 3, **dict.fromkeys(_COMPARISONS, 4), "+": 5, "-": 5, "*": 6, "//": 6, "%": 6}
_UNARY_MINUS, _ATOM = 7, 8


@dataclass(frozen=True)
class Python:
    """Prints nodes as Python. `symbolic` text serves SymInts and TensorRT dimensions; other text serves ints alone."""

    symbolic: bool
    rename: Callable[[str], str] = str

    def text(self, node: Expr) -> str:
        return self._print(node)[0]

    def _at(self, node: Expr, level: int) -> str:
        text, own = self._print(node)
        return text if own >= level else f"({text})"

    def _print(self, node: Expr) -> tuple[str, int]:
        match node:
            case Literal(value=value):
                negative = isinstance(value, int | float) and not isinstance(value, bool) and value < 0
                return _literal(value), _UNARY_MINUS if negative else _ATOM
            case Value(name=name):
                return name, _ATOM
            case Property(tensor=tensor, name="ndim"):
                return f"len({tensor}_shape)", _ATOM
            case Property(tensor=tensor, name=name):
                return f"{tensor}_{name}", _ATOM
            case Unary(operator="-", operand=operand):
                return f"-{self._at(operand, _UNARY_MINUS)}", _UNARY_MINUS
            case Unary(operator=operator, operand=operand):
                return f"{operator}{self._at(operand, _LEVEL[operator])}", _LEVEL[operator]
            case Binary(operator=operator, left=left, right=right):
                level = _LEVEL[operator]
                left_level = level + 1 if operator in _COMPARISONS else level
                return f"{self._at(left, left_level)} {operator} {self._at(right, level + 1)}", level
            case Logic(operator=operator, operands=operands):
                level = _LEVEL[operator]
                return f" {operator} ".join(self._at(operand, level + 1) for operand in operands), level
            case Items(items=items):
                return f"[{', '.join(self._print(item)[0] for item in items)}]", _ATOM
            case Spread(operand=operand):
                return f"*{self._at(operand, 5)}", _ATOM
            case Index(operand=operand, index=index):
                return f"{self._at(operand, _ATOM)}[{self._print(index)[0]}]", _ATOM
            case Slice(operand=operand, start=start, stop=stop, step=step):
                bounds = ":".join("" if part is None else self._print(part)[0] for part in (start, stop))
                last = "" if step is None else f":{self._print(step)[0]}"
                return f"{self._at(operand, _ATOM)}[{bounds}{last}]", _ATOM
            case Each(body=body, variable=variable, source=source, every=every):
                inside = f"{self._print(body)[0]} for {variable} in {self._print(source)[0]}"
                return (f"all({inside})" if every else f"[{inside}]"), _ATOM
            case Call(function=function, arguments=arguments):
                return self._call(function, arguments, node.kind)
        raise TypeError(f"no Python for {node!r}")  # a node that this printer does not know is a fault of ours

    def _call(self, function: str, arguments: tuple[Expr, ...], kind: Kind) -> tuple[str, int]:
        texts = [self._print(argument)[0] for argument in arguments]
        match function:
            case "numel":
                return f"math.prod({texts[0]}_shape)", _ATOM
            case "prod":
                return f"math.prod({texts[0]})", _ATOM
            case "cdiv":
                return f"-(-{self._at(arguments[0], _UNARY_MINUS)} // {self._at(arguments[1], 7)})", _UNARY_MINUS
            case "min" | "max" if self.symbolic and kind == DIM:
                text = texts[0]
                for other in texts[1:]:
                    text = f"torch.sym_{function}({text}, {other})"
                return text, _ATOM
        name = self.rename(function) if function in FUNCTIONS else function
        return f"{name}({', '.join(texts)})", _ATOM


def _literal(value: int | float | bool | str) -> str:
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return f'float("{value}")'
    return repr(value) if not isinstance(value, str) or '"' in value else f'"{repr(value)[1:-1]}"'


def functions(node: Expr) -> frozenset[str]:
    """The functions that a tree calls."""
    return frozenset(child.function for child in walk(node) if isinstance(child, Call))


def walk(node: Expr) -> tuple[Expr, ...]:
    """The node and all nodes below it."""
    children = [
        child
        for value in vars(node).values()
        for child in (value if isinstance(value, tuple) else (value,))
        if isinstance(child, Expr)
    ]
    return (node, *(below for child in children for below in walk(child)))
