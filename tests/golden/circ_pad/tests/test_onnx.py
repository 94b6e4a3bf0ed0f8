"""ONNX: the exported node, and a real TensorRT engine that parser and builder make with the plugin in it."""

import ctypes
from typing import Any

import onnx
import pytest
import torch
from onnx import AttributeProto, TensorProto, helper

from calls import CASES, DTYPES, DYNAMIC, LEAST, MOST, OP, USUAL, Case, arguments, reference
from trtplug_circular_pad import plugin
from trtplug_circular_pad._names import NAME, NAMESPACE, VERSION
from trtplug_circular_pad._tensorrt import TENSORRT_DTYPES, trt
from trtplug_circular_pad.onnx import SCHEMA, TRANSLATIONS, circular_pad

ELEMENTS = {
    torch.float32: TensorProto.FLOAT,
    torch.float16: TensorProto.FLOAT16,
    torch.bfloat16: TensorProto.BFLOAT16,
}


class Model(torch.nn.Module):
    """The op alone, its attributes those of a case."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        self.case = case

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Calls the op as a user's model does."""
        result: torch.Tensor = OP(x, list(self.case.padding))
        return result


def exported(dtypes: tuple[torch.dtype, ...], case: Case = USUAL) -> onnx.ModelProto:
    """The model as torch.onnx.export writes it, of the usual case with the dynamic dimensions of the profile."""
    tensors = tuple(value for value in arguments(case, dtypes) if isinstance(value, torch.Tensor))
    shapes: dict[str, dict[int, Any]] = {"x": {}}
    for tensor, dimension, _, _ in DYNAMIC if case is USUAL else ():
        shapes[tensor][dimension] = torch.export.Dim.DYNAMIC
    program = torch.onnx.export(
        Model(case).eval(),
        tensors,
        dynamo=True,
        dynamic_shapes=shapes,
        custom_translation_table=TRANSLATIONS,
        verbose=False,
    )
    assert program is not None
    return program.model_proto


def by_hand(case: Case, dtypes: tuple[torch.dtype, ...]) -> onnx.ModelProto:
    """A model of the node alone, at the static shapes of a case."""
    call = arguments(case, dtypes, device=torch.device("cpu"))
    tensors = [value for value in call if isinstance(value, torch.Tensor)]
    inputs = [
        helper.make_tensor_value_info(i.name, ELEMENTS[t.dtype], t.shape)
        for i, t in zip(SCHEMA.inputs, tensors, strict=True)
    ]
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
    node.attribute.append(helper.make_attribute("padding", list(case.padding), attr_type=AttributeProto.INTS))
    graph = helper.make_graph([node], "circular_pad", inputs, outputs)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(NAMESPACE, 1)], ir_version=9
    )


class Parsed:
    """A network parsed from a model, and what must outlive it."""

    def __init__(self, model: onnx.ModelProto) -> None:
        if trt.__name__ == "tensorrt_rtx":
            _find_library_of_parser()
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


def _find_library_of_parser() -> None:
    """TensorRT-RTX's parser opens this library, which its wheel has under another name, and aborts without it."""
    try:
        ctypes.CDLL("libtensorrt_rtx.so")
    except OSError:
        pytest.fail("put a link libtensorrt_rtx.so to libtensorrt_rtx.so.1 into a folder of LD_LIBRARY_PATH")


@pytest.mark.parametrize(
    ("case", "dtypes"), [*((USUAL, row) for row in DTYPES), *((case, DTYPES[0]) for case in CASES)], ids=str
)
def test_exported_node_is_what_the_parser_looks_up(case: Case, dtypes: tuple[torch.dtype, ...]) -> None:
    model = exported(dtypes, case)
    onnx.checker.check_model(model, full_check=True)
    (node,) = [node for node in model.graph.node if node.op_type == NAME]
    assert node.domain == NAMESPACE
    assert NAMESPACE in {opset.domain for opset in model.opset_import}
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    assert attributes == {
        "padding": list(case.padding),
        "plugin_version": VERSION.encode(),
        "plugin_namespace": NAMESPACE.encode(),
    }


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2**40 + 3])
def test_padding_that_onnx_would_change_is_refused(value: int) -> None:
    with pytest.raises(ValueError, match="padding"):
        circular_pad(x=None, padding=[value])


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
    parsed = Parsed(exported(dtypes))
    (layer,) = parsed.plugin_layers()
    config, profile = parsed.builder.create_builder_config(), parsed.builder.create_optimization_profile()
    for i in range(parsed.network.num_inputs):
        tensor = parsed.network.get_input(i)
        sizes = [getattr(case, f"{tensor.name}") for case in (LEAST, USUAL, MOST)]
        assert [d == -1 for d in tensor.shape] == [
            (tensor.name, d) in {(name, dimension) for name, dimension, _, _ in DYNAMIC} for d in range(len(sizes[0]))
        ]
        profile.set_shape(tensor.name, *sizes)
    config.add_optimization_profile(profile)
    serialised = []
    get_fields = plugin.CircularPadPlugin.get_fields_to_serialize

    def noted(subject: Any) -> Any:
        serialised.append(subject)
        return get_fields(subject)

    monkeypatch.setattr(plugin.CircularPadPlugin, "get_fields_to_serialize", noted)
    plan = parsed.builder.build_serialized_network(parsed.network, config)
    assert plan is not None, "the builder refused the network; its log says why"
    assert serialised, "the plugin was not written into the engine"
    assert NAME.encode() in bytes(plan), "the engine does not name the plugin"
    record_property("library", f"{trt.__name__} {trt.__version__}")
    record_property("engine_bytes", plan.nbytes)
    record_property("plugin_layer", layer.name)
