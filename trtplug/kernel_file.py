"""What a user's Python file holds, read without importing it: kernels, their parameters, plain functions."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True)
class KernelParameter:
    name: str
    constexpr: bool
    has_default: bool


@dataclass(frozen=True)
class Function:
    """A module-level function; `decorators` are spelled as in the file."""

    name: str
    line: int
    parameters: tuple[KernelParameter, ...]
    decorators: tuple[str, ...]

    @property
    def is_kernel(self) -> bool:
        return any(decorator.split("(")[0] in ("triton.jit", "jit") for decorator in self.decorators)


def functions(text: str) -> dict[str, Function]:
    """The module-level functions of a file by name; raises SyntaxError."""
    return {
        node.name: Function(
            node.name,
            node.lineno,
            _parameters(node.args),
            tuple(ast.unparse(decorator) for decorator in node.decorator_list),
        )
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }


def _parameters(arguments: ast.arguments) -> tuple[KernelParameter, ...]:
    positional = [*arguments.posonlyargs, *arguments.args]
    without_default = len(positional) - len(arguments.defaults)
    plain = [(argument, i >= without_default) for i, argument in enumerate(positional)]
    keyword = [(a, d is not None) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return tuple(
        KernelParameter(argument.arg, _is_constexpr(argument.annotation), has_default)
        for argument, has_default in [*plain, *keyword]
    )


def _is_constexpr(annotation: ast.expr | None) -> bool:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):  # a quoted annotation
        return annotation.value.split(".")[-1] == "constexpr"
    return annotation is not None and ast.unparse(annotation).split(".")[-1] == "constexpr"
