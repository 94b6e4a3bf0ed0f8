"""`trtplug new --from`: the spec of each kernel passes `check` as it is written, builds, and says what was guessed.

kernels/ holds kernels as people write them. Those whose guesses are all right also run, in Triton's interpreter.
"""

from __future__ import annotations

import re
import secrets
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from tests.conftest import ROOT, Built
from tests.scaffold.random_kernels import random_kernel
from trtplug import kernel_file, resolve, scaffold, spec
from trtplug.cli import app
from trtplug.forms import InputForm, OutputForm
from trtplug.model import Op
from trtplug.verify import environment

KERNELS = ROOT / "tests/scaffold/kernels"
# Kernels in all but name: they return values, or write where they are told by the kernel that calls them.
HELPERS = {"centred", "leaky_relu", "mean", "read_row", "row_pointers", "total", "write_row"}

RUN = [
    *("vector_add.py:add_kernel", "softmax.py:softmax_kernel", "layer_norm.py:layer_norm_fwd"),
    *("matmul.py:matmul_kernel", "attention.py:attention_kernel", "heuristics.py:add_bias", "helpers.py:rms_norm"),
    *("cross_entropy.py:cross_entropy_fwd", "block_pointers.py:transpose_kernel", "embedding.py:embedding_kernel"),
    *("generated.py:triton_per_fused_add_mean_0", "activation.py:fused_bias_act"),
]

New = Callable[[str], tuple[int, str]]


def _kernels() -> list[str]:
    """FILE:KERNEL of every kernel of this repository."""
    files = sorted([*ROOT.glob("specs/*.py"), *ROOT.glob("tests/specs/*.py"), *KERNELS.glob("*.py")])
    return [
        f"{file.relative_to(ROOT)}:{function.name}"
        for file in files
        for function in kernel_file.functions(file.read_text(encoding="utf-8")).values()
        if function.is_kernel and function.name not in HELPERS and not function.name.startswith("_")
    ]


