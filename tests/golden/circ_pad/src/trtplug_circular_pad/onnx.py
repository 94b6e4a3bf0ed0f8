"""The ONNX translation of circular_pad, to the node that TensorRT's ONNX parser turns into the plugin.

Use it as ``torch.onnx.export(model, args, dynamo=True, custom_translation_table=onnx.TRANSLATIONS)``.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from onnx.defs import OpSchema, has, register_schema
from onnxscript.values import Op, Opset

from ._names import NAME, NAMESPACE, VERSION

_DOMAIN_VERSION = 1

# Numbers are text, since TensorRT's parser would make each int an int32 and each float a float32.
SCHEMA = OpSchema(
    NAME,
    NAMESPACE,
    _DOMAIN_VERSION,
    inputs=[OpSchema.FormalParameter("x", "T_x")],
    outputs=[OpSchema.FormalParameter("y", "T_x")],
    type_constraints=[("T_x", ["tensor(float)", "tensor(float16)", "tensor(bfloat16)"], "The dtypes of x.")],
    attributes=[
        OpSchema.Attribute("padding", OpSchema.AttrType.STRING, required=True),
        OpSchema.Attribute("plugin_version", OpSchema.AttrType.STRING),
        OpSchema.Attribute("plugin_namespace", OpSchema.AttrType.STRING),
    ],
)
if not has(NAME, NAMESPACE):
    register_schema(SCHEMA)
_NODE = Op(Opset(NAMESPACE, _DOMAIN_VERSION), NAME, SCHEMA)


def circular_pad(x: Any, padding: Sequence[int]) -> Any:
    """The node of one call."""
    attributes: dict[str, Any] = {
        "padding": " ".join(str(value) for value in padding),
        "plugin_version": VERSION,
        "plugin_namespace": NAMESPACE,
    }
    return _NODE(x, **attributes)


TRANSLATIONS: dict[Callable[..., Any], Callable[..., Any]] = {torch.ops.trtplug_ops.circular_pad.default: circular_pad}
