"""The view of converter.py, for Torch-TensorRT."""

from __future__ import annotations

from typing import TypedDict

from trtplug.model import Attribute, Op, Tensor
from trtplug.plugin_api import PluginApi
from trtplug.views import facts, spelling
from trtplug.views.spelling import names


class Converter(TypedDict):
    op: str
    target: str
    shared: str
    namespace: str
    plugin_class: str
    bind_parameters: str
    argument_names: str
    argument_tuple: str
    attribute_names: str
    single_argument: bool
    bound_attributes: str
    plugin_arguments: str
    inputs: tuple[str, ...]
    optional: bool
    sizes: bool
    bools: bool
    result: str
    v2: bool
    interface: str
    add_plugin: str


def converter(op: Op) -> Converter:
    added = facts.added_values(op)
    outputs = [
        f"_cast(ctx, layer.get_output({i}), trt.DataType.BOOL)" if _returns_bool(op, i) else f"layer.get_output({i})"
        for i in range(len(op.results))
    ]
    v2 = op.plugin is PluginApi.V2
    return Converter(
        op=op.names.op,
        target=op.names.functional if op.written else op.names.op,
        shared=op.names.shared,
        namespace=op.names.namespace,
        plugin_class=op.names.plugin_class,
        bind_parameters=spelling.signature(op, tensor=lambda _: "Any", attribute=lambda _: "Any"),
        argument_names=names(argument.name for argument in op.arguments),
        argument_tuple=spelling.row(argument.name for argument in op.arguments),
        attribute_names=names(a.name for a in op.attributes),
        single_argument=len(op.arguments) == 1,
        bound_attributes=names(a.name if isinstance(a, Attribute) else f"_{a.name}" for a in op.arguments),
        plugin_arguments=names(
            f"{a.name}={added.get(a.name) or spelling.keep(a, a.name)}" for a in facts.plugin_attributes(op)
        ),
        inputs=tuple(_input(t) for t in op.tensors),
        sizes=bool(op.sizes),
        optional=any(t.optional for t in op.tensors),
        bools=any(map(facts.is_bool, op.tensors)) or any(_returns_bool(op, i) for i in range(len(op.results))),
        result=outputs[0] if len(outputs) == 1 else f"({names(outputs)})",
        v2=v2,
        interface="IPluginV2DynamicExt" if v2 else "IPluginV3",
        add_plugin=facts.add_plugin(op),
    )


def _returns_bool(op: Op, i: int) -> bool:
    return any(dtype.name == "bool" for dtype in facts.possible_dtypes(op, op.results[i]))


def _input(tensor: Tensor) -> str:
    value = f'get_trt_tensor(ctx, {tensor.name}, f"{{name}}_{tensor.name}")'
    if facts.is_bool(tensor):
        value = f"_cast(ctx, {value}, trt.DataType.INT8)"
    return f"{value} if {tensor.name} is not None else None" if tensor.optional else value
