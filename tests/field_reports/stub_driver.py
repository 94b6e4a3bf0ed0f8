"""A stand-in for Triton's CUDA driver: kernels are compiled for real, and each launch is noted instead of run.

For tests marked compiling. All of Triton but the calls of CUDA itself is its own: binding, specialisation, compilation,
the runner of a compiled kernel. A new question that Triton asks of a device is a method of `StubDriver`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import torch
import triton
from triton.backends.compiler import GPUTarget


@dataclass(frozen=True)
class Started:
    """One launch: what reached Triton's own launcher, which adds what the compiled kernel takes besides."""

    device: int
    stream: int
    grid: tuple[int, int, int]
    arguments: tuple[Any, ...]
    signature: dict[str, str]
    metadata: Any


class StubDriver:
    """One process's CUDA devices, as far as Triton asks about them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, architecture: int = 90) -> None:
        self.started: list[Started] = []
        self.compiled: list[tuple[int, Any]] = []  # device, and Triton's CompiledKernel
        self.device = 0
        self.utils = self
        self._architecture = architecture
        monkeypatch.setattr(triton.runtime.driver, "_active", self)
        monkeypatch.setattr(torch.cuda, "current_device", lambda: self.device)
        monkeypatch.setattr(torch.cuda, "device", self._enter)
        monkeypatch.setattr(torch.cuda, "current_stream", lambda: StubStream(stream_of(self.device)))

    @contextlib.contextmanager
    def _enter(self, device: torch.device) -> Iterator[None]:
        before, self.device = self.device, device.index
        yield
        self.device = before

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self._architecture, 32)

    def get_current_device(self) -> int:
        return self.device

    def get_current_stream(self, device: int) -> int:
        return stream_of(device)

    def get_device_properties(self, device: int) -> dict[str, int]:
        return {"max_shared_mem": 232448}

    def load_binary(self, name: str, kernel: bytes, shared: int, device: int) -> tuple[Any, ...]:
        self.compiled.append((device, name))
        return object(), name, 32, 0, 1024

    def launcher_cls(self, source: Any, metadata: Any) -> Any:
        """In the place of CudaLauncher, which passes the hidden parameters of a kernel."""

        def launch(x: int, y: int, z: int, stream: int, function: Any, packed: Any, *more: Any) -> None:
            arguments = more[3:]  # after launch metadata and two hooks
            signature = dict(source.signature)
            self.started.append(Started(self.device, stream, (x, y, z), arguments, signature, metadata))

        return launch


@dataclass(frozen=True)
class StubStream:
    """A stream, as far as generated code asks about it."""

    cuda_stream: int


def stream_of(device: int) -> int:
    """The handle of the current stream of a device."""
    return 0xC0DE + device
