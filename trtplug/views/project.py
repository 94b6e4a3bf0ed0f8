"""Views of what surrounds the code of a package: pyproject, README, workflow, its own modules, and the user's files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TypedDict

from trtplug import __version__, cases
from trtplug.model import Attribute, AttributeValue, Body, Op, Package, Registered, Tensor
from trtplug.names import Names
from trtplug.plugin_api import PluginApi
from trtplug.torch_schema import Base
from trtplug.views import facts, spelling


def source(of: Names) -> str:
    """The folder of an op's modules."""
    return f"src/{of.import_name.replace('.', '/')}"


def tests(of: Names) -> str:
    """The folder of an op's tests."""
    return f"tests/{of.part}" if of.part else "tests"


def verbatim(op: Op) -> Mapping[str, str]:
    """The user's own files, as they are."""
    files = {
        f"{source(op.names)}/{facts.code_module(op)}.py": op.code.text,
        f"{source(op.names)}/spec.yaml": op.spec_text,
    }
    files |= {f"{source(op.names)}/{helper.name}": helper.text for helper in op.helpers}
    if op.reference.name != op.code.name:
        files[f"{tests(op.names)}/reference_file.py"] = op.reference.text
    return files


class PyProject(TypedDict):
    distribution: str
    distribution_name: str
    version: str
    summary: str
    import_name: str
    verbatim_files: tuple[str, ...]
    verbatim_patterns: tuple[str, ...]
    verbatim_modules: tuple[str, ...]
    kernels: bool
    torch: str
    tensorrt: str


def pyproject(package: Package) -> PyProject:
    files = [file for op in package.ops for file in verbatim(op) if file.endswith(".py")]
    return PyProject(
        distribution=_toml(package.distribution),
        distribution_name=package.distribution,
        version=_toml(package.version),
        summary=_toml(package.summary),
        import_name=package.import_name,
        verbatim_files=tuple(map(_toml, files)),
        verbatim_patterns=tuple(f"'^{re.escape(file)}$'" for file in files),
        verbatim_modules=tuple(
            _toml(file.removeprefix("src/").removesuffix(".py").replace("/", ".")) for file in files
        ),
        kernels=_has_kernels(package),
        torch="2.7" if any(op.written for op in package.ops) else "2.6",  # which tells that it is exporting
        tensorrt="10.3,<11" if package.brings(PluginApi.V2) else "10.3",
    )


def _has_kernels(package: Package) -> bool:
    return any(op.body is Body.TRITON for op in package.ops)


def _toml(text: str) -> str:
    """A basic string of TOML."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


_BODY: Mapping[Body, str] = {
    Body.TRITON: "as a Triton kernel, and the same kernel as a TensorRT plugin",
    Body.TORCH: "in PyTorch, and the same code as a TensorRT plugin",
}
_REGISTERED = "in PyTorch, for which TensorRT has a plugin already"


class ReadmeOp(TypedDict):
    namespace: str
    op: str
    summary: str
    schema: str
    plugin: str
    source: str
    example: str
    body: str
    result: str


class Written(TypedDict):
    """An op that writes to arguments."""

    op: str
    functional: str
    tensors: str


class Readme(TypedDict):
    distribution: str
    summary: str
    trtplug_version: str
    import_name: str
    several: bool
    kernels: bool
    v3: bool
    v2: bool
    own: bool
    registered: tuple[str, ...]
    ops: tuple[ReadmeOp, ...]
    written: tuple[Written, ...]


def readme(package: Package) -> Readme:
    return Readme(
        distribution=package.distribution,
        summary=package.summary,
        trtplug_version=__version__,
        import_name=package.import_name,
        several=package.several,
        kernels=_has_kernels(package),
        v3=package.brings(PluginApi.V3),
        v2=package.brings(PluginApi.V2),
        own=any(map(package.brings, PluginApi)),
        registered=tuple(f"{op.names.import_name}.plugin" for op in package.ops if isinstance(op.plugin, Registered)),
        ops=tuple(map(_readme_op, package.ops)),
        written=tuple(
            Written(
                op=op.names.op,
                functional=op.names.functional,
                tensors=" and ".join(f"`{tensor.name}`" for tensor in op.written),
            )
            for op in package.ops
            if op.written
        ),
    )


def _readme_op(op: Op) -> ReadmeOp:
    values = cases.attribute_values(op, op.cases[0])
    return ReadmeOp(
        namespace=op.names.namespace,
        op=op.names.op,
        summary=op.summary,
        schema=op.schema,
        plugin=_plugin(op),
        source=source(op.names),
        body=_REGISTERED if isinstance(op.plugin, Registered) else _BODY[op.body],
        result="" if not op.outputs else "result = ",
        example=spelling.call(op, lambda a: a.name if isinstance(a, Tensor) else _shown(a, values[a.name])),
    )


def _plugin(op: Op) -> str:
    """The plugin as TensorRT's registry knows it."""
    name, version, namespace = facts.registry_key(op)
    interface = ", an `IPluginV2DynamicExt`" * (op.plugin is PluginApi.V2)
    return f"`{name}`, version {version}, {f'namespace `{namespace}`' if namespace else 'no namespace'}{interface}"


def _shown(attribute: Attribute, value: AttributeValue) -> str:
    return f"torch.{value}" if attribute.base is Base.SCALARTYPE and value else spelling.literal(value)


class Nothing(TypedDict):
    pass


class Conftest(TypedDict):
    kernels: bool


def conftest(package: Package) -> Conftest:
    return Conftest(kernels=_has_kernels(package))


class Networks(TypedDict):
    parsed_since: str
    parsed_release: str


def networks(package: Package) -> Networks:
    return Networks(parsed_since=str(facts.PARSED_SINCE), parsed_release=facts.PARSED_RELEASE)


def nothing(package: Package) -> Nothing:
    """The view of a file that is the same in all packages."""
    return Nothing()


_PREPARES = {PluginApi.V3: "on_shape_change", PluginApi.V2: "configure_plugin"}


class Parts(TypedDict):
    ops: tuple[str, ...]
    own: tuple[str, ...]
    registered: tuple[str, ...]
    written: tuple[str, ...]
    qualified: tuple[str, ...]
    prepares: str


def parts(package: Package) -> Parts:
    """The view of each module that stands for those of all ops."""
    ops = sorted(package.ops, key=lambda op: _natural(op.names.op))
    return Parts(
        ops=tuple(op.names.op for op in ops),
        own=tuple(op.names.op for op in ops if isinstance(op.plugin, PluginApi)),
        registered=tuple(op.names.op for op in ops if isinstance(op.plugin, Registered)),
        written=tuple(op.names.op for op in ops if op.written),
        qualified=tuple(f"torch.ops.{op.names.namespace}.{op.names.op}" for op in ops),
        prepares=", ".join(method for api, method in _PREPARES.items() if package.brings(api)),
    )


def _natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """A key that sorts as ruff wants `__all__` sorted: x2 before x10."""
    pieces: Iterable[str] = re.findall(r"\d+|\D+", name)
    return tuple((not piece.isdigit(), int(piece) if piece.isdigit() else 0, piece) for piece in pieces)
