"""Settings of all tests: without a GPU the kernel is interpreted, which must be said before Triton is imported."""

import os
import random
from collections.abc import Callable
from importlib.metadata import version

import pytest
import torch

if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")

_SEED = int(os.environ.get("TEST_SEED", random.randrange(2**32)))


def pytest_report_header() -> str:
    """Says how to repeat the random inputs of this run."""
    return f"random inputs: repeat with TEST_SEED={_SEED}"


@pytest.fixture(autouse=True)
def _versions(record_property: Callable[[str, object], None]) -> None:
    record_property("torch", torch.__version__)
    record_property("triton", version("triton"))


@pytest.fixture(autouse=True)
def _repeatable() -> None:
    random.seed(_SEED)
    torch.manual_seed(_SEED)
    # Makes torch fill new memory with NaN, so that what a kernel does not write is seen in the output.
    torch.use_deterministic_algorithms(True, warn_only=True)
