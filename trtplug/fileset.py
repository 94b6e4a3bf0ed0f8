"""Generated files in memory, and the only way they reach a disk: plan, then apply; a new rule of writing goes here."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path, PurePosixPath
from types import MappingProxyType

MANIFEST = PurePosixPath(".trtplug.json")


class FolderError(Exception):
    """The folder cannot be written; nothing in it was changed. The message says what to do."""


@dataclass(frozen=True)
class FileSet(Mapping[PurePosixPath, bytes]):
    """Files of one folder by relative path."""

    _files: Mapping[PurePosixPath, bytes] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, files: Mapping[str, str | bytes]) -> FileSet:
        found: dict[PurePosixPath, bytes] = {}
        for path, content in files.items():
            where = _contained(str(path))
            if where in found:
                raise ValueError(f"{where} is generated twice")
            found[where] = content.encode() if isinstance(content, str) else content
        if both := found.keys() & {folder for path in found for folder in path.parents}:
            raise ValueError(f"{min(both)} cannot be both a file and a folder")
        return cls(MappingProxyType(found))

    def __getitem__(self, path: str | PurePosixPath) -> bytes:
        return self._files[PurePosixPath(path)]

    def __iter__(self) -> Iterator[PurePosixPath]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


class Action(Enum):
    CREATE = "create"
    IDENTICAL = "identical"
    UPDATE = "update"  # written by an earlier build, and as that build left it
    DELETE = "delete"  # the same, and no longer generated
    CONFLICT = "conflict"


@dataclass(frozen=True)
class Entry:
    """What becomes of one file: `old` is on disk and `new` is wanted, None where there is none."""

    path: PurePosixPath
    action: Action
    old: bytes | None
    new: bytes | None


@dataclass(frozen=True)
class Plan:
    """What `apply` would do to a folder; `manifest` is the record it leaves for the next plan, None for no record."""

    folder: Path
    entries: tuple[Entry, ...]
    manifest: bytes | None

    def having(self, *actions: Action) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.action in actions)

    @property
    def conflicts(self) -> tuple[Entry, ...]:
        return self.having(Action.CONFLICT)


def plan(files: Mapping[PurePosixPath, bytes], folder: Path, *, force: bool = False, tracked: bool = True) -> Plan:
    """Compare `files` with what the folder holds.

    A tracked folder is the generator's own: its manifest tells files that a user edited from files that an earlier
    build wrote, and the latter are updated or deleted. `force` treats edited files as if they were not.
    """
    if folder.exists() and not folder.is_dir():
        raise FolderError(f"{folder} is a file, not a folder; choose another folder with -o")
    recorded = _recorded(folder) if tracked else {}
    entries = []
    for path in sorted({*files, *recorded}):
        old, new = _read(folder, path), files.get(path)
        if old is None and new is None:
            continue
        untouched = force or (old is not None and _digest(old) == recorded.get(path))
        if old is None:
            action = Action.CREATE
        elif old == new:
            action = Action.IDENTICAL
        elif not untouched:
            action = Action.CONFLICT
        else:
            action = Action.DELETE if new is None else Action.UPDATE
        entries.append(Entry(path, action, old, new))
    return Plan(folder, tuple(entries), _manifest(files) if tracked else None)


def other_package(plan: Plan) -> str | None:
    """The name of the distribution that an earlier build left in the folder, if it is not the one of the plan."""
    found = {entry.path: entry for entry in plan.entries}.get(PurePosixPath("pyproject.toml"))
    if plan.manifest is None or found is None or found.old is None or found.new is None:
        return None
    old, new = (re.search(rb'^name = "([^"]*)"', text, re.MULTILINE) for text in (found.old, found.new))
    return old[1].decode() if old and new and old[1] != new[1] else None


def apply(plan: Plan) -> None:
    """Carry out a plan without conflicts, all of it or nothing; raises FolderError."""
    if plan.conflicts:
        raise ValueError("a plan with conflicts cannot be applied")
    changed = plan.having(Action.CREATE, Action.UPDATE, Action.DELETE)
    steps = [(entry.path, entry.new) for entry in changed]
    if plan.manifest is not None:
        # Last: until it stands, the next plan still knows the files that this one replaces.
        steps.append((MANIFEST, plan.manifest))
    if not changed and (plan.manifest is None or _read(plan.folder, MANIFEST) == plan.manifest):
        return
    try:
        _commit(plan.folder, steps)
    except OSError as error:
        what = f"{error.filename}: " if error.filename else ""
        raise FolderError(
            f"cannot write {plan.folder}: {what}{error.strerror}; nothing was changed; "
            "check the free space and the permissions, or choose another folder with -o"
        ) from error


def unified_diff(plan: Plan) -> str:
    """What applying the plan, conflicts included, would change, as a patch."""
    import difflib  # imported where it is used, because a build does without it

    lines: list[str] = []
    for entry in plan.entries:
        if entry.action is Action.IDENTICAL:
            continue
        before = "/dev/null" if entry.old is None else str(plan.folder / entry.path)
        after = "/dev/null" if entry.new is None else str(plan.folder / entry.path)
        # An empty file has no lines to differ in.
        patch = list(difflib.unified_diff(_lines(entry.old), _lines(entry.new), before, after))
        for line in patch or (f"--- {before}\n", f"+++ {after}\n"):
            lines.append(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
    return "".join(lines)


def _contained(text: str) -> PurePosixPath:
    path = PurePosixPath(text)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in text or ":" in text or "\0" in text:
        raise ValueError(f"{text!r} is no relative path inside the folder")
    return path


def _lines(content: bytes | None) -> list[str]:
    return (content or b"").decode(errors="replace").splitlines(keepends=True)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _manifest(files: Mapping[PurePosixPath, bytes]) -> bytes:
    digests = {str(path): _digest(files[path]) for path in sorted(files)}
    about = "written by trtplug build, to tell your edits from its own files"
    return (json.dumps({"about": about, "files": digests}, indent=2) + "\n").encode()


def _recorded(folder: Path) -> dict[PurePosixPath, str]:
    """Digests of the files as the last build wrote them; a damaged manifest records nothing, so that all is guarded."""
    try:
        files = json.loads(_read(folder, MANIFEST) or b"{}")["files"]
        return {_contained(path): str(digest) for path, digest in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}


def _read(folder: Path, path: PurePosixPath) -> bytes | None:
    """The file on disk, or None; raises FolderError where a file cannot go."""
    target = folder / path
    try:
        if not target.resolve().is_relative_to(folder.resolve()):
            raise FolderError(f"{target} is reached through a link that leaves {folder}; remove the link")
        for parent in (folder / above for above in path.parents):
            if parent.exists() and not parent.is_dir():
                raise FolderError(f"{parent} is a file where a folder must go; move it away")
        if target.is_dir():
            raise FolderError(f"{target} is a folder where a file must go; move it away")
        return target.read_bytes() if target.exists() else None
    except OSError as error:
        raise FolderError(f"cannot read {target}: {error.strerror}; check its permissions") from error


def _commit(folder: Path, steps: list[tuple[PurePosixPath, bytes | None]]) -> None:
    """Write everything that needs space into a staging folder first; then only rename, and undo on any failure."""
    with contextlib.ExitStack() as undo:
        _make(folder, undo)
        staging = folder / f".trtplug-{os.getpid()}"
        staging.mkdir(mode=0o700)
        undo.callback(shutil.rmtree, staging, ignore_errors=True)
        for number, (path, new) in enumerate(steps):
            if (folder / path).exists():
                shutil.copy2(folder / path, staging / f"{number}.old")
            if new is not None:
                (staging / f"{number}.new").write_bytes(new)
        for number, (path, new) in enumerate(steps):
            target, old = folder / path, staging / f"{number}.old"
            _make(target.parent, undo)
            if old.exists():
                undo.callback(os.replace, old, target)
            else:
                undo.callback(target.unlink, missing_ok=True)
            if new is None:
                target.unlink()
            else:
                os.replace(staging / f"{number}.new", target)
        undo.pop_all()
    shutil.rmtree(staging, ignore_errors=True)
    for path, new in steps:
        if new is None:
            _remove_empty(folder, path)


def _make(folder: Path, undo: contextlib.ExitStack) -> None:
    """Create a folder and its parents, and remember to remove what was created."""
    if not folder.is_dir():
        _make(folder.parent, undo)
        folder.mkdir()
        undo.callback(folder.rmdir)


def _remove_empty(folder: Path, path: PurePosixPath) -> None:
    for parent in path.parents[:-1]:
        with contextlib.suppress(OSError):
            (folder / parent).rmdir()
