"""Writing into a folder that a person owns: nothing lost, nothing half-written, nothing outside."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from trtplug import fileset
from trtplug.fileset import Action, FileSet, FolderError


def _build(folder: Path, files: dict[str, str], force: bool = False) -> None:
    fileset.apply(fileset.plan(FileSet.of(files), folder, force=force))


def _actions(folder: Path, files: dict[str, str], force: bool = False) -> dict[str, Action]:
    return {str(entry.path): entry.action for entry in fileset.plan(FileSet.of(files), folder, force=force).entries}


def _tree(folder: Path) -> dict[str, str]:
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != ".trtplug.json")
    return {str(path.relative_to(folder)): path.read_text() for path in paths}


def test_a_second_build_updates_deletes_and_keeps_what_is_not_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "package"
    _build(folder, {"same": "1", "changed": "1", "gone/file": "1"})
    (folder / "mine").write_text("mine")
    after = {"same": "1", "changed": "2", "added": "2"}
    assert _actions(folder, after) == {
        "same": Action.IDENTICAL,
        "changed": Action.UPDATE,
        "gone/file": Action.DELETE,
        "added": Action.CREATE,
    }
    _build(folder, after)
    assert _tree(folder) == {**after, "mine": "mine"}
    assert not (folder / "gone").exists()
    assert set(_actions(folder, after).values()) == {Action.IDENTICAL}


def test_edited_and_unknown_files_are_conflicts_until_forced(tmp_path: Path) -> None:
    _build(tmp_path, {"edited": "1", "stale": "1"})
    for name in ("edited", "stale", "unknown"):
        (tmp_path / name).write_text("mine")
    after = {"edited": "2", "unknown": "2"}
    assert set(_actions(tmp_path, after).values()) == {Action.CONFLICT}
    with pytest.raises(ValueError, match="conflicts"):
        _build(tmp_path, after)
    assert _tree(tmp_path) == {"edited": "mine", "stale": "mine", "unknown": "mine"}
    _build(tmp_path, after, force=True)
    assert _tree(tmp_path) == after


def test_an_edit_that_equals_the_new_file_is_no_conflict(tmp_path: Path) -> None:
    _build(tmp_path, {"file": "1"})
    (tmp_path / "file").write_text("2")
    assert _actions(tmp_path, {"file": "2"}) == {"file": Action.IDENTICAL}


@pytest.mark.parametrize("manifest", ["{", "[]", '{"files": {"../victim": "0"}}', '{"files": {"/etc/passwd": "0"}}'])
def test_a_damaged_manifest_guards_every_file_and_reaches_none_outside(tmp_path: Path, manifest: str) -> None:
    folder = tmp_path / "package"
    _build(folder, {"file": "1"})
    (tmp_path / "victim").write_text("mine")
    (folder / ".trtplug.json").write_text(manifest)
    assert _actions(folder, {"file": "2"}) == {"file": Action.CONFLICT}


@pytest.mark.parametrize("failing", [1, 2, 3, 4])
def test_a_failure_halfway_leaves_everything_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    folder = tmp_path / "package"
    _build(folder, {"a": "1", "b": "1"})
    before = _tree(folder), (folder / ".trtplug.json").read_text()
    replace, calls = os.replace, 0

    def full(source: str | Path, target: str | Path) -> None:
        nonlocal calls
        calls += 1
        if calls == failing:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(FolderError, match="No space left on device; nothing was changed"):
        _build(folder, {"a": "2", "b": "2", "sub/c": "2"})
    assert (_tree(folder), (folder / ".trtplug.json").read_text()) == before
    assert sorted(path.name for path in folder.iterdir()) == [".trtplug.json", "a", "b"]


def test_a_failure_in_a_new_folder_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(FolderError):
        _build(tmp_path / "new" / "package", {"sub/a": "1"})
    assert not list(tmp_path.iterdir())


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder, outside = tmp_path / "package", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (folder / "src").symlink_to(outside)
    with pytest.raises(FolderError, match="link that leaves"):
        _build(folder, {"src/file": "1"}, force=True)
    assert not list(outside.iterdir())


def test_what_is_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    for folder, name in (
        (tmp_path / "file", "a"),
        (tmp_path, "file/a"),
        (tmp_path, "folder"),
        (tmp_path / "file/x", "a"),
    ):
        with pytest.raises(FolderError):
            _build(tmp_path / folder, {name: "1"}, force=True)
    assert _tree(tmp_path) == {"file": "mine"}


@pytest.mark.parametrize("path", ["../a", "/a", "a/../../b", "a\\b", "", ".", "C:/a", "a\0"])
def test_a_path_that_leaves_the_folder_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="no relative path"):
        FileSet.of({path: "1"})


def test_a_file_is_generated_once() -> None:
    with pytest.raises(ValueError, match="a/b is generated twice"):
        FileSet.of({"a/b": "1", "a//b": "2"})
    for clash in ("a", "a/b/c"):
        with pytest.raises(ValueError, match="cannot be both a file and a folder"):
            FileSet.of({"a/b": "1", clash: "2"})


def test_the_manifest_is_the_same_for_the_same_files(tmp_path: Path) -> None:
    _build(tmp_path / "1", {"a": "1", "b": "2"})
    _build(tmp_path / "2", {"b": "2", "a": "1"})
    first, second = ((tmp_path / name / ".trtplug.json").read_text() for name in "12")
    assert first == second
    assert list(json.loads(first)["files"]) == ["a", "b"]
