"""new, build, check, diff, schema: what each writes, says and returns."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT, TORCH_TENSORRT
from trtplug import __version__, resolve, spec

Run = Callable[..., Any]
_MAIN = [sys.executable, "-m", "trtplug"]
_KERNEL = """\
import triton
import triton.language as tl


@triton.jit
def scale_rows(X, out_ptr, W, stride_row, n_elements, eps, BLOCK: tl.constexpr, ACTIVATION: tl.constexpr = "none"):
    start = X + tl.program_id(0) * stride_row
    column = tl.arange(0, BLOCK)
    x = tl.load(start + column, mask=column < n_elements)
    target = out_ptr + column
    tl.store(target, x * tl.load(W + column) + eps)
"""


def _tree() -> set[str]:
    return {str(path) for path in Path().rglob("*") if path.is_file()}


def test_new_writes_a_spec_that_builds_and_refuses_to_overwrite_it(trtplug: Run) -> None:
    result = trtplug("new", "my_gelu")
    assert result.out.splitlines() == [
        "wrote specs/my_gelu.py",
        "wrote specs/my_gelu.yaml",
        "next: trtplug build specs/my_gelu.yaml && trtplug verify specs/my_gelu.yaml",
    ]
    assert trtplug("build", "specs/my_gelu.yaml").code == 0
    Path("specs/my_gelu.yaml").write_text("mine")
    result = trtplug("new", "my_gelu")
    assert result.code == 2
    assert result.err.splitlines() == [
        "specs/my_gelu.yaml: exists",
        "nothing was written; choose another name, or add --force to overwrite",
    ]
    assert Path("specs/my_gelu.yaml").read_text() == "mine"
    assert trtplug("new", "my_gelu", "--force").code == 0
    assert trtplug("check", "specs/my_gelu.yaml").out == "specs/my_gelu.yaml: ok\n"


@pytest.mark.parametrize("name", ["MyOp", "../up", "class", "a__b", ""])
def test_new_refuses_a_bad_name(trtplug: Run, name: str) -> None:
    result = trtplug("new", name)
    assert result.code == 2
    assert repr(name)[1:-1] in result.err
    assert not _tree()


def test_new_reads_a_kernel_without_importing_it(trtplug: Run) -> None:
    Path("kernels.py").write_text(_KERNEL + "\nraise SystemExit('imported')\n")
    assert trtplug("new", "scaled", "--from", "kernels.py:scale_rows").code == 0
    assert _tree() == {"kernels.py", "specs/kernels.py", "specs/scaled.yaml", "specs/scaled_reference.py"}
    op = resolve.resolve(spec.load(Path("specs/scaled.yaml")))
    assert op.schema == "(Tensor x, Tensor w, float eps=1e-5) -> Tensor"
    assert [output.name for output in op.outputs] == ["out"]
    assert trtplug("check", "specs/scaled.yaml").out == "specs/scaled.yaml: ok\n"
    assert trtplug("build", "specs/scaled.yaml").code == 0
    text = Path("specs/scaled.yaml").read_text()
    expressions = dict(re.findall(r"^    (\w+): (.+) # guess: .+$", text, re.MULTILINE))
    assert expressions == {
        "X": "x",
        "out_ptr": "out",
        "W": "w",
        "stride_row": '"strides(x.shape)[-2]"',
        "n_elements": "numel(x)",
        "eps": "eps",
        "BLOCK": '"next_power_of_2(x.shape[-1])"',
        "ACTIVATION": "\"'none'\"",
    }


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("kernels.py", "--from takes FILE.py:KERNEL, not 'kernels.py'"),
        ("absent.py:kernel", "cannot read absent.py: No such file or directory"),
        ("kernels.py:scale_row", "kernels.py has no @triton.jit function 'scale_row'; it has scale_rows"),
        ("broken.py:kernel", "broken.py:2:1: no Python"),
        ("idle.py:idle", "idle stores to none of its parameters; name the kernel that writes the result by tl.store"),
    ],
)
def test_new_says_what_is_wrong_with_a_kernel(trtplug: Run, source: str, message: str) -> None:
    Path("kernels.py").write_text(_KERNEL)
    Path("broken.py").write_text("\ndef (")
    Path("idle.py").write_text("@triton.jit\ndef idle(x_ptr):\n    pass\n")
    result = trtplug("new", "scaled", "--from", source)
    assert result.code == 2
    assert result.err.startswith(message)
    assert not Path("specs").exists()


def test_build_and_diff_agree_about_what_changes(trtplug: Run) -> None:
    trtplug("new", "one")
    patch = trtplug("diff", "specs/one.yaml")
    assert patch.code == 1
    assert "--- /dev/null\n+++ build/trtplug-one/pyproject.toml\n" in patch.out
    assert not Path("build").exists()
    assert re.fullmatch(r"build/trtplug-one: \d+ created\n", trtplug("build", "specs/one.yaml").out)
    clean = trtplug("diff", "specs/one.yaml")
    assert (clean.code, clean.out) == (0, "")
    assert re.fullmatch(r"build/trtplug-one: \d+ unchanged\n", trtplug("build", "specs/one.yaml").out)
    empty = Path("build/trtplug-one/src/trtplug_one/py.typed")
    empty.unlink()
    assert trtplug("diff", "specs/one.yaml").out == f"--- /dev/null\n+++ {empty}\n"


def test_build_never_overwrites_an_edit_unless_forced(trtplug: Run) -> None:
    trtplug("new", "one")
    trtplug("new", "two")
    trtplug("build", "specs/one.yaml", "-o", "out")
    readme = Path("out/README.md")
    generated = readme.read_text()
    readme.write_text("mine\n")
    before = _tree()
    result = trtplug("build", "specs/one.yaml", "-o", "out")
    assert result.code == 2
    assert result.err.splitlines() == [
        "out/README.md: was not written by trtplug, or edited since",
        "nothing was written; see trtplug diff; add --force to overwrite",
    ]
    assert (readme.read_text(), _tree()) == ("mine\n", before)
    patch = trtplug("diff", "specs/one.yaml", "-o", "out")
    assert patch.code == 1
    assert "-mine\n" in patch.out
    assert trtplug("build", "specs/one.yaml", "-o", "out", "--force").code == 0
    assert readme.read_text() == generated


def test_several_specs_go_below_one_folder_and_all_or_none(trtplug: Run) -> None:
    trtplug("new", "one")
    trtplug("new", "two")
    Path("bad.yaml").write_text("spec: 1\nname: bad\nsumary: x\n")
    before = _tree()
    result = trtplug("build", "specs/one.yaml", "bad.yaml", "absent.yaml", "-o", "out")
    assert result.code == 2
    lines = result.err.splitlines()
    assert lines[-1] == f"{len(lines) - 1} problems; nothing was written"
    assert "bad.yaml:3:1: unknown key 'sumary'; did you mean 'summary'?" in lines
    assert "absent.yaml:1:1: cannot read the spec: No such file or directory; check the path" in lines
    assert "Traceback" not in result.err
    assert _tree() == before
    assert trtplug("build", "specs/one.yaml", "specs/two.yaml", "-o", "out").code == 0
    assert sorted(os.listdir("out")) == ["trtplug-one", "trtplug-two"]
    twice = trtplug("build", "specs/one.yaml", "specs/one.yaml")
    assert twice.code == 2
    assert twice.err.startswith("several specs build build/trtplug-one")
    assert trtplug("check", "absent.yaml").err.splitlines()[-1] == "1 problem; nothing was written"


def test_schema_and_version(trtplug: Run) -> None:
    assert json.loads(trtplug("schema").out)["required"]
    assert trtplug("--version").out == f"trtplug {__version__}\n"


def test_no_command_but_verify_imports_what_is_heavy(trtplug: Run) -> None:
    trtplug("new", "one")
    script = """
