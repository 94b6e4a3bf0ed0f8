"""Views of what surrounds the code of a package: pyproject, README, workflow, and the user's own files."""

from __future__ import annotations

from typing import TypedDict

from trtplug import __version__, cases
from trtplug.model import Op, Tensor
from trtplug.views import spelling
from trtplug.views.spelling import names


class PyProject(TypedDict):
    distribution: str
    distribution_name: str
    version: str
    summary: str
    import_name: str


def pyproject(op: Op) -> PyProject:
    return PyProject(
        distribution=_toml(op.names.distribution),
        distribution_name=op.names.distribution,
        version=_toml(op.package_version),
        summary=_toml(op.summary),
        import_name=op.names.import_name,
    )


def _toml(text: str) -> str:
    """A basic string of TOML."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class Readme(TypedDict):
    distribution: str
    summary: str
    namespace: str
    op: str
    schema: str
    version: str
    trtplug_version: str
    import_name: str
    example: str


def readme(op: Op) -> Readme:
    values = cases.attribute_values(op, op.cases[0])
    return Readme(
        distribution=op.names.distribution,
        summary=op.summary,
        namespace=op.names.namespace,
        op=op.names.op,
        schema=op.schema,
        version=op.plugin_version,
        trtplug_version=__version__,
        import_name=op.names.import_name,
        example=names(
            f"{a.name}={spelling.literal(values[a.name])}"
            if a.argument.keyword_only and not isinstance(a, Tensor)
            else a.name
            if isinstance(a, Tensor)
            else spelling.literal(values[a.name])
            for a in op.arguments
        ),
    )


class Workflow(TypedDict):
    pass


def workflow(op: Op) -> Workflow:
    return Workflow()
