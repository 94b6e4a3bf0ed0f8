"""Views of the modules that stand for a registered plugin: its names, its fields, its lookup, and their tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from trtplug import trial
from trtplug.model import Attribute, Case, Field, Op, Registered
from trtplug.registered import FIELD_KINDS
from trtplug.views import converter as converter_view
from trtplug.views import engines, spelling
from trtplug.views import onnx as onnx_view
from trtplug.views.spelling import CONCRETE, names


def of(op: Op) -> Registered:
    """The plugin of an op that has one."""
    assert isinstance(op.plugin, Registered)
    return op.plugin


class FieldRow(TypedDict):
    name: str
    type: str
    value: str


class Fields(TypedDict):
    op: str
    plugin: str
    fields: tuple[FieldRow, ...]
    parameters: str
    integers: bool
    floats: bool
    rules: tuple[str, ...]


def fields(op: Op) -> Fields:
    ready = of(op)
    return Fields(
        op=op.names.op,
        plugin=_in_text(ready.name),
        fields=tuple(
            FieldRow(
                name=spelling.quoted(f.name),
                type=spelling.quoted(FIELD_KINDS[f.type].tensorrt),
                value=_value(f, CONCRETE.text(f.value)),
            )
            for f in ready.fields
        ),
        parameters=names(f"{a.name}: {spelling.given(a)}" for a in _used(op)),
        integers=any(f.type == "int32" for f in ready.fields),
        floats=any(f.type == "float32" for f in ready.fields),
        rules=spelling.used_rules([f.value for f in ready.fields], symbolic=False),
    )


def _used(op: Op) -> tuple[Attribute, ...]:
    """The attributes that fields follow from."""
    read = spelling.needs(op, *(field.value for field in of(op).fields))
    return tuple(attribute for attribute in op.attributes if attribute.name in read)


def _value(field: Field, text: str) -> str:
    """The expression of a field's value as what its type holds."""
    if field.type == "text":
        return text
    one = f"_{field.type}({{0}}, {{1}})"
    if not field.value.kind.is_list:
        return one.format(spelling.quoted(field.name), text)
    return f"[{one.format(spelling.quoted(field.name), 'item')} for item in {_iterated(text)}]"


def _iterated(text: str) -> str:
    """An expression to loop over, in brackets if it is a conditional one."""
    return f"({text})" if " else " in text else text


def _in_text(name: str) -> str:
    """A user's name inside a docstring."""
    return name.replace("\\", "\\\\").replace('"', "'")


class Plugin(TypedDict):
    op: str
    shared: str
    library: str
    fields: bool
    texts: bool
    numbers: tuple[tuple[str, str], ...]


def plugin(op: Op) -> Plugin:
    kinds, library = {field.type for field in of(op).fields}, of(op).library
    return Plugin(
        op=op.names.op,
        shared=op.names.shared,
        library=spelling.quoted(library) if library else "",
        fields=bool(kinds),
        texts="text" in kinds,
        numbers=tuple((kind.tensorrt, f"np.{name}") for name, kind in FIELD_KINDS.items() if name in kinds - {"text"}),
    )


_LISTS = {"int32": "AttrInt64s", "float32": "AttrFloat32s"}  # onnx_ir's attributes that hold a field


class Onnx(TypedDict):
    op: str
    plugin: str
    namespace: str
    domain: str
    inputs: str
    outputs: str
    type_constraints: str
    attributes: tuple[tuple[str, str], ...]
    signature: str
    arguments: str
    lists: tuple[tuple[str, str], ...]
    tensors: str


def onnx(op: Op) -> Onnx:
    node = onnx_view.onnx(op)
    return Onnx(
        op=op.names.op,
        plugin=_in_text(of(op).name),
        namespace=op.names.namespace,
        domain=spelling.quoted(of(op).namespace or "trt.plugins"),
        inputs=node["inputs"],
        outputs=node["outputs"],
        type_constraints=node["type_constraints"],
        attributes=tuple(
            (spelling.quoted(f.name), FIELD_KINDS[f.type].onnx + "S" * f.value.kind.is_list) for f in of(op).fields
        ),
        signature=node["signature"],
        arguments=names(a.name for a in _used(op)),
        lists=tuple((spelling.quoted(f.name), _LISTS[f.type]) for f in of(op).fields if f.value.kind.is_list),
        tensors=names(t.name for t in op.tensors),
    )


def converter(op: Op) -> Mapping[str, object]:
    """The view of converter.py, whose plugin is made from the attributes that fields follow from."""
    used = {*(a.name for a in _used(op)), *(t.name for t in op.tensors)}
    return {
        **converter_view.converter(op),
        "plugin_arguments": names(a.name for a in _used(op)),
        "argument_names": names(a.name if a.name in used else f"_{a.name}" for a in op.arguments),
    }


class PluginTest(TypedDict):
    op: str
    import_name: str
    package: str
    plugin: str
    library: bool
    fields: tuple[str, ...]
    arguments: str
    first_field: str


def plugin_test(op: Op) -> PluginTest:
    return PluginTest(
        op=op.names.op,
        import_name=op.names.import_name,
        package=op.names.package,
        plugin=_in_text(of(op).name),
        library=of(op).library is not None,
        fields=tuple(_expected(op, case) for case in op.cases),
        arguments=names(_argument(a) for a in _used(op)),
        first_field=spelling.quoted(of(op).fields[0].name) if of(op).fields else "",
    )


def _argument(attribute: Attribute) -> str:
    return f"case.{attribute.name}"


def _expected(op: Op, case: Case) -> str:
    """The fields of a case, worked out beside the code that is to set them."""
    values = {field.name: _as(field, trial.value_of(op, case, field.value)) for field in of(op).fields}
    return f"{{{names(f'{spelling.quoted(name)}: {spelling.literal(value)}' for name, value in values.items())}}}"


def _as(field: Field, value: Any) -> Any:
    convert = FIELD_KINDS[field.type].python
    return tuple(map(convert, value)) if field.value.kind.is_list else convert(value)


class EngineTest(engines.EngineTest):
    arguments: str


def engine_test(op: Op) -> EngineTest:
    return EngineTest(**engines.engine_test(op), arguments=names(f"USUAL.{a.name}" for a in _used(op)))
