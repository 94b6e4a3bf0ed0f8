"""The cases and the profile of a spec, tried at check time: its own expressions are run on them, as ints.

What a case says of ranks, checks, output shapes and grids is found here, long before a GPU is.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from types import CodeType, MappingProxyType
from typing import Any, NamedTuple

from trtplug import rules
from trtplug.expr import FUNCTIONS, TENSOR, Expr, Python
from trtplug.located import Located
from trtplug.model import Attribute, AttributeValue, Case, Op, Tensor
from trtplug.torch_schema import Base

_GRID_LIMITS = (2**31 - 1, 65535, 65535)  # CUDA C++ Programming Guide, technical specifications per compute capability
_INT64 = range(-(2**63), 2**63)
_LONGEST = 1000  # items of a list; a launch computes with ranks and strides, never with the elements of a tensor
_TYPES: Mapping[Base, tuple[type, ...]] = {
    Base.INT: (int,),
    Base.FLOAT: (int, float),
    Base.BOOL: (bool,),
    Base.STR: (str,),
}


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


def check(cases: tuple[Case, ...], arguments: tuple[Tensor | Attribute, ...], located: Located) -> None:
    """Adds a problem for each value of a case that contradicts the schema or the inputs."""
    known = [argument.name for argument in arguments]
    for i, case in enumerate(cases):
        for name in case.attributes:
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean '{close[0]}'?" if close else f"the arguments are {', '.join(known)}"
                located.problem(f"'{name}' is no argument of the op; {hint}", "cases", i, name, key=True)
        for argument in arguments:
            name = argument.name
            if name in case.shapes:
                assert isinstance(argument, Tensor)
                located.problem(_problem_with_shape(argument, case.shapes[name]), "cases", i, name)
            elif name in case.attributes:
                assert isinstance(argument, Attribute)
                located.problem(_problem_with_value(argument, case.attributes[name]), "cases", i, name)
            elif argument.argument.default is None:
                located.problem(f"the case gives no '{name}'; add {name}: ...", "cases", i)


def _problem_with_shape(tensor: Tensor, shape: object) -> str | None:
    if not isinstance(shape, tuple) or not all(type(size) is int and 0 <= size in _INT64 for size in shape):
        return f"'{tensor.name}' is a tensor; give its shape, such as [2, 3]"
    low, high = tensor.rank
    if not low <= len(shape) <= high:
        allowed = f"{low}" if low == high else f"{low} to {high}"
        return f"this {tensor.name} has {len(shape)} dimensions, inputs allows {allowed}; make them agree"
    return None


def _problem_with_value(attribute: Attribute, value: object) -> str | None:
    """An int fits a float, a bool fits neither."""
    kind = attribute.argument.type
    items = value if isinstance(value, tuple) else (value,)
    if kind.base not in _TYPES:
        return None  # said of the schema
    if kind.is_list != isinstance(value, tuple) or not all(type(item) in _TYPES[kind.base] for item in items):
        return f"'{attribute.name}' is '{kind}' in the schema; give it such a value"
    if kind.size is not None and len(items) != kind.size:
        return f"'{attribute.name}' is '{kind}' in the schema; give it {kind.size} items, not {len(items)}"
    if kind.base is Base.INT and any(item not in _INT64 for item in items):
        return f"'{attribute.name}' does not fit into 64 bits; give it a smaller number"
    return None


def try_out(op: Op, located: Located) -> None:
    """Adds a problem for each case, and each end of the profile, that the spec's own expressions refuse or fail on."""
    trial = _Trial(op)
    for i, case in enumerate(op.cases):
        if problem := trial.problem(case):
            located.problem(f"this case fails: {problem}; change the case or the spec", "cases", i)
    first = op.cases[0]
    for profile in op.profiles:
        if profile.dimension >= (rank := len(first.shapes[profile.tensor])):
            message = f"the profile completes the first case, whose {profile.tensor} has {rank} dimensions"
            path = ("dynamic", profile.tensor, profile.dimension)
            located.problem(f"{message}; put a case of a higher rank first", *path, key=True)
    if op.profiles and not located.problems:
        for which, end in enumerate(("min", "opt", "max")):
            if problem := trial.problem(profile_case(op, which)):
                located.problem(f"the profile fails at {end}: {problem}; change it or the spec", "dynamic", key=True)


