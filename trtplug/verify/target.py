"""What there is to verify: specs, whose package is rendered first, or the folder of a package, taken as it is."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trtplug import fileset
from trtplug.plugin_api import PluginApi
from trtplug.problems import Problem, SpecError
from trtplug.spec import load

# What lies in a package's folder and is no part of it.
_LITTER = (".git", ".venv", "__pycache__", ".*_cache", "build", "dist")


@dataclass(frozen=True)
class Subject:
    """One op of a package: its file that holds the spec, its torch name and schema, and its modules and tests."""

    given: str
    name: str
    namespace: str
    schema: str
    import_name: str
    tests: str
    kernels: bool  # whether there are kernels to compile

    @property
    def qualified(self) -> str:
        """Torch's name of the op."""
        return f"{self.namespace}::{self.name}"


@dataclass(frozen=True)
class Target:
    """One package to verify; `given` is what the user named, `files` the rendered package unless there is a folder."""

    given: str
    import_name: str
    subjects: tuple[Subject, ...]
    files: fileset.FileSet | None

    @property
    def several(self) -> bool:
        """Whether each op is a part of the package, and none the whole."""
        return any(subject.import_name != self.import_name for subject in self.subjects)

    @property
    def name(self) -> str:
        """What people read: of one op its name."""
        return self.import_name if self.several else self.subjects[0].name

    def write(self, tree: Path) -> None:
        """Put the package's source tree there."""
        if self.files is not None:
            fileset.apply(fileset.plan(self.files, tree))
        else:
            shutil.copytree(self.given, tree, ignore=shutil.ignore_patterns(*_LITTER))


def targets(
    given: Sequence[Path], together: str | None = None, plugin_api: PluginApi | None = None
) -> tuple[Target, ...]:
    """Read specs and packages, or the specs of one package of that name; raises SpecError with every problem of all.

    `plugin_api` takes the place of what the specs say.
    """
    if together is not None:
        return _specs(given, together, plugin_api)
    found: list[Target] = []
    problems: list[Problem] = []
    for path in given:
        try:
            found += [_package(path)] if path.is_dir() else _specs([path], None, plugin_api)
        except SpecError as error:
            problems += error.problems
    if problems:
        raise SpecError(tuple(problems))
    return tuple(found)


def _specs(paths: Sequence[Path], together: str | None, plugin_api: PluginApi | None) -> tuple[Target, ...]:
    # Here, because a package's folder needs neither.
    from trtplug import package
    from trtplug.model import Body
    from trtplug.render import render_package
    from trtplug.views import project

    return tuple(
        Target(
            " ".join(map(str, paths)),
            found.import_name,
            tuple(
                Subject(
                    given=str(path),
                    name=op.names.op,
                    namespace=op.names.namespace,
                    schema=op.schema,
                    import_name=op.names.import_name,
                    tests=project.tests(op.names),
                    kernels=op.body is Body.TRITON,
                )
                for path, op in zip(paths, found.ops, strict=True)
            ),
            render_package(found),
        )
        for found in package.read(paths, together, plugin_api)
    )


def _package(folder: Path) -> Target:
    """A folder that `build` wrote: with a spec in src/*, or with one in each folder there."""
    alone, parts = sorted(folder.glob("src/*/spec.yaml")), sorted(folder.glob("src/*/*/spec.yaml"))
    files = alone or parts
    packages = {file.relative_to(folder / "src").parts[0] for file in files}
    if len(packages) != 1 or (alone and parts) or not (folder / "pyproject.toml").is_file():
        message = (
            "no package of trtplug: it has a pyproject.toml and one src/*/spec.yaml, or one in src/*/* for each op; "
            "name a spec or such a folder"
        )
        raise SpecError((Problem(str(folder), 1, 1, message),))
    specs = [load(file) for file in files]
    if problems := tuple(problem for spec in specs for problem in spec.problems):
        raise SpecError(problems)
    subjects = tuple(
        Subject(
            given=str(file),
            name=spec.form.name,
            namespace=spec.form.namespace,
            schema=spec.form.schema,
            import_name=".".join(file.parent.relative_to(folder / "src").parts),
            tests="tests" if alone else f"tests/{file.parent.name}",
            kernels=spec.form.kernel is not None,
        )
        for file, spec in zip(files, specs, strict=True)
    )
    return Target(str(folder), min(packages), subjects, None)
