"""What is wrong with the form of a spec, in plain words and located; a new pydantic error gets its words here."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic_core import ErrorDetails

from trtplug import yaml_reader
from trtplug.forms import (
    FieldForm,
    Form,
    InputForm,
    KernelForm,
    LaunchForm,
    OutputForm,
    PackageForm,
    PluginForm,
    ScratchForm,
    SizeForm,
    kind_of,
    source_of,
)
from trtplug.problems import Position

_FORM: type[Any] = Form
_FORMS: Mapping[object, type[Any]] = {
    "kernel": KernelForm,
    "inputs": InputForm,
    "outputs": OutputForm,
    "sizes": SizeForm,
    "workspace": ScratchForm,
    "launch": LaunchForm,
    "package": PackageForm,
    "plugin": PluginForm,
}
UNKNOWN = ("unexpected_keyword_argument", "invalid_key")  # how pydantic calls a key that the form does not have


def position(document: yaml_reader.Document, path: tuple[object, ...], offset: int = 0, key: bool = False) -> Position:
    place = document.places.get(path)
    if place is None:
        return position(document, path[:-1], key=key) if path else Position(1, 1)
    if key and place.key:
        return place.key
    return _inside(place, offset) if offset else place.start


def _inside(place: yaml_reader.Place, offset: int) -> Position:
    """Where a character of a value's text stands: YAML folds lines and spaces, but leaves all other characters."""
    text, source = source_of(place.value), place.source
    if text is None:
        return place.start
    solid = [at for at, character in enumerate(source) if not character.isspace()]
    lead = "".join(source[at] for at in solid).rfind("".join(text.split()))
    if lead < 0:
        return place.start
    at = [*solid, len(source)][lead + len("".join(text[:offset].split()))]
    lines = source[:at].split("\n")
    return Position(place.start.line + len(lines) - 1, len(lines[-1]) + (place.start.column if len(lines) == 1 else 1))


def explain(document: yaml_reader.Document, errors: list[ErrorDetails]) -> Iterator[tuple[Position, str]]:
    """Pydantic's errors in plain words, each with its place."""
    known = {(*error["loc"][:-1], meant(error)) for error in errors if error["type"] in UNKNOWN}
    for error in errors:
        path = error["loc"]
        if error["type"] == "missing":
            # A misspelt key is one mistake, not also a missing key.
            if path not in known:
                yield position(document, path, key=True), missing(path)
        elif error["type"] in UNKNOWN:
            keys = ", ".join(_keys(path))
            remedy = f"did you mean '{close}'?" if (close := meant(error)) else f"the keys here are {keys}"
            yield position(document, path, key=True), f"unknown key '{path[-1]}'; {remedy}"
        elif error["type"] == "dtype":
            yield position(document, path, key=path[-1] == "[key]"), error["msg"]
        elif error["type"] == "too_short" and error["input"]:
            continue  # pydantic counts the good items, and the bad ones have errors of their own
        elif path[-1] == "[key]":
            yield position(document, path[:-1], key=True), f"the key '{path[-2]}' {_requirement(error, str(path[-2]))}"
        else:
            place = document.places[path]
            yield place.start, f"{_label(document, path)} {_requirement(error, place.source)}{_example(error)}"


def missing(path: tuple[object, ...]) -> str:
    """That a key is not there."""
    return f"missing key '{path[-1]}': {_keys(path)[str(path[-1])]}"


def _example(error: ErrorDetails) -> str:
    """What should stand where something of another form altogether does."""
    path = error["loc"]
    if error["type"] not in ("tuple_type", "mapping_type", "dict_type", "dataclass_type"):
        return ""
    if len(path) > 1 and path[0] not in _FORMS:
        return ""
    description = _keys(path).get(str(path[-1]))
    return f": {description}" if description else ""


def _keys(path: tuple[object, ...]) -> dict[str, str]:
    """The keys that may stand beside the last one of `path`, and what each is."""
    form = _FORMS[path[0]] if len(path) > 1 else _FORM
    if path[:2] == ("plugin", "fields") and len(path) > 3:
        form = FieldForm
    fields = form.__pydantic_fields__
    return {field.alias or name: str(field.description) for name, field in fields.items()}


def meant(error: ErrorDetails) -> str | None:
    close = difflib.get_close_matches(str(error["loc"][-1]), _keys(error["loc"]), n=1)
    return close[0] if close else None


def _label(document: yaml_reader.Document, path: tuple[object, ...]) -> str:
    if path[0] == "launch" and isinstance(document.places[("launch",)].value, dict):
        path = ("launch", *path[2:])  # one launch, which stands in no list
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
            return f'must be text, not {kind_of(given)}; quote it: "{source}"'
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
    return f"must be {need}, not {kind_of(given)}"
