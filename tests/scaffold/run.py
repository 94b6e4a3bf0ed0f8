"""Runs ops whose specs are guesses, on the CPU, against PyTorch: `python run.py SRC...`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

os.environ["TRITON_INTERPRET"] = "1"

import torch
import torch.nn.functional as F

Tensors = list[torch.Tensor]
torch.manual_seed(0)
x, y, w, b = torch.randn(3, 5, 40), torch.randn(3, 5, 40), torch.randn(40), torch.randn(40)
q, k, v = torch.randn(3, 2, 3, 50, 16)
labels, table, index = torch.randint(0, 40, (3, 5)), torch.randn(11, 40), torch.randint(0, 11, (2, 7))
left, right = torch.randn(33, 20), torch.randn(20, 45)


def layer_norm() -> Tensors:
    mean, variance = x.mean(-1), x.var(-1, unbiased=False)
    return [F.layer_norm(x, [40], w, b), mean, (variance + 1e-5).rsqrt()]


EXPECTED: dict[str, tuple[tuple[object, ...], Callable[[], Tensors]]] = {
    "add_op": ((x, y), lambda: [x + y]),
    "softmax_op": ((x,), lambda: [x.softmax(-1)]),
    "layer_norm_fwd_op": ((x, w, b), layer_norm),
    "matmul_op": ((left, right), lambda: [F.leaky_relu(left @ right).half()]),
    "attention_op": ((q, k, v, 0.25, True), lambda: [F.scaled_dot_product_attention(q, k, v, is_causal=True)]),
    "add_bias_op": ((x, b), lambda: [x + b]),
    "rms_norm_op": ((x, w), lambda: [F.rms_norm(x, [40], w, 1e-6)]),
    "cross_entropy_fwd_op": (
        (x, labels, 0.0, -100),
        lambda: [F.cross_entropy(x.flatten(0, 1), labels.flatten(), reduction="none").view(3, 5), x.logsumexp(-1)],
    ),
    "transpose_op": ((left,), lambda: [left.t()]),
    "embedding_op": ((table, index), lambda: [table[index]]),
    "triton_per_fused_add_mean_0_op": ((x, y), lambda: [(x + y).mean(-1)]),
    "fused_bias_act_op": ((x, b, y), lambda: [(x + b + y).relu()]),
}

for source in map(Path, sys.argv[1:]):
    sys.path.insert(0, str(source))
    package = next(path.name for path in source.iterdir() if path.name.startswith("trtplug_"))
    importlib.import_module(package)
    name = package.removeprefix("trtplug_")
    arguments, expected = EXPECTED[name]
    result = getattr(torch.ops.trtplug_ops, name)(*arguments)
    for got, wanted in zip(result if isinstance(result, tuple) else [result], expected(), strict=True):
        torch.testing.assert_close(got, wanted, rtol=1e-3, atol=1e-3)
    print(f"{name}: right")
