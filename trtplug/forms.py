"""What a spec may say, as forms: a new key of the format is a field here, with its description."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    StrictFloat,
    StrictInt,
    TypeAdapter,
    WithJsonSchema,
)
from pydantic.dataclasses import dataclass as form
from pydantic_core import PydanticCustomError

from trtplug.dtypes import TABLE, problem_with_dtype

Scalar: TypeAlias = bool | int | float | str
AttributeValue: TypeAlias = Scalar | tuple[Scalar, ...] | None

MOST_DIMENSIONS = 8  # of a TensorRT tensor


def _one_line(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    if len(text.splitlines()) > 1:
        raise ValueError("must stand on one line")
    if not text.isprintable():
        raise ValueError("holds a character that cannot be printed; remove it")
    return text.rstrip()


def _expression(value: object) -> str:
    """The source text of an expression, which may be written as the YAML number, bool or list that it is."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_expression, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("must be a finite number")
    if isinstance(value, bool | int | float):
        return repr(value)
    if isinstance(value, str) and value.strip():
        return value.rstrip()
    raise ValueError(f"must be an expression, such as 2 * n or [n, 4], not {kind_of(value)}")


def _check(value: object) -> object:
    if not isinstance(value, tuple) or len(value) != 2:
        raise ValueError('must be [condition, "message"]; quote a condition that holds any of , [ ] { } :')
    return value


def _rank(value: object) -> object:
    least, most = value if isinstance(value, tuple) and len(value) == 2 else (value, value)
    if type(least) is not int or type(most) is not int or not 0 <= least <= most <= MOST_DIMENSIONS:
        raise ValueError(f"must be a rank, such as 4, or [least, most], from 0 to {MOST_DIMENSIONS}")
    return least, most


def _dtype(name: str) -> str:
    if problem := problem_with_dtype(name):
        raise PydanticCustomError("dtype", "{problem}", {"problem": problem})
    return name


def _whole(value: object) -> object:
    """Guards a Literal, which compares: to it, true and 1.0 are 1."""
    if type(value) is not int:
        raise ValueError(f"must be a whole number, not {kind_of(value)}")
    return value


def _reference(text: str) -> str:
    if not re.fullmatch(r"[^:]+\.py:[A-Za-z_]\w*", text):
        raise ValueError('must be "FILE.py:FUNCTION", such as "op.py:reference"')
    return text


def _profile(value: object) -> object:
    if isinstance(value, str) and value.strip():
        return value.rstrip()
    sizes = value if isinstance(value, tuple) else ()
    if len(sizes) != 3 or not all(type(size) is int and size >= 0 for size in sizes) or list(sizes) != sorted(sizes):
        raise ValueError(
            "must be [min, opt, max], three whole numbers from small to large, or a dimension that it is tied to, "
            "such as x.shape[0]"
        )
    return sizes


def _range(value: object) -> object:
    if not isinstance(value, tuple) or len(value) != 2:
        raise ValueError("must be [low, high], such as [0, x.shape[0] - 1]; quote what holds any of , [ ] { } :")
    return value


def source_of(value: object) -> str | None:
    """The text that a form holds of the value of an expression; None of a value that is no expression."""
    try:
        return _expression(value)
    except ValueError:
        return None


def _attribute(value: object) -> object:
    items = value if isinstance(value, tuple) else (value,)
    if value is not None and not all(isinstance(item, bool | int | float | str) for item in items):
        raise ValueError(f"must be a number, true, false, text, null or one flat list, not {kind_of(value)}")
    return value


def kind_of(value: object) -> str:
    """The value as a message names it."""
    match value:
        case None:
            return "empty"
        case dict():
            return "a map"
        case tuple():
            return "a list"
        case bool():
            return str(value).lower()
        case str():
            return f"the text '{value}'" if len(value) <= 40 else "text"
        case _:
            return f"the number {value}"


_JSON_SCALAR: dict[str, Any] = {"type": ["number", "boolean", "string"]}
_JSON_SIZE: dict[str, Any] = {"type": "integer", "minimum": 0}
_JSON_RANK: dict[str, Any] = _JSON_SIZE | {"maximum": MOST_DIMENSIONS}
_JSON_RANKS: dict[str, Any] = {"type": "array", "items": _JSON_RANK, "minItems": 2, "maxItems": 2}
_JSON_EXPRESSION: dict[str, Any] = {"type": ["string", "number", "boolean", "array"]}
_JSON_CHECK: dict[str, Any] = {
    "type": "array",
    "prefixItems": [_JSON_EXPRESSION, {"type": "string"}],
    "minItems": 2,
    "maxItems": 2,
}

