"""Op to FileSet: fills each template of the manifest with its view, then has ruff sort imports and lay out the code."""

from __future__ import annotations

import subprocess
import tempfile
from functools import lru_cache
from pathlib import Path

import jinja2
from ruff.__main__ import find_ruff_bin

from trtplug import resources
from trtplug.fileset import FileSet
from trtplug.model import Op
from trtplug.views import MANIFEST, verbatim


def render(op: Op) -> FileSet:
    """The whole package of an operator, in memory."""
    environment = _environment()
    generated = {
        path.format(import_name=op.names.import_name): environment.get_template(template).render(view(op))
        for path, (template, view) in MANIFEST.items()
    }
    return FileSet.of(_laid_out({**generated, **verbatim(op)}))


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(resources.templates() / "package"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
        # Compiling templates is most of rendering; jinja2 keeps the result in the user's temporary folder.
        bytecode_cache=jinja2.FileSystemBytecodeCache(),
    )


def _laid_out(files: dict[str, str]) -> dict[str, str]:
    """The files as ruff lays them out, by the settings that the package itself carries; unused imports go."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        ruff = find_ruff_bin()
        for command in (["check", "--fix", "--exit-zero", "--select", "F401,I"], ["format"]):
            done = subprocess.run([ruff, *command, "--no-cache", folder], capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(
                    f"generated code is not valid Python; this is a fault of trtplug:\n{done.stdout}{done.stderr}"
                )
        return {path: Path(folder, path).read_text(encoding="utf-8") for path in files}
