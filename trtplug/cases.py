"""The cases of a spec: read, held against the schema and the inputs, and completed where tensors are optional."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from trtplug.located import Located
from trtplug.model import Attribute, AttributeValue, Case, Op, Tensor
from trtplug.torch_schema import Base

_INT64 = range(-(2**63), 2**63)
_TYPES: Mapping[Base, tuple[type, ...]] = {
    Base.INT: (int,),
    Base.SYMINT: (int,),
    Base.FLOAT: (int, float),
    Base.BOOL: (bool,),
    Base.STR: (str,),
}


def read(forms: tuple[Mapping[str, Any], ...], arguments: tuple[Tensor | Attribute, ...]) -> tuple[Case, ...]:
    """The cases as a spec wrote them; `check` says what is wrong with them."""
    tensors = {argument.name for argument in arguments if isinstance(argument, Tensor)}
    return tuple(
        Case(
            shapes={name: value for name, value in form.items() if name in tensors and value is not None},
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
            elif argument.argument.default is None and not argument.optional:
                located.problem(f"the case gives no '{name}'; add {name}: ...", "cases", i)


def _problem_with_shape(tensor: Tensor, shape: object) -> str | None:
    if not isinstance(shape, tuple) or not all(type(size) is int and 0 <= size in _INT64 for size in shape):
        return f"'{tensor.name}' is a tensor; give its shape, sizes of 0 or more, such as [2, 3]"
    low, high = tensor.rank
    if not low <= len(shape) <= high:
        allowed = f"{low}" if low == high else f"{low} to {high}"
        return f"the shape of {tensor.name} has length {len(shape)}, inputs allows a rank of {allowed}; make them agree"
    return None


def _problem_with_value(attribute: Attribute, value: object) -> str | None:
    """An int fits a float, a bool fits neither."""
    kind = attribute.argument.type
    items = value if isinstance(value, tuple) else (value,)
    if value is None and kind.optional:
        return None
    if kind.base is Base.SCALARTYPE:
        allowed = [dtype.name for dtype in attribute.dtypes]
        return None if value in allowed else f"'{attribute.name}' is a dtype; give it one of {', '.join(allowed)}"
    if kind.is_list != isinstance(value, tuple) or not all(type(item) in _TYPES[kind.base] for item in items):
        return f"'{attribute.name}' is '{kind}' in the schema; give it such a value"
    if kind.size is not None and len(items) != kind.size:
        return f"'{attribute.name}' is '{kind}' in the schema; give it {kind.size} items, not {len(items)}"
    if kind.base in (Base.INT, Base.SYMINT) and any(item not in _INT64 for item in items):
        return f"'{attribute.name}' does not fit into 64 bits; give it a smaller number"
    return None


def with_other_tensors(cases: tuple[Case, ...], arguments: tuple[Tensor | Attribute, ...]) -> Iterator[Case]:
    """The first case that gives all tensors, with each choice of the optional ones that no case makes."""
    optional = {argument.name for argument in arguments if isinstance(argument, Tensor) and argument.optional}
    whole = next((case for case in cases if optional <= case.shapes.keys()), None)
    if whole is None:
        return
    known = [optional & case.shapes.keys() for case in cases]
    for count in range(len(optional)):
        for given in map(set, itertools.combinations(sorted(optional), count)):
            if given not in known:
                yield Case({n: s for n, s in whole.shapes.items() if n not in optional - given}, whole.attributes)


def attribute_values(op: Op, case: Case) -> dict[str, AttributeValue]:
    """The value of each attribute in a case, defaults included."""
    values: dict[str, AttributeValue] = {}
    for attribute in op.attributes:
        default = attribute.argument.default
        if attribute.name in case.attributes:
            values[attribute.name] = case.attributes[attribute.name]
        else:
            values[attribute.name] = default.value if default else None
    return values
