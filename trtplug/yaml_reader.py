"""YAML text to plain values and their places: what YAML may say is decided here, what a spec may say in spec.py."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import yaml

from trtplug.problems import Position, Problems

KeyPath: TypeAlias = "tuple[object, ...]"

_Loader: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# YAML 1.2's core schema, which is also what editors read. PyYAML follows 1.1, where `on` is a boolean, `1_000` and
# `1:30` are numbers, and `1e-5` is text.
_NULL = re.compile(r"~|null|Null|NULL|")
_BOOL = re.compile(r"(true|True|TRUE)|false|False|FALSE")
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,99})")
_FLOAT = re.compile(r"[-+]?(?:(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

# A spec nests five deep; a limit keeps a hostile file from exhausting the stack.
_DEEPEST = 20


@dataclass(frozen=True)
class Place:
    """Where one value stands, and its key if it has one."""

    value: object
    source: str
    start: Position
    key: Position | None


@dataclass(frozen=True)
class Document:
    """A mapping of None, bool, int, float, str, tuple and dict, and the place of everything in it."""

    value: Mapping[object, object]
    places: Mapping[KeyPath, Place]


def read(text: str, problems: Problems) -> Document:
    """Read one YAML mapping; duplicate keys go to `problems`, what cannot be read at all raises SpecError."""
    reader = _Reader(text, problems)
    root = reader.compose()
    if not isinstance(root, yaml.MappingNode):
        reader.refuse(_position(root), "a spec is a map of keys to values; start it with 'spec: 1'")
    return Document(reader.mapping(root, ()), reader.places)


def decode(data: bytes, problems: Problems) -> str:
    """The text of a UTF-8 file; anything else raises SpecError."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        problems.add(_position_of(before), f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8")
        problems.raise_if_any()
        raise


class _Reader:
    def __init__(self, text: str, problems: Problems) -> None:
        self._text = text
        self._problems = problems
        self.places: dict[KeyPath, Place] = {}

    def refuse(self, position: Position, message: str) -> NoReturn:
        self._problems.add(position, message)
        self._problems.raise_if_any()
        raise AssertionError("unreachable: a problem was added")

    def compose(self) -> yaml.Node:
        try:
            node = yaml.compose(self._text, Loader=_Loader)
        except yaml.reader.ReaderError as error:
            character = chr(error.character) if isinstance(error.character, int) else error.character
            where = _position_of(self._text.partition(character)[0])
            self.refuse(where, f"character {character!a} is not allowed in YAML; remove it")
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark
            where = Position(mark.line + 1, mark.column + 1) if mark else Position(1, 1)
            self.refuse(where, _syntax_message(error))
        except RecursionError:
            self.refuse(Position(1, 1), f"nested too deep; a spec needs no more than {_DEEPEST} levels")
        if node is None:
            self.refuse(Position(1, 1), "the file is empty; start it with 'spec: 1', or let 'trtplug new' write one")
        return node

    def mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[object, object]:
        result: dict[object, object] = {}
        for key_node, value_node in node.value:
            where = _position(key_node)
            if not isinstance(key_node, yaml.ScalarNode):
                self.refuse(where, "a key is one word or number, not a list or a map; quote it if it is text")
            self._refuse_properties(key_node)
            key = self._key(key_node)
            at = (*path, key)
            if key in result:
                first = self.places[at].key
                line = first.line if first else where.line
                self._problems.add(where, f"duplicate key '{key_node.value}', first on line {line}; remove one")
            else:
                result[key] = self._value(value_node, at, where)
        return result

    def _key(self, node: yaml.ScalarNode) -> str | int:
        key = _scalar(node)
        if isinstance(key, str) or (type(key) is int and abs(key) < 2**31):
            return key
        self._problems.add(_position(node), f'a key is text or a small whole number; quote it: "{node.value}"')
        return str(node.value)

    def _value(self, node: yaml.Node, path: KeyPath, key: Position | None) -> object:
        self._refuse_properties(node)
        if len(path) > _DEEPEST:
            self.refuse(_position(node), f"nested too deep; a spec needs no more than {_DEEPEST} levels")
        value: object
        if isinstance(node, yaml.MappingNode):
            value = self.mapping(node, path)
        elif isinstance(node, yaml.SequenceNode):
            value = tuple(self._value(item, (*path, index), None) for index, item in enumerate(node.value))
        else:
            assert isinstance(node, yaml.ScalarNode)
            value = _scalar(node)
        # An empty value has no text of its own: its key is what a user can see.
        start = key if value is None and key else _position(node)
        self.places[path] = Place(value, self._source(node), start, key)
        return value

    def _source(self, node: yaml.Node) -> str:
        return self._text[node.start_mark.index : node.end_mark.index]

    def _refuse_properties(self, node: yaml.Node) -> None:
        """An alias yields the node of its anchor, so that refusing anchors refuses both."""
        if self._source(node)[:1] in ("&", "!"):
            self.refuse(_position(node), "a spec has no YAML anchors and tags; write the value out, or quote it")


def _scalar(node: yaml.ScalarNode) -> bool | int | float | str | None:
    text: str = node.value
    if node.style not in (None, ""):
        return text
    if _NULL.fullmatch(text):
        return None
    if match := _BOOL.fullmatch(text):
        return match[1] is not None
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if _NOT_FINITE.fullmatch(text):
        return float(text.replace(".", ""))
    return text


def _syntax_message(error: yaml.MarkedYAMLError) -> str:
    problem = error.problem or "unreadable"
    if problem == "but found another document":
        return "a second YAML document; keep one spec a file"
    if "undefined alias" in problem:
        return "'*' starts a YAML alias; put the text in quotes"
    if "maximum nesting" in problem:
        return f"nested too deep; a spec needs no more than {_DEEPEST} levels"
    context = f" {error.context}" if error.context else ""
    return f"YAML syntax error{context}: {problem}; put text in quotes if it holds any of : # , [ ] {{ }} & * ! % @ `"


def _position(node: yaml.Node) -> Position:
    return Position(node.start_mark.line + 1, node.start_mark.column + 1)


def _position_of(before: str) -> Position:
    return Position(before.count("\n") + 1, len(before) - before.rfind("\n"))
