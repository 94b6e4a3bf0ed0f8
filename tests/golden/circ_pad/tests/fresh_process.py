"""What an engine returns in a fresh process that has imported nothing but the plugin, as run_engine.py runs it."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from trtplug_circular_pad._tensorrt import trt

UNSUPPORTED = 3  # what run_engine.py says of a GPU that this TensorRT does not run on


def outputs_of_engine(plan: bytes, calls: list[dict[str, torch.Tensor]], folder: Path) -> list[dict[str, torch.Tensor]]:
    """The outputs on the CPU, by name, for the inputs of each call by name; skips a test where the engine cannot run."""
    engine, inputs, outputs = folder / "engine", folder / "inputs", folder / "outputs"
    engine.write_bytes(plan)
    torch.save([{name: tensor.contiguous().cpu() for name, tensor in call.items()} for call in calls], inputs)
    script = Path(__file__).with_name("run_engine.py")
    done = subprocess.run(
        [sys.executable, script, engine, inputs, outputs], capture_output=True, text=True, check=False
    )
    if done.returncode == UNSUPPORTED:
        pytest.skip(f"{trt.__name__} {trt.__version__} built the engine and does not run on this GPU")
    assert done.returncode == 0, done.stderr
    results: list[dict[str, torch.Tensor]] = torch.load(outputs)
    return results
