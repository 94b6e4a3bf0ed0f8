"""The user's Python files that a spec names: read, and held against what a package can carry."""

from __future__ import annotations

from pathlib import PurePosixPath

from trtplug import kernel_file
from trtplug.kernel_file import Function
from trtplug.located import Located, suggest
from trtplug.model import SourceFile


def read(located: Located, file: str, *path: str) -> SourceFile | None:
    """The file that stands beside the spec; `path` is where the spec names it."""
    folder = located.spec.path.parent
    if PurePosixPath(file).name != file or not file.endswith(".py"):
        located.problem(f"'{file}' must be the name of a .py file beside the spec", *path)
        return None
    try:
        text = (folder / file).read_text(encoding="utf-8-sig")
        imports = kernel_file.imports(text)
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
    for module in sorted(imports):
        if module.startswith(".") or (folder / f"{module}.py").exists():
            message = f"the package gets {file} alone, which imports '{module}'; move that code into {file}"
            located.problem(message, *path)
    return SourceFile(file, text)


def function(located: Located, source: SourceFile, name: str, *path: str, offset: int = 0) -> Function | None:
    """The function of a file that the spec names at `path`."""
    functions = kernel_file.functions(source.text)
    if name not in functions:
        located.problem(f"{source.name} has no function '{name}'{suggest(name, functions)}", *path, offset=offset)
    return functions.get(name)
