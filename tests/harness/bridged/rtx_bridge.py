"""Plugin layers inside TensorRT-RTX networks, for tests only; a new way in or out of a carrier goes here.

TensorRT-RTX runs IPluginV3, but its Python networks have no add_plugin_v3. Its ONNX parser does turn each RoiAlign node
into the plugin registered as ROIAlign_TRT, and it does so in empty networks alone. So each new network is given some
RoiAlign nodes on constants, the carriers. add_plugin_v3 seats the real plugin in the next carrier and connects the real
inputs in place of the constants, which then die as unused. All of it is public API.

A carrier takes at most three inputs, no shape inputs, and gives one output. A plugin of several outputs sits in as many
carriers: each runs all of it, gives one output, and lets the others go into a spare buffer. A carrier that stays empty
would crash the builder, so the number of outputs in each network must be known before the network is made: a network
of Torch-TensorRT's has those of the ops in the graph that is being converted, another one as many as `install` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorrt_rtx as trt
import torch

_NAME, _VERSION = "ROIAlign_TRT", "2"
_MOST_INPUTS = 3
_SPARE_BYTES = 2**24  # of an output that a carrier does not give; far more than any test writes
_PASSENGER = "passenger"  # the field that names the real plugin inside an engine
_SEPARATOR = "\n"
_OF_TORCH = ("aten", "prims", "tensorrt")  # namespaces of ops that no plugin stands for


@dataclass
class _Seat:
    """The place of the real plugin in a carrier, empty until add_plugin_v3."""

    plugin: Any = None
    inputs: int = _MOST_INPUTS
    output: int = 0  # the one of the plugin's that the carrier gives


class _Carrier(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):  # type: ignore[misc]
    """Passes every call on to the real plugin, without the constants that its layer has as further inputs."""

    def __init__(self, seat: _Seat) -> None:
        trt.IPluginV3.__init__(self)
        trt.IPluginV3OneCore.__init__(self)
        trt.IPluginV3OneBuild.__init__(self)
        trt.IPluginV3OneRuntime.__init__(self)
        self.plugin_name, self.plugin_version, self.plugin_namespace = _NAME, _VERSION, ""
        self.num_outputs = 1
        self.timing_cache_id = ""  # never cached: the key would not know which plugin is inside
        self.seat = seat
        self._spare: list[torch.Tensor] = []

    def get_capability_interface(self, kind: Any) -> _Carrier:
        return self

    def clone(self) -> _Carrier:
        seat = self.seat
        return _Carrier(seat if seat.plugin is None else _Seat(seat.plugin.clone(), seat.inputs, seat.output))

    def attach_to_context(self, context: Any) -> _Carrier:
        seat = self.seat
        return _Carrier(_Seat(seat.plugin.attach_to_context(context), seat.inputs, seat.output))

    def get_output_data_types(self, input_types: Any) -> Any:
        if self.seat.plugin is None:
            return [input_types[0]]
        types = self.seat.plugin.get_output_data_types(self._own(input_types))
        return [types[self.seat.output]]

    def get_output_shapes(self, inputs: Any, shape_inputs: Any, builder: Any) -> Any:
        if self.seat.plugin is None:
            return [trt.DimsExprs(inputs[0])]
        shapes = self.seat.plugin.get_output_shapes(self._own(inputs), [], builder)
        return [shapes[self.seat.output]]

    def supports_format_combination(self, pos: int, in_out: Any, num_inputs: int) -> bool:
        own = self.seat.inputs
        if own <= pos < num_inputs:  # a constant
            return bool(in_out[pos].desc.format == trt.TensorFormat.LINEAR)
        if pos < own:
            return bool(self.seat.plugin.supports_format_combination(pos, list(in_out[: pos + 1]), own))
        types = self.seat.plugin.get_output_data_types([tensor.desc.type for tensor in in_out[:own]])
        before = [_dense(dtype) for dtype in types[: self.seat.output]]
        described = [*in_out[:own], *before, in_out[pos]]
        return bool(self.seat.plugin.supports_format_combination(len(described) - 1, described, own))

    def get_workspace_size(self, inputs: Any, outputs: Any) -> int:
        return int(self.seat.plugin.get_workspace_size(self._own(inputs), outputs))

    def get_valid_tactics(self) -> Any:
        return self.seat.plugin.get_valid_tactics()

    def set_tactic(self, tactic: int) -> None:
        self.seat.plugin.set_tactic(tactic)

    def configure_plugin(self, inputs: Any, outputs: Any) -> None:
        self.seat.plugin.configure_plugin(self._own(inputs), outputs)

    def on_shape_change(self, inputs: Any, outputs: Any) -> None:
        self.seat.plugin.on_shape_change(self._own(inputs), outputs)

    def enqueue(
        self, input_desc: Any, output_desc: Any, inputs: Any, outputs: Any, workspace: int, stream: int
    ) -> None:
        count = self.seat.plugin.num_outputs
        if count > 1 and not self._spare:
            self._spare = [torch.empty(_SPARE_BYTES, dtype=torch.uint8, device="cuda") for _ in range(count)]
        addresses = [spare.data_ptr() for spare in self._spare] or list(outputs)
        addresses[self.seat.output] = outputs[0]
        self.seat.plugin.enqueue(self._own(input_desc), output_desc, self._own(inputs), addresses, workspace, stream)

    def get_fields_to_serialize(self) -> Any:
        plugin = self.seat.plugin
        numbers = (str(self.seat.inputs), str(self.seat.output))
        words = (plugin.plugin_name, plugin.plugin_version, plugin.plugin_namespace, *numbers)
        # Fields do not keep their memory alive.
        self._inner = plugin.get_fields_to_serialize()
        self._words = np.frombuffer(_SEPARATOR.join(words).encode(), dtype=np.int8)
        passenger = trt.PluginField(_PASSENGER, self._words, trt.PluginFieldType.CHAR)
        self._fields = trt.PluginFieldCollection([passenger, *self._inner])
        return self._fields

    def _own(self, values: Any) -> list[Any]:
        return list(values[: self.seat.inputs])


class _CarrierCreator(trt.IPluginCreatorV3One):  # type: ignore[misc]
    """Makes empty carriers for the parser, and full ones from an engine."""

    def __init__(self) -> None:
        trt.IPluginCreatorV3One.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = _NAME, _VERSION, ""
        self.field_names = trt.PluginFieldCollection([])
        self.empty: list[_Seat] = []

    def create_plugin(self, name: str, fields: Any, phase: Any) -> _Carrier:
        given = {field.name: field for field in fields}
        passenger = given.pop(_PASSENGER, None)
        if passenger is None:
            self.empty.append(_Seat())
            return _Carrier(self.empty[-1])
        text = np.array(passenger.data).astype(np.int8).tobytes().decode().rstrip("\0")
        plugin, version, namespace, inputs, output = text.split(_SEPARATOR)
        creator = trt.get_plugin_registry().get_creator(plugin, version, namespace)
        if creator is None:
            raise RuntimeError(f"the engine holds plugin {plugin!r} of {namespace!r}, which is not registered here")
        kept = trt.PluginFieldCollection(list(given.values()))
        return _Carrier(_Seat(creator.create_plugin(name, kept, phase), int(inputs), int(output)))


class _Layers:
    """What stands for a plugin's layer: its carriers, one for each output."""

    def __init__(self, carriers: list[Any]) -> None:
        self._carriers = carriers

    @property
    def name(self) -> str:
        return str(self._carriers[0].name)

    @name.setter
    def name(self, name: str) -> None:
        for i, carrier in enumerate(self._carriers):
            carrier.name = f"output {i} of {name}" if i else name

    def get_output(self, i: int) -> Any:
        return self._carriers[i].get_output(0)


