"""Takes a model with two calls of blend through the real Torch-TensorRT on a CPU, and prints what came of it as JSON.

Usage: ``python -m tests.registered.in_torch_tensorrt SRC [taken] [registered]``. SRC holds the generated package.
`registered` says that somebody has registered the plugin. `taken` says that networks take registered plugins, as those
of TensorRT do; a stand-in gives TensorRT-RTX's the method. A process of its own, since the stand-ins last.
"""

from __future__ import annotations

import importlib
import itertools
import json
import logging
import sys
from typing import Any

import tensorrt_rtx as trt
import torch

from tests.harness import no_gpu
from tests.harness.dry_run import dry_run
from tests.harness.networks import add_layer_of

PACKAGE = "trtplug_blend"


class Model(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        one: torch.Tensor = torch.ops.trtplug_ops.blend(x, y, weight=0.25, mode="cubic")
        other: torch.Tensor = torch.ops.trtplug_ops.blend(x, y, repeats=2, curve=[0.5, 2.0])
        return one.abs() + other[..., ::2]


class Lines(logging.Handler):
    """What was logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def take_plugins() -> None:
    """Gives TensorRT-RTX's networks the method that TensorRT's have."""
    add_layer = add_layer_of(PACKAGE)
    names = map("blend-{}".format, itertools.count())

    def added(network: Any, inputs: Any, shape_inputs: Any, plugin: Any) -> Any:
        del trt.INetworkDefinition.add_plugin_v3  # which add_layer would call
        try:
            return add_layer(network, next(names), inputs, plugin)
        finally:
            trt.INetworkDefinition.add_plugin_v3 = added

    trt.INetworkDefinition.add_plugin_v3 = added


def main(source: str, *options: str) -> None:
    """Prints the coverage and the graphs of the dry run, the engine's plugins, and what the package logged."""
    sys.path.insert(0, source)
    torch_tensorrt = no_gpu.import_torch_tensorrt()
    log = Lines()
    logging.getLogger(PACKAGE).addHandler(log)
    made = importlib.import_module("tests.registered.blend_plugin").MADE if "registered" in options else []
    importlib.import_module(f"{PACKAGE}.converter")
    if "taken" in options:
        take_plugins()
    x, y = torch.rand(3, 8), torch.rand(3, 8)
    model = Model().eval()
    coverage = dry_run(torch_tensorrt, model, [x, y])
    found = {"coverage": coverage.percent, "graphs": len(coverage.graphs), "log": log.lines, "made": [], "named": False}
    if len(coverage.graphs) == 1:
        try:
            torch_tensorrt.dynamo.compile(torch.export.export(model, (x, y)), (x, y), min_block_size=1)
        except no_gpu.EngineBuilt as built:
            found["made"] = [{name: value.tolist() for name, value in fields.items()} for fields in made]
            found["named"] = b"BlendByHand" in built.plan
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
