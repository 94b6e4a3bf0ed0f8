"""The cases and the profile of a spec, tried at check time: its own expressions are run on them, as ints.

What a case says of ranks, checks, output shapes and grids is found here, long before a GPU is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from types import CodeType, MappingProxyType
from typing import Any, NamedTuple

from trtplug import rules
from trtplug.cases import attribute_values
from trtplug.dtypes import Dtype
from trtplug.expr import FUNCTIONS, TENSOR, Expr, Python
from trtplug.located import Located
from trtplug.model import Attribute, AttributeValue, Case, Kernel, Op, Profile, Registered, Tensor

_GRID_LIMITS = (2**31 - 1, 65535, 65535)  # CUDA C++ Programming Guide, technical specifications per compute capability
_INT64 = range(-(2**63), 2**63)
_FIELD_LIMITS = {"int32": (-(2**31), 2**31 - 1), "float32": (-3.4028234663852886e38, 3.4028234663852886e38)}
_LONGEST = 1000  # items of a list; a launch computes with ranks and strides, never with the elements of a tensor


def try_out(op: Op, located: Located) -> None:
    """Adds a problem for each case, and each end of the profile, that the spec's own expressions refuse or fail on."""
    trial = _Trial(op)
    written = len(located.form.cases)
    for i, case in enumerate(op.cases):
        if problem := trial.problem(case):
            at: tuple[str | int, ...] = ("cases", i) if i < written else ("cases",)
            said = "this case fails" if i < written else f"a case without {_absent(op, case)} fails"
            located.problem(f"{said}: {problem}; change the case or the spec", *at)
    if located.problems:
        return
    if absent := _absent(op, op.cases[0]):
        message = f"the first case gives no {absent}; give all tensors, since the profile completes this case"
        located.problem(message, "cases", 0)
        return
    for row in dtype_rows(op):
        if problem := trial.problem(op.cases[0], row):
            spelled = ", ".join(f"{tensor.name}: {dtype.name}" for tensor, dtype in zip(op.tensors, row, strict=True))
            located.problem(f"the first case fails with {spelled}: {problem}; change the spec", "inputs", key=True)
            return
    first = op.cases[0]
    for profile in op.profiles:
        path = ("dynamic", profile.tensor, profile.dimension)
        rank = len(first.shapes[profile.tensor])
        if profile.dimension >= rank:
            message = f"the profile completes the first case, whose {profile.tensor} has {rank} dimensions"
            located.problem(f"{message}; put a case of a higher rank first", *path, key=True)
    if op.profiles and not located.problems:
        needed = []
        for which, end in enumerate(("min", "opt", "max")):
            if problem := _problem_at_end(trial, op, which):
                located.problem(f"the profile fails at {end}: {problem}; change it or the spec", "dynamic", key=True)
                return
            needed.append(trial.scratch_elements)
        for i, buffer in enumerate(op.launch.scratch):
            # TensorRT gives a plugin what it asks for at max, whatever it runs at.
            if max(at[i] for at in needed) > needed[2][i]:
                message = f"'{buffer.name}' is larger inside the profile than at its max; write a bound that grows"
                located.problem(message, "workspace", buffer.name, "shape")


def _problem_at_end(trial: _Trial, op: Op, which: int) -> str | None:
    try:
        return trial.problem(profile_case(op, which))
    except Refused as reason:
        return str(reason)


def _absent(op: Op, case: Case) -> str:
    return " and ".join(tensor.name for tensor in op.tensors if tensor.name not in case.shapes)


def dtype_rows(op: Op) -> tuple[tuple[Dtype, ...], ...]:
    """Every combination of input dtypes that the op accepts when all tensors are given."""
    rows: tuple[tuple[Dtype, ...], ...] = ((),)
    independent = [tensor for tensor in op.tensors if tensor.same_as is None]
    for tensor in independent:
        rows = tuple((*row, dtype) for row in rows for dtype in tensor.dtypes)
    return tuple(tuple(_of(tensor, independent, row) for tensor in op.tensors) for row in rows)


def _of(tensor: Tensor, independent: Sequence[Tensor], row: tuple[Dtype, ...]) -> Dtype:
    name = tensor.same_as or tensor.name
    return next(dtype for other, dtype in zip(independent, row, strict=True) if other.name == name)