import sys
from typer.testing import CliRunner
from trtplug.cli import app
for command in (["--help"], ["build", "specs/one.yaml"], ["diff", "specs/one.yaml"], ["check", "specs/one.yaml"]):
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
print({name.partition(".")[0] for name in sys.modules} & {"torch", "triton", "numpy", "onnx", "tensorrt_rtx"})
"""
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "set()\n"
    )


@pytest.mark.parametrize("no_color", [False, True])
def test_a_terminal_gets_colours_unless_it_wants_none(trtplug: Run, no_color: bool) -> None:
    trtplug("new", "one")
    leader, follower = pty.openpty()
    variables = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    variables |= {"TERM": "xterm-256color"} | ({"NO_COLOR": "1"} if no_color else {})
    with subprocess.Popen([*_MAIN, "diff", "specs/one.yaml"], stdout=follower, env=variables) as process:
        os.close(follower)
        output = b""
        while True:
            try:
                output += os.read(leader, 65536)
            except OSError:  # how Linux says that the other end is closed
                break
    os.close(leader)
    assert process.returncode == 1
    assert b"pyproject.toml" in output
    assert bool(re.search(rb"\x1b\[[\d;]*3[0-9]", output)) is not no_color


def test_an_interrupt_ends_everything_and_leaves_nothing(
    trtplug: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    trtplug("new", "one")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    variables = {**os.environ, "TMPDIR": str(scratch)}
    command = [*_MAIN, "verify", "specs/one.yaml"]
    # A test run in the background may ignore SIGINT, and so would its children.
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=variables,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with process:
        assert process.stdout is not None
        while not process.stdout.readline().startswith("one package"):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (130, "interrupted\n")
    # jinja2 keeps its compiled templates there on purpose.
    assert [path.name for path in scratch.iterdir() if not path.name.startswith("_jinja2-cache-")] == []
    running = [Path("/proc", pid, "cmdline") for pid in os.listdir("/proc") if pid.isdigit()]
    assert not [path for path in running if path.exists() and str(scratch).encode() in path.read_bytes()]


@pytest.mark.skipif(not TORCH_TENSORRT, reason="needs a distribution of torch_tensorrt")
@pytest.mark.parametrize("gpu", [False, True])
def test_doctor_wants_torch_tensorrt_to_import_beside_a_gpu(gpu: bool, tmp_path: Path) -> None:
    stub = f"import torch\ntorch.cuda.is_available = lambda: {gpu}\ntorch.cuda.get_device_name = lambda: 'a stub'\n"
    (tmp_path / "sitecustomize.py").write_text(stub)
    variables = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "trtplug", "doctor"]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    (converter,) = (line for line in done.stdout.splitlines() if line.startswith("converter "))
    assert ("needs torch_tensorrt (" in converter) == gpu, done.stdout
    assert ("beside a GPU torch_tensorrt itself has to import" in done.stdout) == gpu