Line: TypeAlias = Annotated[str, AfterValidator(_one_line)]
Expression: TypeAlias = Annotated[str, PlainValidator(_expression), WithJsonSchema(_JSON_EXPRESSION)]
Check: TypeAlias = Annotated[tuple[Expression, Line], BeforeValidator(_check), WithJsonSchema(_JSON_CHECK)]
DtypeName: TypeAlias = Annotated[str, AfterValidator(_dtype), WithJsonSchema({"enum": list(TABLE)})]
Rank: TypeAlias = Annotated[
    tuple[int, int], PlainValidator(_rank), WithJsonSchema({"anyOf": [_JSON_RANK, _JSON_RANKS]})
]
Range: TypeAlias = Annotated[
    tuple[Expression, Expression],
    BeforeValidator(_range),
    WithJsonSchema({"type": "array", "items": _JSON_EXPRESSION, "minItems": 2, "maxItems": 2}),
]
Profile: TypeAlias = Annotated[
    tuple[int, int, int] | str,
    PlainValidator(_profile),
    WithJsonSchema(
        {"anyOf": [{"type": "array", "items": _JSON_SIZE, "minItems": 3, "maxItems": 3}, {"type": "string"}]}
    ),
]
CaseValue: TypeAlias = Annotated[
    AttributeValue,
    PlainValidator(_attribute),
    WithJsonSchema({"anyOf": [_JSON_SCALAR, {"type": "null"}, {"type": "array", "items": _JSON_SCALAR}]}),
]
Init: TypeAlias = Literal["zero"]
Implementation: TypeAlias = Literal["triton", "torch"]
FieldType: TypeAlias = Literal["int32", "float32", "text"]
Tolerance: TypeAlias = Annotated[StrictFloat, Field(ge=0, allow_inf_nan=False)]

# Not strict as a whole, which would refuse the dict that a form is read from; only numbers need it.
_CONFIG = ConfigDict(extra="forbid")


@form(frozen=True, kw_only=True, repr=False, config=_CONFIG)
class KernelForm:
    """The Triton kernel."""

    file: Line = Field(description="the Python file of the kernel, beside the spec")
    function: Line | None = Field(
        default=None, description="the name of the @triton.jit function, where launch names none"
    )
    offset_bits: Annotated[Literal[32, 64], BeforeValidator(_whole)] = Field(
        default=32, description="64 if the kernel's offsets reach beyond 2^31 elements"
    )


@form(frozen=True, kw_only=True, repr=False, config=_CONFIG)
class InputForm:
    """What one tensor argument, or one dtype argument, may be; a single rank stands here as least and most."""

    rank: Rank | None = Field(default=None, description="the number of dimensions, such as 4, or [least, most]")
    dtypes: tuple[DtypeName, ...] | None = Field(
        default=None, min_length=1, description=f"a list of dtypes, out of {', '.join(TABLE)}"
    )
    dtype: Line | None = Field(default=None, description="instead of dtypes: one dtype, or x.dtype, that of tensor x")
    range: Range | None = Field(
        default=None, description="the values that tests draw, such as [0, table.shape[0] - 1]; both ends count"
    )


@form(frozen=True, kw_only=True, repr=False, config=_CONFIG)
class OutputForm:
    """What one output is."""

    dtype: Line = Field(description="the dtype, such as x.dtype or float32")
    shape: Expression = Field(description="the shape, such as x.shape or [n, 4]")
    init: Init | None = Field(default=None, description="zero: filled with zeros before the kernels run")


@form(frozen=True, kw_only=True, repr=False, config=_CONFIG)
class ScratchForm:
    """One buffer of the workspace."""

    dtype: Line = Field(description="the dtype, such as x.dtype or float32")
    shape: Expression = Field(description="the shape, such as [cdiv(numel(x), 1024)]")
    init: Init | None = Field(default=None, description="zero: filled with zeros before the kernels run")


@form(frozen=True, kw_only=True, repr=False, config=_CONFIG)
class SizeForm:
    """One size that the kernels find out, and write as an int64."""

    most: Expression = Field(description="the largest that it can be, such as numel(x)")
    typical: Expression | None = Field(default=None, description="what engines are tuned for; default most")


@form(frozen=True, kw_only=True, repr=False, config=_CONFIG)
class LaunchForm:
    """How one kernel is launched."""

    kernel: Line | None = Field(
        default=None, description="the @triton.jit function in kernel.file, where it is not kernel.function"
    )
    grid: tuple[Expression, ...] = Field(
        min_length=1, max_length=3, description='one to three expressions, such as ["cdiv(numel(y), BLOCK)"]'
    )
    args: Mapping[str, Expression] = Field(description="kernel parameter: expression, for each that is no constexpr")
    constexpr: Mapping[str, Expression] = Field(
        default_factory=dict, description="kernel parameter: expression, for each tl.constexpr"
    )
    num_warps: Annotated[Literal[1, 2, 4, 8, 16, 32], BeforeValidator(_whole)] = Field(
        default=4, description="warps of one program"
    )
    num_stages: StrictInt | None = Field(default=None, ge=1, description="stages of Triton's software pipelining")


