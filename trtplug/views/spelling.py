"""How generated Python spells an operator's arguments, types and values; every view takes its words from here."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path

from trtplug import rules
from trtplug.expr import FUNCTIONS, Call, Expr, Property, Python, Scalar, Value, functions, walk
from trtplug.model import Attribute, AttributeValue, Op, Tensor
from trtplug.torch_schema import Base

_ITEM: Mapping[Base, str] = {
    Base.INT: "int",
    Base.SYMINT: "int",
    Base.FLOAT: "float",
    Base.BOOL: "bool",
    Base.STR: "str",
    Base.SCALARTYPE: "torch.dtype",
}


def literal(value: AttributeValue | None) -> str:
    """A value as Python source, with double quotes as formatters like them."""
    if isinstance(value, tuple):
        return f"[{', '.join(literal(item) for item in value)}]"
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return f'float("{value}")'
    return quoted(value) if isinstance(value, str) else repr(value)


def frozen(value: AttributeValue | None) -> str:
    """A value as Python source, a list of it as a tuple."""
    return row(literal(item) for item in value) if isinstance(value, tuple) else literal(value)


def string_set(values: Iterable[str]) -> str:
    """A set of strings as Python source."""
    items = [quoted(value) for value in values]
    return f"{{{names(items)}}}" if items else "set()"


def quoted(text: str) -> str:
    """The one way in which a user's text enters source."""
    plain = repr(text)
    return plain if plain[0] == '"' or '"' in plain else f'"{plain[1:-1]}"'


def in_docstring(text: str) -> str:
    """A user's sentence inside a docstring."""
    sentence = text.replace("\\", "\\\\").replace('"', "'")
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


def names(values: Iterable[str]) -> str:
    """Names, or other expressions, one after another."""
    return ", ".join(values)


def row(values: Iterable[str]) -> str:
    """A tuple of expressions."""
    items = list(values)
    return f"({items[0]},)" if len(items) == 1 else f"({names(items)})"


def given(attribute: Attribute) -> str:
    """The type of an attribute as torch and FX pass it."""
    item = _ITEM[attribute.base]
    return _or_none(f"Sequence[{item}]" if attribute.is_list else item, attribute.optional)


def symbolic(attribute: Attribute) -> str:
    """The type of an attribute in a shape rule, where a SymInt is a dimension."""
    if attribute.base is not Base.SYMINT:
        return given(attribute)
    return _or_none("Sequence[Dim]" if attribute.is_list else "Dim", attribute.optional)


def kept(attribute: Attribute) -> str:
    """The type of an attribute as a plugin and a launch keep it: hashable, and shared by clones without harm."""
    item = _ITEM[attribute.base]
    return _or_none(f"tuple[{item}, ...]" if attribute.is_list else item, attribute.optional)


def _or_none(annotation: str, optional: bool) -> str:
    return f"{annotation} | None" if optional else annotation


def keep(attribute: Attribute, value: str) -> str:
    """`value`, as torch passes it, turned into what a plugin keeps."""
    if not attribute.is_list:
        return value
    return f"None if {value} is None else tuple({value})" if attribute.optional else f"tuple({value})"


def unkeep(attribute: Attribute, value: str) -> str:
    """`value`, as a plugin keeps it, turned into what torch passes."""
    if not attribute.is_list:
        return value
    return f"None if {value} is None else list({value})" if attribute.optional else f"list({value})"


def annotation(tensor: Tensor) -> str:
    """The type of a tensor argument."""
    return _or_none("torch.Tensor", tensor.optional)


def signature(
    op: Op, tensor: Callable[[Tensor], str] = annotation, attribute: Callable[[Attribute], str] = given
) -> str:
    """The parameters of the schema in Python, with defaults."""
    parts: list[str] = []
    for argument in op.arguments:
        if argument.argument.keyword_only and "*" not in parts:
            parts.append("*")
        kind = attribute(argument) if isinstance(argument, Attribute) else tensor(argument)
        default = argument.argument.default
        text = f"{argument.name}: {kind}"
        if default is not None:
            text += f" = {frozen(default.value)}"
        parts.append(text)
    return names(parts)


def call(op: Op, spell: Callable[[Tensor | Attribute], str] = lambda argument: argument.name) -> str:
    """The arguments of a call of the op: positional ones, then keyword-only ones by name."""
    return names(
        f"{argument.name}={spell(argument)}" if argument.argument.keyword_only else spell(argument)
        for argument in op.arguments
    )


def returns(op: Op) -> str:
    """The type that the op returns."""
    return _tensors(len(op.outputs))


def result_types(op: Op) -> str:
    """The type that the functional variant of the op returns."""
    return _tensors(len(op.results))


