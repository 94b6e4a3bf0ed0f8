"""Field reports on launches: arguments, compiled kernels, streams, devices, capture; see docs/field-reports.md.

Triton compiles the kernels of generated packages here as it does on a GPU, and launches them into a stand-in for CUDA.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.field_reports.packages import SPECS, Built, imported, refusal, stage, variant
from trtplug.verify.stage import Status

ADDRESSES = {"x": 0x1000, "w": 0x2000, "y": 0x3000}


class Bench:
    """A stand-in for CUDA, and the package of a spec on it, which has prepared and compiled nothing yet.

    No fixture, since those of a test that runs elsewhere are made here too.
    """

    def __init__(self, name: str, built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
        from tests.field_reports.stub_driver import StubDriver

        self.driver = StubDriver(monkeypatch)
        self.package = imported(built(SPECS / f"{name}.yaml"), "plugin")
        self.package._launch.prepare.cache_clear()
        for step in (self.package._launch, self.package._kernel):
            for kernel in vars(step).values():
                getattr(kernel, "device_caches", {}).clear()


def described(package: Any, dtype: Any, *shapes: Sequence[int]) -> list[Any]:
    """TensorRT's descriptions of tensors."""
    trt = package._tensorrt.trt
    descriptions = []
    for shape in shapes:
        description = trt.PluginTensorDesc()
        description.dims = trt.Dims(list(shape))
        description.type = package._tensorrt.TENSORRT_DTYPES[dtype]
        description.format = trt.TensorFormat.LINEAR
        descriptions.append(description)
    return descriptions


class Scaling:
    """A plugin of scale.yaml in a context of its own, which knows its shapes."""

    def __init__(self, package: Any, dtype: Any) -> None:
        self.plugin = package.plugin.ScalePlugin(scale=0.25).attach_to_context(None)
        self._inputs, self._outputs = described(package, dtype, (3, 100), (100,)), described(package, dtype, (3, 100))
        self.plugin.on_shape_change(self._inputs, self._outputs)

    def enqueue(self, x: int, w: int, y: int, stream: int = 7) -> None:
        """As TensorRT calls it, with addresses."""
        self.plugin.enqueue(self._inputs, self._outputs, [x, w], [y], 0, stream)


@pytest.mark.compiling
@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16"])
def test_s04_launch_agrees_with_the_compiled_kernel(name: str, built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    bench = Bench("scale", built, monkeypatch)
    Scaling(bench.package, getattr(torch, name)).enqueue(**ADDRESSES)
    (started,) = bench.driver.started
    # In the kernel's order, which is neither that of the schema nor that of the spec.
    assert started.arguments == (ADDRESSES["y"], ADDRESSES["x"], 0.25, 300, ADDRESSES["w"], 100, 256)
    element = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}[name]
    pointers = dict.fromkeys(("Y", "X", "W"), f"*{element}")
    assert started.signature == {**pointers, "scale": "fp32", "n": "i32", "columns": "i32", "BLOCK": "constexpr"}
    assert started.grid == (2, 1, 1)
    assert started.metadata.num_warps == 8


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("n: numel(y)", "n: numel(y), m: 1"), "'m' is no parameter of scale_kernel"),
        (("n: numel(y)", "n: numel(y), BLOCK: 256"), "'BLOCK' is under constexpr too; keep one"),
        ((', columns: "w.shape[0]"', ""), "kernel parameter 'columns' has no expression; add it to launch.args"),
        (("{BLOCK: 256}", "{}"), "kernel parameter 'BLOCK' has no expression; add it to launch.constexpr"),
    ],
)
def test_s04_arguments_that_do_not_fit_the_kernel_are_refused(
    change: tuple[str, str], message: str, tmp_path: Path
) -> None:
    assert message in refusal(variant("scale", tmp_path, dict([change])))


