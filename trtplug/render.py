"""Package to FileSet: fills each template of the manifests with its view, and has the result laid out."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import jinja2

from trtplug import resources
from trtplug.fileset import FileSet
from trtplug.layout import laid_out
from trtplug.model import Op, Package
from trtplug.views import generated, verbatim


def render(op: Op) -> FileSet:
    """The whole package of an operator, in memory."""
    return render_package(Package.of(op))


def render_package(package: Package) -> FileSet:
    """A whole package, in memory."""
    environment = _environment()
    files = {path: environment.get_template(template).render(view) for path, template, view in generated(package)}
    cache = _compiled_templates()
    return FileSet.of(laid_out({**files, **verbatim(package)}, Path(cache.directory) if cache else None))


@lru_cache(maxsize=1)
def _compiled_templates() -> jinja2.FileSystemBytecodeCache | None:
    """Jinja2's folder for what it compiles, in the temporary folder and closed to other users; None if it has none."""
    try:
        return jinja2.FileSystemBytecodeCache()
    except (OSError, RuntimeError):
        return None


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(resources.templates() / "package"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        bytecode_cache=_compiled_templates(),
    )