def profile_case(op: Op, which: int) -> Case:
    """The first case with the dynamic dimensions at min (0), opt (1) or max (2)."""
    first = op.cases[0]
    shapes = {name: list(shape) for name, shape in first.shapes.items()}
    for profile in op.profiles:
        if isinstance(profile.sizes, tuple):
            shapes[profile.tensor][profile.dimension] = profile.sizes[which]
    env = {**_GLOBALS, **_shapes(op, shapes), **attribute_values(op, first)}
    tied = [
        (shapes[profile.tensor], profile.dimension, _step(_of_profile(profile), "", profile.sizes))
        for profile in op.profiles
        if not isinstance(profile.sizes, tuple)
    ]
    for shape, dimension, step in tied:
        shape[dimension] = _evaluate(step, env)
        if shape[dimension] < 0:
            raise Refused(f"{step.what} would be {shape[dimension]}")
        env |= _shapes(op, shapes)
    for shape, dimension, step in tied:
        if shape[dimension] != _evaluate(step, env):
            raise Refused(f"{step.what} is tied to one that is tied itself; tie both to one with [min, opt, max]")
    return Case({name: tuple(shape) for name, shape in shapes.items()}, first.attributes)


def value_of(op: Op, case: Case, expression: Expr) -> Any:
    """The value of an expression over the attributes of a case."""
    return _evaluate(_step("the expression", "", expression), {**_GLOBALS, **attribute_values(op, case)})


def usual_shapes(op: Op) -> list[list[int]]:
    """The shapes of the outputs at the profile's opt."""
    trial = _Trial(op)
    trial.problem(profile_case(op, 1))
    return trial.output_shapes


def other_attributes(op: Op) -> tuple[tuple[Attribute, AttributeValue], ...]:
    """The attributes, and their values, in which a later case differs that suits the tensors of the profile's opt.

    It suits them if no expression refuses it, if it takes all that the tensors are filled with, and if no output is
    empty. Where no case does, there are none.
    """
    usual = profile_case(op, 1)
    first = attribute_values(op, usual)
    others = [(attribute_values(op, case), case.attributes) for case in op.cases]
    others = [(values, given) for values, given in others if values != first]
    if not others:
        return ()
    trial = _Trial(op)
    trial.problem(usual)
    filled = trial.ranges
    for values, given in others:
        if trial.problem(Case(usual.shapes, given)) is None and all(map(math.prod, trial.output_shapes)):
            ends = [(filled[name], trial.ranges[name]) for name in filled]
            if all(low <= least and most <= high for (least, most), (low, high) in ends):
                return tuple((a, values[a.name]) for a in op.attributes if values[a.name] != first[a.name])
    return ()


def _of_profile(profile: Profile) -> str:
    return f"dimension {profile.dimension} of {profile.tensor}"


def _shapes(op: Op, shapes: Mapping[str, Sequence[int]]) -> dict[str, list[int]]:
    """The variables of the tensors' shapes; of an absent tensor it is empty."""
    return {f"{tensor.name}_shape": list(shapes.get(tensor.name, ())) for tensor in op.tensors}


