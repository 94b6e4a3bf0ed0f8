"""What a spec means: frozen values, resolved and consistent, that every later stage reads and none changes.

A new property of an operator is a field here, filled in by resolve.py and read by one view.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple, TypeAlias

from trtplug.dtypes import Dtype
from trtplug.expr import Expr
from trtplug.names import Names
from trtplug.torch_schema import Argument, Base

AttributeValue: TypeAlias = "int | float | bool | str | tuple[int | float | bool | str, ...]"


class Tensor(NamedTuple):
    """A tensor argument: least and most rank, and the dtypes that it may have."""

    argument: Argument
    rank: tuple[int, int]
    dtypes: tuple[Dtype, ...]

    @property
    def name(self) -> str:
        return self.argument.name


class Attribute(NamedTuple):
    """An argument whose value is known when an engine is built."""

    argument: Argument

    @property
    def name(self) -> str:
        return self.argument.name

    @property
    def base(self) -> Base:
        return self.argument.type.base

    @property
    def is_list(self) -> bool:
        return self.argument.type.is_list


class Output(NamedTuple):
    """One returned tensor; `dtype` is an input's (`x.dtype`) or fixed."""

    name: str
    dtype: Expr | Dtype
    shape: Expr


class Check(NamedTuple):
    """A condition on shapes and attributes, and what a caller sees when it does not hold."""

    condition: Expr
    message: str


class Let(NamedTuple):
    """A host-side name of the launch."""

    name: str
    value: Expr


class Parameter(NamedTuple):
    """One kernel parameter, in the kernel's order, and its value at launch."""

    name: str
    value: Expr
    constexpr: bool


class Launch(NamedTuple):
    """How the kernel is started."""

    lets: tuple[Let, ...]
    grid: tuple[Expr, ...]
    parameters: tuple[Parameter, ...]
    constexprs: tuple[Parameter, ...]  # those of them, in the spec's order, in which they may use each other
    num_warps: int
    num_stages: int | None


class SourceFile(NamedTuple):
    """A user's Python file, as it is."""

    name: str
    text: str


class Case(NamedTuple):
    """One call to test: the shape of each tensor, the value of each attribute that is given."""

    shapes: Mapping[str, tuple[int, ...]]
    attributes: Mapping[str, AttributeValue]


class Profile(NamedTuple):
    """min, opt and max of one dimension in the engine's optimisation profile."""

    tensor: str
    dimension: int
    sizes: tuple[int, int, int]


class Op(NamedTuple):
    """One operator."""

    names: Names
    plugin_version: str
    package_version: str
    summary: str
    schema: str
    arguments: tuple[Tensor | Attribute, ...]
    outputs: tuple[Output, ...]
    checks: tuple[Check, ...]
    launch: Launch
    kernel: SourceFile
    kernel_function: str
    reference: SourceFile  # the kernel's file, or one of its own
    reference_function: str
    tolerance: Mapping[str, float]
    cases: tuple[Case, ...]
    profiles: tuple[Profile, ...]
    spec_path: PurePosixPath
    spec_text: str

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        return tuple(argument for argument in self.arguments if isinstance(argument, Tensor))

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return tuple(argument for argument in self.arguments if isinstance(argument, Attribute))
