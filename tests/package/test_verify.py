"""verify, from the front door, on real specs: every stage that needs no GPU passes, with an engine built."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, TORCH_TENSORRT, Built, run_trtplug
from tests.harness.forked import Forks
from tests.package.test_bites import passes
from trtplug.verify import environment

OF_THE_OP = ("parity", "opcheck", "compile", "plugin", "onnx")
WITHOUT_GPU = ("spec", "package", *OF_THE_OP)
# Torch-TensorRT takes long, so it is not shown every op: a list, optional tensors, several outputs and inputs, a
# reference, float8, sizes that a kernel finds out, arguments that are written to.
IN_TORCH_TENSORRT = {
    *("circ_pad", "layer_norm", "quantize_per_token", "rotary_embedding", "kinds"),
    *("center_rows", "float8", "nonzero", "accumulate"),
}
# Of specs that only tests need.
STAGES = [
    (spec.stem, stage)
    for spec in sorted(ROOT.glob("tests/specs/*.yaml"))
    for stage in (*OF_THE_OP, *["converter"] * (TORCH_TENSORRT and spec.stem in IN_TORCH_TENSORRT))
    if stage != "compile" or "implementation: torch" not in spec.read_text()
]


@pytest.mark.parametrize(("spec", "stage"), STAGES)
def test_a_stage_passes(spec: str, stage: str, built: Built, forks: Forks, tmp_path: Path) -> None:
    package = tmp_path / "package"
    shutil.copytree(built(ROOT / f"tests/specs/{spec}.yaml"), package)
    assert passes(package, stage, forks)


@pytest.mark.parametrize("spec", sorted(ROOT.glob("specs/*.yaml")), ids=lambda path: path.stem)
def test_every_stage_without_a_gpu_passes(spec: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    registered = "\nplugin:" in spec.read_text()
    # TensorRT makes its own plugin where there is a device; tests/registered has one that is made here.
    left = ["compile", "onnx"] * registered
    stages_to_pass = [stage for stage in WITHOUT_GPU if stage not in left]
    stages_to_pass += ["converter"] * (TORCH_TENSORRT and spec.stem in IN_TORCH_TENSORRT)
    required = [option for stage in stages_to_pass for option in ("--require", stage)]
    required += [option for stage in (*stages_to_pass, *left) for option in ("--stage", stage)]
    done = run_trtplug("verify", spec, "-j", "1", "--json", report, *required)
    assert done.returncode == 0, done.stdout + done.stderr
    (package,) = json.loads(report.read_text())["packages"]
    stages = {stage["name"]: stage for stage in package["stages"]}
    assert [name for name in stages_to_pass if stages[name]["status"] != "passed"] == []
    if registered:
        assert [stages[name]["status"] for name in left] == ["skipped", "skipped"]
        assert stages["compile"]["reason"] == "the op runs its reference: there is no kernel to compile"
        assert "makes ROIAlign_TRT on a CUDA device only" in stages["onnx"]["reason"]
    else:
        assert stages["parity"]["figures"]["kernel"] == "interpreted"
        assert stages["onnx"]["figures"]["engine_bytes"] > 1000
        assert stages["onnx"]["figures"]["library"].startswith("tensorrt_rtx 1.7.1")


@pytest.mark.parametrize("spec", ["specs/circ_pad.yaml", "specs/roi_align.yaml"])
def test_no_engine_is_expected_of_a_parser_that_takes_no_plugins(spec: str, built: Built, tmp_path: Path) -> None:
    (tmp_path / "stub_of_an_old_release.py").write_text("import tensorrt_rtx\ntensorrt_rtx.__version__ = '1.6.1.120'\n")
    package = built(ROOT / spec)
    variables = environment.variables(tmp_path) | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{package / 'src'}"}
    command = [sys.executable, "-m", "pytest", "-p", "stub_of_an_old_release", "-p", "no:cacheprovider", "-rs"]
    command += ["tests/test_onnx.py", "-k", "test_engine_is_built"]
    done = subprocess.run(command, cwd=package, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "the ONNX parser of tensorrt_rtx 1.6.1.120 takes no plugins; use 1.7 or newer" in done.stdout
    assert "passed" not in done.stdout


def test_a_new_op_verifies_as_it_stands(tmp_path: Path) -> None:
    assert run_trtplug("new", "my_op", cwd=tmp_path).returncode == 0
    assert run_trtplug("build", "specs/my_op.yaml", cwd=tmp_path).returncode == 0
    done = run_trtplug("verify", "specs/my_op.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"my_op: {'8 passed, 1' if TORCH_TENSORRT else '7 passed, 2'} did not run (" in done.stdout
