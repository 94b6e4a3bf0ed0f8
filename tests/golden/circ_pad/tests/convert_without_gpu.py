"""Takes a model through the real Torch-TensorRT for RTX without a GPU, and prints what came of it as JSON.

Torch-TensorRT asks for a GPU when it is imported, and moves weights to it; neither its converters nor the builder of
TensorRT-RTX needs one. The stand-ins here answer in its place, in a process of its own, since they last.
"""

import importlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

from .calls import DTYPES

NO_IMPORT = 3  # the exit code for a Torch-TensorRT that asks for more when it is imported


class Built(Exception):
    """Ends a compilation where it would load its engine, which takes a GPU."""

    def __init__(self, network: Any, plan: bytes) -> None:
        super().__init__(f"an engine of {len(plan)} bytes")
        self.network, self.plan = network, plan


def import_torch_tensorrt() -> None:
    """Imports torch_tensorrt among stand-ins."""
    for question, answer in {
        "get_device_capability": (8, 9),
        "get_device_name": "a stand-in for a GPU",
        "current_device": 0,
        "mem_get_info": (2**33, 2**33),
    }.items():
        setattr(torch.cuda, question, lambda *_, answer=answer, **__: answer)
    if not hasattr(torch._C, "_CudaDeviceProperties"):  # of a torch for CPUs
        vars(torch._C)["_CudaDeviceProperties"] = type("_CudaDeviceProperties", (), {})
    is_file = os.path.isfile
    # Without its runtime in C++, which needs CUDA's libraries.
    os.path.isfile = lambda path: "libtorchtrt" not in str(path) and is_file(path)
    try:
        torch_tensorrt = importlib.import_module("torch_tensorrt")
    finally:
        os.path.isfile = is_file
    torch_tensorrt.Device.to = lambda *_: torch.device("cpu")


def engine_of(models: Any, dtypes: tuple[torch.dtype, ...]) -> dict[str, Any]:
    """What the engine of the model and its network hold."""
    model = models.Followed()
    with models.plugin_layers() as plugins:
        try:
            models.compiled(model, dtypes)
        except Built as found:
            return {
                "plugins": plugins,
                "inputs": found.network.num_inputs,
                "outputs": found.network.num_outputs,
                "results": models.RESULTS,
                "named": models.NAME.encode() in found.plan,
            }
    raise RuntimeError("Torch-TensorRT built no engine")


def main() -> int:
    """The exit code; standard output ends with a line of JSON."""
    try:
        import_torch_tensorrt()
    except Exception as error:
        print(f"{type(error).__name__}: {error}".splitlines()[0], file=sys.stderr)
        return NO_IMPORT
    trt = importlib.import_module("tensorrt")  # the one that torch_tensorrt is for
    build = trt.Builder.build_serialized_network

    def built(builder: Any, network: Any, config: Any) -> None:
        plan = build(builder, network, config)
        raise Built(network, bytes(plan) if plan else b"")

    trt.Builder.build_serialized_network = built
    models = importlib.import_module(f"{__package__}.in_torch_tensorrt")
    with tempfile.TemporaryDirectory() as folder:
        before = models.dry_run(Path(folder, "before"), **models.LEFT_TO_PYTORCH)
        after = models.dry_run(Path(folder, "after"))
    engines = [engine_of(models, dtypes) for dtypes in DTYPES]
    version = importlib.import_module("torch_tensorrt").__version__
    print(json.dumps({"version": version, "before": before, "after": after, "engines": engines}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
