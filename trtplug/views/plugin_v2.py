"""The view of plugin.py for an IPluginV2DynamicExt: that for an IPluginV3, and the bytes of the attributes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypedDict

from trtplug.model import Attribute, Op
from trtplug.torch_schema import Base
from trtplug.views import facts, spelling
from trtplug.views.launching import prepare_arguments
from trtplug.views.plugin import READERS, Plugin, helpers, plugin, read_off


class Encoded(TypedDict):
    """An attribute in the bytes: what they are in words, and how they are read."""

    name: str
    layout: str
    read: str


class PluginV2(Plugin):
    encoded: tuple[Encoded, ...]
    payload: str
    flags: bool
    ones: bool
    lists: bool
    texts_encoded: bool


class _Kind(NamedTuple):
    """A value in the bytes: its letter in Python's struct, and its type in words."""

    letter: str
    words: str


_KINDS: Mapping[Base, _Kind] = {
    Base.INT: _Kind("q", "int64"),
    Base.SYMINT: _Kind("q", "int64"),
    Base.FLOAT: _Kind("d", "float64"),
    Base.BOOL: _Kind("?", "a byte, 0 or 1"),
    Base.STR: _Kind("B", "the text in UTF-8"),
    Base.SCALARTYPE: _Kind("B", "the name of the dtype, as in torch, in UTF-8"),
}
_TEXTS = (Base.STR, Base.SCALARTYPE)


def plugin_v2(op: Op) -> PluginV2:
    attributes = facts.plugin_attributes(op)
    written = [_written(a, f"self.{a.name}") for a in attributes]
    shared = plugin(op)
    shared["workspace"] = prepare_arguments(op, read_off(op, "type", "dims")) if op.launch.scratch else ""
    shared["helpers"] = helpers(op, attributes, {**READERS, "_dtype": _DTYPE})
    return PluginV2(
        **shared,
        encoded=tuple(Encoded(name=a.name, layout=_layout(a), read=_read(a)) for a in attributes),
        payload=written[0] if len(written) == 1 else f'b"".join({spelling.row(written)})',
        flags=any(a.optional or a.base is Base.BOOL for a in attributes),
        ones=any(a.optional or not _counted(a) for a in attributes),
        lists=any(map(_counted, attributes)),
        texts_encoded=any(a.base in _TEXTS for a in attributes),
    )


def _counted(attribute: Attribute) -> bool:
    """Whether the number of its values, or bytes, stands before them."""
    return attribute.is_list or attribute.base in _TEXTS


def _layout(attribute: Attribute) -> str:
    words = _KINDS[attribute.base].words
    if attribute.base in _TEXTS:
        words = f"the number of bytes as uint32, {words}"
    elif attribute.is_list:
        words = f"the number of values as uint32, each as {words}"
    return f"a byte, 0 for None or 1 for a value, which follows: {words}" if attribute.optional else words


def _written(attribute: Attribute, value: str) -> str:
    letter = _KINDS[attribute.base].letter
    if attribute.base is Base.STR:
        written = f'_many("{letter}", {value}.encode())'
    elif attribute.base is Base.SCALARTYPE:
        written = f'_many("{letter}", str({value}).removeprefix("torch.").encode())'
    elif attribute.is_list:
        written = f'_many("{letter}", {value})'
    else:
        written = f'struct.pack("<{letter}", {value})'
    return f'b"\\0" if {value} is None else b"\\1" + {written}' if attribute.optional else written


def _read(attribute: Attribute) -> str:
    name, letter = attribute.name, _KINDS[attribute.base].letter
    if attribute.base is Base.STR:
        read = f'payload.text("{name}")'
    elif attribute.base is Base.SCALARTYPE:
        read = f'_dtype_named("{name}", payload.text("{name}"))'
    else:
        read = f'payload.{"many" if attribute.is_list else "one"}("{name}", "{letter}")'
    return f'{read} if payload.one("{name}", "?") else None' if attribute.optional else read


_DTYPE = '''\
def _dtype(field: Any) -> torch.dtype:
    """The dtype that a field names."""
    return _dtype_named(field.name, _text(field))


def _dtype_named(field: str, name: str) -> torch.dtype:
    """The dtype of a name, which a field gives."""
    known = {str(dtype).removeprefix("torch."): dtype for dtype in TENSORRT_DTYPES}
    if name not in known:
        raise ValueError(f"OP: field {field!r} is {name!r}, not one of {sorted(known)}")
    return known[name]'''
