"""Views of the generated tests that run engines: TensorRT's own, and those of Torch-TensorRT."""

from __future__ import annotations

from typing import TypedDict

from trtplug import trial
from trtplug.dtypes import TABLE
from trtplug.model import Op
from trtplug.plugin_api import PluginApi
from trtplug.views import calls, facts, spelling
from trtplug.views.spelling import names


class InTorchTensorRT(TypedDict):
    import_name: str
    package: str
    model_parameters: str
    tensor_names: str
    several_outputs: bool
    float8: bool
    only_float8: bool
    layer_types: str
    v3: bool
    scalars: bool
    writes: bool
    results: int
    other: str


def in_torch_tensorrt(op: Op) -> InTorchTensorRT:
    return InTorchTensorRT(
        import_name=op.names.import_name,
        package=op.names.package,
        model_parameters=calls.model_parameters(op),
        tensor_names=names(t.name for t in op.tensors),
        several_outputs=len(op.results) > 1,
        float8=facts.returns(op, "float8_e4m3fn"),
        only_float8=all(facts.may_be(op, output, "float8_e4m3fn") for output in op.results),
        layer_types=_layer_types(op),
        v3=op.plugin is PluginApi.V3,
        scalars=[] in trial.usual_shapes(op) or any(t.rank[0] == 0 for t in op.written),
        writes=bool(op.written),
        results=len(op.results),
        other=names(f"{a.name}={calls.frozen(a, value)}" for a, value in trial.other_attributes(op)),
    )


def _layer_types(op: Op) -> str:
    """The condition that a layer is one of the plugin: what TensorRT has already may be of either interface, and a V2
    plugin may sit in a V3 one.
    """
    if op.plugin is PluginApi.V3:
        return "== trt.LayerType.PLUGIN_V3"
    return "in (trt.LayerType.PLUGIN_V2, trt.LayerType.PLUGIN_V3)"


class ConverterTest(TypedDict):
    float8: bool
    import_name: str
    package: str
    writes: bool
    own: bool
    v3: bool
    add_plugin: str
    several_outputs: bool
    sizes: bool
    dynamic: bool
    other: str


def converter_test(op: Op) -> ConverterTest:
    return ConverterTest(
        float8=facts.returns(op, "float8_e4m3fn"),
        writes=bool(op.written),
        import_name=op.names.import_name,
        package=op.names.package,
        own=isinstance(op.plugin, PluginApi),
        v3=op.plugin is PluginApi.V3,
        add_plugin=facts.add_plugin(op),
        several_outputs=len(op.results) > 1,
        sizes=bool(op.sizes),
        dynamic=bool(op.profiles),
        other=names(a.name for a, _ in trial.other_attributes(op)),
    )


class WithoutGpu(TypedDict):
    pass


def without_gpu(op: Op) -> WithoutGpu:
    """The view of a file that is the same for all ops."""
    return WithoutGpu()


class FreshProcess(TypedDict):
    package: str


def fresh_process(op: Op) -> FreshProcess:
    return FreshProcess(package=op.names.package)


class RunEngine(TypedDict):
    import_name: str
    dtypes: str
    package: str


def run_engine(op: Op) -> RunEngine:
    more = {"BOOL": "torch.int8"} if facts.returns(op, "bool") else {}
    if TABLE["float32"] not in facts.used_dtypes(op):
        more["FLOAT"] = "torch.float32"  # what a model of Torch-TensorRT's returns
    added = names(f"trt.DataType.{name}: {dtype}" for name, dtype in more.items())
    return RunEngine(
        import_name=op.names.import_name,
        package=op.names.package,
        dtypes=f"{{**TORCH_DTYPES, {added}}}" if added else "TORCH_DTYPES",
    )


class EngineTest(TypedDict):
    import_name: str
    package: str
    plugin_class: str
    output_strings: str
    sizes: bool
    make_arguments: str
    bools: bool
    add_plugin: str


def engine_test(op: Op) -> EngineTest:
    return EngineTest(
        import_name=op.names.import_name,
        package=op.names.package,
        plugin_class=op.names.plugin_class,
        output_strings=spelling.row(spelling.quoted(o.name) for o in op.results),
        sizes=bool(op.sizes),
        make_arguments=_make_arguments(op),
        bools=facts.returns(op, "bool"),
        add_plugin=facts.add_plugin(op),
    )


def _make_arguments(op: Op) -> str:
    """The attributes of the usual case, for the plugin's class."""
    added = facts.added_values(op, "USUAL.")
    return names(f"{a.name}={added.get(a.name, f'USUAL.{a.name}')}" for a in facts.plugin_attributes(op))