@form(frozen=True, kw_only=True, repr=False, config=_CONFIG)
class FieldForm:
    """One field of a registered plugin."""

    type: FieldType = Field(description="int32, float32 or text, as the plugin declares it")
    value: Expression = Field(description="what it is set to, such as pooled_height")


@form(frozen=True, kw_only=True, repr=False, config=_CONFIG)
class PluginForm:
    """A plugin that TensorRT's registry has already."""

    name: Line = Field(description="the name in the registry, such as ROIAlign_TRT")
    version: Line = Field(default="1", description="the version in the registry, as text")
    namespace: Line = Field(default="", description="the namespace in the registry")
    library: Line | None = Field(
        default=None,
        description="the shared library that registers it: a path, or PACKAGE:PATH inside a Python package",
    )
    fields: Mapping[str, FieldForm] = Field(
        default_factory=dict, description="field: its type and its value, such as mode: {type: int32, value: 1}"
    )


@form(frozen=True, kw_only=True, repr=False, config=_CONFIG)
class PackageForm:
    """What the generated package is called, where the defaults do not do."""

    name: Line | None = Field(default=None, description="the distribution, such as trtplug-circular-pad")
    import_name: Line | None = Field(default=None, alias="import", description="the name that Python imports")
    version: Line = Field(default="0.1.0", description="the version of the distribution")


@form(frozen=True, kw_only=True, repr=False, config=_CONFIG)
class Form:
    """A whole spec."""

    spec: Annotated[Literal[1], BeforeValidator(_whole)] = Field(description="the version of the spec format: 1")
    name: Line = Field(description="the name of the op in snake_case, such as circular_pad")
    namespace: Line = Field(default="trtplug_ops", description="the namespace of the torch op and of the plugin")
    version: Line = Field(default="1", description="the version of the TensorRT plugin, as text")
    plugin_api: Literal["v3", "v2"] = Field(
        default="v3",
        description="the TensorRT plugin interface: v3 is IPluginV3, v2 is IPluginV2DynamicExt, of TensorRT up to 10",
    )
    summary: Line = Field(description="one line that says what the op does")
    schema: Line = Field(description='the torch schema of the op, such as "(Tensor x) -> Tensor"')
    implementation: Implementation = Field(
        default="triton",
        description="what runs, in the op and in the plugin: triton, the kernel, or torch, the reference",
    )
    plugin: PluginForm | None = Field(
        default=None,
        description="the plugin that TensorRT has for the op already, such as {name: ROIAlign_TRT, version: '2'}",
    )
    kernel: KernelForm | None = Field(
        default=None, description="the Triton kernel, such as {file: op.py, function: kernel}"
    )
    inputs: Mapping[str, InputForm] = Field(
        description="tensor or dtype argument: what it may be, such as x: {rank: 4, dtypes: [float32]}"
    )
    checks: tuple[Check, ...] = Field(
        default=(), description='conditions on the arguments, each [condition, "what a caller sees when it fails"]'
    )
    outputs: Mapping[str, OutputForm] = Field(
        default_factory=dict,
        description="output: what it is, in the order of the schema, such as y: {dtype: x.dtype, shape: x.shape}",
    )
    sizes: Mapping[str, SizeForm] = Field(
        default_factory=dict,
        description="size that the kernels find out: what bounds it, such as count: {most: numel(x)}",
    )
    let: Mapping[str, Expression] = Field(
        default_factory=dict, description="name: expression, for use in workspace and launch"
    )
    workspace: Mapping[str, ScratchForm] = Field(
        default_factory=dict, description="scratch buffer: what it is, such as sums: {dtype: float32, shape: [n]}"
    )
    launch: tuple[LaunchForm, ...] = Field(
        default=(),
        min_length=1,
        description="the grid and the arguments of the kernel, or a list of such, run one after another",
    )
    reference: Annotated[Line, AfterValidator(_reference)] = Field(
        description='the same op in plain PyTorch, as "FILE.py:FUNCTION"'
    )
    tolerance: Mapping[DtypeName, Tolerance] = Field(
        default_factory=dict,
        description="dtype: how far the op may be from the reference, relative and absolute, such as float32: 0.001",
    )
    cases: tuple[Mapping[str, CaseValue], ...] = Field(
        min_length=1, description="calls to test, each a map of argument: value; of a tensor, its shape"
    )
    dynamic: Mapping[str, Mapping[StrictInt, Profile]] = Field(
        default_factory=dict,
        description="tensor: dimension: [min, opt, max] of the engine's optimisation profile, or what it is tied to",
    )
    package: PackageForm = Field(default=PackageForm(), description="name, import and version of the package")


ADAPTER = TypeAdapter(Form)
