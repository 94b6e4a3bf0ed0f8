"""--package: what the commands make of several specs, and everything that may be wrong with putting them together."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

Run = Callable[..., Any]


@pytest.fixture
def specs(trtplug: Run) -> list[str]:
    for name in ("one", "two"):
        trtplug("new", name)
    return ["specs/one.yaml", "specs/two.yaml"]


def _say(spec: str, **changes: str) -> None:
    path = Path(spec)
    text = path.read_text()
    for key, value in changes.items():
        text = re.sub(rf"(?m)^{key}: .*$\n?", "", text) + f"{key}: {value}\n"
    path.write_text(text)


def test_build_diff_and_check_agree(trtplug: Run, specs: list[str]) -> None:
    assert trtplug("check", *specs, "--package", "acme_ops").out == "specs/one.yaml: ok\nspecs/two.yaml: ok\n"
    patch = trtplug("diff", *specs, "--package", "acme_ops")
    assert patch.code == 1
    assert "+++ build/acme-ops/src/acme_ops/two/plugin.py\n" in patch.out
    assert not Path("build").exists()
    built = trtplug("build", *specs, "--package", "acme_ops")
    assert re.fullmatch(r"build/acme-ops: \d+ created\n", built.out)
    assert sorted(os.listdir("build/acme-ops/src/acme_ops")) == sorted(
        [
            *("__init__.py", "_dims.py", "_network.py", "_tensorrt.py", "converter.py", "one", "onnx.py", "plugin.py"),
            *("py.typed", "two"),
        ]
    )
    assert trtplug("diff", *specs, "--package", "acme_ops").code == 0
    # A package that other ops may join has its layout from the first.
    less = trtplug("build", specs[0], "--package", "acme_ops")
    assert re.fullmatch(r"build/acme-ops: \d+ updated, \d+ deleted, \d+ unchanged\n", less.out)
    assert not Path("build/acme-ops/src/acme_ops/two").exists()
    assert Path("build/acme-ops/src/acme_ops/one/plugin.py").exists()
    assert trtplug("build", *specs, "--package", "acme_ops", "-o", "out").code == 0
    assert Path("out/pyproject.toml").exists()


def test_diff_takes_several_specs(trtplug: Run, specs: list[str]) -> None:
    patch = trtplug("diff", *specs)
    assert {"+++ build/trtplug-one/README.md", "+++ build/trtplug-two/README.md"} <= set(patch.out.splitlines())


def test_the_name_of_the_command_wins_and_the_version_of_the_specs_holds(trtplug: Run, specs: list[str]) -> None:
    _say(specs[0], package="{name: my-one, import: mine, version: 1.2.3}")
    _say(specs[1], package="{import: other}")
    trtplug("build", *specs, "--package", "acme_ops")
    project = Path("build/acme-ops/pyproject.toml").read_text()
    assert 'name = "acme-ops"\nversion = "1.2.3"\n' in project
    _say(specs[1], package="{version: 1.2.3}")
    assert trtplug("check", *specs, "--package", "acme_ops").code == 0
    _say(specs[1], package="{version: 1.3.0}")
    line = len(Path(specs[1]).read_text().splitlines())
    assert trtplug("check", *specs, "--package", "acme_ops").err.splitlines() == [
        f"specs/two.yaml:{line}:20: specs/one.yaml says that the package has version 1.2.3; say the same, or nothing",
        "1 problem; nothing was written",
    ]
    assert trtplug("check", *specs).code == 0


def test_all_problems_are_told_at_once(trtplug: Run, specs: list[str]) -> None:
    for number, changes in enumerate(
        [{"name": "converter"}, {"name": "one", "namespace": "elsewhere"}, {"name": "one"}, {"sumary": "Nothing."}]
    ):
        path = Path(f"specs/{number}.yaml")
        path.write_text(Path(specs[0]).read_text())
        _say(str(path), **changes)
    every = [*specs, *(f"specs/{number}.yaml" for number in range(4)), "absent.yaml"]
    result = trtplug("build", *every, "--package", "Acme")
    assert result.code == 2
    assert [re.sub(r":\d+:\d+:", ":", line) for line in result.err.splitlines()] == [
        "specs/3.yaml: unknown key 'sumary'; did you mean 'summary'?",
        "absent.yaml: cannot read the spec: No such file or directory; check the path",
        "--package Acme: an import name is in snake_case (a-z, 0-9, single _ between), not 'Acme'; "
        "write it as in 'trtplug_circular_pad'",
        "specs/0.yaml: Acme has a 'converter' of its own, beside the ops; choose another name, such as 'converter_op'",
        "specs/1.yaml: specs/one.yaml has an op 'one' too, and both would be Acme.one; "
        "give one of them another name, or build them apart",
        "specs/2.yaml: specs/one.yaml has an op 'one' of namespace 'trtplug_ops' too, and both would be Acme.one; "
        "give one of them another name, or build them apart",
        "specs/3.yaml: specs/one.yaml has an op 'one' of namespace 'trtplug_ops' too, and both would be Acme.one; "
        "give one of them another name, or build them apart",
        "7 problems; nothing was written",
    ]
    assert not Path("build").exists()


def test_an_op_named_like_the_variant_of_one_that_writes_is_refused(trtplug: Run, specs: list[str]) -> None:
    for path in (ROOT / "tests/specs").glob("accumulate*"):
        Path("specs", path.name).write_text(path.read_text())
    writing = "specs/accumulate.yaml"
    _say(specs[1], name="accumulate_functional")
    assert trtplug("check", *specs, writing, "--package", "acme_ops").code == 0
    _say(specs[0], name="accumulate_functional", namespace="trtplug_tests", summary="One.")
    line = len(Path(specs[0]).read_text().splitlines()) - 2
    said = [
        f"{specs[0]}:{line}:7: torch.ops.trtplug_tests.accumulate_functional is the variant of 'accumulate' that "
        "writes to no argument; choose another name or namespace",
        "1 problem; nothing was written",
    ]
    for order in ([specs[0], writing], [writing, specs[0]]):
        for command in ("check", "build"):
            result = trtplug(command, *order, "--package", "acme_ops")
            assert (result.code, result.err.splitlines()) == (2, said)
        assert trtplug("check", *order).code == 0


@pytest.mark.parametrize("name", ["torch", "json", "class", "acme-ops", "tests", "2d", ""])
def test_a_package_that_cannot_be_imported_is_refused(trtplug: Run, specs: list[str], name: str) -> None:
    for command in ("build", "check", "diff", "verify"):
        result = trtplug(command, *specs, "--package", name)
        assert (result.code, result.out) == (2, "")
        first, last = result.err.splitlines()
        assert first.startswith(f"--package {name}: '{name}' ") or f"not '{name}'" in first
        assert last == "1 problem; nothing was written"


def test_a_package_is_made_of_specs(trtplug: Run, specs: list[str]) -> None:
    trtplug("build", *specs)
    result = trtplug("verify", specs[0], "build/trtplug-two", "--package", "acme_ops")
    assert result.code == 2
    assert result.err == (
        "--package makes a package of specs, and build/trtplug-two is a folder; name its spec instead\n"
    )
    both = trtplug("build", *specs, specs[0])
    assert both.err == (
        "several specs build build/trtplug-one; give each its own package.name, or add --package NAME\n"
    )


def test_names_are_sorted_as_ruff_wants_them(trtplug: Run, specs: list[str]) -> None:
    for name in ("x10", "x2", "x_1", "x1a", "x1"):
        Path(f"specs/{name}.yaml").write_text(Path(specs[0]).read_text())
        _say(f"specs/{name}.yaml", name=name)
        specs.append(f"specs/{name}.yaml")
    assert trtplug("build", *specs, "--package", "acme_ops").code == 0
    for command in ("check", "format --check"):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *command.split(), "--no-cache", "build/acme-ops/src"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
