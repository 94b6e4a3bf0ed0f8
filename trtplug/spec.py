"""A spec file to what the user wrote, with positions; a new key is a field of a form here, with its description."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
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
    ValidationError,
    WithJsonSchema,
)
from pydantic.dataclasses import dataclass as form
from pydantic_core import ErrorDetails, PydanticCustomError

from trtplug import yaml_reader
from trtplug.dtypes import TABLE, problem_with_dtype
from trtplug.problems import Position, Problem, Problems, SpecError

Scalar: TypeAlias = bool | int | float | str
AttributeValue: TypeAlias = Scalar | tuple[Scalar, ...] | None

_MOST_DIMENSIONS = 8  # of a TensorRT tensor


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
    raise ValueError(f"must be an expression, such as 2 * n or [n, 4], not {_kind(value)}")


def _check(value: object) -> object:
    if not isinstance(value, tuple) or len(value) != 2:
        raise ValueError('must be [condition, "message"]; quote a condition that holds any of , [ ] { } :')
    return value


def _rank(value: object) -> object:
    least, most = value if isinstance(value, tuple) and len(value) == 2 else (value, value)
    if type(least) is not int or type(most) is not int or not 0 <= least <= most <= _MOST_DIMENSIONS:
        raise ValueError(f"must be a rank, such as 4, or [least, most], from 0 to {_MOST_DIMENSIONS}")
    return least, most


def _dtype(name: str) -> str:
    if problem := problem_with_dtype(name):
        raise PydanticCustomError("dtype", "{problem}", {"problem": problem})
    return name


def _whole(value: object) -> object:
    """Guards a Literal, which compares: to it, true and 1.0 are 1."""
    if type(value) is not int:
        raise ValueError(f"must be a whole number, not {_kind(value)}")
    return value


def _reference(text: str) -> str:
    if not re.fullmatch(r"[^:]+\.py:[A-Za-z_]\w*", text):
        raise ValueError('must be "FILE.py:FUNCTION", such as "op.py:reference"')
    return text


def _profile(value: object) -> object:
    sizes = value if isinstance(value, tuple) else ()
    if len(sizes) != 3 or not all(type(size) is int and size >= 0 for size in sizes) or list(sizes) != sorted(sizes):
        raise ValueError("must be [min, opt, max], three whole numbers from small to large")
    return sizes


def _attribute(value: object) -> object:
    items = value if isinstance(value, tuple) else (value,)
    if value is not None and not all(isinstance(item, bool | int | float | str) for item in items):
        raise ValueError(f"must be a number, true, false, text, null or one flat list, not {_kind(value)}")
    return value


def _kind(value: object) -> str:
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
_JSON_RANK: dict[str, Any] = _JSON_SIZE | {"maximum": _MOST_DIMENSIONS}
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
Profile: TypeAlias = Annotated[
    tuple[int, int, int],
    PlainValidator(_profile),
    WithJsonSchema({"type": "array", "items": _JSON_SIZE, "minItems": 3, "maxItems": 3}),
]
CaseValue: TypeAlias = Annotated[
    AttributeValue,
    PlainValidator(_attribute),
    WithJsonSchema({"anyOf": [_JSON_SCALAR, {"type": "null"}, {"type": "array", "items": _JSON_SCALAR}]}),
]
Tolerance: TypeAlias = Annotated[StrictFloat, Field(ge=0, allow_inf_nan=False)]

# Not strict as a whole, which would refuse the dict that a form is read from; only numbers need it.
_CONFIG = ConfigDict(extra="forbid")


@form(frozen=True, kw_only=True, config=_CONFIG)
class KernelForm:
    """The Triton kernel."""

    file: Line = Field(description="the Python file of the kernel, beside the spec")
    function: Line = Field(description="the name of the @triton.jit function")


@form(frozen=True, kw_only=True, config=_CONFIG)
class InputForm:
    """What one tensor argument may be; a single rank stands here as least and most."""

    rank: Rank = Field(description="the number of dimensions, such as 4, or [least, most]")
    dtypes: tuple[DtypeName, ...] = Field(min_length=1, description=f"a list of dtypes, out of {', '.join(TABLE)}")


@form(frozen=True, kw_only=True, config=_CONFIG)
class OutputForm:
    """What one output is."""

    dtype: Line = Field(description="the dtype, such as x.dtype or float32")
    shape: Expression = Field(description="the shape, such as x.shape or [n, 4]")


@form(frozen=True, kw_only=True, config=_CONFIG)
class LaunchForm:
    """How the kernel is launched."""

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


@form(frozen=True, kw_only=True, config=_CONFIG)
class PackageForm:
    """What the generated package is called, where the defaults do not do."""

    name: Line | None = Field(default=None, description="the distribution, such as trtplug-circular-pad")
    import_name: Line | None = Field(default=None, alias="import", description="the name that Python imports")
    version: Line = Field(default="0.1.0", description="the version of the distribution")


@form(frozen=True, kw_only=True, config=_CONFIG)
class Form:
    """A whole spec."""

    spec: Annotated[Literal[1], BeforeValidator(_whole)] = Field(description="the version of the spec format: 1")
    name: Line = Field(description="the name of the op in snake_case, such as circular_pad")
    namespace: Line = Field(default="trtplug_ops", description="the namespace of the torch op and of the plugin")
    version: Line = Field(default="1", description="the version of the TensorRT plugin, as text")
    summary: Line = Field(description="one line that says what the op does")
    schema: Line = Field(description='the torch schema of the op, such as "(Tensor x) -> Tensor"')
    kernel: KernelForm = Field(description="the Triton kernel, such as {file: op.py, function: kernel}")
    inputs: Mapping[str, InputForm] = Field(
        description="tensor argument: what it may be, such as x: {rank: 4, dtypes: [float32]}"
    )
    checks: tuple[Check, ...] = Field(
        default=(), description='conditions on the arguments, each [condition, "what a caller sees when it fails"]'
    )
    outputs: Mapping[str, OutputForm] = Field(
        description="output: what it is, in the order of the schema, such as y: {dtype: x.dtype, shape: x.shape}"
    )
    let: Mapping[str, Expression] = Field(default_factory=dict, description="name: expression, for use in launch")
    launch: LaunchForm = Field(description="the grid and the arguments of the kernel")
    reference: Annotated[Line, AfterValidator(_reference)] = Field(
        description='the same op in plain PyTorch, as "FILE.py:FUNCTION"'
    )
    tolerance: Mapping[DtypeName, Tolerance] = Field(
        description="dtype: how far the op may be from the reference, such as float32: 0"
    )
    cases: tuple[Mapping[str, CaseValue], ...] = Field(
        min_length=1, description="calls to test, each a map of argument: value; of a tensor, its shape"
    )
    dynamic: Mapping[str, Mapping[StrictInt, Profile]] = Field(
        default_factory=dict, description="tensor: dimension: [min, opt, max] of the engine's optimisation profile"
    )
    package: PackageForm = Field(default=PackageForm(), description="name, import and version of the package")


_FORM: type[Any] = Form
_FORMS: Mapping[object, type[Any]] = {
    "kernel": KernelForm,
    "inputs": InputForm,
    "outputs": OutputForm,
    "launch": LaunchForm,
    "package": PackageForm,
}
_ADAPTER = TypeAdapter(Form)
_UNKNOWN = ("unexpected_keyword_argument", "invalid_key")  # how pydantic calls a key that the form does not have


@dataclass(frozen=True)
class Spec:
    """One spec file as its user wrote it."""

    path: Path
    text: str
    form: Form
    document: yaml_reader.Document
    problems: tuple[Problem, ...] = ()  # of parts that the form does without, so that the others can be checked too

    def position(self, *path: str | int, offset: int = 0, key: bool = False) -> Position:
        """Where the value (or the key) at `path` stands, or its nearest parent that is there.

        `offset` counts characters into the value's text, which YAML may spread over several lines; text that it spells
        with escapes keeps the position of its start.
        """
        return _position(self.document, path, offset, key)


def load(path: Path) -> Spec:
    """Read one spec; raises SpecError with every structural problem, unless a form can be read in spite of them."""
    problems = Problems(str(path))
    try:
        data = path.read_bytes()
    except OSError as error:
        problem = Problem(str(path), 1, 1, f"cannot read the spec: {error.strerror}; check the path")
        raise SpecError((problem,)) from None
    text = yaml_reader.decode(data, problems)
    document = yaml_reader.read(text, problems)
    unread = bool(problems)
    form = _form(document, document.value, problems)
    if form is None or unread:
        raise SpecError(problems.sorted())
    return Spec(path, text, form, document, problems.sorted())


def _form(document: yaml_reader.Document, value: object, problems: Problems) -> Form | None:
    """The form that a value spells, without its wrong parts where it can do without them; None where it cannot."""
    try:
        return _ADAPTER.validate_python(value)
    except ValidationError as error:
        errors = error.errors(include_url=False)
    for position, message in _explain(document, errors):
        problems.add(position, message)
    # A misspelt key is taken for what it must mean.
    renamed: dict[tuple[object, ...], str] = {
        error["loc"]: meant for error in errors if error["type"] in _UNKNOWN and (meant := _meant(error))
    }
    rest = _without(value, {_dispensable(error) for error in errors} - renamed.keys(), _stand_ins(errors), renamed)
    try:
        return _ADAPTER.validate_python(rest)
    except ValidationError:
        return None


def _dispensable(error: ErrorDetails) -> tuple[object, ...]:
    """The part of a spec to leave out for an error, so that the rest means what it did."""
    path = error["loc"]
    if path[-1] == "[key]" and path[0] == "tolerance":
        return path[:-1]
    if error["type"] in _UNKNOWN or path[0] in ("namespace", "version", "package"):
        return path
    if path[:2] in (("launch", "num_warps"), ("launch", "num_stages")):
        return path
    if path[0] == "inputs" and path[2:3] == ("dtypes",):
        return path[:4]
    if path[0] in ("cases", "checks", "dynamic"):
        return path[:2]
    return ()


def _stand_ins(errors: list[ErrorDetails]) -> dict[tuple[object, ...], object]:
    """Values for wrong or missing parts that a form must have, of which nothing else is wrong in consequence."""
    found: dict[tuple[object, ...], object] = {}
    for path in (error["loc"] for error in errors):
        if path[0] == "inputs" and path[2:3] == ("rank",):
            found[path[:3]] = (0, _MOST_DIMENSIONS)
        elif path[0] == "tolerance" and len(path) == 2:
            found[path] = 0
        elif path == ("summary",):
            found[path] = "None."
        elif path[:2] == ("launch", "grid"):
            found[path[:2]] = (1,)
    return found


def _without(
    value: object,
    left_out: set[tuple[object, ...]],
    stand_ins: Mapping[tuple[object, ...], object],
    renamed: Mapping[tuple[object, ...], str],
    path: tuple[object, ...] = (),
) -> object:
    """A value without some parts, with others in their place, and keys renamed; of a list, what stands before them."""
    if path in stand_ins:
        return stand_ins[path]
    if isinstance(value, dict):
        missing = {at[-1]: None for at in stand_ins if at[:-1] == path}
        rest = {key: item for key, item in {**missing, **value}.items() if (*path, key) not in left_out}
        named = {key: renamed.get((*path, key), key) for key in rest}
        return {
            named[key]: _without(item, left_out, stand_ins, renamed, (*path, key))
            for key, item in rest.items()
            if named[key] == key or named[key] not in value
        }
    if isinstance(value, tuple):
        end = next((i for i in range(len(value)) if (*path, i) in left_out), len(value))
        return tuple(_without(item, left_out, stand_ins, renamed, (*path, i)) for i, item in enumerate(value[:end]))
    return value


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a spec, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_ADAPTER.json_schema()}


def _position(document: yaml_reader.Document, path: tuple[object, ...], offset: int = 0, key: bool = False) -> Position:
    place = document.places.get(path)
    if place is None:
        return _position(document, path[:-1], key=key) if path else Position(1, 1)
    if key and place.key:
        return place.key
    return _inside(place, offset) if offset else place.start


def _inside(place: yaml_reader.Place, offset: int) -> Position:
    """Where a character of a value's text stands: YAML folds lines and spaces, but leaves all other characters."""
    text, source = _spelling(place.value), place.source
    if text is None:
        return place.start
    solid = [at for at, character in enumerate(source) if not character.isspace()]
    lead = "".join(source[at] for at in solid).rfind("".join(text.split()))
    if lead < 0:
        return place.start
    at = [*solid, len(source)][lead + len("".join(text[:offset].split()))]
    lines = source[:at].split("\n")
    return Position(place.start.line + len(lines) - 1, len(lines[-1]) + (place.start.column if len(lines) == 1 else 1))


