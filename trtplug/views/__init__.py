"""The manifest: which files a package has, and for each the template and the view that fill it.

A new output file is a template, a view and one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from trtplug.model import Op
from trtplug.views import project, proof, runtime

# Output path (with the names of the op in braces): template below templates/package, and view.
MANIFEST: Mapping[str, tuple[str, Callable[[Op], Mapping[str, object]]]] = MappingProxyType(
    {
        "pyproject.toml": ("pyproject.toml.jinja", project.pyproject),
        "README.md": ("README.md.jinja", project.readme),
        ".github/workflows/verify.yml": ("verify.yml.jinja", project.workflow),
        "src/{import_name}/__init__.py": ("src/__init__.py.jinja", runtime.init),
        "src/{import_name}/_names.py": ("src/_names.py.jinja", runtime.plugin_names),
        "src/{import_name}/_shapes.py": ("src/_shapes.py.jinja", runtime.shapes),
        "src/{import_name}/_launch.py": ("src/_launch.py.jinja", runtime.launch),
        "src/{import_name}/_tensorrt.py": ("src/_tensorrt.py.jinja", runtime.tensorrt),
        "src/{import_name}/_dims.py": ("src/_dims.py.jinja", runtime.init),
        "src/{import_name}/op.py": ("src/op.py.jinja", runtime.torch_op),
        "src/{import_name}/plugin.py": ("src/plugin.py.jinja", runtime.plugin),
        "src/{import_name}/converter.py": ("src/converter.py.jinja", runtime.converter),
        "src/{import_name}/onnx.py": ("src/onnx.py.jinja", runtime.onnx),
        "tests/conftest.py": ("tests/conftest.py.jinja", proof.conftest),
        "tests/calls.py": ("tests/calls.py.jinja", proof.calls),
        "tests/compile_kernel.py": ("tests/compile_kernel.py.jinja", proof.compile_kernel),
        "tests/run_engine.py": ("tests/run_engine.py.jinja", proof.run_engine),
        "tests/test_parity.py": ("tests/test_parity.py.jinja", proof.parity),
        "tests/test_opcheck.py": ("tests/test_opcheck.py.jinja", proof.opcheck),
        "tests/test_compile.py": ("tests/test_compile.py.jinja", proof.compile_test),
        "tests/test_plugin.py": ("tests/test_plugin.py.jinja", proof.plugin_test),
        "tests/test_onnx.py": ("tests/test_onnx.py.jinja", proof.onnx_test),
        "tests/test_converter.py": ("tests/test_converter.py.jinja", proof.converter_test),
        "tests/test_engine.py": ("tests/test_engine.py.jinja", proof.engine_test),
    }
)


def verbatim(op: Op) -> Mapping[str, str]:
    """The user's own files, as they are."""
    package = f"src/{op.names.import_name}"
    files = {f"{package}/_kernel.py": op.kernel.text, f"{package}/spec.yaml": op.spec_text, f"{package}/py.typed": ""}
    if op.reference != op.kernel:
        files["tests/reference_file.py"] = op.reference.text
    return files
