"""The op in a model that Torch-TensorRT compiles, and what it makes of the model."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch_tensorrt

import trtplug_circular_pad.converter  # noqa: F401  (registers it)
from trtplug_circular_pad._names import NAME
from trtplug_circular_pad._tensorrt import trt

from .calls import DTYPES, DYNAMIC, OP, USUAL, Model, arguments, tensors

# The usual call, with attributes that another case has.
OTHER = replace(USUAL, padding=(-2, 3, 1, -1))


RESULTS = 1  # of the op
LEFT_TO_PYTORCH = {"torch_executed_ops": {OP.default}}  # an option of dry_run


class Followed(torch.nn.Module):
    """The op, followed by an operator that TensorRT knows."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()

    def forward(self, x: torch.Tensor) -> Any:
        """Calls the op as a user's model does."""
        return _doubled(self.model(x))


class Twice(torch.nn.Module):
    """Two calls of the op on the same tensors, whose attributes differ."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = Model(USUAL), Model(OTHER)

    def forward(self, x: torch.Tensor) -> Any:
        """Calls the op as a user's model does."""
        return _doubled(self.one(x)), _doubled(self.other(x))


def _doubled(output: torch.Tensor) -> torch.Tensor:
    return 2 * output.float()


def compiled(model: torch.nn.Module, dtypes: tuple[torch.dtype, ...], dynamic: bool = True, **options: Any) -> Any:
    """A model compiled by Torch-TensorRT, for the profile or for the usual sizes alone."""
    given = tensors(arguments(USUAL, dtypes))
    shapes: dict[str, dict[int, Any]] = {name: {} for name in given}
    for tensor, dimension, least, most in DYNAMIC if dynamic else ():
        shapes[tensor][dimension] = torch.export.Dim.DYNAMIC(min=least, max=most)
    program = torch.export.export(model, tuple(given.values()), dynamic_shapes=shapes)
    return torch_tensorrt.dynamo.compile(
        program, tuple(given.values()), min_block_size=1, use_python_runtime=True, **options
    )


def dry_run(report: Path, **options: Any) -> tuple[float, int]:
    """What Torch-TensorRT says, in a new file, that it would do: percent of operators in engines, number of graphs."""
    model = compiled(Followed(), DTYPES[0], dryrun=str(report), **options)
    found = re.search(r"([\d.]+)% coverage", report.read_text())
    assert found, "the report names no coverage"
    return float(found[1]), len(list(model.children()))


@contextmanager
def plugin_layers() -> Iterator[list[str]]:
    """The names of the plugin's layers in the networks of which Torch-TensorRT builds engines meanwhile."""
    # TensorRT has both, of which Torch-TensorRT calls the first, and TensorRT-RTX has the second alone.
    entries = ("build_engine_with_config", "build_serialized_network")
    entry = next(name for name in entries if hasattr(trt.Builder, name))
    build = getattr(trt.Builder, entry)
    names: list[str] = []

    def noted(builder: Any, network: Any, config: Any) -> Any:
        layers = [network.get_layer(i) for i in range(network.num_layers)]
        plugins = [layer.name for layer in layers if layer.type == trt.LayerType.PLUGIN_V3]
        names.extend(name for name in plugins if name.startswith(f"{NAME}-"))
        return build(builder, network, config)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trt.Builder, entry, noted)
        yield names
