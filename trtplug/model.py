"""What a spec means: frozen values, resolved and consistent, that every later stage reads and none changes.

A new property of an operator is a field here, filled in by resolve.py and read by one view.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from trtplug.dtypes import Dtype
from trtplug.expr import DIMS, DTYPE, Expr, Property
from trtplug.names import Names, new_value
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

    @property
    def written(self) -> bool:
        """Whether kernels write to it, as `Tensor(a!)` says."""
        return (self.argument.type.alias or "").endswith("!")


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


class Body(enum.Enum):
    """What runs, in the op and in the plugin: Triton kernels, or the reference in PyTorch."""

    TRITON = "triton"
    TORCH = "torch"


class Field(NamedTuple):
    """A field of a registered plugin: its type in the spec, and its value, which follows from attributes alone."""

    name: str
    type: str
    value: Expr


class Registered(NamedTuple):
    """A plugin that TensorRT's registry has, or has once a library is loaded: a path, or PACKAGE:PATH."""

    name: str
    version: str
    namespace: str
    library: str | None
    fields: tuple[Field, ...]


# What stands for an op in TensorRT: a plugin that the package brings, by its interface, or one that is there already.
Plugin: TypeAlias = PluginApi | Registered


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
    plugin: Plugin
    plugin_version: str  # of a plugin that the package brings
    package_version: str
    summary: str
    schema: str
    arguments: tuple[Tensor | Attribute, ...]
    outputs: tuple[Output, ...]
    sizes: tuple[Size, ...]
    checks: tuple[Check, ...]
    body: Body
    launch: Launch  # of no kernels where the body is the reference
    code: SourceFile  # what runs: the file of the kernels, or of the reference
    helpers: tuple[SourceFile, ...]  # files beside it that it imports
    reference: SourceFile  # the file of what runs, or one of its own
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

    @property
    def written(self) -> tuple[Tensor, ...]:
        """The arguments that kernels write to."""
        return tuple(tensor for tensor in self.tensors if tensor.written)

    @property
    def results(self) -> tuple[Output, ...]:
        """What the plugin, the node and the functional variant give: new values of what is written to, then outputs."""
        return (*map(_new_value, self.written), *self.outputs)


def _new_value(tensor: Tensor) -> Output:
    """A tensor once it has been written to, which leaves its shape and dtype as they are."""
    dtype, shape = (Property(kind, tensor.name, what) for kind, what in ((DTYPE, "dtype"), (DIMS, "shape")))
    return Output(new_value(tensor.name), dtype, shape)


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

    def brings(self, api: PluginApi) -> bool:
        """Whether a plugin of the package itself has this interface."""
        return any(op.plugin is api for op in self.ops)
