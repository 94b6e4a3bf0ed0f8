"""verify over a package whose tests end in every way that tests can."""

from __future__ import annotations

import json
import os
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from trtplug import doctor, process, report
from trtplug.cli import app
from trtplug.verify import stage

pytest.importorskip("torch")

_SPEC = """\
spec: 1
name: tiny
summary: Nothing.
schema: "(Tensor x) -> Tensor"
kernel: {file: absent.py, function: kernel}
inputs: {x: {rank: 1, dtypes: [float32]}}
outputs: {y: {dtype: x.dtype, shape: x.shape}}
launch: {grid: [1], args: {X: x}}
reference: "absent.py:reference"
tolerance: {float32: 0}
cases: [{x: [1]}]
"""
_FILES = {
    "pyproject.toml": """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "trtplug-tiny"
version = "1"
[tool.hatch.build.targets.wheel]
packages = ["src/trtplug_tiny"]
""",
    "src/trtplug_tiny/__init__.py": """\
import torch
from torch import Tensor

@torch.library.custom_op("trtplug_ops::tiny", mutates_args=())
def tiny(x: Tensor) -> Tensor:
    return x.clone()
""",
    "src/trtplug_tiny/spec.yaml": _SPEC,
    "tests/helper.py": "PATH = '/env/'\n",
    "tests/test_parity.py": """\
from importlib import util
from helper import PATH

def test_installed(record_property):
    record_property("origin", util.find_spec("trtplug_tiny").origin)
    record_property("microseconds", 1.5)
    assert PATH in util.find_spec("trtplug_tiny").origin
""",
    "tests/test_opcheck.py": """\
def test_first():
    assert 1 == 2, "one is not two"

def test_second():
    raise ValueError

def test_third():
    pass
""",
    "tests/test_compile.py": """\
import os

def test_crash():
    os.abort()
""",
    "tests/test_plugin.py": """\
import pytest

pytest.skip("needs a CUDA device", allow_module_level=True)
""",
    "tests/test_onnx.py": """\
import ctypes, importlib.util
import pytest

def test_linked():
    if importlib.util.find_spec("tensorrt_rtx_libs"):
        ctypes.CDLL("libtensorrt_rtx.so")

@pytest.mark.skip(reason="needs a CUDA device")
def test_second():
    pass
""",
}


def _package(folder: Path, **changed: str) -> Path:
    for path, text in {**_FILES, **changed}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def _verify(folder: Path, *arguments: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["verify", str(folder), *map(str, arguments)], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def facts() -> doctor.Facts:
    """A machine with every library and no GPU, whatever this one has."""
    names = ("build", "hatchling", "pip", "pytest", "numpy", "torch", "triton", "onnx", "onnxscript", "tensorrt_rtx")
    return doctor.Facts({name: doctor.Library("1", "") for name in names} | {"cuda": doctor.Library(None, "none")})


@pytest.fixture(autouse=True)
def _machine(monkeypatch: pytest.MonkeyPatch, facts: doctor.Facts) -> None:
    monkeypatch.setattr(doctor, "examine", lambda: facts)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory, facts: doctor.Facts) -> dict[str, Any]:
    """One run of everything."""
    folder = tmp_path_factory.mktemp("verify")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(doctor, "examine", lambda: facts)
        code, out, err = _verify(
            _package(folder / "tiny"), "--json", folder / "a.json", "--junit", folder / "a.xml", "--require", "engine"
        )
    result = json.loads((folder / "a.json").read_text())
    stages = {stage.pop("name"): stage for stage in result["packages"][0]["stages"]}
    junit = ET.parse(folder / "a.xml")
    return {"code": code, "out": out, "err": err, "stages": stages, "result": result, "junit": junit}


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("spec", "skipped", "verified as a package"),
        ("package", "passed", ""),
        ("parity", "passed", ""),
        ("opcheck", "failed", "AssertionError: one is not two (and 1 more)"),
        ("compile", "failed", "the process crashed (SIGABRT)"),
        ("plugin", "skipped", "needs a CUDA device"),
        ("onnx", "passed", "1 not run: needs a CUDA device"),
        (
            "converter",
            "skipped",
            "needs torch_tensorrt (not probed: an import before it took the process down): "
            "mend the library that takes the process down",
        ),
        (
            "engine",
            "failed",
            "required, but could not run: "
            "needs a CUDA device: use a machine with an NVIDIA GPU and a CUDA build of torch",
        ),
    ],
)
def test_a_stage_ends_as_its_tests_do(outcome: dict[str, Any], name: str, status: str, reason: str) -> None:
    assert (outcome["stages"][name]["status"], outcome["stages"][name]["reason"]) == (status, reason)


def test_figures_come_from_the_tests(outcome: dict[str, Any]) -> None:
    stages = outcome["stages"]
    origin = stages["parity"]["figures"].pop("origin")
    assert origin.endswith("site-packages/trtplug_tiny/__init__.py")
    assert stages["parity"]["figures"] == {"microseconds": 1.5, "passed": 1}
    assert stages["onnx"]["figures"] == {"passed": 1, "not_run": 1}
    assert stages["package"]["figures"]["wheel_bytes"] > 500
    assert 0 < stages["package"]["figures"]["import_seconds"] < 60


