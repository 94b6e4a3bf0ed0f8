"""What there is to verify: a spec, whose package is rendered first, or the folder of a package, taken as it is."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from trtplug import fileset
from trtplug.problems import Problem, SpecError
from trtplug.spec import Form, load

# What lies in a package's folder and is no part of it.
_LITTER = (".git", ".venv", "__pycache__", ".*_cache", "build", "dist")


@dataclass(frozen=True)
class Target:
    """One thing to verify; `given` is what the user named, `files` the rendered package unless there is a folder."""

    given: str
    form: Form
    import_name: str
    files: fileset.FileSet | None

    def write(self, tree: Path) -> None:
        """Put the package's source tree there."""
        if self.files is not None:
            fileset.apply(fileset.plan(self.files, tree))
        else:
            shutil.copytree(self.given, tree, ignore=shutil.ignore_patterns(*_LITTER))


def target(given: Path) -> Target:
    """Read a spec or a package; raises SpecError with every problem of the spec."""
    return _package(given) if given.is_dir() else _spec(given)


def _spec(path: Path) -> Target:
    # Here, because a package's folder needs neither.
    from trtplug.render import render
    from trtplug.resolve import resolve

    spec = load(path)
    op = resolve(spec)
    return Target(str(path), spec.form, op.names.import_name, render(op))


def _package(folder: Path) -> Target:
    specs = sorted(folder.glob("src/*/spec.yaml"))
    if len(specs) != 1 or not (folder / "pyproject.toml").is_file():
        message = "no package of trtplug: it has a pyproject.toml and one src/*/spec.yaml; name a spec or such a folder"
        raise SpecError((Problem(str(folder), 1, 1, message),))
    spec = load(specs[0])
    if spec.problems:
        raise SpecError(spec.problems)
    return Target(str(folder), spec.form, specs[0].parent.name, None)
