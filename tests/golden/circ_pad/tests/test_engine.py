"""A TensorRT engine with the plugin in it, saved, loaded in a fresh process, and run. Needs a GPU."""

from pathlib import Path
from typing import Any

import pytest
import torch

from trtplug_circular_pad import plugin
from trtplug_circular_pad._tensorrt import TENSORRT_DTYPES, trt

from .calls import DTYPES, LEAST, MOST, TENSORS, USUAL, arguments, assert_close, random_case, reference, tensors
from .fresh_process import outputs_of_engine
from .test_onnx import Parsed, usual

if not torch.cuda.is_available():
    pytest.skip("needs a CUDA device", allow_module_level=True)

OUTPUTS = ("y",)


def built(dtypes: tuple[torch.dtype, ...]) -> bytes:
    """The engine: by the network API where it takes plugins, by the ONNX parser elsewhere."""
    if hasattr(trt.INetworkDefinition, "add_plugin_v3"):
        builder = trt.Builder(trt.Logger(trt.Logger.WARNING))
        network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
        inputs = []
        for name, dtype in zip(TENSORS, dtypes, strict=True):
            sizes = zip(getattr(LEAST, name), getattr(MOST, name), strict=True)
            shape = [least if least == most else -1 for least, most in sizes]
            inputs.append(network.add_input(name, TENSORRT_DTYPES[dtype], shape))
        layer = network.add_plugin_v3(inputs, [], plugin.CircularPadPlugin(padding=USUAL.padding))
        for i, name in enumerate(OUTPUTS):
            layer.get_output(i).name = name
            network.mark_output(layer.get_output(i))
    else:
        parsed = Parsed(usual(dtypes))
        builder, network = parsed.builder, parsed.network
        assert len(parsed.plugin_layers()) == 1
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    for i in range(network.num_inputs):
        name = network.get_input(i).name
        profile.set_shape(name, getattr(LEAST, name), getattr(USUAL, name), getattr(MOST, name))
    config.add_optimization_profile(profile)
    plan = builder.build_serialized_network(network, config)
    assert plan is not None, "the builder refused the network; its log says why"
    return bytes(plan)


@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
def test_engine_equals_reference_in_a_fresh_process(
    dtypes: tuple[torch.dtype, ...], tmp_path: Path, record_property: Any
) -> None:
    calls = [arguments(case, dtypes) for case in (USUAL, LEAST, MOST, random_case())]
    results = outputs_of_engine(built(dtypes), [tensors(call) for call in calls], tmp_path)
    for call, result in zip(calls, results, strict=True):
        expected = tuple(t.cpu() for t in reference(call))
        actual = tuple(result.values())
        assert_close(actual, expected, dtypes)
    record_property("library", f"{trt.__name__} {trt.__version__}")