@pytest.fixture
def new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> New:
    """`trtplug new an_op --from SOURCE` in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(source: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["new", "an_op", "--from", source], catch_exceptions=False)
        return result.exit_code, result.stderr

    return run


def written() -> Op:
    """The op of the spec that was written, which has no problem."""
    return resolve.resolve(spec.load(Path("specs/an_op.yaml")))


def expressions(section: str) -> dict[str, str]:
    """The expressions of `args` or `constexpr`, each of which is marked as a guess."""
    text = Path("specs/an_op.yaml").read_text(encoding="utf-8").partition(f"  {section}:\n")[2]
    lines = re.match(r"(    .*\n)*", text)
    assert lines
    found = re.findall(r"^    (\w+): (.+?) # guess: .+$", lines[0], re.MULTILINE)
    assert len(found) == len(lines[0].splitlines())
    return {name: value.strip('"') for name, value in found}


def shapes(op: Op) -> dict[str, str]:
    """The shape of each output, as written."""
    form = spec.load(Path("specs/an_op.yaml")).form
    assert list(form.outputs) == [output.name for output in op.outputs]
    return {name: output.shape for name, output in form.outputs.items()}


@pytest.mark.parametrize("source", _kernels())
def test_a_spec_passes_check_as_it_is_written(new: New, source: str) -> None:
    assert new(str(ROOT / source)) == (0, "")
    op = written()
    kernel = op.launch.kernels[0]
    supplied = {name for config in kernel.configs for name in config.constexprs}
    assert supplied.isdisjoint(expressions("constexpr"))
    for line in Path("specs/an_op.yaml").read_text(encoding="utf-8").splitlines():
        assert "# guess" in line or re.match(r"(# .*|(spec|name|kernel|reference): .*| *\w+:|)$", line), line


class Expected(NamedTuple):
    schema: str
    outputs: dict[str, str]
    grid: tuple[str, ...]
    values: dict[str, str]


EXPECTED = {
    "vector_add.py:add_kernel": Expected(
        "(Tensor x, Tensor y) -> Tensor",
        {"output": "x.shape"},
        ("cdiv(numel(x), BLOCK_SIZE)",),
        {"x_ptr": "x", "y_ptr": "y", "output_ptr": "output", "n_elements": "numel(x)", "BLOCK_SIZE": "1024"},
    ),
    "softmax.py:softmax_kernel": Expected(
        "(Tensor input) -> Tensor",
        {"output": "input.shape"},
        ("prod(input.shape[:-1])",),
        {
            "input_row_stride": "strides(input.shape)[-2]",
            "output_row_stride": "strides(output.shape)[-2]",
            "n_rows": "prod(input.shape[:-1])",
            "n_cols": "input.shape[-1]",
            "BLOCK_SIZE": "next_power_of_2(input.shape[-1])",
        },
    ),
    "layer_norm.py:layer_norm_fwd": Expected(
        "(Tensor x, Tensor w, Tensor b, float eps=1e-5) -> (Tensor, Tensor, Tensor)",
        {"y": "x.shape", "mean": "x.shape[:-1]", "rstd": "x.shape[:-1]"},
        ("prod(x.shape[:-1])",),
        {"stride": "strides(x.shape)[-2]", "N": "x.shape[-1]", "eps": "eps", "BLOCK_SIZE": "1024"},
    ),
    # Its blocks are autotune's, and its activation a helper.
    "matmul.py:matmul_kernel": Expected(
        '(Tensor a, Tensor b, str activation="leaky_relu") -> Tensor',
        {"c": "[a.shape[0], b.shape[1]]"},
        ("cdiv(a.shape[0], BLOCK_SIZE_M) * cdiv(b.shape[1], BLOCK_SIZE_N)",),
        {
            **{"M": "a.shape[0]", "N": "b.shape[1]", "K": "a.shape[1]", "ACTIVATION": "activation"},
            **{"stride_am": "strides(a.shape)[0]", "stride_ak": "strides(a.shape)[1]"},
            **{"stride_bk": "strides(b.shape)[0]", "stride_bn": "strides(b.shape)[1]"},
            **{"stride_cm": "strides(c.shape)[0]", "stride_cn": "strides(c.shape)[1]"},
        },
    ),
    "dropout.py:seeded_dropout": Expected(
        "(Tensor x, float p=0.5, int seed=1) -> Tensor",
        {"output": "x.shape"},
        ("cdiv(numel(x), BLOCK_SIZE)",),
        {"p": "p", "seed": "seed"},
    ),
    "attention.py:attention_kernel": Expected(
        "(Tensor q, Tensor k, Tensor v, float sm_scale=1.0, bool is_causal=False) -> Tensor",
        {"out": "q.shape"},
        ("cdiv(q.shape[-2], BLOCK_M)", "prod(q.shape[:-2])"),
        {
            **{"Z": "q.shape[0]", "H": "q.shape[1]", "N_CTX": "q.shape[-2]", "IS_CAUSAL": "is_causal"},
            **{"stride_qz": "strides(q.shape)[0]", "stride_vn": "strides(v.shape)[3]"},
            **{"stride_on": "strides(out.shape)[3]", "BLOCK_DMODEL": "next_power_of_2(q.shape[-1])"},
        },
    ),
    "quantize.py:quantize_rowwise": Expected(
        "(Tensor x) -> (Tensor, Tensor)",
        {"output": "x.shape", "output_maxs": "x.shape[:-1]"},
        ("prod(x.shape[:-1])",),
        {"n_elements": "numel(x)", "BLOCK_SIZE": "x.shape[-1]", "P2": "next_power_of_2(x.shape[-1])"},
    ),
    # Heuristics supply its block and the flag that says whether there is a bias.
    "heuristics.py:add_bias": Expected(
        "(Tensor x, Tensor? bias=None) -> Tensor",
        {"out": "x.shape"},
        ("prod(x.shape[:-1])",),
        {"bias_ptr": "bias", "x_stride": "strides(x.shape)[-2]", "n_cols": "x.shape[-1]"},
    ),
    # All its pointers are used in helpers of a neighbour; the weight may be absent, and two parameters have defaults.
    "helpers.py:rms_norm": Expected(
        "(Tensor inp, Tensor? weight=None, float eps=1e-06) -> Tensor",
        {"out": "inp.shape"},
        ("prod(inp.shape[:-1])",),
        {"inp": "inp", "weight": "weight", "hidden_size": "inp.shape[-1]", "eps": "eps", "BLOCK": "1024"},
    ),
    "histogram.py:histogram_kernel": Expected(
        "(Tensor values_, int num_bins=1) -> Tensor",
        {"counts": "values_.shape"},
        ("cdiv(numel(values_), BLOCK)",),
        {"values_ptr": "values_", "n": "numel(values_)", "num_bins": "num_bins"},
    ),
    "cross_entropy.py:cross_entropy_fwd": Expected(
        "(Tensor logits, Tensor labels, float smoothing=1.0, int ignore_index=1) -> (Tensor, Tensor)",
        {"loss": "logits.shape[:-1]", "lse": "logits.shape[:-1]"},
        ("prod(logits.shape[:-1])",),
        {"n_cols": "logits.shape[-1]", "n_rows": "prod(logits.shape[:-1])", "labels_ptr": "labels"},
    ),
    "block_pointers.py:transpose_kernel": Expected(
        "(Tensor input) -> Tensor",
        {"output": "[input.shape[1], input.shape[0]]"},
        ("cdiv(input.shape[0], BLOCK_M)", "cdiv(input.shape[1], BLOCK_N)"),
        {"stride_on": "strides(output.shape)[0]", "stride_om": "strides(output.shape)[1]", "BLOCK_M": "32"},
    ),
    "embedding.py:embedding_kernel": Expected(
        "(Tensor weight, Tensor indices) -> Tensor",
        {"out": "indices.shape + weight.shape[1:]"},
        ("prod(out.shape[:-1])", "cdiv(out.shape[-1], BLOCK_SIZE)"),
        {"embedding_dim": "out.shape[-1]"},
    ),
    "generated.py:triton_per_fused_add_mean_0": Expected(
        "(Tensor in0, Tensor in1) -> Tensor",
        {"out0": "in0.shape[:-1]"},
        ("cdiv(prod(in0.shape[:-1]), XBLOCK)",),
        {"xnumel": "prod(in0.shape[:-1])", "rnumel": "in0.shape[-1]", "RBLOCK": "next_power_of_2(in0.shape[-1])"},
    ),
    "max_pool.py:max_pool_2x2": Expected(
        "(Tensor x) -> Tensor",
        {"out": "x.shape"},
        ("cdiv(prod(x.shape[-2:]), BLOCK)", "prod(x.shape[:-2])"),
        {"channels": "x.shape[1]", "height": "x.shape[2]", "width": "x.shape[3]"},
    ),
    "activation.py:fused_bias_act": Expected(
        "(Tensor x, Tensor? bias=None, Tensor? residual=None, float negative_slope=0.01, "
        'str act="relu", bool approximate=False) -> Tensor',
        {"y": "x.shape"},
        ("cdiv(numel(x), BLOCK)",),
        {"size": "numel(x)", "n_cols": "x.shape[-1]", "USE_RESIDUAL": "present(residual)", "BLOCK": "256"},
    ),
    "in_place.py:momentum_kernel": Expected(
        "(Tensor grad, Tensor(a!) momentum, float decay=1.0) -> ()",
        {},
        ("cdiv(numel(grad), BLOCK_SIZE)",),
        {"grad_ptr": "grad", "momentum_ptr": "momentum", "n_elements": "numel(grad)", "decay": "decay"},
    ),
    "in_place.py:add_rms_norm": Expected(
        "(Tensor(a!) x, Tensor(b!) residual, Tensor w, float eps=1e-5) -> Tensor",
        {"rstd": "x.shape[:-1]"},
        ("prod(x.shape[:-1])",),
        {"x_row_stride": "strides(x.shape)[-2]", "n_cols": "x.shape[-1]", "eps": "eps"},
    ),
}


def test_every_kernel_is_expected_to_give_something() -> None:
    helpers = {"row_io.py"}
    assert {source.partition(":")[0] for source in EXPECTED} == {path.name for path in KERNELS.glob("*.py")} - helpers


@pytest.mark.parametrize("source", EXPECTED)
def test_a_spec_says_what_the_kernel_tells(new: New, source: str) -> None:
    assert new(f"{KERNELS}/{source}") == (0, "")
    op, expected = written(), EXPECTED[source]
    form = spec.load(Path("specs/an_op.yaml")).form
    assert op.schema == expected.schema
    assert shapes(op) == expected.outputs
    assert form.launch[0].grid == expected.grid
    found = expressions("args") | expressions("constexpr")
    assert {name: found.get(name) for name in expected.values} == expected.values
    assert CliRunner().invoke(app, ["build", "specs/an_op.yaml"]).exit_code == 0


def test_what_else_a_kernel_tells_of_its_tensors(new: New) -> None:
    def inputs_and_outputs(source: str) -> tuple[Mapping[str, InputForm], Mapping[str, OutputForm]]:
        assert new(f"{KERNELS}/{source}") == (0, "")
        form = spec.load(Path("specs/an_op.yaml")).form
        for path in Path("specs").iterdir():
            path.unlink()
        return form.inputs, form.outputs

    _, outputs = inputs_and_outputs("histogram.py:histogram_kernel")
    assert (outputs["counts"].init, outputs["counts"].dtype) == ("zero", "int32")
    _, outputs = inputs_and_outputs("quantize.py:quantize_rowwise")
    assert [output.dtype for output in outputs.values()] == ["int8", "x.dtype"]
    _, outputs = inputs_and_outputs("matmul.py:matmul_kernel")
    assert outputs["c"].dtype == "float16"
    inputs, _ = inputs_and_outputs("embedding.py:embedding_kernel")
    assert (inputs["indices"].dtypes, inputs["indices"].range) == (
        ("int64",),
        ("0", "min(weight.shape[0], weight.shape[-1]) - 1"),
    )


def test_neighbours_travel_with_the_kernel_and_a_reference_is_taken_if_it_fits(new: New) -> None:
    assert new(f"{KERNELS}/helpers.py:rms_norm") == (0, "")
    assert {path.name for path in Path("specs").iterdir()} == {
        *("an_op.yaml", "an_op_reference.py", "helpers.py", "row_io.py")
    }
    assert new(f"{ROOT}/specs/gelu_tanh.py:gelu_kernel")[0] == 2  # an_op.yaml is there
    for path in Path("specs").iterdir():
        path.unlink()
    assert new(f"{ROOT}/specs/gelu_tanh.py:gelu_kernel") == (0, "")
    assert {path.name for path in Path("specs").iterdir()} == {"an_op.yaml", "gelu_tanh.py"}
    for path in Path("specs").iterdir():
        path.unlink()
    assert new(f"{ROOT}/specs/layer_norm.py:layer_norm_kernel") == (0, "")  # whose reference has other arguments
    assert written().reference.name == "an_op_reference.py"


HEAD = "import triton\nimport triton.language as tl\n"
COPY = "    i = tl.arange(0, 64)\n    tl.store(y_ptr + i, tl.load(x_ptr + i))\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@triton.jit\ndef k(x):\n    return x + 1\n", "k stores to none of its parameters; name the kernel that"),
        (
            "@triton.jit\ndef k(x_desc, y_ptr):\n    tl.store(y_ptr + tl.arange(0, 64), x_desc.load([0]))\n",
            "parameter 'x_desc' of k is a tensor descriptor made on the host, and a launch gives pointers; make it in",
        ),
        (
            "@triton.jit\ndef k(x_ptr, y_ptr, DTYPE: tl.constexpr):\n    tl.store(y_ptr, tl.load(x_ptr).to(DTYPE))\n",
            "parameter 'DTYPE' of k is a dtype, which a launch cannot give; take it from a pointer in the kernel",
        ),
        (f"@triton.jit\ndef kernel(x_ptr, y_ptr):\n{COPY}", "FILE:kernel: 'kernel' is reserved: the generated code"),
        (
            f"@triton.jit\ndef k(x_ptr, y_ptr, num_stages: tl.constexpr):\n{COPY}",
            "FILE:k: 'num_stages' is reserved: the generated code uses it; rename it",
        ),
        (
            f"@triton.autotune(configs=make(), key=[])\n@triton.jit\ndef k(x_ptr, y_ptr, B: tl.constexpr):\n{COPY}",
            "FILE:k: @triton.autotune cannot be read without running the file: 'make' is no constant",
        ),
        (f"@triton.jit\ndef k(x_ptr, y_ptr, *, n):\n{COPY}", "FILE:k: parameter 'n' of k is not passed by position"),
        (f"from .io import f\n@triton.jit\ndef k(x_ptr, y_ptr):\n{COPY}", "FILE:k: cannot read io.py: No such file"),
    ],
)
def test_a_kernel_that_no_spec_can_launch_is_refused_and_nothing_is_written(new: New, text: str, message: str) -> None:
    Path("kernels.py").write_text(HEAD + text)
    source = f"kernels.py:{'kernel' if 'def kernel' in text else 'k'}"
    code, errors = new(source)
    assert code == 2
    assert errors.startswith(message.replace("FILE:", f"{source.partition(':')[0]}:"))
    assert not Path("specs").exists()


def test_a_kernel_that_only_writes_takes_a_shape(new: New) -> None:
    body = "    i = tl.program_id(0) * B + tl.arange(0, B)\n    tl.store(out + i, value, mask=i < n)\n"
    Path("kernels.py").write_text(f"{HEAD}@triton.jit\ndef fill(out, n, value, B: tl.constexpr):\n{body}")
    assert new("kernels.py:fill") == (0, "")
    assert written().schema == "(Tensor like, float value=1.0) -> Tensor"


# What a kernel that works in place computes, for the reference that is to be written.
IN_PLACE = {
    "momentum_kernel": "    momentum.mul_(decay).add_(grad)\n",
    "add_rms_norm": (
        "    residual += x\n    rstd = torch.rsqrt(residual.square().mean(-1) + eps)\n"
        "    x.copy_(residual * rstd[..., None] * w)\n    return rstd\n"
    ),
}


@pytest.mark.parametrize("kernel", IN_PLACE)
def test_a_kernel_that_works_in_place_only_lacks_its_reference(
    new: New, built: Built, kernel: str, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    assert new(f"{KERNELS}/in_place.py:{kernel}") == (0, "")
    stub = Path("specs/an_op_reference.py")
    head, raised, _ = stub.read_text().partition("    raise NotImplementedError")
    assert raised
    stub.write_text(head + IN_PLACE[kernel])
    variables = {**environment.variables(tmp_path), "PYTHONPATH": "src", "TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_parity.py"],
        cwd=built(tmp_path / "specs/an_op.yaml"),
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("parameters", "body", "schema", "checks"),
    [
        # What is stored before it is loaded was not there before.
        ("x_ptr, y_ptr", f"{COPY}    tl.store(x_ptr + i, tl.load(y_ptr + i))\n", "(Tensor(a!) x) -> Tensor", []),
        ("x_ptr", "    tl.store(x_ptr, 1)\n    tl.store(x_ptr + 1, tl.load(x_ptr))\n", "(Tensor like) -> Tensor", []),
        # Of two branches only one stores; what the other loads was there before.
        (
            "x_ptr, y_ptr, ACC: tl.constexpr",
            "    i = tl.arange(0, 8)\n    y = tl.load(y_ptr + i)\n    if ACC:\n        y += 1\n"
            "    if not ACC:\n        tl.store(x_ptr + i, y)\n    else:\n"
            "        tl.store(x_ptr + i, tl.load(x_ptr + i) + y)\n",
            "(Tensor(a!) x, Tensor y, bool acc=False) -> ()",
            ["y.shape == x.shape"],
        ),
        (
            "x_ptr, y_ptr, ACC: tl.constexpr",
            "    if ACC:\n        tl.store(x_ptr, 1)\n        tl.store(y_ptr, tl.load(x_ptr))\n",
            "(Tensor like, bool acc=False) -> (Tensor, Tensor)",
            [],
        ),
        # Neither a stride nor a bound tells how large x must be.
        (
            "x_ptr, x_stride",
            "    tl.store(x_ptr + x_stride, tl.load(x_ptr) + 1)\n",
            "(Tensor(a!) x) -> ()",
            ["numel(x) >= 600"],
        ),
        # What is written to is always given, no bool, and takes more names than others do.
        (
            "x_ptr, new_x_ptr, aliased, w_ptr",
            "    tl.store(x_ptr, tl.load(x_ptr) + tl.load(new_x_ptr) + aliased)\n    if w_ptr is not None:\n"
            "        tl.store(w_ptr, tl.load(w_ptr) > 0)\n",
            "(Tensor(a!) x, Tensor new_x_, Tensor(b!) w, int aliased_=1) -> ()",
            ["new_x_.shape == x.shape", "w.shape == x.shape"],
        ),
    ],
)
def test_what_a_kernel_changes_is_written_in_place(
    new: New, parameters: str, body: str, schema: str, checks: list[str]
) -> None:
    Path("kernels.py").write_text(f"{HEAD}@triton.jit\ndef k({parameters}):\n{body}")
    assert new("kernels.py:k") == (0, "")
    assert written().schema == schema
    assert [condition for condition, _ in spec.load(Path("specs/an_op.yaml")).form.checks] == checks


def test_names_that_mean_something_else_in_a_spec_are_changed(new: New) -> None:
    parameters = "x_ptr, x_shape, out_ptr, stream, k_ptr, on, B: tl.constexpr, k: tl.constexpr, has_x: tl.constexpr"
    body = "    i = tl.arange(0, B) + x_shape + stream + on + k\n    tl.store(out_ptr + i, tl.load(x_ptr + i))\n"
    Path("kernels.py").write_text(f"{HEAD}@triton.jit\ndef odd({parameters}):\n{body}    tl.load(k_ptr)\n")
    assert new("kernels.py:odd") == (0, "")
    assert [argument.name for argument in written().arguments] == ["x_", "k_", "x_shape", "stream_", "on"]


def test_right_guesses_run(built: Built, tmp_path: Path) -> None:
    """What was guessed of these is the whole truth, so that only a reference is missing."""
    pytest.importorskip("torch")
    packages = []
    for source in RUN:
        folder = tmp_path / source.partition(".")[0]
        folder.mkdir()
        name = source.partition(":")[2].removesuffix("_kernel") + "_op"
        subprocess.run(
            [sys.executable, "-m", "trtplug", "new", name, "--from", f"{KERNELS}/{source}"], cwd=folder, check=True
        )
        packages.append(built(folder / f"specs/{name}.yaml") / "src")
    done = subprocess.run(
        [sys.executable, KERNELS.parent / "run.py", *packages], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines() == [
        f"{source.partition(':')[2].removesuffix('_kernel')}_op: right" for source in RUN
    ]


def test_any_kernel_that_loads_and_stores_gets_a_spec_that_passes_check(tmp_path: Path) -> None:
    seed = secrets.randbelow(10**9)
    print("seed", seed)
    random = Random(seed)
    for _ in range(300):
        (tmp_path / "kernels.py").write_text(random_kernel(random))
        scaffold.from_kernel("an_op", f"{tmp_path}/kernels.py:random_kernel", tmp_path)
