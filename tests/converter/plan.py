"""The fields of plugins, read out of a serialised engine: what a later process is given, whatever was handed over.

TensorRT describes its engines nowhere, and without a GPU it loads none. But a field lies in an engine in plain sight:
its name, its length, its type by name, its bytes. Another release of TensorRT may need another pattern here.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_TEXT = rb"\x13\x80\x01\x00(?:.{8})\x01\x80\x0c\x80\x01\x00(.{8})"  # before the bytes of a text: its length, twice
_BYTES = rb"\x01\x80\x03\x80\x01\x00(.{8})"  # before those of numbers
_FIELD = re.compile(rb"\x00([A-Za-z_]\w*)\x07\x80\x01\x00.{4}" + _TEXT, re.DOTALL)
_DATA = re.compile(rb"(?:" + _TEXT + rb"|" + _BYTES + rb")", re.DOTALL)
# TensorRT's names of the types in an engine, and those of trt.PluginFieldType.
_TYPES = {"FP32": "FLOAT32", "FP64": "FLOAT64"}
_KINDS = {*_TYPES, "INT8", "INT32", "INT64", "CHAR"}


class Field(NamedTuple):
    """One field; `data` is in hexadecimal digits."""

    name: str
    type: str
    data: str


def fields(plan: bytes, first: str) -> list[list[Field]]:
    """The fields of each plugin in an engine; `first` is the name of the first field of each."""
    found: list[list[Field]] = []
    at = 0
    while match := _FIELD.search(plan, at):
        end = match.end() + int.from_bytes(match[2], "little")
        kind = plan[match.end() : end].decode()
        if kind not in _KINDS:  # the namespace of the plugin, and the name of its first field
            at = match.end() - 1
            continue
        data = _DATA.match(plan, end)
        assert data is not None, f"the engine's field {match[1]!r} is followed by {plan[end : end + 24]!r}"
        at = data.end() + int.from_bytes(data[1] or data[2], "little")
        one = Field(match[1].decode(), _TYPES.get(kind, kind), plan[data.end() : at].hex())
        if one.name == first:
            found.append([])
        if found:
            found[-1].append(one)
        at -= 1  # the pattern of the next one begins with a byte before its name
    return found