def test_the_command_tells_it_to_people_and_programs(outcome: dict[str, Any]) -> None:
    assert outcome["code"] == 1
    assert outcome["out"].splitlines()[-1] == (
        "tiny: 3 failed (opcheck, compile, engine), 3 passed, 3 did not run (spec, plugin, converter)"
    )
    assert "ValueError" in outcome["out"]  # the whole output of what failed
    (parity,) = (line for line in outcome["out"].splitlines() if line.startswith("tiny parity ..."))
    assert "microseconds 1.5, " in parity
    assert "\x1b" not in outcome["out"]
    assert outcome["result"]["packages"][0]["name"] == "tiny"
    suite = outcome["junit"].getroot()[0]
    assert [suite.get(name) for name in ("tests", "failures", "skipped")] == ["9", "3", "3"]
    assert "one is not two" in suite.find("testcase[@name='opcheck']/failure").text


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("pyproject.toml", "[project", "the wheel does not build"),
        ("src/trtplug_tiny/__init__.py", "import absent\n", "the installed package does not import"),
        ("src/trtplug_tiny/__init__.py", "import torch\n", "does not register torch.ops.trtplug_ops.tiny"),
        (
            "src/trtplug_tiny/__init__.py",
            "import sys, types\nsys.modules['tensorrt'] = types.ModuleType('tensorrt')\n",
            "imports tensorrt, which a user of the torch op may not have",
        ),
    ],
)
def test_without_an_installed_package_nothing_passes(tmp_path: Path, file: str, text: str, reason: str) -> None:
    code, out, _ = _verify(_package(tmp_path / "tiny", **{file: text}), "--stage", "parity", "--stage", "onnx")
    assert code == 1
    lines = out.splitlines()
    assert lines[0].startswith("tiny package ... failed")
    assert reason in lines[0]
    assert lines[1:3] == ["tiny parity ... skipped: package failed", "tiny onnx ... skipped: package failed"]


def test_the_tree_beside_the_wheel_is_not_what_is_tested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where the source is on the path, and installed in the environment that runs trtplug."""
    package = _package(tmp_path / "tiny")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(package / "src"), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.chdir(package / "src")
    code, out, _ = _verify(package, "--stage", "parity")
    assert code == 0, out


def test_only_chosen_stages_are_listed(tmp_path: Path) -> None:
    package = _package(tmp_path / "tiny")
    (package / "tests" / "test_onnx.py").write_text("")
    (package / "tests" / "test_plugin.py").unlink()
    code, out, _ = _verify(package, "--stage", "onnx", "--stage", "plugin", "--keep", tmp_path / "kept")
    assert code == 1
    assert sorted(line.partition(" s: ")[2] for line in out.splitlines()[:2]) == [
        "no tests were collected",
        "the package has no tests/test_plugin.py",
    ]
    assert "tiny package" not in out
    assert (tmp_path / "kept" / "env" / "bin" / "python").exists()
    code, _, err = _verify(package, "--keep", tmp_path / "kept")
    assert code == 2
    assert "is not empty; choose another folder with --keep" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--stage", "onx"], "unknown stage 'onx'; did you mean 'onnx'?"),
        (["--require", "everything"], "unknown stage 'everything'; the stages are spec, package, parity"),
        (["--stage", "onnx", "--require", "engine"], "--require engine is not among the stages of --stage"),
    ],
)
def test_bad_options_run_nothing(tmp_path: Path, arguments: list[str], message: str) -> None:
    code, out, err = _verify(_package(tmp_path / "tiny"), *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(message)


def test_a_folder_that_is_no_package_is_refused(tmp_path: Path, trtplug: Callable[..., Any]) -> None:
    result = trtplug("verify", tmp_path, "absent.yaml")
    assert result.code == 2
    assert result.err.splitlines() == [
        f"{tmp_path}:1:1: no package of trtplug: it has a pyproject.toml and one src/*/spec.yaml, "
        "or one in src/*/* for each op; name a spec or such a folder",
        "absent.yaml:1:1: cannot read the spec: No such file or directory; check the path",
        "2 problems; nothing was written",
    ]
    assert trtplug("verify").err.startswith("there is no specs/*.yaml here")


def test_a_process_that_hangs_is_stopped(tmp_path: Path) -> None:
    shell = shutil.which("sh") or "sh"
    done = process.Processes().run([shell, "-c", "echo said; sleep 60"], tmp_path, os.environ, seconds=0.5)
    assert (done.reason, done.stdout) == ("did not end within 0 s", "said\n")


def test_a_library_that_takes_the_probe_down_is_named() -> None:
    lines = [
        'trtplug-probe {"name": "torch", "version": null, "problem": "takes the process down"}',
        "noise",
        'trtplug-probe {"name": "torch", "version": "2", "problem": ""}',
        'trtplug-probe {"name": "tensorrt_rtx", "version": null, "problem": "takes the process down"}',
    ]
    facts = doctor.facts("\n".join(lines))
    missing = doctor.missing((doctor.TORCH, doctor.TENSORRT, doctor.CUDA), facts)
    assert missing == (doctor.TENSORRT, doctor.CUDA)
    assert doctor.reason(missing, facts) == (
        "needs TensorRT (takes the process down), a CUDA device (not probed: an import before it took the process down)"
    )
    assert doctor.remedy(missing, facts) == (
        "python -c 'import tensorrt_rtx' shows what to mend; then mend the library that takes the process down"
    )
    with_device = doctor.facts('trtplug-probe {"name": "cuda", "version": null, "problem": "torch finds none"}')
    assert doctor.reason([doctor.CUDA], with_device) == "needs a CUDA device"
    assert doctor.remedy([doctor.CUDA], with_device) == doctor.CUDA.remedy


def test_junit_survives_what_a_crash_prints() -> None:
    failed = stage.StageResult("engine", stage.Status.FAILED, "bad \x00 byte", output="\x1b[31mred\x1b[0m")
    text = report.to_junit(stage.Report((stage.PackageResult("tiny", "tiny.yaml", (failed,)),)))
    failure = ET.fromstring(text).find(".//failure")
    assert failure is not None
    assert failure.get("message") == "bad  byte"
