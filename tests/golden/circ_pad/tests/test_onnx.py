"""ONNX: the exported node, and a real TensorRT engine that parser and builder make with the plugin in it."""

import ctypes
from functools import cache
from typing import Any

import onnx
import pytest
import torch
from onnx import AttributeProto, TensorProto, helper

from trtplug_circular_pad import plugin
from trtplug_circular_pad._names import NAME, NAMESPACE, VERSION
from trtplug_circular_pad._tensorrt import TENSORRT_DTYPES, trt
from trtplug_circular_pad.onnx import SCHEMA, TRANSLATIONS

from .calls import CASES, DTYPES, DYNAMIC, LEAST, MOST, USUAL, Case, Model, arguments, reference, tensors

ELEMENTS = {
    torch.float32: TensorProto.FLOAT,
    torch.float16: TensorProto.FLOAT16,
    torch.bfloat16: TensorProto.BFLOAT16,
}


def exported(dtypes: tuple[torch.dtype, ...], case: Case = USUAL, model: type[Model] = Model) -> onnx.ModelProto:
    """The model as torch.onnx.export writes it, of the usual case with the dynamic dimensions of the profile."""
    given = tensors(arguments(case, dtypes))
    shapes: dict[str, dict[int, Any]] = {name: {} for name in given}
    for tensor, dimension, _, _ in DYNAMIC if case is USUAL else ():
        shapes[tensor][dimension] = torch.export.Dim.DYNAMIC
    program = torch.onnx.export(
        model(case).eval(),
        kwargs=given,
        dynamo=True,
        dynamic_shapes=shapes,
        custom_translation_table=TRANSLATIONS,
        verbose=False,
    )
    assert program is not None
    return program.model_proto


@cache
def usual(dtypes: tuple[torch.dtype, ...]) -> onnx.ModelProto:
    """The model of the usual case, which several tests read."""
    return exported(dtypes)


def node_attributes(case: Case) -> list[tuple[str, AttributeProto.AttributeType, Any]]:
    """The attributes of a node by name, type and value; numbers are text, and what is None is left out."""
    attributes: list[tuple[str, AttributeProto.AttributeType, Any]] = []
    attributes.append(("padding", AttributeProto.STRING, " ".join(map(str, case.padding))))
    return attributes


def by_hand(case: Case, dtypes: tuple[torch.dtype, ...]) -> onnx.ModelProto:
    """A model of the node alone, at the static shapes of a case."""
    call = arguments(case, dtypes, device=torch.device("cpu"))
    inputs = [helper.make_tensor_value_info(name, ELEMENTS[t.dtype], t.shape) for name, t in tensors(call).items()]
    results = zip(SCHEMA.outputs, reference(call), strict=True)
    outputs = [helper.make_tensor_value_info(o.name, ELEMENTS[t.dtype], None) for o, t in results]
    node = helper.make_node(
        NAME,
        [i.name for i in inputs],
        [o.name for o in outputs],
        domain=NAMESPACE,
        plugin_version=VERSION,
        plugin_namespace=NAMESPACE,
    )
    for name, kind, value in node_attributes(case):
        node.attribute.append(helper.make_attribute(name, value, attr_type=kind))
    graph = helper.make_graph([node], "circular_pad", inputs, outputs)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(NAMESPACE, 1)], ir_version=9
    )


class Parsed:
    """A network parsed from a model, and what must outlive it."""

    def __init__(self, model: onnx.ModelProto) -> None:
        if trt.__name__ == "tensorrt_rtx":
            _require_parser()
        logger = trt.Logger(trt.Logger.WARNING)
        self.builder = trt.Builder(logger)
        self.network = self.builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
        self.parser = trt.OnnxParser(self.network, logger)
        parsed = self.parser.parse(model.SerializeToString())
        assert parsed, [self.parser.get_error(i).desc() for i in range(self.parser.num_errors)]

    def plugin_layers(self) -> list[Any]:
        """The layers that hold a plugin."""
        layers = [self.network.get_layer(i) for i in range(self.network.num_layers)]
        return [layer for layer in layers if layer.type == trt.LayerType.PLUGIN_V3]

    def built(self) -> Any:
        """The engine, for the optimisation profile."""
        config, profile = self.builder.create_builder_config(), self.builder.create_optimization_profile()
        for i in range(self.network.num_inputs):
            tensor = self.network.get_input(i)
            sizes = [getattr(case, tensor.name) for case in (LEAST, USUAL, MOST)]
            assert [d == -1 for d in tensor.shape] == [
                (tensor.name, d) in {(name, dimension) for name, dimension, _, _ in DYNAMIC}
                for d in range(len(sizes[0]))
            ]
            profile.set_shape(tensor.name, *sizes)
        config.add_optimization_profile(profile)
        plan = self.builder.build_serialized_network(self.network, config)
        assert plan is not None, "the builder refused the network; its log says why"
        return plan


