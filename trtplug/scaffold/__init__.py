"""The first spec of a new op: a starter that works, or guesses about a kernel or a plugin, for `trtplug check`.

source.py parses the kernel's file, use.py finds what the kernel does with its parameters, tensors.py and values.py
guess what these are, by words.py where only a name tells, and writing.py writes that down. plugin.py does so for what
TensorRT has registered.
"""

from __future__ import annotations

import ast
import difflib
import json
import tempfile
from pathlib import Path

from trtplug import kernel_file, names, resolve, spec
from trtplug.fileset import FileSet
from trtplug.problems import SpecError
from trtplug.registry import RegistryError, entries
from trtplug.resources import templates
from trtplug.scaffold import plugin as of_plugin
from trtplug.scaffold import use
from trtplug.scaffold.source import Module, read_module
from trtplug.scaffold.tensors import GuessError, Parameter
from trtplug.scaffold.values import guess
from trtplug.scaffold.writing import reference_text, spec_text

_STARTER = "my_op"


class ScaffoldError(Exception):
    """There is nothing to start from; the message says what to do."""


def starter(name: str) -> FileSet:
    """A small op of that name."""
    _check(name)
    return FileSet.of(
        {
            f"{name}{suffix}": (templates() / "new" / f"{_STARTER}{suffix}")
            .read_text(encoding="utf-8")
            .replace(_STARTER, name)
            for suffix in (".py", ".yaml")
        }
    )


def from_kernel(name: str, source: str, folder: Path) -> FileSet:
    """A spec for the kernel FILE.py:KERNEL, and the files that it names beside it in `folder`."""
    _check(name)
    module, kernel, known = _read(source)
    constexprs = frozenset(p.name for p in known[kernel].parameters if p.constexpr)
    try:
        guesses = guess(
            kernel,
            _parameters(known[kernel], module.functions[kernel]),
            use.read(module, kernel, constexprs),
        )
    except GuessError as error:
        raise ScaffoldError(str(error)) from error
    copied: dict[str, str | bytes] = {file.name: file.read_bytes() for file in module.files()}
    written: dict[str, str | bytes] = {}
    reference = known.get("reference")
    if reference and not reference.is_kernel and reference.takes(len(guesses.inputs) + len(guesses.arguments)):
        where = f"{json.dumps(f'{module.path.name}:reference')} # guess: it takes as many arguments"
    else:
        stub = f"{name}_reference.py"
        while stub in copied:
            stub = f"plain_{stub}"
        written[stub] = reference_text(name, guesses)
        where = f'"{stub}:reference" # to write'
    written[f"{name}.yaml"] = spec_text(name, module.path.name, kernel, guesses, constexprs, where)
    _try(name, source, FileSet.of({**copied, **written}))
    return FileSet.of(written if module.path.resolve().parent == folder.resolve() else {**copied, **written})


def from_plugin(name: str, wanted: str, library: Path | None) -> FileSet:
    """A spec for a plugin of TensorRT's registry, NAME or NAME:VERSION, which a library may have to register."""
    _check(name)
    try:
        found = of_plugin.chosen(wanted, entries([library] if library else []))
    except RegistryError as error:
        raise ScaffoldError(str(error)) from error
    if isinstance(found, str):
        raise ScaffoldError(found)
    given = str(library.resolve()) if library else None
    files = FileSet.of(
        {f"{name}.yaml": of_plugin.spec_text(name, found, given), f"{name}.py": of_plugin.reference_text(name, found)}
    )
    _try(name, wanted, files)
    return files


def _check(name: str) -> None:
    if problem := names.problem_with_op_name(name):
        raise ScaffoldError(problem)


def _read(source: str) -> tuple[Module, str, dict[str, kernel_file.Function]]:
    file, _, wanted = source.rpartition(":")
    if not file or not wanted:
        raise ScaffoldError(f"--from takes FILE.py:KERNEL, not '{source}'")
    try:
        module = read_module(Path(file))
        known = kernel_file.functions(Path(file).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ScaffoldError(f"cannot read {error.filename or file}: {error.strerror}; check the path") from error
    except UnicodeDecodeError as error:
        raise ScaffoldError(f"{file} is not UTF-8; save it as UTF-8") from error
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        raise ScaffoldError(f"{file}:{line}:1: no Python: {getattr(error, 'msg', error)}; correct it first") from error
    kernels = [function.name for function in known.values() if function.is_kernel]
    if wanted not in kernels:
        close = difflib.get_close_matches(wanted, kernels, n=1) or kernels
        remedy = f"it has {', '.join(close)}" if close else "decorate it with @triton.jit"
        raise ScaffoldError(f"{file} has no @triton.jit function '{wanted}'; {remedy}")
    return module, wanted, known


def _parameters(function: kernel_file.Function, node: ast.FunctionDef) -> tuple[Parameter, ...]:
    arguments = node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = dict(zip([a.arg for a in positional[::-1]], arguments.defaults[::-1], strict=False))
    annotations = {a.arg: ast.unparse(a.annotation) for a in positional if a.annotation}
    supplied = {name: decorator.kind for decorator in function.decorators for name in decorator.supplied}
    return tuple(
        Parameter(
            p.name,
            p.constexpr,
            annotations.get(p.name, ""),
            p.has_default,
            _literal(defaults.get(p.name)),
            supplied.get(p.name),
        )
        for p in function.parameters
    )


def _literal(node: ast.expr | None) -> object:
    try:
        return ast.literal_eval(node) if node else None
    except ValueError:
        return None


def _try(name: str, source: str, files: FileSet) -> None:
    """What `trtplug check` would refuse is not written: the kernel has something that no spec can say."""
    with tempfile.TemporaryDirectory() as folder:
        for path, content in files.items():
            (Path(folder) / path).write_bytes(content)
        try:
            resolve.resolve(spec.load(Path(folder) / f"{name}.yaml"))
        except SpecError as error:
            messages = dict.fromkeys(problem.message.replace(f"{folder}/", "") for problem in error.problems)
            raise ScaffoldError("\n".join(f"{source}: {message}" for message in messages)) from error
