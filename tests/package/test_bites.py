"""The generated tests bite: one change to the code of a generated package, and verify fails in the right stage.

Each change is a fault that somebody makes by hand; `text` must occur in the file, so a stale change is an error.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT, TORCH_TENSORRT, Built, run_trtplug
from tests.harness.forked import Forks


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
    "field dtype": Change("plugin.py", "self.padding, dtype=np.int64", "self.padding, dtype=np.int32", "plugin"),
    "field name": Change("plugin.py", "PluginField(name, array", 'PluginField(f"{name}s", array', "plugin"),
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
    "unwritten output": Change("_kernel.py", "values, mask=mask)", "values, mask=mask & (values > 0))", "parity"),
    "grid": Change("_launch.py", "-(-rows // ROWS)", "rows // ROWS", "parity"),
    "strided input": Change("op.py", "    x = x.contiguous()\n    launch", "    launch", "parity"),
    "fake": Change("op.py", "register_fake(_empty_outputs)", "register_fake(lambda x, padding: x.clone())", "opcheck"),
    "dimension expression": Change("_dims.py", '"SUM"', '"SUB"', "onnx"),
    "node version": Change("onnx.py", '"plugin_version": VERSION', '"plugin_version": "9"', "onnx"),
    "numbers in the node": Change("onnx.py", '" ".join(str(value)', '",".join(str(value)', "onnx"),
    "kernel": Change("_kernel.py", "index >= size", "index > size", "parity"),
    "kernel type": Change("_kernel.py", "tl.program_id(0)", "tl.program_id(X)", "compile"),
}
if TORCH_TENSORRT:
    CHANGES |= {
        "static sizes alone": Change("converter.py", "    supports_dynamic_shapes=True,\n", "", "converter"),
        "another attribute's value": Change("converter.py", "return (x, padding)", "return (padding, x)", "converter"),
        "inputs are constants": Change("_network.py", "layer.set_input(i, tensor)", "pass", "converter"),
        "no plugin for the engine": Change("_network.py", "    guest.seated = True\n", "", "converter"),
        "outputs of the parser": Change(
            "_network.py", "network.unmark_output(layer.get_output(i))", "pass", "converter"
        ),
    }


# Of what circ_pad.yaml does not have: the spec below tests/specs, and the change.
_OPTIONAL: dict[str, Change] = {
    "order of presences": Change("plugin.py", "(True, has_w, has_mask)", "(True, has_mask, has_w)", "plugin"),
    "absence is forgotten": Change("plugin.py", "next(rest) if present else None", "next(rest, None)", "plugin"),
    "presence is not cloned": Change("plugin.py", "has_w=self.has_w,", "has_w=True,", "plugin"),
    "presence in the node": Change("onnx.py", "int(w is not None)", "int(mask is not None)", "onnx"),
    "absent tensor is checked": Change(
        "_shapes.py",
        "if w_dtype is not None:\n        torch._check(w_shape",
        "if True:\n        torch._check(w_shape",
        "parity",
    ),
    "absent tensor is given": Change("op.py", "_shape(w)", "tuple(x.shape[-1:])", "parity"),
    "kernel needs what is absent": Change("_kernel.py", "if Mask is not None:", "if True:", "compile"),
    "tied dtype": Change(
        "_shapes.py",
        "(torch.float16, None, None),",
        "(torch.float16, None, None), (torch.float16, torch.float32, torch.bool),",
        "parity",
    ),
    "bool is no int8": Change("plugin.py", "else torch.bool", "else TORCH_DTYPES[mask.type]", "plugin"),
    "bool to TensorRT": Change(
        "_tensorrt.py",
        "TENSORRT_DTYPES[torch.bool] = trt.DataType.INT8",
        "TENSORRT_DTYPES[torch.bool] = trt.DataType.BOOL",
        "onnx",
    ),
    "no cast before the node": Change("onnx.py", "mask = opset18.Cast(mask, to=TensorProto.INT8)", "pass", "onnx"),
    "no cast after the node": Change("onnx.py", "opset18.Cast(positive, to=TensorProto.BOOL)", "positive", "onnx"),
    "false is nothing": Change("plugin.py", "if self.flag is not None:", "if self.flag:", "plugin"),
    "an empty list is nothing": Change("plugin.py", "if self.sizes is not None:", "if self.sizes:", "plugin"),
    "no text is nothing": Change("plugin.py", "if self.mode is not None:", "if self.mode:", "plugin"),
    "false is nothing in the node": Change("onnx.py", "if flag is not None:", "if flag:", "onnx"),
    "an empty list is nothing in the node": Change("onnx.py", "if sizes is not None:", "if sizes:", "onnx"),
    "no text is nothing in the node": Change("onnx.py", "if mode is not None:", "if mode:", "onnx"),
    "nothing is false": Change("_launch.py", "True if flag is None else flag", "bool(flag)", "parity"),
    "false is the default": Change("_launch.py", "True if flag is None else flag", "flag or True", "parity"),
    "nothing is no list": Change(
        "_launch.py", "sum([5, 6] if sizes is None else sizes)", "sum(sizes or [5, 6])", "parity"
    ),
    "dtype reader": Change("plugin.py", "return known[name]", "return torch.float32", "plugin"),
    "dtype field": Change("plugin.py", 'str(self.dtype).removeprefix("torch.")', "str(self.dtype)", "plugin"),
    "dtype is forgotten": Change("plugin.py", '_dtype(given["other"]) if "other" in given else None', "None", "plugin"),
    "dtype in the node": Change("onnx.py", '"dtype": _dtype(dtype)', '"dtype": "float32"', "onnx"),
    "dtype of the output": Change("_shapes.py", "dtype if other is None else other", "dtype", "parity"),
    "accepted types follow the attribute": Change(
        "plugin.py", "_shapes.y_dtype(dtype, other)", "torch.float32", "plugin"
    ),
    "type of an output in ONNX": Change(
        "onnx.py", "_ELEMENTS[_shapes.y_dtype(dtype, other)]", "TensorProto.FLOAT", "onnx"
    ),
    "float in the node": Change("onnx.py", "repr(float(eps))", 'f"{eps:f}"', "onnx"),
    "floats in the node": Change("onnx.py", "repr(float(value))", "str(round(value, 6))", "onnx"),
    "ints in the node": Change("onnx.py", '" ".join(str(value)', '",".join(str(value)', "onnx"),
    "narrow int in the node": Change("onnx.py", "str(n)", "str((n + 2**31) % 2**32 - 2**31)", "onnx"),
    "narrow float out of the node": Change(
        "plugin.py",
        "map(float, _text(field).split())",
        "map(float, map(np.float32, _text(field).split()))",
        "onnx",
    ),
    "timing cache of text": Change("plugin.py", "flag, mode, sizes", "flag, sizes", "plugin"),
}
_STEPS: dict[str, Change] = {
    "workspace overlaps": Change(
        "_launch.py", "self._offsets.append(self.workspace_bytes)", "self._offsets.append(0)", "plugin"
    ),
    "workspace in elements": Change(
        "_launch.py", "-(-count * dtype.itemsize // 256) * 256", "-(-count // 256) * 256", "plugin"
    ),
    "workspace is not aligned": Change(
        "_launch.py", "-(-count * dtype.itemsize // 256) * 256", "count * dtype.itemsize", "plugin"
    ),
    "workspace of the least shapes": Change("plugin.py", "tuple(x.max)", "tuple(x.min)", "plugin"),
    "workspace where the outputs are": Change(
        "plugin.py", "*outputs, *self._launch.within(workspace)", "*self._launch.within(workspace), *outputs", "plugin"
    ),
    "address of the workspace": Change("_launch.py", "workspace + offset", "offset", "plugin"),
    "output is not zero": Change("_launch.py", "        _zeros(2, math.prod(most_shape)),\n", "", "plugin"),
    "workspace is not zero": Change("_launch.py", "        _zeros(5, math.prod(positive_shape)),\n", "", "plugin"),
    "zeros end early": Change("_launch.py", "mask=offset < count", "mask=offset < count - 1", "plugin"),
    "zeros come last": Change(
        "_launch.py",
        "        _zeros(5, math.prod(positive_shape)),\n        step_1,\n        step_2,\n",
        "        step_1,\n        step_2,\n        _zeros(5, math.prod(positive_shape)),\n",
        "plugin",
    ),
    "order of steps": Change(
        "_launch.py", "        step_1,\n        step_2,\n", "        step_2,\n        step_1,\n", "parity"
    ),
    "one step": Change("_launch.py", "        step_1,\n        step_2,\n", "        step_2,\n", "plugin"),
    "heuristics": Change("_launch.py", "given[name] = rule(given)", "given[name] = True", "parity"),
    "heuristics of other values": Change("_launch.py", "supplied.get(i, value)", "value", "parity"),
    "strides": Change("_launch.py", "_strides(x_shape)[0], ", "_strides(x_shape)[1], ", "parity"),
    "helper": Change("pipeline_base.py", "whole / count", "whole / (count + 1)", "parity"),
}
_TUNED: dict[str, Change] = {
    "grid of a configuration": Change("_launch.py", "-(-columns // BLOCK)", "-(-columns // 64)", "parity"),
    "a later configuration": Change("_kernel.py", "tl.program_id(1) * ROWS", "tl.program_id(1)", "parity"),
    "a later configuration compiles": Change("_kernel.py", "BLOCKS = [32, 64]", "BLOCKS = [32, 48]", "compile"),
    "order of constexprs": Change("_launch.py", "None, ROWS, BLOCK)", "None, BLOCK, ROWS)", "parity"),
}
_IN_TORCH: dict[str, Change] = {
    "dtype of a result": Change("_shapes.py", "return torch.float32", "return torch.float16", "parity"),
    "order of results": Change(
        "_launch.py", "tensors[len(self._inputs) :]", "tensors[: len(self._inputs) - 1 : -1]", "parity"
    ),
    "stream of the reference": Change("_launch.py", "with _on(stream)", "with _on(0)", "plugin"),
    "order of the reference's tensors": Change("_launch.py", "lambda x, weight:", "lambda weight, x:", "parity"),
    "attributes of the reference": Change("_launch.py", "list(axes), scale)", "list(axes), 1.0)", "parity"),
}
_WRITING: dict[str, Change] = {
    "alias of another input": Change("plugin.py", "(1, -1)[output]", "(0, -1)[output]", "plugin"),
    "alias that nobody asked for": Change("plugin.py", "[output] if self.aliased else -1", "[output]", "plugin"),
    "alias is not cloned": Change("plugin.py", "aliased=self.aliased", "aliased=False", "plugin"),
    "new value without the old one": Change("plugin.py", "if new_total != total:", "if False:", "plugin"),
    "copy in its own place": Change("plugin.py", "if new_total != total:", "if True:", "plugin"),
    "copy on another stream": Change("plugin.py", "new_total, stream=stream)", "new_total, stream=0)", "plugin"),
    "copy the other way": Change(
        "plugin.py", "_copies.start(total, new_total", "_copies.start(new_total, total", "plugin"
    ),
    "copy compiles in enqueue": Change("plugin.py", "            copies.warm()\n", "", "plugin"),
    "copy ends early": Change("_launch.py", "-(-count // block)", "count // block", "plugin"),
    "input is written to": Change("plugin.py", "start(x, new_total, weight", "start(x, total, weight", "plugin"),
    "functional variant writes": Change(
        "op.py", "total.clone(memory_format=torch.contiguous_format)", "total", "parity"
    ),
    "strided tensor keeps its value": Change("op.py", "    total.copy_(dense_total)\n", "", "parity"),
    "export of the op that writes": Change("op.py", "if not torch.compiler.is_exporting()", "if True", "opcheck"),
    "new value is dropped": Change("op.py", "    total.copy_(new_total)\n", "", "opcheck"),
    "node that does not write in place": Change(
        "onnx.py", 'AttrInt64("aliased", 1)', 'AttrInt64("aliased", 0)', "onnx"
    ),
    "constant is written to": Change("onnx.py", "if value not in writable:", "if False:", "onnx"),
}
OTHERS: dict[str, tuple[str, Change]] = {
    name: (spec, change)
    for spec, changes in (
        ("kinds", _OPTIONAL),
        ("pipeline", _STEPS),
        ("tuned", _TUNED),
        ("center_rows", _IN_TORCH),
        ("accumulate", _WRITING),
    )
    for name, change in changes.items()
}


def changed(package: Path, change: Change) -> None:
    """Makes the change in the source of a package."""
    (source,) = package.glob("src/*/plugin.py")
    file = source.with_name(change.file)
    text = file.read_text(encoding="utf-8")
    assert change.text in text, "the generated code has changed; change this test with it"
    file.write_text(text.replace(change.text, change.instead), encoding="utf-8")


# One change for each stage goes through verify; the others, through the tests of the stage alone, which is faster.
STAGES = {change.stage: name for name, change in reversed(CHANGES.items())}


@pytest.mark.parametrize("stage", STAGES)
def test_verify_fails(stage: str, built: Built, tmp_path: Path) -> None:
    package = tmp_path / "package"
    shutil.copytree(built(ROOT / "specs/circ_pad.yaml"), package)
    changed(package, CHANGES[STAGES[stage]])
    report = tmp_path / "report.json"
    done = run_trtplug("verify", package, "--stage", stage, "--json", report)
    assert done.returncode == 1, done.stdout + done.stderr
    (result,) = json.loads(report.read_text())["packages"][0]["stages"]
    assert (result["name"], result["status"]) == (stage, "failed")


@pytest.mark.parametrize("name", [name for name in CHANGES if name not in STAGES.values()])
def test_tests_fail(name: str, built: Built, forks: Forks, tmp_path: Path) -> None:
    package = tmp_path / "package"
    shutil.copytree(built(ROOT / "specs/circ_pad.yaml"), package)
    changed(package, CHANGES[name])
    assert not passes(package, CHANGES[name].stage, forks)


@pytest.mark.parametrize("name", OTHERS)
def test_stage_fails(name: str, built: Built, forks: Forks, tmp_path: Path) -> None:
    spec, change = OTHERS[name]
    package = tmp_path / "package"
    shutil.copytree(built(ROOT / f"tests/specs/{spec}.yaml"), package)
    changed(package, change)
    assert not passes(package, change.stage, forks)


# Of the others test_verify.py shows it.
@pytest.mark.parametrize("stage", sorted({change.stage for change in CHANGES.values()}))
def test_tests_pass_without_a_change(stage: str, built: Built, forks: Forks, tmp_path: Path) -> None:
    package = tmp_path / "package"
    shutil.copytree(built(ROOT / "specs/circ_pad.yaml"), package)
    assert passes(package, stage, forks)


def passes(package: Path, stage: str, forks: Forks) -> bool:
    """Whether the tests of a stage pass; as verify runs them, but in a fork, with the package where it stands."""
    code, output = forks.pytest(package, f"tests/test_{stage}.py", "-x", "-q", "-p", "no:cacheprovider")
    print(output)
    # Tests fail, or the process dies. Anything else, such as a module that is no Python, is a fault of the change.
    assert code < 2, output
    assert code or " passed" in output, "every test was skipped"
    return code == 0