def _spelling(value: object) -> str | None:
    """The text that a form holds of the value of an expression; None of a value that is no expression."""
    try:
        return _expression(value)
    except ValueError:
        return None


def _explain(document: yaml_reader.Document, errors: list[ErrorDetails]) -> Iterator[tuple[Position, str]]:
    """Pydantic's errors in plain words, each with its place."""
    meant = {(*error["loc"][:-1], _meant(error)) for error in errors if error["type"] in _UNKNOWN}
    for error in errors:
        path = error["loc"]
        if error["type"] == "missing":
            # A misspelt key is one mistake, not also a missing key.
            if path not in meant:
                description = _keys(path)[str(path[-1])]
                yield _position(document, path, key=True), f"missing key '{path[-1]}': {description}"
        elif error["type"] in _UNKNOWN:
            keys = ", ".join(_keys(path))
            remedy = f"did you mean '{close}'?" if (close := _meant(error)) else f"the keys here are {keys}"
            yield _position(document, path, key=True), f"unknown key '{path[-1]}'; {remedy}"
        elif error["type"] == "dtype":
            yield _position(document, path, key=path[-1] == "[key]"), error["msg"]
        elif error["type"] == "too_short" and error["input"]:
            continue  # pydantic counts the good items, and the bad ones have errors of their own
        elif path[-1] == "[key]":
            yield _position(document, path[:-1], key=True), f"the key '{path[-2]}' {_requirement(error, str(path[-2]))}"
        else:
            place = document.places[path]
            yield place.start, f"{_label(path)} {_requirement(error, place.source)}"


