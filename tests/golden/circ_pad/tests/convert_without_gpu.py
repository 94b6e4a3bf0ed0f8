"""Takes a model through the real Torch-TensorRT for RTX without a GPU, and prints what came of each dtype as JSON.

Torch-TensorRT asks for a GPU when it is imported, and moves weights to it; neither its converters nor the builder of
TensorRT-RTX needs one. The stand-ins here answer in its place, in a process of its own, since they last.
"""

import importlib
import json
import os
import sys
from typing import Any

import torch

from trtplug_circular_pad._names import NAME

from .calls import DTYPES, DYNAMIC, USUAL, Model, arguments, tensors

NO_IMPORT = 3  # the exit code for a Torch-TensorRT that asks for more when it is imported


class Between(torch.nn.Module):
    """The op between operators that TensorRT knows."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()

    def forward(self, x: torch.Tensor) -> Any:
        """Calls the op as a user's model does."""
        result = self.model(x)
        return tuple(map(_doubled, result)) if isinstance(result, tuple) else _doubled(result)


def _doubled(output: torch.Tensor) -> torch.Tensor:
    return 2 * output.float()


def exported(dtypes: tuple[torch.dtype, ...]) -> tuple[torch.export.ExportedProgram, tuple[torch.Tensor, ...]]:
    """The model for the profile, and inputs that it was exported with."""
    given = tensors(arguments(USUAL, dtypes))
    shapes: dict[str, dict[int, Any]] = {name: {} for name in given}
    for tensor, dimension, least, most in DYNAMIC:
        shapes[tensor][dimension] = torch.export.Dim.DYNAMIC(min=least, max=most)
    inputs = tuple(given.values())
    return torch.export.export(Between(), inputs, dynamic_shapes=shapes), inputs


class Built(Exception):
    """Ends a compilation where it would load its engine, which takes a GPU."""

    def __init__(self, network: Any, plan: bytes) -> None:
        super().__init__(f"an engine of {len(plan)} bytes")
        self.network, self.plan = network, plan


def torch_tensorrt_without_gpu() -> Any:
    """torch_tensorrt, imported among stand-ins."""
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
    return torch_tensorrt


def main() -> int:
    """The exit code; standard output ends with a line of JSON, a list with what came of each row of DTYPES."""
    try:
        torch_tensorrt = torch_tensorrt_without_gpu()
    except Exception as error:
        print(f"{type(error).__name__}: {error}".splitlines()[0], file=sys.stderr)
        return NO_IMPORT
    trt = importlib.import_module("tensorrt")  # the one that torch_tensorrt is for
    importlib.import_module("trtplug_circular_pad.converter")
    build = trt.Builder.build_serialized_network

    def built(builder: Any, network: Any, config: Any) -> None:
        plan = build(builder, network, config)
        raise Built(network, bytes(plan) if plan else b"")

    trt.Builder.build_serialized_network = built
    results = []
    for dtypes in DTYPES:
        parts = torch_tensorrt.dynamo.compile(*exported(dtypes), min_block_size=1, dryrun=True)
        try:
            torch_tensorrt.dynamo.compile(*exported(dtypes), min_block_size=1)
        except Built as found:
            layers = [found.network.get_layer(i) for i in range(found.network.num_layers)]
            results.append(
                {
                    "graphs": [name for name, _ in parts.named_children()],
                    "plugins": [layer.name for layer in layers if layer.type == trt.LayerType.PLUGIN_V3],
                    "inputs": found.network.num_inputs,
                    "outputs": found.network.num_outputs,
                    "named": NAME.encode() in found.plan,
                }
            )
    print(json.dumps(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
