"""What a user's Python file holds, read without importing it: functions with their parameters, and imports.

A decorator of Triton that supplies kernel parameters is a case in `_decorator`.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Any, NamedTuple


class KernelParameter(NamedTuple):
    """One parameter; a variadic one is `*args` or `**kwargs`."""

    name: str
    constexpr: bool
    has_default: bool = False
    keyword_only: bool = False
    variadic: bool = False


class Config(NamedTuple):
    """One `triton.Config`."""

    constexprs: Mapping[str, int | bool | str]
    num_warps: int = 4
    num_stages: int = 3


class Decorator(NamedTuple):
    """One decorator: its name as in the file, and what it supplies; `problem` says why that cannot be known."""

    name: str
    configs: tuple[Config, ...] = ()  # of triton.autotune
    key: tuple[str, ...] = ()  # of triton.autotune
    supplied: tuple[str, ...] = ()  # the parameters that it gives values
    problem: str | None = None

    @property
    def is_jit(self) -> bool:
        return self.name in ("triton.jit", "jit")

    @property
    def kind(self) -> str:
        """`autotune` of `triton.autotune`."""
        return self.name.removeprefix("triton.")


class Function(NamedTuple):
    """A module-level function; the outermost decorator is the first."""

    name: str
    line: int
    parameters: tuple[KernelParameter, ...]
    decorators: tuple[Decorator, ...]

    @property
    def is_kernel(self) -> bool:
        return any(decorator.is_jit for decorator in self.decorators)

    def takes(self, count: int) -> bool:
        """Whether it can be called with so many positional arguments."""
        required = [p for p in self.parameters if not p.has_default and not p.variadic]
        positional = [p for p in self.parameters if not p.keyword_only and not p.variadic]
        at_most = count if any(p.variadic and not p.keyword_only for p in self.parameters) else len(positional)
        return not any(p.keyword_only for p in required) and len(required) <= count <= at_most


def functions(text: str) -> dict[str, Function]:
    """The module-level functions of a file by name; raises SyntaxError."""
    body = _parse(text).body
    constants = {
        node.targets[0].id: node.value
        for node in body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    return {
        node.name: Function(
            node.name,
            node.lineno,
            _parameters(node.args),
            tuple(_decorator(decorator, constants) for decorator in node.decorator_list),
        )
        for node in body
        if isinstance(node, ast.FunctionDef)
    }


@lru_cache(maxsize=64)
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


def with_relative_imports(text: str, neighbours: Collection[str]) -> str:
    """The file as part of a package: what it imports of its neighbours, it imports relatively; raises ValueError."""
    lines = text.split("\n")  # as Python counts lines, which str.splitlines does not
    for node in ast.walk(_parse(text)):
        if isinstance(node, ast.ImportFrom) and not node.level and node.module in neighbours:
            old, new = rf"from\s+{node.module}\b", f"from .{node.module}"
        elif isinstance(node, ast.Import) and (named := [a.name for a in node.names if a.name in neighbours]):
            if len(node.names) > 1:
                raise ValueError(f"line {node.lineno} imports {named[0]} and more; give each a line of its own")
            old, new = rf"import\s+{named[0]}\b", f"from . import {named[0]}"
        else:
            continue
        line = lines[node.lineno - 1].encode()
        before, rest = line[: node.col_offset].decode(), line[node.col_offset :].decode()
        rest, changes = re.subn(old, new, rest, count=1)
        if not changes:
            raise ValueError(f"line {node.lineno} imports a neighbour in more than one line; write it in one")
        lines[node.lineno - 1] = before + rest
    return "\n".join(lines)


def hides_triton_language(text: str) -> bool:
    """Whether a file has kernels but no name for triton.language, where Triton's interpreter finds its operations."""
    for node in ast.walk(_parse(text)):
        named = node.names if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.Import) and any(a.name == "triton.language" and a.asname for a in named):
            return False
        if isinstance(node, ast.ImportFrom) and node.module == "triton" and any(a.name == "language" for a in named):
            return False
    return any(function.is_kernel for function in functions(text).values())


class _Unsupported(Exception):
    """A decorator says what no launch heeds."""


class _Constants(dict[str, Any]):
    """The names that the configurations of a kernel may use: a few builtins, Triton's Config, constants of the file."""

    def __init__(self, constants: Mapping[str, ast.expr]) -> None:
        super().__init__({f.__name__: f for f in (range, len, min, max, sum, list, tuple, dict, zip)})
        self["__builtins__"] = {}
        self["Config"] = _config
        self["triton"] = type("triton", (), {"Config": staticmethod(_config)})
        self._constants = constants

    def __missing__(self, name: str) -> Any:
        if name not in self._constants:
            raise NameError(f"'{name}' is no constant of the file")
        return _evaluate(self._constants[name], self)


def _config(
    kwargs: Mapping[str, Any], num_warps: int = 4, num_stages: int = 3, num_ctas: int = 1, **more: object
) -> Config:
    unknown = [name for name, value in more.items() if value is not None] + ["num_ctas"] * (num_ctas != 1)
    if unknown:
        raise _Unsupported(f"a launch heeds no {unknown[0]} of a triton.Config; remove it")
    return Config(dict(kwargs), num_warps, num_stages)


def _evaluate(node: ast.expr, names: _Constants) -> Any:
    return eval(compile(ast.Expression(node), "configs", "eval"), names)


def _decorator(node: ast.expr, constants: Mapping[str, ast.expr]) -> Decorator:
    name = ast.unparse(node.func if isinstance(node, ast.Call) else node)
    if not isinstance(node, ast.Call) or name.removeprefix("triton.") not in ("autotune", "heuristics"):
        return Decorator(name)
    given = dict(zip(("configs", "key") if name.endswith("autotune") else ("values",), node.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    try:
        if "values" in given:
            return Decorator(name, supplied=_names_of(given["values"], constants))
        # What it does to each run that is timed is of no interest to a launch; these are.
        for other in ("prune_configs_by", "pre_hook", "post_hook"):
            if other in given:
                raise _Unsupported(f"a launch heeds no {other}; remove it")
        names = _Constants(constants)
        configs = tuple(_evaluate(given["configs"], names))
        key = tuple(_evaluate(given["key"], names)) if "key" in given else ()
        if not configs or not all(isinstance(config, Config) for config in configs):
            raise _Unsupported("its configs are no list of triton.Config; write one")
        supplied = tuple(dict.fromkeys(name for config in configs for name in config.constexprs))
        if any(config.constexprs.keys() != set(supplied) for config in configs):
            raise _Unsupported("its configs do not all supply the same parameters; let them")
    except _Unsupported as error:
        return Decorator(name, problem=f"@{name}: {error}")
    except Exception as error:  # whatever a user's expression does
        message = f"@{name} cannot be read without running the file: {error}"
        return Decorator(name, problem=f"{message}; write it out, or write fixed values under launch")
    return Decorator(name, configs, key, supplied)


def _names_of(node: ast.expr, constants: Mapping[str, ast.expr]) -> tuple[str, ...]:
    """The keys of a dict of rules, whose values are left to run time."""
    if isinstance(node, ast.Name) and node.id in constants:
        node = constants[node.id]
    if not isinstance(node, ast.Dict) or not all(isinstance(key, ast.Constant) for key in node.keys):
        raise _Unsupported('its rules are no dict with literal keys; write {"PARAMETER": lambda given: ...}')
    return tuple(str(key.value) for key in node.keys if isinstance(key, ast.Constant))


@lru_cache(maxsize=64)  # of a file that several questions are asked about; nobody changes a tree
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
