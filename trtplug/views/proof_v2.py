"""Views of the generated tests of an IPluginV2DynamicExt: what those of an IPluginV3 have, and what differs."""

from __future__ import annotations

from typing import TypedDict

from trtplug.model import Body, Op
from trtplug.views import plugin, proof, spelling
from trtplug.views.spelling import names

_STATE = ("plugin_type", "plugin_version", "plugin_namespace", "num_outputs")  # of a plugin in C++


class PluginTestV2(proof.PluginTest):
    parent: str
    field_arrays: tuple[str, ...]
    optional_fields: tuple[str, ...]


def plugin_test(op: Op) -> PluginTestV2:
    shared, generated = proof.plugin_test(op), plugin.plugin(op)
    shared["state_strings"] = names(map(spelling.quoted, _STATE))
    shared["name_attribute"] = _STATE[0]
    shared["fields_of_subject"] = "fields_of(subject)"
    shared["phase"] = ""
    shared["for_context"] = "clone()"
    shared["desc"] = ""
    return PluginTestV2(
        **shared,
        parent=f"tests/test_plugin{'_torch' * (op.body is Body.TORCH)}.py.jinja",
        field_arrays=tuple(line.replace("self.", "subject.") for line in generated["field_arrays"]),
        optional_fields=tuple(line.replace("self.", "subject.") for line in generated["optional_fields"]),
    )


class CarrierModule(TypedDict):
    import_name: str
    package: str


def carrier(op: Op) -> CarrierModule:
    return CarrierModule(import_name=op.names.import_name, package=op.names.package)