@dataclass
class _Bridged:
    """A network with its carriers; kept as long as the process, since the parser owns the constants."""

    network: Any
    parser: Any
    free: list[tuple[Any, _Seat]]
    taken: list[Any]


class _Bridge:
    """The patched entry points of TensorRT-RTX, and the networks that they made."""

    def __init__(self) -> None:
        self.carriers = 0
        self._creator = _CarrierCreator()
        self._logger = trt.Logger(trt.Logger.WARNING)
        self._networks: dict[int, _Bridged] = {}
        self._graph: torch.fx.Graph | None = None  # of the network that Torch-TensorRT is about to make
        self._interpret = torch.fx.Interpreter.__init__
        self._create_network = trt.Builder.create_network
        self._build = trt.Builder.build_serialized_network
        registry = trt.get_plugin_registry()
        for creator in registry.all_creators:
            if creator.name == _NAME:
                registry.deregister_creator(creator)
        registry.register_creator(self._creator, "")
        # Functions, not bound methods: a class turns only the former into methods of its instances.
        torch.fx.Interpreter.__init__ = lambda interpreter, module, *more, **named: self.interpret(  # type: ignore[method-assign]
            interpreter, module, *more, **named
        )
        trt.Builder.create_network = lambda builder, *flags: self.create_network(builder, *flags)
        trt.Builder.build_serialized_network = lambda builder, network, config: self.build(builder, network, config)
        trt.INetworkDefinition.add_plugin_v3 = lambda network, inputs, shape_inputs, plugin: self.add_plugin_v3(
            network, inputs, shape_inputs, plugin
        )

    def interpret(self, interpreter: Any, module: Any, *more: Any, **named: Any) -> None:
        self._interpret(interpreter, module, *more, **named)
        if type(interpreter).__name__ == "TRTInterpreter":  # whose next step is to make a network
            self._graph = module.graph

    def create_network(self, builder: Any, *flags: Any) -> Any:
        network = self._create_network(builder, *flags)
        carriers = self.carriers if self._graph is None else _outputs(self._graph)
        self._graph = None
        if not carriers:
            return network
        self._creator.empty.clear()
        parser = trt.OnnxParser(network, self._logger)
        if not parser.parse(_carriers(carriers)):
            raise RuntimeError([parser.get_error(i).desc() for i in range(parser.num_errors)])
        layers = plugin_layers(network)
        for layer in layers:
            network.unmark_output(layer.get_output(0))
        free = list(zip(layers, self._creator.empty, strict=True))
        self._networks[id(network)] = _Bridged(network, parser, free, [])
        return network

    def add_plugin_v3(self, network: Any, inputs: Any, shape_inputs: Any, plugin: Any) -> Any:
        if shape_inputs or len(inputs) > _MOST_INPUTS:
            raise NotImplementedError(f"a carrier has at most {_MOST_INPUTS} inputs and no shape inputs")
        bridged = self._networks.get(id(network))
        if bridged is None or len(bridged.free) < plugin.num_outputs:
            raise RuntimeError("this network was made for fewer outputs: call rtx_bridge.install with more")
        layers = []
        for output in range(plugin.num_outputs):
            layer, seat = bridged.free.pop(0)
            seat.plugin, seat.inputs, seat.output = plugin.clone() if output else plugin, len(inputs), output
            for i, tensor in enumerate(inputs):
                layer.set_input(i, tensor)
            layers.append(layer)
        bridged.taken.append(plugin)
        return layers[0] if len(layers) == 1 else _Layers(layers)

    def build(self, builder: Any, network: Any, config: Any) -> Any:
        bridged = self._networks.get(id(network))
        if bridged is not None and bridged.free:
            raise RuntimeError(f"{len(bridged.free)} outputs fewer than expected: call rtx_bridge.install with less")
        return self._build(builder, network, config)

    def taken(self, network: Any) -> list[Any]:
        bridged = self._networks.get(id(network))
        return list(bridged.taken) if bridged else []


