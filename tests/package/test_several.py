"""Several ops in one package, and several packages in one process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, TORCH_TENSORRT, run_trtplug
from trtplug.verify import environment

SPECS = ROOT / "tests" / "specs" / "several"
SCALE, SHIFT = SPECS / "scale.yaml", SPECS / "shift.yaml"
WITHOUT_GPU = ("spec", "parity", "opcheck", "compile", "plugin", "onnx", *["converter"] * TORCH_TENSORRT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package acme_ops, and beside it each op in a package of its own."""
    folder = tmp_path_factory.mktemp("several")
    for arguments in (["--package", "acme_ops"], []):
        done = run_trtplug("build", SCALE, SHIFT, *arguments, cwd=folder)
        assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(folder / "build")) == ["acme-ops", "acme-scale", "trtplug-shift"]
    return folder / "build"


def in_one_process(folder: Path, packages: Sequence[str], work: Path, *arguments: str) -> dict[str, Any]:
    """What in_one_process.py prints, with these packages to import."""
    paths = [str(folder / package / "src") for package in packages]
    variables = {**environment.variables(work), "PYTHONPATH": os.pathsep.join(paths), "TRITON_INTERPRET": "1"}
    script = Path(__file__).with_name("in_one_process.py")
    done = subprocess.run(
        [sys.executable, script, *arguments], capture_output=True, text=True, check=False, env=variables, cwd=work
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_every_stage_passes_for_every_op(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    required = [option for stage in ("package", *WITHOUT_GPU) for option in ("--require", stage)]
    done = run_trtplug("verify", SCALE, SHIFT, "--package", "acme_ops", "--json", report, *required)
    assert done.returncode == 0, done.stdout + done.stderr
    packages = json.loads(report.read_text())["packages"]
    assert [(package["name"], package["spec"]) for package in packages] == [
        ("acme_ops", f"{SCALE} {SHIFT}"),
        ("acme_ops.scale", str(SCALE)),
        ("acme_ops.shift", str(SHIFT)),
    ]
    whole, *ops = ([stage["name"] for stage in package["stages"]] for package in packages)
    assert whole == ["package"]
    assert ops == [[*WITHOUT_GPU, *["converter"] * (not TORCH_TENSORRT), "engine"]] * 2
    for package in packages:
        passed = [stage["name"] for stage in package["stages"] if stage["status"] == "passed"]
        assert passed == (["package"] if package["name"] == "acme_ops" else list(WITHOUT_GPU))
    left = "7 passed, 1 did not run (engine)" if TORCH_TENSORRT else "6 passed, 2 did not run (converter, engine)"
    assert done.stdout.splitlines()[-3:] == [
        "acme_ops: 1 passed",
        f"acme_ops.scale: {left}",
        f"acme_ops.shift: {left}",
    ]


def test_a_fault_of_one_op_is_told_of_that_op(folder: Path, tmp_path: Path) -> None:
    package = tmp_path / "package"
    subprocess.run(["cp", "-r", str(folder / "acme-ops"), str(package)], check=True)
    kernel = package / "src" / "acme_ops" / "shift" / "shift_math.py"
    kernel.write_text(kernel.read_text().replace("x + by", "x - by"))
    done = run_trtplug("verify", package, "--stage", "parity")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-2:] == ["acme_ops.scale: 1 passed", "acme_ops.shift: 1 failed (parity), 0 passed"]
    # As a folder that somebody was given, without the specs that it came from.
    assert "acme_ops.shift parity ... failed" in done.stdout
    (package / "src" / "acme_ops" / "scale" / "__init__.py").write_text("import absent\n")
    done = run_trtplug("verify", package, "--stage", "parity")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("acme_ops package ... failed")
    assert lines[-3:] == [
        "acme_ops: 1 failed (package), 0 passed",
        "acme_ops.scale: 0 passed, 1 did not run (parity)",
        "acme_ops.shift: 0 passed, 1 did not run (parity)",
    ]


@pytest.mark.parametrize(
    "command", ["ruff check --no-cache", "ruff format --check --no-cache", "mypy --cache-dir /dev/null"]
)
def test_package_is_clean(folder: Path, command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command.split()], cwd=folder / "acme-ops", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_run_of_pytest_collects_the_tests_of_all_ops(folder: Path) -> None:
    package = folder / "acme-ops"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"],
        cwd=package,
        env={**os.environ, "PYTHONPATH": str(package / "src"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    collected = {line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line}
    assert {f"tests/{op}/test_parity.py" for op in ("scale", "shift")} <= collected


def test_what_ops_share_exists_once(folder: Path) -> None:
    files = {path.relative_to(folder / "acme-ops").as_posix() for path in (folder / "acme-ops" / "src").rglob("*.*")}
    for name in ("_dims.py", "_network.py", "_tensorrt.py", "py.typed"):
        assert [file for file in files if file.endswith(f"/{name}")] == [f"src/acme_ops/{name}"]
    assert {"src/acme_ops/shift/shift_math.py", "src/acme_ops/scale/spec.yaml"} <= files


ORDERS = {
    "one after the other": ("acme_ops.scale.plugin", "acme_ops.shift.plugin"),
    "the other first": ("acme_ops.shift.plugin", "acme_ops.scale.plugin"),
    "all at once": ("acme_ops.plugin",),
    "an op after all": ("acme_ops.plugin", "acme_ops.scale.plugin", "acme_ops.onnx", "acme_ops.shift.onnx"),
}


@pytest.mark.parametrize("order", ORDERS)
def test_plugins_are_registered_once_whatever_the_order(folder: Path, tmp_path: Path, order: str) -> None:
    assert in_one_process(folder, ["acme-ops"], tmp_path, "imports", *ORDERS[order]) == {
        "creators": ["scale", "shift"],
        "versions": {"scale": "1", "shift": "3"},
        "same": True,
        "ops": ["scale", "shift"],
    }


@pytest.mark.parametrize(
    ("distributions", "packages"),
    [(["acme-ops"], ["acme_ops"]), (["acme-scale", "trtplug-shift"], ["acme_scale", "trtplug_shift"])],
)
def test_one_engine_holds_every_call(
    folder: Path, tmp_path: Path, distributions: list[str], packages: list[str]
) -> None:
    assert in_one_process(folder, distributions, tmp_path, "engine", *packages) == {
        "packages": [f"{package}.plugin" for package in packages],
        "translations": ["test_ops.scale.default", "test_ops.shift.default"],
        "layers": 3,
        "written": [
            {"plugin": "scale", "factor": [-0.375], "mode": list(b"negative")},
            {"plugin": "scale", "factor": [2.125], "mode": list(b"plain")},
            {"plugin": "shift", "by": [2**40 + 3]},
        ],
        "floats": [True, True],
        "ints": True,
        "names": [True, True],
    }


def test_an_op_of_two_packages_is_refused_by_name(folder: Path) -> None:
    paths = [str(folder / distribution / "src") for distribution in ("acme-ops", "acme-scale")]
    done = subprocess.run(
        [sys.executable, "-c", "import acme_ops, acme_scale"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1] == (
        "ImportError: acme_scale.op: acme_ops.scale.op has defined torch.ops.test_ops.scale already; "
        "give one of the two another name or namespace"
    )


def test_ops_of_every_kind_share_a_package(tmp_path: Path) -> None:
    """A kernel, a reference, a plugin that TensorRT has, arguments that are written to: the modules of the whole."""
    others = [
        ROOT / "specs" / "roi_align.yaml",
        *(ROOT / f"tests/specs/{n}.yaml" for n in ("center_rows", "accumulate")),
    ]
    done = run_trtplug("build", SCALE, *others, "--package", "mixed", "-o", tmp_path / "mixed")
    assert done.returncode == 0, done.stderr
    code = """
import mixed, mixed.onnx, mixed.plugin
print(sorted(mixed.plugin.FAILURES), len(mixed.onnx.TRANSLATIONS), mixed.plugin.find(), mixed.onnx.write_in_place)
"""
    variables = {**os.environ, "PYTHONPATH": str(tmp_path / "mixed" / "src"), "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=variables)
    assert done.stdout.startswith("['accumulate', 'center_rows', 'scale'] 4 None <function write_in_place"), done.stderr
    for command in ("ruff check --no-cache", "ruff format --check --no-cache", "mypy --cache-dir /dev/null"):
        done = subprocess.run(
            [sys.executable, "-m", *command.split()],
            cwd=tmp_path / "mixed",
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
