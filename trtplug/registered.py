"""The `plugin` of a spec to `Registered`: what stands for the op in TensorRT, and what its fields are set to."""

from __future__ import annotations

from collections.abc import Mapping

from trtplug.expr import BOOL, FLOAT, INT, STR, Kind, Scope, Site
from trtplug.forms import FieldType, PluginForm
from trtplug.located import Located
from trtplug.model import Attribute, Field, Registered, Tensor

_NUMBERS = (INT, BOOL)
_KINDS: Mapping[FieldType, tuple[tuple[Kind, ...], str]] = {
    "int32": (_NUMBERS, "an int or a bool"),
    "float32": ((FLOAT, *_NUMBERS), "a number"),
    "text": ((STR,), "a string"),
}


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
        kinds, wanted = _KINDS[field.type]
        lists = tuple(Kind(kind.scalar, is_list=True) for kind in kinds)
        value = located.expression(
            scope, field.value, (*kinds, *lists), f"{wanted}, or a list of such", "plugin", "fields", name, "value"
        )
        if value:
            fields.append(Field(name, field.type, value))
    return Registered(form.name, form.version, form.namespace, form.library, tuple(fields))
