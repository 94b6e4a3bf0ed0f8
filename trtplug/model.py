"""What a spec means: frozen values, resolved and consistent, that every later stage reads and none changes.

A new property of an operator is a field here, filled in by resolve.py and read by one view.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from trtplug.dtypes import Dtype
from trtplug.expr import Expr
from trtplug.names import Names
from trtplug.plugin_api import PluginApi
from trtplug.torch_schema import Argument, Base

AttributeValue: TypeAlias = "int | float | bool | str | tuple[int | float | bool | str, ...] | None"


class Tensor(NamedTuple):
    """A tensor argument: least and most rank, the dtypes that it may have, and what tests fill it with."""

    argument: Argument
    rank: tuple[int, int]
    dtypes: tuple[Dtype, ...]
    same_as: str | None = None  # the tensor whose dtype it shares
    range: tuple[Expr, Expr] | None = None

    @property
    def name(self) -> str:
        return self.argument.name

    @property
    def optional(self) -> bool:
        return self.argument.type.optional


class Attribute(NamedTuple):
    """An argument whose value is known when an engine is built; `dtypes` are those that a ScalarType may be."""

    argument: Argument
    dtypes: tuple[Dtype, ...] = ()

    @property
    def name(self) -> str:
        return self.argument.name

    @property
    def base(self) -> Base:
        return self.argument.type.base

    @property
    def is_list(self) -> bool:
        return self.argument.type.is_list

    @property
    def optional(self) -> bool:
        return self.argument.type.optional


class Output(NamedTuple):
    """A tensor that kernels write, returned or of the workspace; `dtype` is an input's, an attribute, or fixed."""

    name: str
    dtype: Expr | Dtype
    shape: Expr
    zero: bool = False  # filled with zeros before the kernels run


class Size(NamedTuple):
    """A size that the kernels find out and write; it is the first dimension of outputs, and bounded by `most`."""

    name: str
    most: Expr
    typical: Expr


class Check(NamedTuple):
    """A condition on shapes and attributes, and what a caller sees when it does not hold."""

    condition: Expr
    message: str
    given: tuple[str, ...] = ()  # the optional tensors that it reads, without which it does not apply


class Let(NamedTuple):
    """A host-side name of the launch."""

    name: str
    value: Expr


class Parameter(NamedTuple):
    """One kernel parameter, in the kernel's order, and its value at launch; None is what a decorator supplies."""

    name: str
    value: Expr | None
    constexpr: bool


class Config(NamedTuple):
    """One configuration that @triton.autotune may choose."""

    constexprs: Mapping[str, int | bool | str]
    num_warps: int
    num_stages: int


class Kernel(NamedTuple):
    """How one kernel is started."""

    function: str
    grid: tuple[Expr, ...]
    parameters: tuple[Parameter, ...]
    constexprs: tuple[Parameter, ...]  # those of them, in the spec's order, in which they may use each other
    num_warps: int
    num_stages: int | None
    decorators: tuple[str, ...] = ()  # "autotune" and "heuristics", the outermost first
    configs: tuple[Config, ...] = ()
    tuned_by: tuple[str, ...] = ()  # the parameters whose values a choice of autotune holds for

    @property
    def heuristics(self) -> bool:
        return "heuristics" in self.decorators


class Launch(NamedTuple):
    """How the kernels are started, one after another."""

    lets: tuple[Let, ...]
    scratch: tuple[Output, ...]  # the buffers of the workspace
    kernels: tuple[Kernel, ...]
    offset_bits: int


class SourceFile(NamedTuple):
    """A user's Python file: its name beside the spec, and its text, in which imports of its neighbours are relative."""

    name: str
    text: str


class Case(NamedTuple):
    """One call to test: the shape of each tensor that is given, the value of each attribute that is given."""

    shapes: Mapping[str, tuple[int, ...]]
    attributes: Mapping[str, AttributeValue]


class Profile(NamedTuple):
    """min, opt and max of one dimension in the engine's optimisation profile, or the dimension that it follows."""

    tensor: str
    dimension: int
    sizes: tuple[int, int, int] | Expr


class Op(NamedTuple):
    """One operator."""

    names: Names
    plugin_api: PluginApi
    plugin_version: str
    package_version: str
    summary: str
    schema: str
    arguments: tuple[Tensor | Attribute, ...]
    outputs: tuple[Output, ...]
    sizes: tuple[Size, ...]
    checks: tuple[Check, ...]
    launch: Launch
    kernel: SourceFile
    helpers: tuple[SourceFile, ...]  # files beside the kernel's that it imports
    reference: SourceFile  # the kernel's file, or one of its own
    reference_function: str
    tolerance: Mapping[str, float]
    cases: tuple[Case, ...]
    profiles: tuple[Profile, ...]
    spec_text: str

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The inputs of the plugin and the node, in their order: what may be absent is last."""
        tensors = [argument for argument in self.arguments if isinstance(argument, Tensor)]
        return tuple(sorted(tensors, key=lambda tensor: tensor.optional))

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        return tuple(argument for argument in self.arguments if isinstance(argument, Attribute))


class Package(NamedTuple):
    """One distribution: an op that is the whole package, or several, each a part of it."""

    distribution: str
    import_name: str
    version: str
    summary: str
    ops: tuple[Op, ...]

    @classmethod
    def of(cls, op: Op) -> Package:
        """The package that one op is."""
        return cls(op.names.distribution, op.names.import_name, op.package_version, op.summary, (op,))

    @property
    def several(self) -> bool:
        """Whether each op is a part of its own, which a single one may be too, in a package that others may join."""
        return any(op.names.part for op in self.ops)