def _tensors(count: int) -> str:
    return ("None", "torch.Tensor")[count] if count < 2 else f"tuple[{names(['torch.Tensor'] * count)}]"


def needs(op: Op, *expressions: Expr) -> tuple[str, ...]:
    """What expressions read of a call, in the schema's order: `x_dtype`, `x_shape` and attributes."""
    found = frozenset[str]().union(*map(_reads, expressions))
    return tuple(name for name in keys(op) if name in found)


@lru_cache(maxsize=4096)  # many views ask the same of an expression, which is equal to itself alone
def _reads(expression: Expr) -> frozenset[str]:
    found: set[str] = set()
    for node in walk(expression):
        match node:
            case Property(tensor=tensor, name=name):
                found.add(f"{tensor}_dtype" if name == "dtype" else f"{tensor}_shape")
            case Call(function="numel", arguments=(Value(name=tensor),)):
                found.add(f"{tensor}_shape")
            case Call(function="present", arguments=(Value(name=tensor, kind=kind),)) if kind.scalar is Scalar.TENSOR:
                found.add(f"{tensor}_dtype")
            case Value(name=name, kind=kind) if kind.scalar is not Scalar.TENSOR:
                found.add(name)
    return frozenset(found)


def keys(op: Op) -> tuple[str, ...]:
    """What rules are about: the dtype and shape of each tensor, each attribute, and the sizes that kernels find out."""
    found: list[str] = []
    for argument in op.arguments:
        if isinstance(argument, Tensor):
            found += [f"{argument.name}_dtype", f"{argument.name}_shape"]
        else:
            found.append(argument.name)
    return (*found, *(size.name for size in op.sizes))


def parameters(op: Op, wanted: Iterable[str], shape: str, attribute: Callable[[Attribute], str]) -> tuple[str, ...]:
    """The typed parameters of a generated function that takes `wanted`, out of `keys`."""
    types: dict[str, str] = {size.name: "Dim" for size in op.sizes}
    for argument in op.arguments:
        if isinstance(argument, Tensor):
            types |= {
                f"{argument.name}_dtype": _or_none("torch.dtype", argument.optional),
                f"{argument.name}_shape": shape,
            }
        else:
            types[argument.name] = attribute(argument)
    return tuple(f"{name}: {types[name]}" for name in wanted)


def used_rules(expressions: Iterable[Expr], symbolic: bool = True) -> tuple[str, ...]:
    """The source of each rule that expressions call, and of what those rules call, as private functions.

    Source that is not `symbolic` serves ints alone, as the text of `Python` does.
    """
    called = {name for expression in expressions for name in functions(expression)}
    found: dict[str, str] = {}
    wanted = [name for name in FUNCTIONS if name in called and name in _sources()]
    while wanted:
        name = wanted.pop(0)
        if name not in found:
            found[name], more = _rule(name, symbolic)
            wanted += more
    return tuple(found.values())


@cache
def _rule(name: str, symbolic: bool) -> tuple[str, tuple[str, ...]]:
    """The text of one function of rules.py as a package has it, and the functions of rules.py that it calls."""
    text = _sources()[name]
    tree = ast.parse(text).body[0]
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    calls = [function for function in calls if function.id in _sources()]
    changes: list[tuple[ast.expr, str]] = [(function, private(function.id)) for function in calls]
    if not symbolic:
        for node in ast.walk(tree):
            match node:
                case ast.Name(id="Dim"):
                    changes.append((node, "int"))
                case ast.Attribute(value=ast.Name(id="torch"), attr="sym_min" | "sym_max" as function):
                    changes.append((node, function.removeprefix("sym_")))
    lines = [line.encode() for line in text.splitlines()]  # ast counts bytes
    for node, new in sorted(changes, key=lambda change: (change[0].lineno, change[0].col_offset), reverse=True):
        line = lines[node.lineno - 1]
        lines[node.lineno - 1] = line[: node.col_offset] + new.encode() + line[node.end_col_offset :]
    source = b"\n".join(lines).decode().replace(f"def {name}(", f"def {private(name)}(", 1)
    return source, tuple(dict.fromkeys(function.id for function in calls))


@cache
def _sources() -> dict[str, str]:
    """The functions of rules.py as text."""
    text = Path(rules.__file__).read_text(encoding="utf-8")
    lines = text.splitlines()
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return {node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in functions}


def private(name: str) -> str:
    """The name of a rule inside a generated module; builtins, and what is private already, keep theirs."""
    return f"_{name}" if name in _sources() and not name.startswith("_") else name


SYMBOLIC = Python(symbolic=True, rename=private)
CONCRETE = Python(symbolic=False, rename=private)
