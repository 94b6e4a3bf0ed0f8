"""The user's Python files that a spec names: read, and held against what a package can carry."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter
from pathlib import Path, PurePosixPath

from trtplug import kernel_file, names
from trtplug.kernel_file import Function
from trtplug.located import Located, suggest
from trtplug.model import SourceFile


def read(located: Located, file: str, *path: str) -> SourceFile | None:
    """The file that stands beside the spec and imports none of its neighbours; `path` is where the spec names it."""
    source = _read(located, file, *path)
    for module in _neighbours(located, source) if source else ():
        message = f"the package gets {file} alone, which imports '{module}'; move that code into {file}"
        located.problem(message, *path)
    return source


def with_helpers(located: Located, file: str, *path: str) -> tuple[SourceFile | None, tuple[SourceFile, ...]]:
    """The file that stands beside the spec, and the neighbours that it imports, all their imports relative."""
    found: dict[str, SourceFile] = {}
    imports: dict[str, list[str]] = {}
    waiting = [file]
    while waiting:
        name = waiting.pop()
        if name in imports:
            continue
        imports[name] = []
        source = _read(located, name, *path)
        if source is None:
            continue
        modules = _neighbours(located, source)
        for module in modules:
            located.problem(names.problem_with_helper(module), *path)
        if kernel_file.hides_triton_language(source.text):
            message = f"{name} has @triton.jit functions, whose file must import triton.language for the interpreter"
            located.problem(f"{message}; add 'import triton.language as tl'", *path)
        try:
            text = kernel_file.with_relative_imports(source.text, modules)
        except ValueError as error:
            located.problem(f"{located.spec.path.parent / name}: {error}", *path)
            text = source.text
        found[name] = SourceFile(name, text)
        imports[name] = [f"{module}.py" for module in modules]
        waiting += imports[name]
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        circle = " imports ".join(reversed(error.args[1]))
        located.problem(f"{circle}; move what they share into a file that imports none of them", *path)
    return found.get(file), tuple(source for name, source in found.items() if name != file)


def _read(located: Located, file: str, *path: str) -> SourceFile | None:
    folder = located.spec.path.parent
    if PurePosixPath(file).name != file or not file.endswith(".py"):
        located.problem(f"'{file}' must be the name of a .py file beside the spec", *path)
        return None
    try:
        text = (folder / file).read_text(encoding="utf-8-sig")
        kernel_file.imports(text)
    except OSError as error:
        located.problem(f"cannot read {folder / file}: {error.strerror}; it must stand beside the spec", *path)
        return None
    except UnicodeDecodeError:
        located.problem(f"{folder / file} is not UTF-8; save it as UTF-8", *path)
        return None
    except SyntaxError as error:
        where = f"{folder / file}:{error.lineno or 1}:{error.offset or 1}"
        located.problem(f"{where}: {error.msg}; mend the file first", *path)
        return None
    except ValueError as error:
        located.problem(f"{folder / file}: {error}; mend the file first", *path)
        return None
    return SourceFile(file, text)


def _neighbours(located: Located, source: SourceFile) -> list[str]:
    """The modules beside the spec that a file imports; a relative import names one too, whether it is there or not."""
    folder: Path = located.spec.path.parent
    imported = kernel_file.imports(source.text)
    relative = {module.removeprefix(".") for module in imported if module.startswith(".")}
    return sorted(relative | {module for module in imported if (folder / f"{module}.py").exists()})


def function(located: Located, source: SourceFile, name: str, *path: str | int, offset: int = 0) -> Function | None:
    """The function of a file that the spec names at `path`."""
    functions = kernel_file.functions(source.text)
    if name not in functions:
        located.problem(f"{source.name} has no function '{name}'{suggest(name, functions)}", *path, offset=offset)
    return functions.get(name)