class Refused(Exception):
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
            (check, _step(f"the check '{_PRINTER.text(check.condition)}'", "", check.condition)) for check in op.checks
        ]
        self._sizes = [_step(f"the size {size.name}", size.name, size.most) for size in op.sizes]
        self._shapes = [_step(f"the shape of {o.name}", f"{o.name}_shape", o.shape) for o in op.outputs]
        self._fields = [
            (_step(f"the field {f.name}", "", f.value), f.type)
            for f in (op.plugin.fields if isinstance(op.plugin, Registered) else ())
        ]
        self._lets = [_step(f"let {let.name}", let.name, let.value) for let in op.launch.lets]
        self._scratch = [_step(f"the shape of {b.name}", f"{b.name}_shape", b.shape) for b in op.launch.scratch]
        self._kernels = [(kernel, list(_values(kernel)), list(_grid(kernel))) for kernel in op.launch.kernels]
        self._ranges = {
            tensor.name: [_step(f"the range of {tensor.name}", "", end) for end in tensor.range]
            for tensor in op.tensors
            if tensor.range
        }
        # Of the last case: how many elements each buffer has, the shapes of the outputs, what the tensors may hold.
        self.scratch_elements: list[int] = []
        self.output_shapes: list[list[int]] = []
        self.ranges: dict[str, tuple[float, float]] = {}

    def problem(self, case: Case, dtypes: Sequence[Dtype] = ()) -> str | None:
        """What goes wrong with a case, if anything."""
        try:
            self._run(case, dtypes or [tensor.dtypes[0] for tensor in self._op.tensors])
        except Refused as reason:
            return str(reason)
        return None

    def _run(self, case: Case, dtypes: Sequence[Dtype]) -> None:
        env: dict[str, Any] = {**_GLOBALS, **_shapes(self._op, case.shapes)}
        for tensor, dtype in zip(self._op.tensors, dtypes, strict=True):
            env[f"{tensor.name}_dtype"] = dtype.name if tensor.name in case.shapes else None
        env |= attribute_values(self._op, case)
        for check, step in self._checks:
            if case.shapes.keys() >= set(check.given) and not _evaluate(step, env):
                raise Refused(f"a check refuses it ({check.message})")
        for step in self._sizes:
            env[step.name] = _evaluate(step, env)
        for step, output in zip(self._shapes, self._op.outputs, strict=True):
            env[step.name] = _shape(step, output.name, env)
        self.output_shapes = [env[step.name] for step in self._shapes]
        self.ranges = {}
        limits_of = {t.name: _limits(dtype) for t, dtype in zip(self._op.tensors, dtypes, strict=True)}
        for name, (low, high) in self._ranges.items():
            self.ranges[name] = least, most = _evaluate(low, env), _evaluate(high, env)
            if math.prod(case.shapes.get(name, (0,))) and least > most:
                raise Refused(f"the range of {name} is empty")
            if (limits := limits_of[name]) and case.shapes.get(name) and not limits[0] <= least <= most <= limits[1]:
                raise Refused(f"the range of {name}, {least} to {most}, reaches beyond its dtype")
        for step, kind in self._fields:
            value = _evaluate(step, env)
            for item in value if isinstance(value, list | tuple) else (value,):
                least, most = _FIELD_LIMITS.get(kind, (None, None))
                if least is not None and math.isfinite(item) and not least <= item <= most:
                    raise Refused(f"{step.what} would be {item}, which no {kind} holds")
        for step in self._lets:
            env[step.name] = _evaluate(step, env)
        for step, buffer in zip(self._scratch, self._op.launch.scratch, strict=True):
            env[step.name] = _shape(step, buffer.name, env)
        self.scratch_elements = [math.prod(env[step.name]) for step in self._scratch]
        started = [
            self._launches(values, grid, {**env, **supplied})
            for kernel, values, grid in self._kernels
            for supplied in [config.constexprs for config in kernel.configs] or [{}]
        ]
        for output in self._op.outputs:
            if (
                self._kernels
                and not (any(started) or output.zero or self._op.sizes)
                and math.prod(env[f"{output.name}_shape"])
            ):
                raise Refused(f"nothing would write {output.name}, since each grid has an axis of 0")

    def _launches(self, values: Sequence[_Step], grid: Sequence[_Step], env: dict[str, Any]) -> bool:
        """Whether a kernel is started at all."""
        started = True
        for step in values:
            value = _evaluate(step, env)
            if step.name:
                env[step.name] = value
        for step, limit in zip(grid, _GRID_LIMITS, strict=False):
            programs = _evaluate(step, env)
            if not 0 <= programs <= limit:
                raise Refused(f"{step.what} would be {programs}; CUDA takes 0 to {limit}")
            started = started and programs > 0
        return started


def _limits(dtype: Dtype) -> tuple[int, int] | None:
    """The least and the most that an integer of a dtype can be."""
    half = 2 ** (8 * dtype.bytes - 1)
    return None if dtype.is_float or dtype.name == "bool" else (-half, half - 1)


def _values(kernel: Kernel) -> Iterator[_Step]:
    """A constexpr is a name for those below it, for other parameters and for the grid."""
    plain = [p for p in kernel.parameters if not p.constexpr]
    for parameter in (*kernel.constexprs, *plain):
        if parameter.value and parameter.value.kind != TENSOR:
            name = parameter.name if parameter.constexpr else ""
            yield _step(f"kernel parameter {parameter.name}", name, parameter.value)


def _grid(kernel: Kernel) -> Iterator[_Step]:
    for axis, size in enumerate(kernel.grid):
        yield _step(f"grid axis {axis}", "", size)


def _step(what: str, name: str, node: Expr) -> _Step:
    return _Step(what, name, _compiled(_PRINTER.text(node)))


@lru_cache(maxsize=1024)  # an op is tried out more than once
def _compiled(text: str) -> CodeType:
    return compile(text, "the spec", "eval")


def _shape(step: _Step, name: str, env: dict[str, Any]) -> list[int]:
    shape = list(_evaluate(step, env))
    if any(size < 0 for size in shape):
        raise Refused(f"{name} would have the shape {shape}")
    return shape


def _evaluate(step: _Step, env: dict[str, Any]) -> Any:
    try:
        value = eval(step.code, env)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise Refused(f"{step.what} fails: {error}") from None
    items = value if isinstance(value, list | tuple) else (value,)
    if len(items) > _LONGEST:
        raise Refused(f"{step.what} has {len(items)} items; at most {_LONGEST} make sense")
    if any(isinstance(item, int) and item not in _INT64 for item in items):
        raise Refused(f"{step.what} does not fit into 64 bits")
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
