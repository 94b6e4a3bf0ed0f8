"""A spec file to what its user wrote, with positions; forms.py says what may stand in it, explain.py what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from trtplug import yaml_reader
from trtplug.explain import UNKNOWN, explain, meant, position
from trtplug.forms import ADAPTER, MOST_DIMENSIONS, Form
from trtplug.problems import Position, Problem, Problems, SpecError


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
        return position(self.document, path, offset, key)


def load(path: Path) -> Spec:
    """Read one spec; raises SpecError with every structural problem, unless a form can be read in spite of them."""
    problems = Problems(str(path))
    try:
        data = path.read_bytes()
    except OSError as error:
        problem = Problem(str(path), 1, 1, f"cannot read the spec: {error.strerror}; check the path")
        raise SpecError((problem,)) from None
    text = yaml_reader.decode(data, problems)
    document = _several_launches(yaml_reader.read(text, problems))
    unread = bool(problems)
    form = _form(document, document.value, problems)
    if form is None or unread:
        raise SpecError(problems.sorted())
    return Spec(path, text, form, document, problems.sorted())


def _several_launches(document: yaml_reader.Document) -> yaml_reader.Document:
    """The document with a single launch as a list of one, whose parts keep their places."""
    value = document.value
    if not isinstance(value, dict) or not isinstance(launch := value.get("launch"), dict):
        return document
    moved = {("launch", 0, *path[1:]): place for path, place in document.places.items() if path[:1] == ("launch",)}
    return replace(document, value={**value, "launch": (launch,)}, places={**document.places, **moved})


def _form(document: yaml_reader.Document, value: object, problems: Problems) -> Form | None:
    """The form that a value spells, without its wrong parts where it can do without them; None where it cannot."""
    try:
        return ADAPTER.validate_python(value)
    except ValidationError as error:
        errors = error.errors(include_url=False)
    for place, message in explain(document, errors):
        problems.add(place, message)
    # A misspelt key is taken for what it must mean.
    renamed: dict[tuple[object, ...], str] = {
        error["loc"]: close for error in errors if error["type"] in UNKNOWN and (close := meant(error))
    }
    rest = _without(value, {_dispensable(error) for error in errors} - renamed.keys(), _stand_ins(errors), renamed)
    try:
        return ADAPTER.validate_python(rest)
    except ValidationError:
        return None


def _dispensable(error: ErrorDetails) -> tuple[object, ...]:
    """The part of a spec to leave out for an error, so that the rest means what it did."""
    path = error["loc"]
    if path[-1] == "[key]" and path[0] == "tolerance":
        return path[:-1]
    if error["type"] in UNKNOWN or path[0] in ("namespace", "version", "plugin_api", "package"):
        return path
    if path[0] == "launch" and path[2:3] in (("num_warps",), ("num_stages",)):
        return path
    if path[0] == "inputs" and path[2:3] == ("dtypes",):
        return path[:4]
    if path[0] == "inputs" and path[2:3] == ("range",):
        return path[:3]
    if path[:2] == ("plugin", "fields"):
        return path[:3]
    if path[0] in ("cases", "checks", "dynamic"):
        return path[:2]
    return ()


def _stand_ins(errors: list[ErrorDetails]) -> dict[tuple[object, ...], object]:
    """Values for wrong or missing parts that a form must have, of which nothing else is wrong in consequence."""
    found: dict[tuple[object, ...], object] = {}
    for path in (error["loc"] for error in errors):
        if path[0] == "inputs" and path[2:3] == ("rank",):
            found[path[:3]] = (0, MOST_DIMENSIONS)
        elif path[0] == "tolerance" and len(path) == 2:
            found[path] = 0
        elif path[0] == "sizes" and path[2:] == ("most",):
            found[path] = 1
        elif path == ("summary",):
            found[path] = "None."
        elif path[0] == "launch" and path[2:3] == ("grid",):
            found[path[:3]] = (1,)
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
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **ADAPTER.json_schema()}
