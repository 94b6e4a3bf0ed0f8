"""A kernel's file and the neighbours that it imports, parsed and never run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Module:
    """A file: its functions, and its neighbours' by the names under which it imports them."""

    path: Path
    functions: Mapping[str, ast.FunctionDef]
    imported: Mapping[str, tuple[Module, str | None]]

    def files(self) -> Iterator[Path]:
        """This file, and those that it imports."""
        yield from dict.fromkeys(
            [self.path, *(file for module, _ in self.imported.values() for file in module.files())]
        )


def read_module(path: Path, within: tuple[Path, ...] = ()) -> Module:
    """A file with the neighbours that it imports; raises OSError, SyntaxError and UnicodeDecodeError."""
    tree = ast.parse(path.read_text(encoding="utf-8-sig"))
    found: dict[str, tuple[Module, str | None]] = {}
    modules: dict[str, Module | None] = {}

    def neighbour(name: str) -> Module | None:
        if name not in modules:
            file = path.parent / f"{name}.py"
            wanted = file not in (*within, path) and file.is_file()
            modules[name] = read_module(file, (*within, path)) if wanted else None
        return modules[name]

    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if module := neighbour(alias.name):
                    found[alias.asname or alias.name] = (module, None)
        elif isinstance(node, ast.ImportFrom) and node.level < 2:
            for alias in node.names:
                if module := neighbour(node.module or alias.name):
                    found[alias.asname or alias.name] = (module, alias.name if node.module else None)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    return Module(path, functions, found)
