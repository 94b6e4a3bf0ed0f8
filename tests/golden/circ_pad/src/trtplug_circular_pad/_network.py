"""Adds plugins to TensorRT's networks, also to those of TensorRT-RTX, whose Python class has no add_plugin_v3.

TensorRT-RTX's ONNX parser adds plugins to a network, whatever is in there already. So it parses a model of one node on
constants, and the creator that it asks for the node's plugin gives it the one at hand. Then the layer's real inputs take
the place of the constants, which the builder drops. All of it is public API.
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from threading import Lock
from typing import Any

from ._tensorrt import trt

_PARSED_SINCE = (1, 7)  # the release of TensorRT-RTX whose parser knows nodes beside ONNX's own
_LIBRARY = "libtensorrt_rtx.so"  # what that parser opens; TensorRT-RTX's wheel has it as libtensorrt_rtx.so.1

# What a node calls its creator; no other package has this namespace.
_NAME, _VERSION, _NAMESPACE = "seat", "1", __name__
_PARSING = Lock()  # there is one creator of that name at a time


@cache
def obstacle() -> str:
    """Why networks take no plugin in this process, and what to do; empty if they take them."""
    if hasattr(trt.INetworkDefinition, "add_plugin_v3"):
        return ""
    library = f"{trt.__name__} {trt.__version__}"
    if tuple(map(int, trt.__version__.split(".")[:2])) < _PARSED_SINCE:
        return f"networks of {library} take no plugin; use 1.7 or newer"
    if find_spec("onnx") is None:
        return f"networks of {library} take plugins by way of its ONNX parser alone; pip install onnx"
    wheel = find_spec("tensorrt_rtx_libs")
    folders = (wheel.submodule_search_locations or []) if wheel else []
    links = [f"{folder}/{_LIBRARY}" for folder in folders]  # beside the parser, which looks there too
    if not any(map(_opens, [_LIBRARY, *links])):
        # The parser would raise no error, but end the process.
        remedy = f"ln -s {_LIBRARY}.1 {links[0]}" if links else "name its folder in LD_LIBRARY_PATH"
        return f"the ONNX parser of {library}, which adds plugins to networks, finds no {_LIBRARY}; {remedy}"
    return ""


def _opens(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def add_layer(network: Any, name: str, inputs: Sequence[Any], plugin: Any) -> Any:
    """The layer of that name that stands for the plugin, as INetworkDefinition.add_plugin_v3 gives it."""
    if hasattr(network, "add_plugin_v3"):
        layer = network.add_plugin_v3(inputs, [], plugin)
        layer.name = name
        return layer
    guest = _Guest(plugin)
    layer = _parsed(network, _model(name, len(inputs), plugin.num_outputs), _Usher(guest))
    for i, tensor in enumerate(inputs):
        layer.set_input(i, tensor)
    guest.seated = True
    for i in range(layer.num_outputs):
        network.unmark_output(layer.get_output(i))
    return layer


@dataclass
class _Guest:
    """A plugin, and whether its layer has the real inputs."""

    plugin: Any
    seated: bool = False


class _Seat(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):  # type: ignore[misc]
    """What the network holds: it stands for the plugin, which is never asked about the constants of the model.

    An engine is built from clones of what the network holds, and those are the plugin's.
    """

    def __init__(self, guest: _Guest) -> None:
        trt.IPluginV3.__init__(self)
        trt.IPluginV3OneCore.__init__(self)
        trt.IPluginV3OneBuild.__init__(self)
        trt.IPluginV3OneRuntime.__init__(self)
        self.plugin_name = guest.plugin.plugin_name
        self.plugin_version = guest.plugin.plugin_version
        self.plugin_namespace = guest.plugin.plugin_namespace
        self.num_outputs = guest.plugin.num_outputs
        self._guest = guest

    def get_capability_interface(self, kind: Any) -> "_Seat":
        """This object is its own core, build and runtime part."""
        return self

    def clone(self) -> Any:
        """The plugin's clone; the parser, which takes one too, gets another seat."""
        return self._guest.plugin.clone() if self._guest.seated else _Seat(self._guest)

    def get_output_data_types(self, input_types: Any) -> Any:
        """The plugin's, and before those what the model says."""
        if self._guest.seated:
            return self._guest.plugin.get_output_data_types(input_types)
        return [trt.DataType.FLOAT] * self.num_outputs

    def get_output_shapes(self, inputs: Any, shape_inputs: Any, builder: Any) -> Any:
        """The plugin's, and before those 0-D ones."""
        if self._guest.seated:
            return self._guest.plugin.get_output_shapes(inputs, shape_inputs, builder)
        return [trt.DimsExprs(0) for _ in range(self.num_outputs)]


class _Usher(trt.IPluginCreatorV3One):  # type: ignore[misc]
    """The creator that the parser asks for the plugin of the node."""

    def __init__(self, guest: _Guest) -> None:
        trt.IPluginCreatorV3One.__init__(self)
        self.name = _NAME
        self.plugin_version = _VERSION
        self.plugin_namespace = _NAMESPACE
        self.field_names = trt.PluginFieldCollection([])
        self._guest = guest

    def create_plugin(self, name: str, fields: Any, phase: Any) -> _Seat:
        """The seat of the plugin that is being added."""
        return _Seat(self._guest)


def _parsed(network: Any, model: bytes, creator: _Usher) -> Any:
    """The layer that the parser makes of the model's node."""
    registry = trt.get_plugin_registry()
    before = network.num_layers
    # A parser puts its own recorder in the place of the network's, and, when it goes, that one back; but it goes after
    # the network. So there is none to put back, and this function does it.
    recorder = network.error_recorder
    with _PARSING:
        registry.register_creator(creator, _NAMESPACE)
        try:
            network.error_recorder = None
            parser = trt.OnnxParser(
                network, network.builder.logger
            )  # lives as long as the network, and so its constants
            # Not parse(), which refuses a network that has layers.
            if not (parser.load_model_proto(model) and parser.parse_model_proto()):
                errors = [parser.get_error(i).desc() for i in range(parser.num_errors)]
                raise RuntimeError(f"{trt.__name__}'s ONNX parser refuses a plugin: {errors}")
        finally:
            network.error_recorder = recorder
            registry.deregister_creator(creator)
    added = map(network.get_layer, range(before, network.num_layers))
    (layer,) = (layer for layer in added if layer.type == trt.LayerType.PLUGIN_V3)
    return layer


def _model(name: str, inputs: int, outputs: int) -> bytes:
    """An ONNX model of one node, whose inputs and outputs only have to be as many as the plugin's."""
    from onnx import TensorProto, helper  # which standard TensorRT does without

    constants = [helper.make_tensor(f"{name}-input-{i}", TensorProto.FLOAT, (), [0.0]) for i in range(inputs)]
    results = [helper.make_tensor_value_info(f"{name}-{i}", TensorProto.FLOAT, None) for i in range(outputs)]
    node = helper.make_node(
        _NAME,
        [constant.name for constant in constants],
        [result.name for result in results],
        name=name,
        domain=_NAMESPACE,
        plugin_version=_VERSION,
        plugin_namespace=_NAMESPACE,
    )
    graph = helper.make_graph([node], name, [], results, initializer=constants)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(_NAMESPACE, 1)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString())
