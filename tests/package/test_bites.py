"""The generated tests bite: one change to the code of a generated package, and verify fails in the right stage.

Each change is a fault that somebody makes by hand; `text` must occur in the file, so a stale change is an error.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT, Built, run_trtplug


@dataclass(frozen=True)
class Change:
    file: str
    text: str
    instead: str
    stage: str


CHANGES = {
    "shape rule": Change("_shapes.py", "+ padding[2 * i] + padding[2 * i + 1]\n", "+ padding[2 * i]\n", "parity"),
    "check": Change("_shapes.py", "1 <= len(x_shape) <= 4", "1 <= len(x_shape) <= 5", "parity"),
    "output dtype": Change("_shapes.py", "    return x_dtype\n", "    return torch.float32\n", "parity"),
    "accepted dtype": Change("_shapes.py", "(torch.bfloat16,)", "(torch.float64,)", "parity"),
    "dtype table": Change("_tensorrt.py", "HALF: torch.float16", "HALF: torch.bfloat16", "plugin"),
    "field dtype": Change("plugin.py", "dtype=np.int64),)", "dtype=np.int32),)", "plugin"),
    "field name": Change(
        "plugin.py", 'PluginField("padding", self._arrays[0]', 'PluginField("pads", self._arrays[0]', "plugin"
    ),
    "stream": Change("plugin.py", "*outputs, stream=stream)", "*outputs, stream=0)", "plugin"),
    "order of buffers": Change("plugin.py", "*inputs, *outputs", "*outputs, *inputs", "plugin"),
    "clone": Change("plugin.py", "padding=self.padding)", "padding=(0, 0))", "plugin"),
    "timing cache": Change("plugin.py", 'f"{(padding,)!r} {_CODE}"', "_CODE", "plugin"),
    "compile in enqueue": Change("plugin.py", "            launch.warm()\n", "", "plugin"),
    "swallowed failure": Change("plugin.py", "FAILURES.append(error)\n            raise", "raise", "plugin"),
    "index": Change("_launch.py", "kept[2]", "kept[1]", "parity"),
    "offset": Change("_launch.py", "crop[3] * s0 + ", "", "parity"),
    "schema": Change("op.py", "int[] padding) -> Tensor", "int[] padding=[0, 0]) -> Tensor", "opcheck"),
    "order of dtypes": Change("_launch.py", "(x_dtype, _shapes.y_dtype(x_dtype))", "(x_dtype, torch.int32)", "plugin"),
    "shared context": Change("plugin.py", "return self.clone()", "return self", "plugin"),
    "namespace": Change(
        "plugin.py",
        "self.plugin_namespace = NAMESPACE\n        self.num",
        "self.plugin_namespace = ''\n        self.num",
        "plugin",
    ),
    "grid": Change("_launch.py", "-(-rows // ROWS)", "rows // ROWS", "parity"),
    "strided input": Change("op.py", "    x = x.contiguous()\n    _launch", "    _launch", "parity"),
    "fake": Change("op.py", "register_fake(_empty_outputs)", "register_fake(lambda x, padding: x.clone())", "opcheck"),
    "dimension expression": Change("_dims.py", '"SUM"', '"SUB"', "onnx"),
    "node version": Change("onnx.py", "plugin_version=VERSION", 'plugin_version="9"', "onnx"),
    "narrowing": Change("onnx.py", "if not -(2**31) <= value < 2**31", "if value > 2**62", "onnx"),
    "kernel": Change("_kernel.py", "index >= size", "index > size", "parity"),
    "kernel type": Change("_kernel.py", "tl.program_id(0)", "tl.program_id(X)", "compile"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_verify_fails(name: str, built: Built, tmp_path: Path) -> None:
    change = CHANGES[name]
    package = tmp_path / "package"
    shutil.copytree(built(ROOT / "specs/circ_pad.yaml"), package)
    file = package / "src" / "trtplug_circular_pad" / change.file
    source = file.read_text(encoding="utf-8")
    assert change.text in source, "the generated code has changed; change this test with it"
    file.write_text(source.replace(change.text, change.instead), encoding="utf-8")
    report = tmp_path / "report.json"
    done = run_trtplug("verify", package, "--stage", change.stage, "--json", report)
    assert done.returncode == 1, done.stdout + done.stderr
    (stage,) = json.loads(report.read_text())["packages"][0]["stages"]
    assert (stage["name"], stage["status"]) == (change.stage, "failed")


@pytest.mark.parametrize("stage", sorted({change.stage for change in CHANGES.values()}))
def test_verify_passes_without_a_change(stage: str, built: Built) -> None:
    done = run_trtplug("verify", built(ROOT / "specs/circ_pad.yaml"), "--stage", stage)
    assert done.returncode == 0, done.stdout + done.stderr
