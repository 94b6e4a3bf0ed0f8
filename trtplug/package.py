"""Specs to packages: one for each op, or one for all of them, where what the specs say together must fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from trtplug import names
from trtplug.model import Op, Package
from trtplug.plugin_api import PluginApi
from trtplug.problems import Problem, SpecError
from trtplug.resolve import resolve
from trtplug.spec import Spec, load


def read(
    paths: Sequence[Path], together: str | None = None, plugin_api: PluginApi | None = None
) -> tuple[Package, ...]:
    """The packages of specs, or the one of that name which holds them all; raises SpecError with every problem of all.

    What a spec says of the name of its package holds for a package of its own, and not for one together with others.
    `plugin_api` takes the place of what the specs say.
    """
    specs: list[Spec] = []
    ops: list[Op] = []
    problems: list[Problem] = []
    for path in paths:
        try:
            specs.append(load(path))
            ops.append(resolve(specs[-1], plugin_api))
        except SpecError as error:
            problems.extend(error.problems)
    if together is not None:
        problems.extend(_misfits(specs, ops, together))
    if problems:
        raise SpecError(tuple(problems))
    if together is None:
        return tuple(map(Package.of, ops))
    return (_of_all(together, specs, ops),)


def _of_all(name: str, specs: Sequence[Spec], ops: Sequence[Op]) -> Package:
    said = [spec.form.package.version for spec in specs if _says_version(spec)]
    return Package(
        distribution=names.distribution_of(name),
        import_name=name,
        version=said[0] if said else specs[0].form.package.version,
        summary=f"{len(ops)} torch ops, and their TensorRT plugins."
        if len(ops) > 1
        else "A torch op, and its TensorRT plugin.",
        ops=tuple(op._replace(names=names.within(op.names, name)) for op in ops),
    )


def _misfits(specs: Sequence[Spec], ops: Sequence[Op], package: str) -> Iterator[Problem]:
    """What is wrong with putting these specs into one package; `ops` are those of them that have no problem alone."""
    if problem := names.problem_with_import_name(package):
        yield Problem(f"--package {package}", 0, 0, problem)
    first: dict[str, Spec] = {}
    version: Spec | None = None
    variants = {(op.names.namespace, op.names.functional): op.names.op for op in ops if op.written}
    for spec in specs:
        form = spec.form
        other = first.setdefault(form.name, spec)
        if problem := names.problem_with_part(form.name, package):
            yield _problem(spec, problem, "name")
        elif other is not spec:
            both = f"of namespace '{form.namespace}' too" if other.form.namespace == form.namespace else "too"
            message = f"{other.path} has an op '{form.name}' {both}, and both would be {package}.{form.name}"
            yield _problem(spec, f"{message}; give one of them another name, or build them apart", "name")
        if writing := variants.get((form.namespace, form.name)):
            said = f"torch.ops.{form.namespace}.{form.name} is the variant of '{writing}' that writes to no argument"
            yield _problem(spec, f"{said}; choose another name or namespace", "name")
        if _says_version(spec):
            version = version or spec
            if form.package.version != version.form.package.version:
                said = f"{version.path} says that the package has version {version.form.package.version}"
                yield _problem(spec, f"{said}; say the same, or nothing", "package", "version")


def _says_version(spec: Spec) -> bool:
    package = spec.document.value.get("package")
    return isinstance(package, dict) and "version" in package


def _problem(spec: Spec, message: str, *path: str) -> Problem:
    place = spec.position(*path)
    return Problem(str(spec.path), place.line, place.column, message)