def _keys(path: tuple[object, ...]) -> dict[str, str]:
    """The keys that may stand beside the last one of `path`, and what each is."""
    fields = (_FORMS[path[0]] if len(path) > 1 else _FORM).__pydantic_fields__
    return {field.alias or name: str(field.description) for name, field in fields.items()}


def _meant(error: ErrorDetails) -> str | None:
    close = difflib.get_close_matches(str(error["loc"][-1]), _keys(error["loc"]), n=1)
    return close[0] if close else None


def _label(path: tuple[object, ...]) -> str:
    label = ""
    for step in path:
        label += f".{step}" if isinstance(step, str) else f"[{step}]"
    return label.removeprefix(".")


def _requirement(error: ErrorDetails, source: str) -> str:
    given = error["input"]
    context = error.get("ctx", {})
    match error["type"]:
        case "value_error":
            return str(context["error"])
        case "string_type" if isinstance(given, bool | int | float):
            return f'must be text, not {_kind(given)}; quote it: "{source}"'
        case "string_type":
            need = "text"
        case "int_type":
            need = "a whole number"
        case "float_type":
            need = "a number"
        case "tuple_type":
            need = "a list"
        case "mapping_type" | "dict_type" | "dataclass_type":
            need = "a map of keys to values"
        case "literal_error":
            need = f"{context['expected']}"
        case "too_short":
            return "must not be an empty list"
        case "too_long":
            return f"must hold at most {context['max_length']} items, not {context['actual_length']}"
        case "greater_than_equal":
            need = f"at least {context['ge']:g}"
        case "finite_number":
            need = "a finite number"
        case other:
            raise AssertionError(f"no words for pydantic's {other}")
    return f"must be {need}, not {_kind(given)}"
