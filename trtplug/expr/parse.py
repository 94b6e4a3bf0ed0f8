"""The text of an expression to its typed tree; what the language allows where, and in which words it refuses."""

from __future__ import annotations

import ast
import difflib
import enum
import math
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from trtplug import names
from trtplug.expr.tree import (
    BOOL,
    DIM,
    DIMS,
    DTYPE,
    FLOAT,
    FUNCTIONS,
    INT,
    INTS,
    RESERVED,
    STR,
    TENSOR,
    Binary,
    Call,
    Each,
    Expr,
    Index,
    Items,
    Kind,
    Literal,
    Logic,
    Property,
    Scalar,
    Slice,
    Spread,
    Unary,
    Value,
    walk,
)


class Site(enum.Enum):
    """Where an expression stands, which decides the functions it may call."""

    SHAPE = "a shape rule"  # must have a form in TensorRT's dimension expressions
    CHECK = "a check"
    LAUNCH = "a launch"  # everything is a Python int


@dataclass(frozen=True)
class Scope:
    """The names that an expression may use: tensors (of outputs, only the shape), and values of a kind."""

    site: Site
    tensors: tuple[str, ...] = ()
    values: Mapping[str, Kind] = field(default_factory=lambda: MappingProxyType({}))
    outputs: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()  # of the tensors, those that may be absent
    written: tuple[str, ...] = ()  # sizes that the kernels find out, of which a launch knows the address alone
    not_understood: frozenset[str] = frozenset()  # of which more has been said where they are written
    in_loop: bool = False

    def with_value(self, name: str, kind: Kind | None) -> Scope:
        """This scope and one more name; None is the kind of what was not understood."""
        if kind is None:
            return replace(self, not_understood=self.not_understood | {name})
        return replace(self, values={**self.values, name: kind})

    @property
    def names(self) -> tuple[str, ...]:
        return (*self.values, *self.tensors, *self.outputs, *self.written)


class NotUnderstood(Exception):
    """The expression uses a name whose own expression was refused: nothing new is wrong."""