_BRIDGE: _Bridge | None = None


def install(carriers: int) -> None:
    """Networks made from now on, but for Torch-TensorRT's, take, and need, plugins of so many outputs."""
    global _BRIDGE
    _BRIDGE = _BRIDGE or _Bridge()
    _BRIDGE.carriers = carriers


def _outputs(graph: torch.fx.Graph) -> int:
    """The number of outputs of all the plugins that a graph needs."""
    called = [node.target for node in graph.nodes if isinstance(node.target, torch._ops.OpOverload)]
    return sum(len(op._schema.returns) for op in called if op.namespace not in _OF_TORCH)


def _dense(dtype: Any) -> Any:
    """The description of an output that the builder knows nothing of."""
    described = trt.DynamicPluginTensorDesc()
    described.desc.type, described.desc.format = dtype, trt.TensorFormat.LINEAR
    return described


def plugins_of(network: Any) -> list[Any]:
    """The plugins that a network was given, in the order of the calls of add_plugin_v3."""
    return _BRIDGE.taken(network) if _BRIDGE else []


def plugin_layers(network: Any) -> list[Any]:
    """The layers of a network that hold a plugin."""
    layers = [network.get_layer(i) for i in range(network.num_layers)]
    return [layer for layer in layers if layer.type == trt.LayerType.PLUGIN_V3]


def mend_for_torch_tensorrt_2_11() -> None:
    """Torch-TensorRT 2.11 names IAlgorithmSelector and sets the dtype of tensors; TensorRT-RTX 1.6 has neither."""
    if not hasattr(trt, "IAlgorithmSelector"):
        trt.IAlgorithmSelector = object
    read = trt.ITensor.dtype
    if read.fset is None:
        trt.ITensor.dtype = property(read.fget, lambda tensor, dtype: None)  # networks are strongly typed


def _carriers(count: int) -> bytes:
    """An ONNX model of RoiAlign nodes on constants."""
    from onnx import TensorProto, helper

    nodes, constants, outputs = [], [], []
    for i in range(count):
        constants.append(helper.make_tensor(f"x{i}", TensorProto.FLOAT, [1, 1, 1, 1], [0.0]))
        constants.append(helper.make_tensor(f"rois{i}", TensorProto.FLOAT, [1, 4], [0.0, 0.0, 1.0, 1.0]))
        constants.append(helper.make_tensor(f"batch{i}", TensorProto.INT64, [1], [0]))
        inputs = [f"x{i}", f"rois{i}", f"batch{i}"]
        nodes.append(helper.make_node("RoiAlign", inputs, [f"y{i}"], output_height=1, output_width=1))
        outputs.append(helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, None))
    graph = helper.make_graph(nodes, "carriers", [], outputs, initializer=constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())