def profile_case(op: Op, which: int) -> Case:
    """The first case with the dynamic dimensions at min (0), opt (1) or max (2)."""
    first = op.cases[0]
    shapes = {name: list(shape) for name, shape in first.shapes.items()}
    for profile in op.profiles:
        shapes[profile.tensor][profile.dimension] = profile.sizes[which]
    return Case({name: tuple(shape) for name, shape in shapes.items()}, first.attributes)


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


class _Refused(Exception):
    """Why a case does not work."""


class _Step(NamedTuple):
    """One expression of a spec, compiled: `name` is what its value is known by afterwards."""

    what: str
    name: str
    code: CodeType


class _Trial:
    """The expressions of an operator, compiled once and run on many cases."""

    def __init__(self, op: Op) -> None:
        self._op = op
        self._checks = [
            (check.message, _step(f"the check '{_PRINTER.text(check.condition)}'", "", check.condition))
            for check in op.checks
        ]
        self._shapes = [_step(f"the shape of {o.name}", f"{o.name}_shape", o.shape) for o in op.outputs]
        plan = op.launch
        # A constexpr is a name for those below it, for other parameters and for the grid.
        plain = [p for p in plan.parameters if not p.constexpr and p.value.kind != TENSOR]
        parameters = [*plan.constexprs, *plain]
        self._values = [_step(f"let {let.name}", let.name, let.value) for let in plan.lets]
        self._values += [
            _step(f"kernel parameter {p.name}", p.name if p.constexpr else "", p.value) for p in parameters
        ]
        self._grid = [_step(f"grid axis {axis}", "", size) for axis, size in enumerate(plan.grid)]

    def problem(self, case: Case) -> str | None:
        """What goes wrong with a case, if anything."""
        try:
            self._run(case)
        except _Refused as reason:
            return str(reason)
        return None

    def _run(self, case: Case) -> None:
        env: dict[str, Any] = {**_GLOBALS, **{f"{name}_shape": list(shape) for name, shape in case.shapes.items()}}
        env |= {f"{tensor.name}_dtype": tensor.dtypes[0].name for tensor in self._op.tensors}
        env |= attribute_values(self._op, case)
        for message, step in self._checks:
            if not _evaluate(step, env):
                raise _Refused(f"a check refuses it ({message})")
        for step, output in zip(self._shapes, self._op.outputs, strict=True):
            shape = _evaluate(step, env)
            if any(size < 0 for size in shape):
                raise _Refused(f"{output.name} would have the shape {list(shape)}")
            env[step.name] = list(shape)
        for step in self._values:
            value = _evaluate(step, env)
            if step.name:
                env[step.name] = value
        for step, limit in zip(self._grid, _GRID_LIMITS, strict=False):
            programs = _evaluate(step, env)
            if not 0 <= programs <= limit:
                raise _Refused(f"{step.what} would be {programs}; CUDA takes 0 to {limit}")


def _step(what: str, name: str, node: Expr) -> _Step:
    return _Step(what, name, compile(_PRINTER.text(node), what, "eval"))


def _evaluate(step: _Step, env: dict[str, Any]) -> Any:
    try:
        value = eval(step.code, env)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise _Refused(f"{step.what} fails: {error}") from None
    items = value if isinstance(value, list | tuple) else (value,)
    if len(items) > _LONGEST:
        raise _Refused(f"{step.what} has {len(items)} items; at most {_LONGEST} make sense")
    if any(isinstance(item, int) and item not in _INT64 for item in items):
        raise _Refused(f"{step.what} does not fit into 64 bits")
    return value


def _range(stop: int) -> range:
    if stop > _LONGEST:
        raise ValueError(f"range({stop}) has more than {_LONGEST} items")
    return range(stop)


_PRINTER = Python(symbolic=False)
_GLOBALS: Mapping[str, Any] = MappingProxyType(
    {"__builtins__": {f.__name__: f for f in (len, min, max, sum, all, list)} | {"range": _range}, "math": math}
    | {name: getattr(rules, name) for name in FUNCTIONS if hasattr(rules, name)}
)
