"""What a process sees that imports the plugins of several ops, from one package or from two; prints it as JSON.

``python in_one_process.py imports MODULE...`` imports the modules in this order, twice, and then reloads them.
``python in_one_process.py engine PACKAGE...`` exports a model of the ops of tests/specs/several, one of them twice, and
builds an engine from it, without a GPU.
"""

from __future__ import annotations

import importlib
import json
import struct
import sys
from typing import Any

import torch

FIRST, SECOND, BY = 2.125, -0.375, 2**40 + 3


class Model(torch.nn.Module):
    """Scale twice, with other attributes each time, and shift between the two."""

    def forward(self, x: torch.Tensor) -> Any:
        """Calls the ops as a user's model does."""
        ops = torch.ops.test_ops
        return ops.scale(ops.shift(ops.scale(x, FIRST), BY), SECOND, "negative")


def imports(*modules: str) -> dict[str, Any]:
    """What the imports registered, and whether a reload registered anything anew."""
    before = [importlib.import_module(module) for module in (*modules, *modules)]
    trt = importlib.import_module("tensorrt_rtx")
    creators = {id(creator) for creator in _creators(trt)}
    for module in before[: len(modules)]:
        importlib.reload(module)
    return {
        "creators": sorted(creator.name for creator in _creators(trt)),
        "versions": {creator.name: creator.plugin_version for creator in _creators(trt)},
        "same": creators == {id(creator) for creator in _creators(trt)},
        "ops": sorted(name for name in ("scale", "shift", "swap") if hasattr(torch.ops.test_ops, name)),
    }


def _creators(trt: Any) -> list[Any]:
    return [creator for creator in trt.get_plugin_registry().all_creators if creator.plugin_namespace == "test_ops"]


def engine(*packages: str) -> dict[str, Any]:
    """The plugins of the network, the fields that each wrote into the engine, and whether the engine holds them."""
    import tensorrt_rtx as trt

    plugins = [importlib.import_module(f"{package}.plugin") for package in packages]
    translations: dict[Any, Any] = {}
    for package in packages:
        translations |= importlib.import_module(f"{package}.onnx").TRANSLATIONS
    program = torch.onnx.export(
        Model().eval(),
        (torch.zeros(4, 33),),
        dynamo=True,
        dynamic_shapes=({0: torch.export.Dim.DYNAMIC},),
        custom_translation_table=translations,
        verbose=False,
    )
    assert program is not None
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(network, logger)
    assert parser.parse(program.model_proto.SerializeToString()), parser.get_error(0).desc()
    layers = [network.get_layer(i) for i in range(network.num_layers)]
    config, profile = builder.create_builder_config(), builder.create_optimization_profile()
    profile.set_shape(network.get_input(0).name, (1, 33), (4, 33), (8, 33))
    config.add_optimization_profile(profile)
    written: list[dict[str, Any]] = []
    for creator in _creators(trt):
        _note(sys.modules[type(creator).__module__], written)
    plan = bytes(builder.build_serialized_network(network, config))
    return {
        "packages": [plugin.__name__ for plugin in plugins],
        "translations": sorted(str(op) for op in translations),
        "layers": sum(layer.type == trt.LayerType.PLUGIN_V3 for layer in layers),
        "written": sorted(written, key=json.dumps),
        "floats": [struct.pack("<d", value) in plan for value in (FIRST, SECOND)],
        "ints": struct.pack("<q", BY) in plan,
        "names": [name in plan for name in (b"scale", b"shift")],
    }


def _note(plugin: Any, written: list[dict[str, Any]]) -> None:
    """Has the plugin class of a module note what each of its plugins writes."""
    kind: Any
    (kind,) = (value for name, value in vars(plugin).items() if name.endswith("Plugin") and isinstance(value, type))
    get_fields = kind.get_fields_to_serialize

    def noted(subject: Any) -> Any:
        fields = get_fields(subject)
        values = {field.name: torch.tensor(field.data).tolist() for field in fields}
        if (found := {"plugin": subject.plugin_name, **values}) not in written:
            written.append(found)
        return fields

    kind.get_fields_to_serialize = noted


if __name__ == "__main__":
    print(json.dumps({"imports": imports, "engine": engine}[sys.argv[1]](*sys.argv[2:])))