def _require_parser() -> None:
    """Skips a test where TensorRT-RTX's parser knows no plugins.

    It opens a library that its wheel has under another name, and aborts without it.
    """
    if tuple(map(int, trt.__version__.split(".")[:2])) < (1, 7):
        pytest.skip(f"the ONNX parser of {trt.__name__} {trt.__version__} takes no plugins; use 1.7 or newer")
    try:
        ctypes.CDLL("libtensorrt_rtx.so")
    except OSError:
        pytest.fail("put a link libtensorrt_rtx.so to libtensorrt_rtx.so.1 into a folder of LD_LIBRARY_PATH")


# Of the cases, one for each choice of attributes and of tensors that are given: shapes are not in a node.
NODES = {str(node_attributes(case)): case for case in reversed(CASES)}.values()


@pytest.mark.parametrize(
    ("case", "dtypes"), [*((USUAL, row) for row in DTYPES), *((case, DTYPES[0]) for case in NODES)], ids=str
)
def test_exported_node_is_what_the_parser_looks_up(
    case: Case, dtypes: tuple[torch.dtype, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = usual(dtypes) if case is USUAL else exported(dtypes, case)
    onnx.checker.check_model(model, full_check=True)
    (node,) = [node for node in model.graph.node if node.op_type == NAME]
    assert node.domain == NAMESPACE
    assert NAMESPACE in {opset.domain for opset in model.opset_import}
    expected = {name: value.encode() if isinstance(value, str) else value for name, _, value in node_attributes(case)}
    expected |= {"plugin_version": VERSION.encode(), "plugin_namespace": NAMESPACE.encode()}
    assert {a.name: helper.get_attribute_value(a) for a in node.attribute} == expected
    made = []
    create_plugin = type(plugin.CREATOR).create_plugin

    def noted(creator: Any, *arguments: Any) -> Any:
        made.append(create_plugin(creator, *arguments))
        return made[-1]

    monkeypatch.setattr(type(plugin.CREATOR), "create_plugin", noted)
    parsed = Parsed(model)
    kept = {"padding": case.padding}
    # As text, which tells 1 from 1.0 and 0.0 from -0.0.
    assert str({name: getattr(made[0], name) for name in kept}) == str(kept), "the parser changed an attribute"
    types = [parsed.network.get_output(i).dtype for i in range(parsed.network.num_outputs)]
    results = reference(arguments(case, dtypes))[: len(types)]
    assert types == [TENSORRT_DTYPES[t.dtype] for t in results]


@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_tensorrt_computes_the_shapes_and_dtypes_of_the_op(case: Case, dtypes: tuple[torch.dtype, ...]) -> None:
    (layer,) = Parsed(by_hand(case, dtypes)).plugin_layers()
    for i, expected in enumerate(reference(arguments(case, dtypes))):
        output = layer.get_output(i)
        assert tuple(output.shape) == tuple(expected.shape)
        assert output.dtype == TENSORRT_DTYPES[expected.dtype]


@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
def test_engine_is_built_with_the_plugin_inside(
    dtypes: tuple[torch.dtype, ...], record_property: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = Parsed(usual(dtypes))
    (layer,) = parsed.plugin_layers()
    serialised = []
    get_fields = plugin.CircularPadPlugin.get_fields_to_serialize

    def noted(subject: Any) -> Any:
        serialised.append(subject)
        return get_fields(subject)

    monkeypatch.setattr(plugin.CircularPadPlugin, "get_fields_to_serialize", noted)
    plan = parsed.built()
    assert serialised, "the plugin was not written into the engine"
    assert NAME.encode() in bytes(plan), "the engine does not name the plugin"
    record_property("library", f"{trt.__name__} {trt.__version__}")
    record_property("engine_bytes", plan.nbytes)
    record_property("plugin_layer", layer.name)