class ExpressionError(Exception):
    """What is wrong, what to do, and where: `offset` counts characters of the text from 0."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


# Far more than any operator needs, and few enough for Python's own parser, which generated code must pass.
_LONGEST, _DEEPEST = 2000, 50
_INT64 = range(-(2**63), 2**63)

_BINARY: Mapping[type[ast.AST], str] = MappingProxyType(
    {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
)
_COMPARE: Mapping[type[ast.AST], str] = MappingProxyType(
    {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
)
_NUMBERS = (INT, DIM, FLOAT)
_ADVICE: Mapping[type[ast.AST], str] = MappingProxyType(
    {
        ast.Div: "true division has no dimension; write // or cdiv(a, b)",
        ast.Pow: "there is no power; multiply",
        ast.IfExp: "there is no if-else, since a dimension may be unknown; use min and max",
        ast.Lambda: "there are no functions of your own; use a let name",
        ast.Tuple: "there are no tuples; write a list, such as [n, 4]",
        ast.GeneratorExp: "'for' stands inside [ ], as in [f(v) for v in values], or in all( )",
        ast.Call: "there are no methods and keywords; write x.shape[0], x.ndim, x.dtype or numel(x)",
    }
)
_PROPERTIES: Mapping[str, Kind] = MappingProxyType({"shape": DIMS, "ndim": INT, "dtype": DTYPE})


def parse(text: str, scope: Scope) -> Expr:
    """The typed tree of an expression; raises ExpressionError or NotUnderstood."""
    if len(text) > _LONGEST:
        raise ExpressionError(f"longer than {_LONGEST} characters; split it, for instance by let names", 0)
    # Lines are YAML's matter. What stands after the last line of an expression must not be lost in a comment.
    line = text.replace("\n", " ").replace("\r", " ")
    start = len(line) - len(line.lstrip())
    line = line[start:]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape, say; what the text means is decided below
            tree = ast.parse(line, mode="eval").body
    except SyntaxError as error:
        offset = start + min(error.offset - 1 if error.offset else len(line), len(line))
        raise ExpressionError(f"this is no expression ({error.msg}); write one as in Python", offset) from None
    except ValueError as error:  # a character that has no place in source
        raise ExpressionError(f"this is no expression ({error}); write one as in Python", start) from None
    except (RecursionError, MemoryError):
        raise ExpressionError(_too_deep(), start) from None
    rest = line.encode()[tree.end_col_offset :].decode()
    if "#" in rest:
        offset = start + len(line) - len(rest) + rest.index("#")
        raise ExpressionError("an expression has no comments; write it in YAML, outside of the expression", offset)
    if _depth(tree) > _DEEPEST:
        raise ExpressionError(_too_deep(), start)
    return _Parser(line, start, scope).expression(tree)


def accepts(wanted: Kind, got: Kind) -> bool:
    """Whether a value of a kind may stand where another is wanted: an int is a dimension."""
    return wanted == got or (wanted.scalar is Scalar.DIM and got == Kind(Scalar.INT, wanted.is_list))


def _given(kind: Kind) -> Kind:
    """The kind of a value that is given."""
    return Kind(kind.scalar, kind.is_list)


def _depth(tree: ast.AST) -> int:
    depth, level = 0, [tree]
    while level:
        depth, level = depth + 1, [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


def _too_deep() -> str:
    return f"nested more than {_DEEPEST} deep; split it, for instance by let names"


class _Parser:
    def __init__(self, text: str, start: int, scope: Scope) -> None:
        self._text = text
        self._start = start
        self._scope = scope

    def expression(self, node: ast.expr) -> Expr:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return self._literal(node, value)
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.Attribute(value=ast.Name(id=tensor), attr=name):
                return self._property(node, tensor, name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                number = self._number(operand)
                if isinstance(number, Literal) and not isinstance(number.value, str):
                    return replace(number, value=-number.value)
                return Unary(number.kind, "-", number)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Unary(BOOL, "not ", self._want(operand, BOOL))
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _BINARY:
                return self._binary(node, left, _BINARY[type(operator)], right)
            case ast.Compare(left=left, ops=operators, comparators=rest):
                return self._compare(node, [left, *rest], operators)
            case ast.BoolOp(op=operator, values=values):
                conditions = tuple(self._want(value, BOOL) for value in values)
                return Logic(BOOL, "and" if isinstance(operator, ast.And) else "or", conditions)
            case ast.List(elts=items):
                return self._items(node, [self.expression(item) for item in items])
            case ast.Subscript(value=value, slice=index):
                return self._subscript(value, index)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(node, name, arguments)
            case ast.ListComp(elt=body, generators=generators):
                each = self._each(node, body, generators, every=False)
                return replace(each, kind=Kind(each.body.kind.scalar, is_list=True))
        advice = _ADVICE.get(type(node.op if isinstance(node, ast.BinOp) else node))
        raise self._error(
            advice or f"'{ast.unparse(node)}' is not part of the expression language; see docs/spec.md", node
        )

    def _literal(self, node: ast.expr, value: bool | int | float | str) -> Expr:
        if isinstance(value, float) and not math.isfinite(value):
            raise self._error("this number is too large for a float; write a smaller one", node)
        if isinstance(value, int) and value not in _INT64:
            raise self._error("this number does not fit into 64 bits; write a smaller one", node)
        return Literal({bool: BOOL, int: INT, float: FLOAT, str: STR}[type(value)], value)

    def _name(self, node: ast.expr, name: str) -> Expr:
        if name in self._scope.values:
            kind = self._scope.values[name]
            if kind.optional:
                raise self._error(
                    f"'{name}' may be None; write or_else({name}, what None means), or present({name})", node
                )
            return Value(kind, name)
        if name in self._scope.names:
            return Value(TENSOR, name)
        if name in self._scope.not_understood:
            raise NotUnderstood
        if name in RESERVED:
            raise self._error(f"'{name}' is a function; call it", node)
        raise self._error(f"unknown name '{name}'{_suggest(name, self._scope.names)}", node)

    def _property(self, node: ast.expr, tensor: str, name: str) -> Expr:
        tensors = (*self._scope.tensors, *self._scope.outputs)
        if tensor in self._scope.values:
            raise self._error(
                f"'{tensor}' is {self._scope.values[tensor]}, not a tensor; use it without '.{name}'", node
            )
        if tensor in self._scope.not_understood:
            raise NotUnderstood
        if tensor not in tensors:
            raise self._error(f"unknown tensor '{tensor}'{_suggest(tensor, tensors)}", node)
        if name not in _PROPERTIES:
            raise self._error(f"a tensor has no '{name}' here{_suggest(name, _PROPERTIES)}", node)
        if name == "dtype" and tensor in self._scope.optional and self._scope.site is not Site.CHECK:
            raise self._error(f"'{tensor}' may be absent and then has no dtype; write that of another tensor", node)
        if name == "dtype" and tensor in self._scope.outputs:
            raise self._error(f"the dtype of the output {tensor} follows from the inputs; write that of an input", node)
        return Property(_PROPERTIES[name], tensor, name)

    def _binary(self, node: ast.expr, left: ast.expr, operator: str, right: ast.expr) -> Expr:
        one, other = self.expression(left), self.expression(right)
        if one.kind.is_list or other.kind.is_list:
            if operator != "+" or not (one.kind.is_list and other.kind.is_list):
                raise self._error(
                    "a list takes only '+' and another list; write [1] + [2], or [f(v) for v in values]", node
                )
            return self._items(node, [Spread(one.kind, one), Spread(other.kind, other)])
        self._refuse_no_number(left, one)
        self._refuse_no_number(right, other)
        return Binary(self._common(node, one, other), operator, one, other)

    def _common(self, node: ast.expr, *values: Expr) -> Kind:
        scalars = {value.kind.scalar for value in values}
        if Scalar.FLOAT in scalars:
            if Scalar.DIM in scalars and self._scope.site is not Site.LAUNCH:
                raise self._error("a dimension and a float do not mix; use ints", node)
            return FLOAT
        return DIM if Scalar.DIM in scalars else INT

    def _compare(self, node: ast.expr, operands: list[ast.expr], operators: list[ast.cmpop]) -> Expr:
        values = [self.expression(operand) for operand in operands]
        if len(values) > 2 and any(value.kind not in _NUMBERS for value in values):
            raise self._error("a chain such as 0 < n < 8 compares numbers; write 'and'", node)
        tests: list[Expr] = []
        for left, operator, right in zip(values, operators, values[1:]):  # noqa: B905 - one shorter
            if type(operator) not in _COMPARE:
                raise self._error("compare with == != < <= > >=", node)
            numbers = {left.kind.scalar, right.kind.scalar} <= {kind.scalar for kind in _NUMBERS}
            if left.kind.is_list != right.kind.is_list or not (numbers or left.kind == right.kind != TENSOR):
                raise self._error(f"cannot compare {left.kind} with {right.kind}", node)
            if not isinstance(operator, ast.Eq | ast.NotEq) and (left.kind.is_list or not numbers):
                raise self._error("lists, strings, bools and dtypes compare with == and != only", node)
            tests.append(Binary(BOOL, _COMPARE[type(operator)], left, right))
        return tests[0] if len(tests) == 1 else Logic(BOOL, "and", tuple(tests))

    def _items(self, node: ast.expr, items: list[Expr]) -> Expr:
        flat: list[Expr] = []
        for item in items:
            if isinstance(item, Spread) and isinstance(item.operand, Items):
                flat.extend(item.operand.items)
            elif not isinstance(item, Spread) and item.kind.is_list:
                raise self._error("a list of lists is no value here; join lists with '+'", node)
            elif item.kind == TENSOR:
                raise self._error("a tensor cannot stand in a list; write x.shape or numel(x)", node)
            else:
                flat.append(item)
        scalars = {item.kind.scalar for item in flat} or {Scalar.INT}
        if scalars == {Scalar.INT, Scalar.DIM}:
            scalars = {Scalar.DIM}
        if len(scalars) > 1:
            raise self._error("the items of a list are of one kind", node)
        return Items(Kind(scalars.pop(), is_list=True), tuple(flat))

    def _subscript(self, value: ast.expr, index: ast.expr) -> Expr:
        operand = self.expression(value)
        if not operand.kind.is_list:
            raise self._error(f"this is {operand.kind}, not a list; it has no items", value)
        if isinstance(index, ast.Slice):
            parts = (index.lower, index.upper, index.step)
            return Slice(operand.kind, operand, *(None if part is None else self._want(part, INT) for part in parts))
        return Index(Kind(operand.kind.scalar), operand, self._want(index, INT))

    def _call(self, node: ast.expr, name: str, arguments: list[ast.expr]) -> Expr:
        if name not in RESERVED:
            raise self._error(f"unknown function '{name}'{_suggest(name, RESERVED)}", node)
        if name in ("present", "or_else"):
            return self._optional(node, name, arguments)
        if name in ("min", "max"):
            if len(arguments) < 2:
                raise self._error(f"{name} takes two numbers or more", node)
            values = tuple(self._number(argument) for argument in arguments)
            return Call(self._common(node, *values), name, values)
        if name == "range":
            raise self._error("range(n) stands only after 'for i in'", node)
        if name == "all":
            match arguments:
                case [ast.GeneratorExp(elt=body, generators=generators)]:
                    each = self._each(node, body, generators, every=True)
                    if each.body.kind != BOOL:
                        raise self._error(f"all takes a condition for each item; this is {each.body.kind}", body)
                    return each
            raise self._error("write all(condition for v in values)", node)
        wanted = len(FUNCTIONS[name].parameters) if name in FUNCTIONS else 1
        variadic = name in FUNCTIONS and FUNCTIONS[name].variadic
        if len(arguments) < wanted or (len(arguments) > wanted and not variadic):
            several = f"{wanted} argument{'s' * (wanted > 1)}{' or more' * variadic}"
            raise self._error(f"{name} takes {several}, not {len(arguments)}", node)
        if name == "len":
            value = self.expression(arguments[0])
            if not value.kind.is_list:
                raise self._error(f"len takes a list; this is {value.kind}", arguments[0])
            return Call(INT, name, (value,))
        if name == "numel":
            tensor = self._want(arguments[0], TENSOR)
            if isinstance(tensor, Value) and tensor.name in self._scope.written:
                raise self._error(f"'{tensor.name}' is a size that the kernels find out, not a tensor", node)
            return Call(DIM, name, (tensor,))
        function = FUNCTIONS[name]
        if function.launch_only and self._scope.site is not Site.LAUNCH:
            raise self._error(f"{name} has no form in {self._scope.site.value}; use it under launch or let", node)
        kinds = function.parameters + function.parameters[-1:] * (len(arguments) - wanted)
        values = tuple(self._want(a, kind) for a, kind in zip(arguments, kinds, strict=True))
        for argument, value in zip(arguments, values, strict=True):
            if value.kind == BOOL and self._scope.site is not Site.LAUNCH and _compares_dimensions(value):
                raise self._error(
                    "this depends on a dimension, which may be unknown; use bools, ints and ranks", argument
                )
        ints = function.returns.scalar is Scalar.DIM and all(value.kind.scalar is not Scalar.DIM for value in values)
        return Call(Kind(Scalar.INT, function.returns.is_list) if ints else function.returns, name, values)

    def _optional(self, node: ast.expr, function: str, arguments: list[ast.expr]) -> Expr:
        """`present(w)` of a tensor or value that may be absent, and `or_else(n, 4)` of a value."""
        example = "present(w)" if function == "present" else "or_else(n, 4)"
        if len(arguments) != len(example.split(",")) or not isinstance(arguments[0], ast.Name):
            raise self._error(f"write it as in {example}, with the name of an optional argument", node)
        name = arguments[0].id
        if function == "present" and name in self._scope.optional:
            return Call(BOOL, function, (Value(TENSOR, name),))
        kind = self._scope.values.get(name)
        if kind is None or not kind.optional:
            if name in self._scope.not_understood:
                raise NotUnderstood
            known = [other for other, kind in self._scope.values.items() if kind.optional]
            known += self._scope.optional if function == "present" else ()
            raise self._error(f"'{name}' is no optional argument{_suggest(name, known)}", arguments[0])
        value = Value(kind, name)
        if function == "present":
            return Call(BOOL, function, (value,))
        plain = _given(kind)
        other = self.expression(arguments[1])
        if plain == FLOAT and other.kind == INT:
            other = replace(other, kind=FLOAT)
        if plain.is_list and isinstance(other, Items) and not other.items:
            other = replace(other, kind=plain)  # an empty list is a list of anything
        if not (accepts(plain, other.kind) or accepts(other.kind, plain)):
            raise self._error(f"expected {plain}; this is {other.kind}", arguments[1])
        return Call(other.kind if accepts(other.kind, plain) else plain, function, (value, other))

    def _each(self, node: ast.expr, body: ast.expr, generators: list[ast.comprehension], every: bool) -> Each:
        match generators:
            case [ast.comprehension(target=ast.Name(id=variable) as target, iter=source, ifs=[], is_async=0)]:
                pass
            case _:
                raise self._error("write one 'for v in values', without 'if'", node)
        if self._scope.in_loop:
            raise self._error("a 'for' inside a 'for' is not supported; give the inner list a let name", node)
        if variable in (*self._scope.names, *names.of_tensors(self._scope.names)):
            raise self._error(f"'{variable}' means something else already; choose another name", target)
        if problem := names.problem_with_argument_name(variable, RESERVED):
            raise self._error(problem, target)
        match source:
            case ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[]):
                items: Expr = Call(INTS, "range", (self._want(stop, INT),))
            case _:
                items = self.expression(source)
        if not items.kind.is_list:
            raise self._error(f"'for' goes over a list or range(n); this is {items.kind}", source)
        scope = replace(self._scope.with_value(variable, Kind(items.kind.scalar)), in_loop=True)
        value = _Parser(self._text, self._start, scope).expression(body)
        if value.kind.is_list or value.kind == TENSOR:
            raise self._error(f"each item must be one value; this is {value.kind}", body)
        return Each(BOOL, value, variable, items, every)

    def _number(self, node: ast.expr) -> Expr:
        value = self.expression(node)
        self._refuse_no_number(node, value)
        return value

    def _refuse_no_number(self, node: ast.expr, value: Expr) -> None:
        if value.kind not in _NUMBERS:
            hint = "; write numel(x), or an item of x.shape" if value.kind == TENSOR else ""
            raise self._error(f"expected a number; this is {value.kind}{hint}", node)

    def _want(self, node: ast.expr, kind: Kind) -> Expr:
        value = self.expression(node)
        launch_int = self._scope.site is Site.LAUNCH and kind.scalar is Scalar.INT
        if not (accepts(kind, value.kind) or (launch_int and accepts(Kind(Scalar.DIM, kind.is_list), value.kind))):
            raise self._error(f"expected {kind}; this is {value.kind}", node)
        return value

    def _error(self, message: str, node: ast.expr) -> ExpressionError:
        before = self._text.encode()[: node.col_offset]  # ast counts bytes
        return ExpressionError(message, self._start + len(before.decode()))


def _compares_dimensions(condition: Expr) -> bool:
    """Whether a condition is one on sizes, so that nothing but a check or a launch may decide by it."""
    return any(
        node.kind == BOOL and operand.kind.scalar is Scalar.DIM
        for node in walk(condition)
        for operand in (node.arguments if isinstance(node, Call) else vars(node).values())
        if isinstance(operand, Expr)
    )


def _suggest(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; known here: {', '.join(known)}" if known else ""
