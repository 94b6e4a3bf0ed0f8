"""Packages for plugins that are registered already: found, made and built into engines, or named as missing."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib import metadata
from pathlib import Path

import pytest

from tests.conftest import ROOT, TORCH_TENSORRT, Built, run_trtplug
from trtplug.verify import environment

HERE = Path(__file__).parent
RTX = f"tensorrt_rtx {metadata.version('tensorrt-rtx')}"
SHOWN = "python -c 'import tensorrt_rtx' may show more"


def outcome(package: Path, folder: Path, *tests: str, plugin: bool = True) -> list[tuple[str, str]]:
    """Each generated test that did not pass, and why; `plugin` says that somebody has registered one."""
    report = folder / "report.xml"
    variables = environment.variables(folder)
    paths = [str(package / "src"), str(HERE), os.environ.get("PYTHONPATH", "")]
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    command += ["-p", "blend_plugin"] * plugin
    done = subprocess.run(
        [*command, *(f"tests/test_{name}.py" for name in tests)],
        cwd=package,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.exists(), done.stdout + done.stderr
    cases = list(ET.parse(report).iter("testcase"))
    assert cases, done.stdout
    return [
        (case.get("name", "").partition("[")[0], f"{part.get('message')} {part.text}")
        for case in cases
        for part in case
        if part.tag in ("failure", "error", "skipped")
    ]


@pytest.fixture
def package(built: Built, tmp_path: Path) -> Path:
    folder = tmp_path / "package"
    shutil.copytree(built(HERE / "blend.yaml"), folder)
    return folder


def test_the_plugin_is_found_made_and_built_into_an_engine(package: Path, tmp_path: Path) -> None:
    assert outcome(package, tmp_path, "plugin", "onnx") == []


def test_a_plugin_that_is_not_there_is_named(package: Path, tmp_path: Path) -> None:
    left = outcome(package, tmp_path, "plugin", "onnx", plugin=False)
    names = {name for name, _ in left}
    assert "test_engine_is_built_with_the_plugin_inside" in names
    assert "test_fields_follow_from_the_attributes" not in names
    assert all("has no plugin 'BlendByHand', version '7', namespace 'somebody'" in why for _, why in left)


@pytest.mark.parametrize(
    ("text", "instead", "said"),
    [
        (
            '"weight": "FLOAT32"',
            '"weight": "INT32"',
            "the plugin BlendByHand has the field 'weight' as PluginFieldType.FLOAT32, not INT32",
        ),
        (
            '"mode": "CHAR"',
            '"mood": "CHAR"',
            "the plugin BlendByHand has no field 'mood'; its fields are weight, repeats",
        ),
    ],
)
def test_fields_that_are_not_the_plugin_s_are_named(
    package: Path, tmp_path: Path, text: str, instead: str, said: str
) -> None:
    fields = next(package.glob("src/*/_fields.py"))
    assert text in fields.read_text()
    fields.write_text(fields.read_text().replace(text, instead))
    failed = outcome(package, tmp_path, "plugin")
    assert any(said in why for _, why in failed)


@pytest.mark.parametrize(
    ("text", "instead", "test"),
    [
        ('"repeats", repeats)', '"repeats", repeats + 1)', "test_fields_follow_from_the_attributes"),
        ("_NODE(x, y", "_NODE(y, x", "test_exported_node_is_what_the_parser_looks_up"),
        (
            'ir.AttrFloat32s("curve", attributes["curve"])',
            "list(curve)",
            "test_exported_node_is_what_the_parser_looks_up",
        ),
    ],
)
def test_generated_tests_bite(package: Path, tmp_path: Path, text: str, instead: str, test: str) -> None:
    (source,) = (file for file in package.glob("src/*/*.py") if text in file.read_text())
    source.write_text(source.read_text().replace(text, instead))
    assert test in [name for name, _ in outcome(package, tmp_path, "plugin", "onnx")]


@pytest.mark.parametrize(
    ("weight", "problem"),
    [(".inf", ""), ("-3.4028234663852886e+38", ""), ("3.45e+38", "which no float32 holds")],
)
def test_a_float32_field_takes_what_float32_holds(weight: str, problem: str, tmp_path: Path) -> None:
    shutil.copy(HERE / "blend.py", tmp_path)
    text = (HERE / "blend.yaml").read_text().replace("weight: 0.25", f"weight: {weight}")
    (tmp_path / "blend.yaml").write_text(text)
    done = run_trtplug("check", tmp_path / "blend.yaml")
    assert (done.returncode, problem in done.stderr) == (2 if problem else 0, True), done.stderr


def test_verify_runs_all_but_what_needs_the_plugin(tmp_path: Path) -> None:
    done = run_trtplug("verify", HERE / "blend.yaml", "-j", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    for stage in ("plugin", "onnx"):
        assert re.search(rf"blend {stage} \.\.\. skipped: tensorrt_rtx .* has no plugin 'BlendByHand'", done.stdout)
    assert "compile ... skipped: the op runs its reference" in done.stdout
    required = run_trtplug("verify", HERE / "blend.yaml", "--stage", "plugin", "--require", "plugin")
    assert required.returncode == 1
    assert "required, but could not run: tensorrt_rtx" in required.stdout


@pytest.mark.skipif(not TORCH_TENSORRT, reason="needs torch-tensorrt-rtx")
@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ((), f"networks of {RTX} take its plugin from ONNX alone"),
        (("taken",), f"{RTX} has no plugin 'BlendByHand', version '7', namespace 'somebody'"),
        (("taken", "registered"), ""),
    ],
    ids=["as it is", "missing", "registered"],
)
def test_torch_tensorrt_holds_the_plugin_or_leaves_the_op_to_pytorch(
    package: Path, tmp_path: Path, given: tuple[str, ...], missing: str
) -> None:
    command = [sys.executable, "-m", "tests.registered.in_torch_tensorrt", str(package / "src"), *given]
    variables = environment.variables(tmp_path)
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    if missing:
        assert found["log"] == [f"blend stays in PyTorch: {missing}"]
        assert (found["coverage"], found["graphs"], found["made"]) == ("60.0", 2, [])
        return
    assert (found["coverage"], found["graphs"], found["named"], found["log"]) == ("100.0", 1, True, [])
    one, other = found["made"]
    assert (one["weight"], one["repeats"], bytes(one["mode"]), one["curve"]) == ([0.25], [1], b"cubic", [])
    assert (other["weight"], other["repeats"], bytes(other["mode"]), other["curve"]) == (
        [0.5],
        [2],
        b"linear",
        [0.5, 2],
    )


def test_plugins_lists_what_tensorrt_has() -> None:
    done = run_trtplug("plugins")
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("ROIAlign_TRT")]
    assert line.split()[1:4] == ["2", "-", "coordinate_transformation_mode:"]
    assert "spatial_scale: FLOAT32" in line


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("import os\nos.abort()", f"TensorRT's registry cannot be read: the process crashed (SIGABRT); {SHOWN}"),
        (
            "raise OSError('no driver')",
            f"TensorRT's registry cannot be read: exit status 1: OSError: no driver; {SHOWN}",
        ),
        (
            "import tensorrt_of_nobody",
            "there is no TensorRT here; pip install 'trtplug[verify]', or tensorrt where you have that",
        ),
    ],
)
def test_plugins_says_why_tensorrt_does_not_answer(
    module: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("tensorrt", "tensorrt_rtx"):
        (tmp_path / f"{name}.py").write_text(module)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    done = run_trtplug("plugins")
    assert done.returncode == 2
    assert done.stderr == f"{why}\n"


def test_libraries_that_do_not_load_are_named(tmp_path: Path) -> None:
    text, empty = tmp_path / "libtext.so", tmp_path / "libempty.so"
    text.write_text("no library")
    subprocess.run(["cc", "-shared", "-o", empty, "-x", "c", "/dev/null"], check=True)
    for library, why in (
        (tmp_path / "no.so", "there is no library"),
        (text, "file too short"),
        (empty, "it exports no creators"),
    ):
        done = run_trtplug("plugins", "--library", library)
        assert done.returncode == 2
        assert str(library) in done.stderr
        assert why in done.stderr


def test_new_writes_a_spec_for_a_plugin(tmp_path: Path) -> None:
    done = run_trtplug("new", "my_roi", "--plugin", "ROIAlign_TRT", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert run_trtplug("check", "specs/my_roi.yaml", cwd=tmp_path).returncode == 0
    text = (tmp_path / "specs" / "my_roi.yaml").read_text()
    assert 'spatial_scale": {type: float32, value: spatial_scale}' in text
    for wanted, said in (
        ("RoiAlign_TRT", "did you mean 'ROIAlign_TRT'?"),
        ("ROIAlign_TRT:3", "has ROIAlign_TRT in version 2, not 3"),
        ("Nothing", "trtplug plugins lists what there is"),
    ):
        done = run_trtplug("new", "other", "--plugin", wanted, cwd=tmp_path)
        assert done.returncode == 2
        assert said in done.stderr
    assert not (tmp_path / "specs" / "other.yaml").exists()


def test_the_op_is_torchvision_s(built: Built) -> None:
    """The wrapper of specs/roi_align.py splits boxes as torchvision has them, in both of its ways."""
    package = built(ROOT / "specs" / "roi_align.yaml")
    code = """
import torch
from trtplug_roi_align._reference import roi_align
torch.manual_seed(0)
x = torch.randn(2, 3, 16, 20)
boxes = torch.tensor([[0, 1.5, 2, 9, 12], [1, 0, 0, 19, 15], [1, 3, 3, 3, 3]])
y = roi_align(x, boxes, (3, 4), 0.5, 2, True)
assert y.shape == (3, 3, 3, 4)
lists = roi_align(x, [boxes[:1, 1:], boxes[1:, 1:]], (3, 4), 0.5, 2, True)
assert torch.equal(y, lists)
flat = roi_align(torch.full((1, 1, 8, 8), 3.0), torch.tensor([[0, 1.0, 1, 6, 6]]), 2)
assert torch.allclose(flat, torch.full((1, 1, 2, 2), 3.0))
ramp = torch.arange(8.0).expand(1, 1, 8, 8)
ramp = roi_align(ramp, torch.tensor([[0, 1.0, 1, 5, 5]]), 2, 1.0, 2, True)
assert torch.allclose(ramp[0, 0, 0], torch.tensor([1.5, 3.5]))
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(package / "src")})
