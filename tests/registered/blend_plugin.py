"""A plugin that somebody wrote by hand, registered when this is imported; builders ask it everything but to run."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorrt_rtx as trt

NAME = ("BlendByHand", "7", "somebody")
FIELDS = {
    "weight": trt.PluginFieldType.FLOAT32,
    "repeats": trt.PluginFieldType.INT32,
    "order": trt.PluginFieldType.INT32,
    "swap": trt.PluginFieldType.INT32,
    "mode": trt.PluginFieldType.CHAR,
    "curve": trt.PluginFieldType.FLOAT32,
}
MADE: list[dict[str, Any]] = []  # the fields of every plugin that a network was built with


class Blend(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):  # type: ignore[misc]
    def __init__(self, values: dict[str, Any]) -> None:
        for base in (trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
            base.__init__(self)
        self.plugin_name, self.plugin_version, self.plugin_namespace = NAME
        self.num_outputs, self.timing_cache_id = 1, str(values)
        self.values = values

    def get_capability_interface(self, kind: Any) -> Blend:
        return self

    def clone(self) -> Blend:
        return Blend(self.values)

    def attach_to_context(self, context: Any) -> Blend:
        return self.clone()

    def get_output_data_types(self, types: Any) -> list[Any]:
        return [types[0]]

    def get_output_shapes(self, inputs: Any, shape_inputs: Any, builder: Any) -> list[Any]:
        dims = trt.DimsExprs(inputs[0])
        last = len(dims) - 1
        repeats = builder.constant(int(self.values["repeats"][0]))
        dims[last] = builder.operation(trt.DimensionOperation.PROD, inputs[0][last], repeats)
        return [dims]

    def supports_format_combination(self, pos: int, in_out: Any, num_inputs: int) -> bool:
        known = (trt.DataType.FLOAT, trt.DataType.HALF)
        one = in_out[pos].desc
        return one.format == trt.TensorFormat.LINEAR and one.type in known and one.type == in_out[0].desc.type

    def configure_plugin(self, inputs: Any, outputs: Any) -> None: ...

    def on_shape_change(self, inputs: Any, outputs: Any) -> None: ...

    def set_tactic(self, tactic: int) -> None: ...

    def enqueue(self, *arguments: Any) -> None:
        raise NotImplementedError("nothing runs it")

    def get_fields_to_serialize(self) -> Any:
        self.fields = trt.PluginFieldCollection([trt.PluginField(n, v, FIELDS[n]) for n, v in self.values.items()])
        return self.fields


class BlendCreator(trt.IPluginCreatorV3One):  # type: ignore[misc]
    def __init__(self) -> None:
        trt.IPluginCreatorV3One.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = NAME
        self.nothing = np.empty(0, dtype=np.int8)
        self.field_names = trt.PluginFieldCollection(
            [trt.PluginField(name, self.nothing, kind) for name, kind in FIELDS.items()]
        )

    def create_plugin(self, name: str, fields: Any, phase: Any) -> Blend:
        assert {field.name: field.type for field in fields} == FIELDS
        MADE.append({field.name: np.array(field.data).copy() for field in fields})
        return Blend(MADE[-1])


CREATOR = BlendCreator()
trt.get_plugin_registry().register_creator(CREATOR, NAME[2])
