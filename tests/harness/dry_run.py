"""Torch-TensorRT's dry run as numbers: how much of a model it would convert, and the graphs it would break it into."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch


@dataclass(frozen=True)
class Coverage:
    """Percent of the operators, and the names of the graphs: _run_on_acc_N for engines, _run_on_gpu_N for PyTorch."""

    percent: str
    graphs: tuple[str, ...]


def dry_run(torch_tensorrt: Any, model: torch.nn.Module, inputs: Sequence[Any], **options: Any) -> Coverage:
    """What torch_tensorrt.compile would do with the model."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report")
        result = torch_tensorrt.compile(
            model, ir="dynamo", inputs=list(inputs), min_block_size=1, dryrun=str(report), **options
        )
        found = re.search(r"([\d.]+)% coverage", report.read_text())
    if found is None:
        raise AssertionError("the report of the dry run names no coverage")
    return Coverage(found.group(1), tuple(name for name, _ in result.named_children()))
