"""An expression as Python source: one printer for ints alone, and one whose text SymInts and TensorRT take as well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trtplug.expr.tree import (
    DIM,
    FUNCTIONS,
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
    Slice,
    Spread,
    Unary,
    Value,
)

# How tightly each operator binds, as in Python.
_COMPARE, _UNARY_MINUS, _ATOM = 4, 7, 8
_LEVEL = {
    **{"or": 1, "and": 2, "not ": 3},
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), _COMPARE),
    **{"+": 5, "-": 5, "*": 6, "//": 6, "%": 6},
}


@dataclass(frozen=True)
class Python:
    """Prints nodes as Python. `symbolic` text serves SymInts and TensorRT dimensions; other text serves ints alone.

    `rename` gives the names of functions, `variable` those of values and of `x_shape` and `x_dtype`.
    """

    symbolic: bool
    rename: Callable[[str], str] = str
    variable: Callable[[str], str] = str

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
                return self.variable(name), _ATOM
            case Property(tensor=tensor, name="ndim"):
                return f"len({self.variable(f'{tensor}_shape')})", _ATOM
            case Property(tensor=tensor, name=name):
                return self.variable(f"{tensor}_{name}"), _ATOM
            case Unary(operator="-", operand=operand):
                return self._negative(operand), _UNARY_MINUS
            case Unary(operator=operator, operand=operand):
                return f"{operator}{self._at(operand, _LEVEL[operator])}", _LEVEL[operator]
            case Binary(operator=operator, left=left, right=right) if left.kind.is_list:
                return f"{self._list(left)} {operator} {self._list(right)}", _COMPARE
            case Binary(operator=operator, left=left, right=right):
                level = _LEVEL[operator]
                left_level = level + 1 if level == _COMPARE else level  # a == (b == c) is no chain
                return f"{self._at(left, left_level)} {operator} {self._at(right, level + 1)}", level
            case Logic(operator=operator, operands=operands):
                level = _LEVEL[operator]
                return f" {operator} ".join(self._at(operand, level + 1) for operand in operands), level
            case Items(items=items):
                return f"[{', '.join(self._print(item)[0] for item in items)}]", _ATOM
            case Spread(operand=operand):
                return f"*{self._at(operand, 1)}", _ATOM
            case Index(operand=operand, index=index):
                return f"{self._at(operand, _ATOM)}[{self._print(index)[0]}]", _ATOM
            case Slice(operand=operand, start=start, stop=stop, step=step):
                bounds = ":".join("" if part is None else self._print(part)[0] for part in (start, stop))
                last = "" if step is None else f":{self._print(step)[0]}"
                return f"{self._at(operand, _ATOM)}[{bounds}{last}]", _ATOM
            case Each(body=body, variable=variable, source=source, every=every):
                inside = f"{self._print(body)[0]} for {variable} in {self._at(source, 1)}"
                return (f"all({inside})" if every else f"[{inside}]"), _ATOM
            case Call(function=function, arguments=arguments):
                return self._call(function, arguments, node.kind)
        raise TypeError(f"no Python for {node!r}")  # a node that this printer does not know is a fault of ours

    def _negative(self, node: Expr) -> str:
        """Minus a value, without a second minus in front of one."""
        match node:
            case Call(function="cdiv", arguments=(numerator, denominator)):
                return f"({self._negative(numerator)} // {self._at(denominator, _UNARY_MINUS)})"
            case Unary(operator="-", operand=operand):
                return self._at(operand, _UNARY_MINUS)
            case Literal(value=int() | float() as value) if value < 0:
                return _literal(-value)
        return f"-{self._at(node, _UNARY_MINUS)}"

    def _list(self, node: Expr) -> str:
        """A side of a comparison: what a call gives is a tuple, a torch.Size or a list, which Python holds unequal."""
        text = self._print(node)[0]
        return text if isinstance(node, Items | Each) else f"list({text})"

    def _call(self, function: str, arguments: tuple[Expr, ...], kind: Kind) -> tuple[str, int]:
        if function == "cdiv":
            numerator, denominator = arguments
            return f"-({self._negative(numerator)} // {self._at(denominator, _UNARY_MINUS)})", _UNARY_MINUS
        if function == "present":
            return f"{self.variable(_presence(arguments[0]))} is not None", _COMPARE
        if function == "numel":
            return f"math.prod({self.variable(f'{_name(arguments[0])}_shape')})", _ATOM
        if function == "or_else":
            value, other = (self._at(argument, 1) for argument in arguments)
            return f"{other} if {value} is None else {value}", 0
        texts = [self._print(argument)[0] for argument in arguments]
        match function:
            case "prod":
                return f"math.prod({texts[0]})", _ATOM
            case "min" | "max" if self.symbolic and kind == DIM:
                return _in_pairs(f"torch.sym_{function}", texts), _ATOM
        name = self.rename(function) if function in FUNCTIONS else function
        return f"{name}({', '.join(texts)})", _ATOM


def _presence(node: Expr) -> str:
    """What is None when an optional argument is absent: of a tensor its dtype, since its shape is then empty."""
    return f"{_name(node)}_dtype" if node.kind == TENSOR else _name(node)


def _name(node: Expr) -> str:
    if not isinstance(node, Value):
        raise TypeError(f"no name in {node!r}")
    return node.name


def _in_pairs(function: str, texts: Sequence[str]) -> str:
    """A call of a function of two for any number, nested no deeper than need be."""
    if len(texts) == 1:
        return texts[0]
    half = (len(texts) + 1) // 2
    return f"{function}({_in_pairs(function, texts[:half])}, {_in_pairs(function, texts[half:])})"


def _literal(value: int | float | bool | str) -> str:
    return repr(value) if not isinstance(value, str) or '"' in value else f'"{repr(value)[1:-1]}"'
