"""The manifests: which files a package has, and for each the template and the view that fill it.

A new output file is a template, a view and one line here: in the manifest of the package, where it stands once; in that
of an op, where each op has its own, or of the ops in which kernels run, or the reference; in that of several ops, where
it stands for those of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeAlias

from trtplug.model import Body, Op, Package, Registered
from trtplug.plugin_api import PluginApi
from trtplug.views import (
    calls,
    converter,
    engines,
    launching,
    onnx,
    plugin,
    plugin_v2,
    project,
    proof,
    proof_v2,
    registered,
    shapes,
    torch_op,
)

# Output path (with the places that project.py names in braces): template below templates/package, and view.
OfPackage: TypeAlias = Mapping[str, tuple[str, Callable[[Package], Mapping[str, object]]]]
OfOp: TypeAlias = Mapping[str, tuple[str, Callable[[Op], Mapping[str, object]]]]

PACKAGE: OfPackage = MappingProxyType(
    {
        "pyproject.toml": ("pyproject.toml.jinja", project.pyproject),
        "README.md": ("README.md.jinja", project.readme),
        ".github/workflows/verify.yml": ("verify.yml.jinja", project.nothing),
        "src/{package}/_tensorrt.py": ("src/_tensorrt.py.jinja", shapes.tensorrt),
        "tests/conftest.py": ("tests/conftest.py.jinja", project.conftest),
    }
)

# Of plugins that the package brings, and of those of them that are an IPluginV3.
PLUGINS: OfPackage = MappingProxyType({"src/{package}/_dims.py": ("src/_dims.py.jinja", shapes.dims)})
NETWORKS: OfPackage = MappingProxyType({"src/{package}/_network.py": ("src/_network.py.jinja", project.networks)})

OP: OfOp = MappingProxyType(
    {
        "{source}/__init__.py": ("src/__init__.py.jinja", shapes.init),
        "{source}/_names.py": ("src/_names.py.jinja", shapes.plugin_names),
        "{source}/_shapes.py": ("src/_shapes.py.jinja", shapes.shapes),
        "{source}/plugin.py": ("src/plugin.py.jinja", plugin.plugin),
        "{source}/converter.py": ("src/converter.py.jinja", converter.converter),
        "{source}/onnx.py": ("src/onnx.py.jinja", onnx.onnx),
        "{tests}/calls.py": ("tests/calls.py.jinja", calls.calls),
        "{tests}/run_engine.py": ("tests/run_engine.py.jinja", engines.run_engine),
        "{tests}/fresh_process.py": ("tests/fresh_process.py.jinja", engines.fresh_process),
        "{tests}/in_torch_tensorrt.py": ("tests/in_torch_tensorrt.py.jinja", engines.in_torch_tensorrt),
        "{tests}/test_parity.py": ("tests/test_parity.py.jinja", proof.parity),
        "{tests}/test_opcheck.py": ("tests/test_opcheck.py.jinja", proof.opcheck),
        "{tests}/test_onnx.py": ("tests/test_onnx.py.jinja", proof.onnx_test),
        "{tests}/test_converter.py": ("tests/test_converter.py.jinja", engines.converter_test),
        "{tests}/test_engine.py": ("tests/test_engine.py.jinja", engines.engine_test),
    }
)

BODY: Mapping[Body, OfOp] = MappingProxyType(
    {
        Body.TRITON: {
            "{source}/_launch.py": ("src/_launch.py.jinja", launching.launch),
            "{source}/op.py": ("src/op.py.jinja", torch_op.torch_op),
            "{tests}/compile_kernel.py": ("tests/compile_kernel.py.jinja", proof.compile_kernel),
            "{tests}/test_compile.py": ("tests/test_compile.py.jinja", proof.compile_test),
            "{tests}/test_plugin.py": ("tests/test_plugin.py.jinja", proof.plugin_test),
        },
        Body.TORCH: {
            "{source}/_launch.py": ("src/_launch_torch.py.jinja", launching.torch_launch),
            "{source}/op.py": ("src/op_torch.py.jinja", torch_op.torch_op),
            "{tests}/test_plugin.py": ("tests/test_plugin_torch.py.jinja", proof.plugin_test),
        },
    }
)

# What stands in their places where TensorRT has the plugin already.
REGISTERED: OfOp = MappingProxyType(
    {
        "{source}/_fields.py": ("src/_fields.py.jinja", registered.fields),
        "{source}/plugin.py": ("src/plugin_registered.py.jinja", registered.plugin),
        "{source}/converter.py": ("src/converter_registered.py.jinja", registered.converter),
        "{source}/onnx.py": ("src/onnx_registered.py.jinja", registered.onnx),
        "{tests}/test_plugin.py": ("tests/test_plugin_registered.py.jinja", registered.plugin_test),
        "{tests}/test_onnx.py": ("tests/test_onnx_registered.py.jinja", proof.onnx_test),
        "{tests}/run_engine.py": ("tests/run_engine_registered.py.jinja", engines.run_engine),
        "{tests}/test_engine.py": ("tests/test_engine_registered.py.jinja", registered.engine_test),
    }
)

# What an op whose plugin the package brings has besides, or in their places, by its interface.
OWN: Mapping[PluginApi, OfOp] = MappingProxyType(
    {
        PluginApi.V3: {"{tests}/convert_without_gpu.py": ("tests/convert_without_gpu.py.jinja", engines.without_gpu)},
        PluginApi.V2: {
            "{source}/plugin.py": ("src/plugin_v2.py.jinja", plugin_v2.plugin_v2),
            "{tests}/carrier.py": ("tests/carrier.py.jinja", proof_v2.carrier),
            "{tests}/run_engine.py": ("tests/run_engine_v2.py.jinja", engines.run_engine),
            "{tests}/test_plugin.py": ("tests/test_plugin_v2.py.jinja", proof_v2.plugin_test),
            "{tests}/test_onnx.py": ("tests/test_onnx_v2.py.jinja", proof.onnx_test),
            "{tests}/test_engine.py": ("tests/test_engine_v2.py.jinja", engines.engine_test),
        },
    }
)

SEVERAL: OfPackage = MappingProxyType(
    {
        "src/{package}/__init__.py": ("src/several/__init__.py.jinja", project.parts),
        "src/{package}/plugin.py": ("src/several/plugin.py.jinja", project.parts),
        "src/{package}/converter.py": ("src/several/converter.py.jinja", project.parts),
        "src/{package}/onnx.py": ("src/several/onnx.py.jinja", project.parts),
    }
)


def generated(package: Package) -> Iterator[tuple[str, str, Mapping[str, object]]]:
    """Every file that is filled in: its path, its template, and what the template places."""
    own, v3 = any(map(package.brings, PluginApi)), package.brings(PluginApi.V3)
    for manifest in (PACKAGE, *[PLUGINS] * own, *[NETWORKS] * v3, *[SEVERAL] * package.several):
        for path, (template, view) in manifest.items():
            yield path.format(package=package.import_name), template, view(package)
    for op in package.ops:
        places = {"source": project.source(op.names), "tests": project.tests(op.names)}
        files = {**OP, **BODY[op.body], **(REGISTERED if isinstance(op.plugin, Registered) else OWN[op.plugin])}
        for path, (template, view_of_op) in files.items():
            yield path.format(**places), template, view_of_op(op)


def verbatim(package: Package) -> Mapping[str, str]:
    """Every file that is as it is: the user's own, and empty ones that mark a folder."""
    files = {f"src/{package.import_name}/py.typed": "", "tests/__init__.py": ""}
    for op in package.ops:
        files |= {f"{project.tests(op.names)}/__init__.py": "", **project.verbatim(op)}
    return files
