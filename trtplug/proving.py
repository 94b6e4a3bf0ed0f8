"""What a spec says for tests alone: the optimisation profile, the values of tensors, the tolerance."""

from __future__ import annotations

from dataclasses import replace

from trtplug.dtypes import Dtype
from trtplug.expr import (
    DIM,
    FLOAT,
    INT,
    Scope,
    Site,
)
from trtplug.located import Located
from trtplug.model import Attribute, Output, Profile, Tensor


def profiles(located: Located, arguments: tuple[Tensor | Attribute, ...], scope: Scope) -> tuple[Profile, ...]:
    scope = replace(scope, site=Site.LAUNCH)
    ranks = {argument.name: argument.rank for argument in arguments if isinstance(argument, Tensor)}
    located.known(located.form.dynamic, ranks, "tensor argument of the schema", "dynamic")
    profiles: list[Profile] = []
    for tensor, dimensions in located.form.dynamic.items():
        for dimension, sizes in dimensions.items():
            if tensor in ranks and not 0 <= dimension < ranks[tensor][1]:
                message = f"{tensor} has no dimension {dimension}; name one from 0 to {ranks[tensor][1] - 1}"
                located.problem(message, "dynamic", tensor, dimension, key=True)
            if not isinstance(sizes, str):
                profiles.append(Profile(tensor, dimension, sizes))
            elif tied := located.expression(scope, sizes, (INT, DIM), "a dimension", "dynamic", tensor, dimension):
                profiles.append(Profile(tensor, dimension, tied))
    return tuple(profiles)


def with_ranges(
    located: Located, arguments: tuple[Tensor | Attribute, ...], scope: Scope
) -> tuple[Tensor | Attribute, ...]:
    """The arguments with the values that tests draw for them."""
    scope = replace(scope, site=Site.LAUNCH)
    found: list[Tensor | Attribute] = []
    for argument in arguments:
        form = located.form.inputs.get(argument.name)
        if isinstance(argument, Tensor) and form and form.range:
            ends = [
                located.expression(scope, text, (INT, DIM, FLOAT), "a number", "inputs", argument.name, "range", i)
                for i, text in enumerate(form.range)
            ]
            integers = [dtype.name for dtype in argument.dtypes if not dtype.is_float]
            if "bool" in integers:
                located.problem("bools are drawn from both; remove the range", "inputs", argument.name, "range")
            for i, end in enumerate(ends):
                if integers and end and end.kind == FLOAT:
                    message = f"{argument.name} may be {integers[0]}, and then holds no fractions; write a whole number"
                    located.problem(message, "inputs", argument.name, "range", i)
            if ends[0] and ends[1]:
                argument = argument._replace(range=(ends[0], ends[1]))
        found.append(argument)
    return tuple(found)


def check_tolerance(located: Located, arguments: tuple[Tensor | Attribute, ...], outputs: tuple[Output, ...]) -> None:
    """Floats are compared within what the inputs' dtypes allow, or what their own does if no input is a float."""
    used = {dtype for argument in arguments if isinstance(argument, Tensor) for dtype in argument.dtypes}
    if not any(dtype.is_float for dtype in used):
        used = {output.dtype for output in outputs if isinstance(output.dtype, Dtype)}
        used |= {dtype for argument in arguments if isinstance(argument, Attribute) for dtype in argument.dtypes}
    if missing := sorted({dtype.name for dtype in used if dtype.is_float} - set(located.form.tolerance)):
        message = f"no tolerance for {', '.join(missing)}; add one for each dtype of the inputs"
        located.problem(message, "tolerance", key=True)
