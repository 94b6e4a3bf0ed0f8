"""The Torch-TensorRT converter of circular_pad; importing this module registers the converter and the plugin."""

import importlib
import logging
from functools import lru_cache
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch_tensorrt.dynamo.conversion import ConversionContext, dynamo_tensorrt_converter
from torch_tensorrt.dynamo.conversion.converter_utils import get_trt_tensor

from . import _network
from ._names import NAME
from ._tensorrt import trt
from .plugin import CircularPadPlugin

_LOGGER = logging.getLogger(__name__)

# Once torch_tensorrt is imported, `tensorrt` means the library that it was built for.
if importlib.import_module("tensorrt").IPluginV3 is not trt.IPluginV3:
    raise ImportError(
        f"{__package__}.plugin was imported before torch_tensorrt, and uses {trt.__name__}, as torch_tensorrt does not; "
        "import torch_tensorrt first"
    )


def _bind(x: Any, padding: Any) -> tuple[Any, ...]:
    """The arguments in the schema's order, defaults filled in, wherever a graph puts them."""
    return (x, padding)


def _is_supported(node: torch.fx.Node, settings: Any = None) -> bool:
    """Whether a plugin can stand for this call; otherwise the op runs in PyTorch, and the log says why."""
    if _network.obstacle():
        _warn_once(f"circular_pad stays in PyTorch: {_network.obstacle()}")
        return False
    _x, padding = _bind(*node.args, **node.kwargs)
    unknown = [value for value in pytree.tree_leaves([padding]) if isinstance(value, torch.fx.Node)]
    if unknown:
        _warn_once(f"circular_pad stays in PyTorch: {unknown} is known at run time, a plugin's attributes before")
        return False
    return True


@lru_cache(maxsize=64)
def _warn_once(message: str) -> None:
    """Logs a message the first time; the partitioner asks about each node several times."""
    _LOGGER.warning(message)


@dynamo_tensorrt_converter(
    torch.ops.trtplug_ops.circular_pad.default,
    capability_validator=_is_supported,
    supports_dynamic_shapes=True,
)
def convert(ctx: ConversionContext, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Any:
    """Adds the plugin to the network."""
    x, padding = _bind(*args, **kwargs)
    plugin = CircularPadPlugin(padding=tuple(padding))
    inputs = [
        get_trt_tensor(ctx, x, f"{name}_x"),
    ]
    layer = _network.add_layer(ctx.net, f"{NAME}-{name}", inputs, plugin)
    return layer.get_output(0)
