"""The cases and the profile of a spec, tried at check time: its own expressions are run on them, as ints.

What a case says of ranks, checks, output shapes and grids is found here, long before a GPU is.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from trtplug import rules
from trtplug.expr import FUNCTIONS, Expr, Python
from trtplug.model import Attribute, AttributeValue, Case, Op, Tensor
from trtplug.problems import Problems
from trtplug.spec import Spec
from trtplug.torch_schema import Base

GRID_LIMITS = (2**31 - 1, 65535, 65535)  # CUDA C++ Programming Guide, technical specifications per compute capability

_PRINTER = Python(symbolic=False)
_GLOBALS: Mapping[str, Any] = MappingProxyType(
    {"__builtins__": {f.__name__: f for f in (len, min, max, sum, all, range)}, "math": math}
    | {name: getattr(rules, name) for name in FUNCTIONS if hasattr(rules, name)}
)


def read(forms: tuple[Mapping[str, Any], ...], arguments: tuple[Tensor | Attribute, ...]) -> tuple[Case, ...]:
    """The cases as a spec wrote them; `check` says what is wrong with them."""
    tensors = {argument.name for argument in arguments if isinstance(argument, Tensor)}
    return tuple(
        Case(
            shapes={name: value for name, value in form.items() if name in tensors},
            attributes={name: value for name, value in form.items() if name not in tensors},
        )
        for form in forms
    )


def check(op: Op, spec: Spec, problems: Problems) -> None:
    """Adds a problem for each case that contradicts the rest of the spec, and for each end of the profile that does."""
    for i, case in enumerate(op.cases):
        if not _check_values(op, case, i, spec, problems):
            continue
        if problem := _run(op, case):
            problems.add(spec.position("cases", i), f"this case does not work: {problem}")
    if problems or not op.profiles:
        return
    first = op.cases[0]
    for profile in op.profiles:
        if profile.dimension >= len(first.shapes[profile.tensor]):
            problems.add(
                spec.position("dynamic", profile.tensor, profile.dimension, key=True),
                f"the profile completes the shapes of the first case, whose {profile.tensor} has only "
                f"{len(first.shapes[profile.tensor])} dimensions; put a case of that rank first",
            )
            return
    for which, end in enumerate(("min", "opt", "max")):
        if problem := _run(op, profile_case(op, which)):
            problems.add(spec.position("dynamic"), f"the {end} end of the profile does not work: {problem}")


def profile_case(op: Op, which: int) -> Case:
    """The first case with the dynamic dimensions at min (0), opt (1) or max (2)."""
    first = op.cases[0]
    shapes = {name: list(shape) for name, shape in first.shapes.items()}
    for profile in op.profiles:
        shapes[profile.tensor][profile.dimension] = profile.sizes[which]
    return Case({name: tuple(shape) for name, shape in shapes.items()}, first.attributes)


def _check_values(op: Op, case: Case, i: int, spec: Spec, problems: Problems) -> bool:
    sound = True

    def problem(name: str | None, message: str, key: bool = False) -> None:
        nonlocal sound
        sound = False
        path = ("cases", i) if name is None else ("cases", i, name)
        problems.add(spec.position(*path, key=key), message)

    known = [argument.name for argument in op.arguments]
    for name in case.attributes:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"the arguments are {', '.join(known)}"
            problem(name, f"'{name}' is no argument of the op; {hint}", key=True)
    for argument in op.arguments:
        name = argument.name
        if name not in case.shapes and name not in case.attributes:
            if argument.argument.default is None:
                problem(None, f"the case gives no '{name}'; add {name}: ...")
        elif isinstance(argument, Attribute):
            if not is_value(argument, case.attributes[name]):
                problem(name, f"'{name}' is {argument.argument.type} in the schema; this value is not")
        else:
            shape = case.shapes[name]
            if not isinstance(shape, tuple) or not all(type(size) is int and size >= 0 for size in shape):
                problem(name, f"'{name}' is a tensor: give its shape, such as [2, 3]")
            elif not argument.rank[0] <= len(shape) <= argument.rank[1]:
                low, high = argument.rank
                allowed = f"{low}" if low == high else f"{low} to {high}"
                problem(name, f"this {name} has {len(shape)} dimensions; inputs allows {allowed}")
    return sound


def is_value(attribute: Attribute, value: object) -> bool:
    """Whether a YAML value fits an attribute's type; an int fits a float, a bool fits neither."""
    types = {Base.INT: (int,), Base.FLOAT: (int, float), Base.BOOL: (bool,), Base.STR: (str,)}[attribute.base]
    if attribute.is_list != isinstance(value, tuple):
        return False
    items = value if isinstance(value, tuple) else (value,)
    return all(type(item) in types for item in items)


def _run(op: Op, case: Case) -> str | None:
    """What goes wrong when the spec's own expressions run on a case, if anything."""
    env: dict[str, Any] = {f"{name}_shape": list(shape) for name, shape in case.shapes.items()}
    env |= {f"{tensor.name}_dtype": tensor.dtypes[0].name for tensor in op.tensors}
    env |= attribute_values(op, case)
    for check in op.checks:
        holds = _evaluate(check.condition, env)
        if isinstance(holds, _Failure):
            return f"the check '{_PRINTER.text(check.condition)}' fails with {holds}"
        if not holds:
            return check.message
    for output in op.outputs:
        shape = _evaluate(output.shape, env)
        if isinstance(shape, _Failure):
            return f"the shape of {output.name} fails with {shape}"
        if any(size < 0 for size in shape):
            return f"{output.name} would have the shape {list(shape)}; add a check that refuses such a call"
        env[f"{output.name}_shape"] = list(shape)
    for name, value in [
        *((let.name, let.value) for let in op.launch.lets),
        *((parameter.name, parameter.value) for parameter in op.launch.parameters if parameter.constexpr),
    ]:
        env[name] = _evaluate(value, env)
        if isinstance(env[name], _Failure):
            return f"{name} fails with {env[name]}"
    for axis, (size, limit) in enumerate(zip(op.launch.grid, GRID_LIMITS, strict=False)):
        programs = _evaluate(size, env)
        if isinstance(programs, _Failure):
            return f"grid axis {axis} fails with {programs}"
        if not 0 <= programs <= limit:
            return f"grid axis {axis} would be {programs}; CUDA takes 0 to {limit}"
    return None


class _Failure(str):
    """Why an expression could not be evaluated."""


def _evaluate(node: Expr, env: Mapping[str, Any]) -> Any:
    try:
        return eval(_PRINTER.text(node), {**_GLOBALS, **env})
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return _Failure(f"{type(error).__name__}: {error}")


def attribute_values(op: Op, case: Case) -> dict[str, AttributeValue]:
    """The value of each attribute in a case, defaults included."""
    values: dict[str, AttributeValue] = {}
    for attribute in op.attributes:
        default = attribute.argument.default
        if attribute.name in case.attributes:
            values[attribute.name] = case.attributes[attribute.name]
        elif default is not None and default.value is not None:
            values[attribute.name] = default.value
    return values
