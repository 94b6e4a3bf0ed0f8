"""The `plugin` of a spec to `Registered`: what stands for the op in TensorRT, and what its fields are set to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from trtplug.expr import BOOL, FLOAT, INT, STR, Kind, Scope, Site
from trtplug.forms import PluginForm
from trtplug.located import Located
from trtplug.model import Attribute, Field, Registered, Tensor


class FieldKind(NamedTuple):
    """A type of fields: TensorRT's and ONNX's names, the Python type, the kinds of values, and those in words."""

    tensorrt: str
    onnx: str
    python: type
    values: tuple[Kind, ...]
    wanted: str


def _numbers(*kinds: Kind) -> tuple[Kind, ...]:
    return (*kinds, *(Kind(kind.scalar, is_list=True) for kind in kinds))


FIELD_KINDS: Mapping[str, FieldKind] = {
    "int32": FieldKind("INT32", "INT", int, _numbers(INT, BOOL), "an int or a bool, or a list of such"),
    "float32": FieldKind("FLOAT32", "FLOAT", float, _numbers(FLOAT, INT, BOOL), "a number, or a list of such"),
    "text": FieldKind("CHAR", "STRING", str, (STR,), "a string"),
}
_OF_THE_NODE = ("plugin_version", "plugin_namespace")  # attributes that name the plugin to TensorRT's ONNX parser


def resolve(
    located: Located, form: PluginForm, arguments: tuple[Tensor | Attribute, ...], attributes: Scope
) -> Registered:
    """The plugin; of a spec with problems, as much as can be made out. Fields follow from `attributes` alone."""
    for argument in arguments:
        at = argument.argument.offset
        if isinstance(argument, Tensor) and argument.optional:
            message = f"'{argument.name}' may be absent, and a registered plugin has a fixed number of inputs"
            located.problem(f"{message}; make it a Tensor", "schema", offset=at)
        if isinstance(argument, Tensor) and any(dtype.name == "bool" for dtype in argument.dtypes):
            message = f"{argument.name} may be bool, which few plugins take; give it the int8 that the plugin reads"
            located.problem(message, "inputs", argument.name)
    scope = Scope(Site.LAUNCH, values=attributes.values)
    fields: list[Field] = []
    for name, field in form.fields.items():
        if name == "self" or not name.strip():
            located.problem(f"'{name}' is no name that a field can be given by", "plugin", "fields", name, key=True)
        if name in _OF_THE_NODE:
            message = f"'{name}' is what an ONNX node calls the plugin's own {name.removeprefix('plugin_')}"
            located.problem(f"{message}; no field reaches the plugin by that name", "plugin", "fields", name, key=True)
        kind = FIELD_KINDS[field.type]
        value = located.expression(scope, field.value, kind.values, kind.wanted, "plugin", "fields", name, "value")
        if value:
            fields.append(Field(name, field.type, value))
    if not located.problems:
        _no_idle_attributes(located, arguments)
    return Registered(form.name, form.version, form.namespace, form.library, tuple(fields))


def _no_idle_attributes(located: Located, arguments: tuple[Tensor | Attribute, ...]) -> None:
    """An attribute that neither sets a field nor decides a shape is one that an engine never learns of."""
    for argument in located.unused(argument for argument in arguments if isinstance(argument, Attribute)):
        message = f"no field, check or output uses '{argument.name}', of which an engine would know nothing"
        located.problem(f"{message}; use it, or remove it", "schema", offset=argument.argument.offset)
