"""What a user's Python file holds, read without importing it: functions with their parameters, and imports."""

from __future__ import annotations

import ast
import warnings
from typing import NamedTuple


class KernelParameter(NamedTuple):
    """One parameter; a variadic one is `*args` or `**kwargs`."""

    name: str
    constexpr: bool
    has_default: bool = False
    keyword_only: bool = False
    variadic: bool = False


class Function(NamedTuple):
    """A module-level function; `decorators` are spelled as in the file."""

    name: str
    line: int
    parameters: tuple[KernelParameter, ...]
    decorators: tuple[str, ...]

    @property
    def is_kernel(self) -> bool:
        return any(map(is_jit, self.decorators))

    def takes(self, count: int) -> bool:
        """Whether it can be called with so many positional arguments."""
        required = [p for p in self.parameters if not p.has_default and not p.variadic]
        positional = [p for p in self.parameters if not p.keyword_only and not p.variadic]
        at_most = count if any(p.variadic and not p.keyword_only for p in self.parameters) else len(positional)
        return not any(p.keyword_only for p in required) and len(required) <= count <= at_most


def is_jit(decorator: str) -> bool:
    return decorator.split("(")[0] in ("triton.jit", "jit")


def functions(text: str) -> dict[str, Function]:
    """The module-level functions of a file by name; raises SyntaxError."""
    return {
        node.name: Function(
            node.name,
            node.lineno,
            _parameters(node.args),
            tuple(ast.unparse(decorator) for decorator in node.decorator_list),
        )
        for node in _parse(text).body
        if isinstance(node, ast.FunctionDef)
    }


def imports(text: str) -> frozenset[str]:
    """The modules that a file imports, anywhere in it: of `a.b` only `a`, and a relative one as `.b`."""
    found: set[str] = set()
    for node in ast.walk(_parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or node.names[0].name
            found.add(f".{module}" if node.level else module.split(".")[0])
    return frozenset(found)


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Python says of a user's file, it says when that file runs
        try:
            return ast.parse(text)
        except (RecursionError, MemoryError):
            raise SyntaxError("nested too deep", ("", 1, 1, "")) from None


def _parameters(arguments: ast.arguments) -> tuple[KernelParameter, ...]:
    positional = [*arguments.posonlyargs, *arguments.args]
    without_default = len(positional) - len(arguments.defaults)
    keyword_only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return (
        *(KernelParameter(a.arg, _is_constexpr(a), i >= without_default) for i, a in enumerate(positional)),
        *(KernelParameter(a.arg, False, variadic=True) for a in (arguments.vararg,) if a),
        *(
            KernelParameter(a.arg, _is_constexpr(a), default is not None, keyword_only=True)
            for a, default in keyword_only
        ),
        *(KernelParameter(a.arg, False, keyword_only=True, variadic=True) for a in (arguments.kwarg,) if a),
    )


def _is_constexpr(argument: ast.arg) -> bool:
    annotation = argument.annotation
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):  # a quoted annotation
        return annotation.value.split(".")[-1] == "constexpr"
    return annotation is not None and ast.unparse(annotation).split(".")[-1] == "constexpr"
