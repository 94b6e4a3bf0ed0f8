"""Stand-ins that let torch_tensorrt import, lower, partition, convert and build on a machine without a GPU.

Torch-TensorRT asks for a CUDA device when imported and moves weights to it, though neither its registry, partitioner
and interpreter nor the builder of TensorRT-RTX needs one. The stand-ins answer those questions and nothing more. They
change torch and tensorrt_rtx for good: use them in a process of its own. Another question of another release goes here.
"""

from __future__ import annotations

import os
from typing import Any

import torch


class EngineBuilt(Exception):
    """Ends a compilation where a GPU would be needed: the builder has made an engine, and it would now be loaded."""

    def __init__(self, plan: bytes) -> None:
        super().__init__(f"an engine of {len(plan)} bytes")
        self.plan = plan


def import_torch_tensorrt() -> Any:
    """torch_tensorrt, imported among stand-ins for a GPU and without its C++ runtime, which needs CUDA's libraries."""
    torch.cuda.get_device_capability = _stub((8, 9))
    torch.cuda.current_device = _stub(0)
    torch.cuda.get_device_name = _stub("stand-in for a GPU")
    torch.cuda.mem_get_info = _stub((2**33, 2**33))
    vars(torch._C)["_CudaDeviceProperties"] = type("StubOfCudaDeviceProperties", (), {})
    is_file = os.path.isfile
    os.path.isfile = lambda path: "libtorchtrt" not in str(path) and is_file(path)
    try:
        import torch_tensorrt
    finally:
        os.path.isfile = is_file
    import tensorrt_rtx as trt

    torch_tensorrt.Device.to = lambda device, kind: torch.device("cpu")
    trt.Runtime.deserialize_cuda_engine = _stub_of_deserialize
    return torch_tensorrt


def _stub(answer: Any) -> Any:
    return lambda *args, **kwargs: answer


def _stub_of_deserialize(runtime: Any, plan: Any) -> Any:
    raise EngineBuilt(bytes(plan))
