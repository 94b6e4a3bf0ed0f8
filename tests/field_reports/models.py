"""ONNX models of generated ops, and real TensorRT networks of them; for tests marked own_process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import onnx
import tensorrt_rtx as trt
import torch

Shape = Sequence[int]


def exported(
    model: torch.nn.Module,
    inputs: Mapping[str, torch.Tensor],
    packages: Iterable[Any],
    dynamic: Mapping[str, Any] | None = None,
) -> onnx.ModelProto:
    """The model as torch.onnx.export writes it, with the translations of the packages, checked."""
    translations = {key: value for package in packages for key, value in package.onnx.TRANSLATIONS.items()}
    program = torch.onnx.export(
        model.eval(),
        kwargs=dict(inputs),
        dynamo=True,
        dynamic_shapes={name: (dynamic or {}).get(name, {}) for name in inputs},
        custom_translation_table=translations,
        verbose=False,
    )
    assert program is not None
    onnx.checker.check_model(program.model_proto, full_check=True)
    return program.model_proto


def one_node(package: Any, attributes: Mapping[str, str], shape: Shape) -> onnx.ModelProto:
    """A model of one node, written by hand: float32, with one input."""
    names = package._names
    own = {"plugin_version": names.VERSION, "plugin_namespace": names.NAMESPACE}
    node = onnx.helper.make_node(names.NAME, ["x"], ["y"], domain=names.NAMESPACE, **attributes, **own)
    x, y = (
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, size)
        for name, size in (("x", shape), ("y", None))
    )
    opsets = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid(names.NAMESPACE, 1)]
    return onnx.helper.make_model(onnx.helper.make_graph([node], "one", [x], [y]), opset_imports=opsets, ir_version=9)


class Log(trt.ILogger):  # type: ignore[misc]
    """TensorRT's log, kept."""

    def __init__(self) -> None:
        trt.ILogger.__init__(self)
        self.lines: list[str] = []

    def log(self, severity: Any, message: str) -> None:
        """Called by TensorRT."""
        if severity in (trt.ILogger.INTERNAL_ERROR, trt.ILogger.ERROR, trt.ILogger.WARNING):
            self.lines.append(message)


class Network:
    """A strongly typed network parsed from a model; `errors` holds what the parser says if it refuses it."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.log = Log()
        self.builder = trt.Builder(self.log)
        self.network = self.builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
        self._parser = trt.OnnxParser(self.network, self.log)
        self._model = model.SerializeToString()
        parsed = self._parser.parse(self._model)
        self.errors = [self._parser.get_error(i).desc() for i in range(self._parser.num_errors)]
        assert parsed or self.errors

    @property
    def plugins(self) -> list[Any]:
        """The layers that hold a plugin."""
        assert not self.errors, self.errors
        layers = map(self.network.get_layer, range(self.network.num_layers))
        return [layer for layer in layers if layer.type == trt.LayerType.PLUGIN_V3]

    def build(self, **sizes: tuple[Shape, Shape, Shape]) -> bytes | None:
        """The serialised engine, for the least, usual and greatest shapes of each input; None if refused."""
        assert not self.errors, self.errors
        config, profile = self.builder.create_builder_config(), self.builder.create_optimization_profile()
        for name, shapes in sizes.items():
            profile.set_shape(name, *shapes)
        config.add_optimization_profile(profile)
        plan = self.builder.build_serialized_network(self.network, config)
        return None if plan is None else bytes(plan)


def shapes(layer: Any) -> list[list[int]]:
    """The shapes of a layer's outputs."""
    return [list(layer.get_output(i).shape) for i in range(layer.num_outputs)]
