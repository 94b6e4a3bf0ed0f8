"""What tensors that may be absent tell of sizes in a guessed spec: nothing that a call without them needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from trtplug import resolve, scaffold, spec

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
# Only `output`, a tensor that may be absent, has a dimension n, along which the grid counts blocks.
GRID = """\
def an_op_kernel(V, stride_on, stride_qh, output, out_ptr, n: tl.constexpr, GROUP_SIZE_M: tl.constexpr):
    o0 = tl.program_id(0) * GROUP_SIZE_M + tl.arange(0, GROUP_SIZE_M)
    o1 = tl.program_id(0) * n + tl.arange(0, n)
    v0 = tl.load(out_ptr + o0)
    v1 = 0
    if output is not None:
        v1 = tl.load(output + o0[:, None] * stride_on + o1[None, :])
    tl.store(V + o0[:, None] * stride_qh + o1[None, :], v0 + v1)
"""
# Only a check against `mask`, which may be absent, would tell how large n must be.
WRITTEN = """\
def an_op_kernel(mask_ptr, n_ptr, scale, GROUP_SIZE_M: tl.constexpr = 16):
    o0 = tl.arange(0, GROUP_SIZE_M)
    old = tl.load(n_ptr + o0)
    v0 = 0
    if mask_ptr is not None:
        v0 = tl.load(mask_ptr + o0[:, None] * scale + o0[None, :])
    tl.store(n_ptr + o0[:, None] * scale + o0[None, :], old + v0)
"""


@pytest.mark.parametrize("kernel", [GRID, WRITTEN])
def test_a_spec_holds_without_them(kernel: str, tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(HEAD + kernel)
    # Which refuses a spec that would not pass `check`.
    for file, text in scaffold.from_kernel("an_op", f"{tmp_path}/kernels.py:an_op_kernel", tmp_path).items():
        (tmp_path / file).write_bytes(text)
    op = resolve.resolve(spec.load(tmp_path / "an_op.yaml"))
    assert [tensor.optional for tensor in op.tensors] == [False, True]