def test_s05_spec_is_read_and_built_without_torch_and_triton(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules.update(torch=None, triton=None, tensorrt=None, tensorrt_rtx=None)\n"
        "from trtplug.cli import main; main()"
    )
    command = [sys.executable, "-c", script, "build", str(SPECS / "histogram.yaml"), "-o", str(tmp_path / "package")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    files = {path.suffix for path in (tmp_path / "package" / "src").rglob("*") if path.is_file()}
    assert files == {".py", ".yaml", ".typed"}, "compiled code would be of the machine that built it"


def test_s05_autotuned_package_is_imported_without_a_gpu(built: Built) -> None:
    script = (
        "from triton.runtime.driver import DriverConfig\n"
        "def touched(config): raise RuntimeError('the driver was touched')\n"
        "DriverConfig.active = DriverConfig.default = property(touched)\n"
        "import trtplug_histogram.plugin, trtplug_histogram.onnx\n"
    )
    variables = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    variables |= {"PYTHONPATH": str(built(SPECS / "histogram.yaml") / "src"), "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.compiling
def test_s06_hidden_parameters_are_left_to_tritons_own_launcher(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    bench = Bench("scale", built, monkeypatch)
    subject = Scaling(bench.package, torch.float32)
    subject.enqueue(**ADDRESSES)
    (started,) = bench.driver.started
    launch = subject.plugin._launch
    (step,) = launch.steps
    pointers = [bench.package._launch.Pointer(dtype, 0) for dtype in launch.dtypes]
    kernel = step.kernel.warmup(*step.arguments(*pointers), grid=step.grid, **step.options)
    entry = re.search(r"\.entry[^(]*\(([^)]*)\)", kernel.asm["ptx"])
    assert entry
    visible = sum(kind != "constexpr" for kind in started.signature.values())
    assert entry[1].count(".param") > visible, "this Triton hides no parameters; the test shows nothing"
    # Triton's launcher is handed all of the kernel's parameters and no others; it knows what the kernel takes besides.
    assert len(started.arguments) == len(started.signature)


def test_s06_kernel_that_needs_scratch_memory_fails_its_test(built: Built, tmp_path: Path) -> None:
    shutil.copytree(built(SPECS / "descriptor.yaml"), tmp_path, dirs_exist_ok=True)
    (file,) = tmp_path.rglob("test_compile.py")
    text = re.sub(r"ARCHITECTURES = .*", 'ARCHITECTURES = ("90",)', file.read_text(encoding="utf-8"), count=1)
    file.write_text(text, encoding="utf-8")
    result = stage(tmp_path, "compile", tmp_path)
    assert result.status is Status.FAILED
    assert "the kernel needs scratch memory, which its launch does not pass" in result.reason


def test_s08_tuning_touches_no_buffer_of_the_caller(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    package = imported(built(SPECS / "histogram.yaml"))
    timed: list[int] = []

    def milliseconds(step: Any, buffers: list[Any]) -> float:
        for _ in range(3):
            step.kernel[step.grid](*step.arguments(*buffers), **step.options)
        timed.append(step.grid[0])
        return float(len(timed))

    # As on GPU 0, but for the place of the buffers and the clock.
    zeros, prepare = torch.zeros, package._launch.prepare.__wrapped__
    monkeypatch.setattr(torch, "zeros", lambda *size, device, **options: zeros(*size, **options))
    monkeypatch.setattr(package._launch, "_milliseconds", milliseconds)
    monkeypatch.setattr(package._launch, "prepare", lambda device, *more: prepare(0, *more))
    # Outputs full of what nothing has cleared, as TensorRT's are.
    monkeypatch.setattr(torch.utils.deterministic, "fill_uninitialized_memory", True)
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(1, dtype=torch.int32).item() != 0
        index = torch.randint(0, 7, (100,), dtype=torch.int32)
        given = index.clone()
        results = [package.histogram(index, 7) for _ in range(10)]
    finally:
        torch.use_deterministic_algorithms(False)
    for counts in results:
        assert torch.equal(counts, torch.bincount(index, minlength=7).int())
    assert torch.equal(index, given)
    assert timed == [4, 1], "both configurations are timed, once"


@pytest.mark.compiling
def test_s10_op_launches_on_the_device_of_its_tensors(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    from tests.field_reports.stub_driver import stream_of

    bench = Bench("scale", built, monkeypatch)
    with FakeTensorMode():  # tensors on GPUs that are not there
        for device in (1, 0, 1):
            x, w = torch.empty(3, 100, device=f"cuda:{device}"), torch.empty(100, device=f"cuda:{device}")
            y = bench.package.scale._init_fn(x, w)
            assert y.device == x.device
        with pytest.raises(RuntimeError, match="scale: w is on cuda:0, x on cuda:1"):
            bench.package.scale._init_fn(x, w.to("cuda:0"))
    assert [started.device for started in bench.driver.started] == [1, 0, 1]
    assert [started.stream for started in bench.driver.started] == [stream_of(device) for device in (1, 0, 1)]
    assert {device for device, _ in bench.driver.compiled} == {0, 1}, "a kernel is loaded on each device"
    assert bench.driver.device == 0, "the current device is as it was"


@pytest.mark.compiling
def test_s10_plugin_launches_on_the_device_of_its_context(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    bench = Bench("scale", built, monkeypatch)
    for bench.driver.device in (0, 1):
        Scaling(bench.package, torch.float32)
    loaded = [device for device, name in bench.driver.compiled if name == "scale_kernel"]
    assert loaded == [0, 0, 1, 1], "for aligned addresses and for others, on each device"


@pytest.mark.compiling
def test_s11_every_kernel_starts_on_the_stream_of_enqueue(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    bench = Bench("histogram", built, monkeypatch)
    package = bench.package
    monkeypatch.setattr(package._launch, "_fastest", lambda device, candidates, *more: candidates[0])
    plugin = package.plugin.HistogramPlugin(bins=7).attach_to_context(None)
    inputs, outputs = described(package, torch.int32, (100,)), described(package, torch.int32, (7,))
    plugin.on_shape_change(inputs, outputs)
    for stream in (0x5EED, 0xFEED):
        bench.driver.started.clear()
        plugin.enqueue(inputs, outputs, [0x1000], [0x2000], 0, stream)
        assert [started.stream for started in bench.driver.started] == [stream, stream]
        buffers = [started.arguments[0] for started in bench.driver.started]
        assert buffers == [0x2000, 0x1000], "zeros first, then counts"


@pytest.mark.compiling
@pytest.mark.parametrize("aligned", [True, False])
def test_s12_enqueue_does_nothing_but_launch(aligned: bool, built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    bench = Bench("scale", built, monkeypatch)
    subject = Scaling(bench.package, torch.bfloat16)
    compiled, calls = len(bench.driver.compiled), set[tuple[str, str]]()

    def note(frame: FrameType, event: str, function: Any) -> None:
        if event == "call":
            calls.add((frame.f_globals.get("__name__", ""), frame.f_code.co_name))
        elif event == "c_call":
            owner = getattr(function, "__module__", None) or type(function.__self__).__module__
            calls.add((owner, function.__qualname__))

    addresses = {name: address + (not aligned) for name, address in ADDRESSES.items()}
    sys.setprofile(note)
    try:
        subject.enqueue(**addresses)
    finally:
        sys.setprofile(None)
    assert len(bench.driver.started) == 1
    assert len(bench.driver.compiled) == compiled, "enqueue compiled or loaded a kernel"
    calls.discard(("sys", "setprofile"))
    # Its own few lines, Triton's runner of a kernel that is compiled and loaded, and nothing else.
    runner = {"runner", "launch_metadata", "run", "_init_handles", "__init__"}
    assert {name for owner, name in calls if owner.startswith("triton")} <= runner, calls
    names = {name for owner, name in calls if owner.startswith("trtplug_scale")}
    assert names <= {"enqueue", "start", "<genexpr>", "<lambda>", "_aligned", "_unaligned"}, names
    others = {owner.split(".")[0] for owner, _ in calls} - {"trtplug_scale", "triton", "tests", "builtins"}
    assert not others, calls
