"""specs/circ_pad.yaml against torch itself: equal wherever torch accepts the call, refused where torch refuses it."""

from __future__ import annotations

import importlib
import math
import sys
from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.conftest import ROOT, Built


@pytest.fixture(scope="module")
def circular_pad(built: Built) -> Any:
    source = str(built(ROOT / "specs/circ_pad.yaml") / "src")
    sys.path.insert(0, source)
    yield importlib.import_module("trtplug_circular_pad").circular_pad
    sys.path.remove(source)


def test_the_values_of_the_tutorial(circular_pad: Any) -> None:
    x = torch.arange(9, dtype=torch.float).reshape(1, 1, 3, 3)
    expected = torch.tensor(
        [
            [
                [
                    [5.0, 3.0, 4.0, 5.0, 3.0],
                    [8.0, 6.0, 7.0, 8.0, 6.0],
                    [2.0, 0.0, 1.0, 2.0, 0.0],
                    [5.0, 3.0, 4.0, 5.0, 3.0],
                    [8.0, 6.0, 7.0, 8.0, 6.0],
                ]
            ]
        ]
    )
    assert torch.equal(circular_pad(x, (1, 1, 2, 0)), expected)


@st.composite
def calls(draw: DrawFn) -> tuple[list[int], list[int]]:
    """A shape of rank 1 to 4, zero-sized dimensions included, and a padding of up to three, as torch pads."""
    shape = draw(st.lists(st.integers(0, 6), min_size=1, max_size=4))
    dims = draw(st.integers(1, min(len(shape), 3)))
    sizes = draw(st.sampled_from([st.integers(0, 2), st.integers(-3, 6)]))
    return shape, draw(st.lists(sizes, min_size=2 * dims, max_size=2 * dims))


def torch_pads(x: torch.Tensor, padding: list[int]) -> torch.Tensor:
    """What torch returns; raises what torch raises, but for its limits on ranks, which are not ours.

    torch pads all dimensions but two leading ones, so that there must be two.
    """
    dims = len(padding) // 2
    view = x.reshape(1, math.prod(x.shape[: x.ndim - dims]), *x.shape[x.ndim - dims :])
    padded = torch.nn.functional.pad(view, padding, mode="circular")
    return padded.reshape(*x.shape[: x.ndim - dims], *padded.shape[padded.ndim - dims :])


def is_unspecified(shape: list[int], padding: list[int]) -> bool:
    """Whether torch pads by more than cropping has left: it then copies memory that nothing has written."""
    for i in range(len(padding) // 2):
        before, after = padding[2 * i : 2 * i + 2]
        if max(before, after) > shape[-1 - i] - max(-before, 0) - max(-after, 0):
            return True
    return False


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_equals_torch_and_refuses_what_torch_refuses(circular_pad: Any, dtype: torch.dtype) -> None:
    seen = Counter[str]()

    @settings(max_examples=300, deadline=None, print_blob=True)
    @given(calls())
    def compare(call: tuple[list[int], list[int]]) -> None:
        shape, padding = call
        x = torch.randn(shape).to(dtype)
        try:
            expected = torch_pads(x, padding)
        except (RuntimeError, NotImplementedError):
            seen["refused"] += 1
            with pytest.raises(RuntimeError, match="circular_pad: "):
                circular_pad(x, padding)
            return
        if is_unspecified(shape, padding) and expected.numel():
            return
        seen["equal"] += 1
        actual = circular_pad(x, padding)
        assert actual.dtype == dtype
        assert torch.equal(actual, expected)

    compare()
    assert min(seen["equal"], seen["refused"]) > 20, f"too few calls to prove anything: {seen}"


REFUSED: dict[str, tuple[list[int] | torch.Tensor, list[int]]] = {
    "padding holds a before and an after": ([3, 3], [1, 1, 1]),
    "names more dimensions than x has": ([3], [0, 0, 0, 0]),
    "crops more than there is": ([3, 3], [-2, -2]),
    "wrap around more than once": ([3, 3], [4, 0]),
    "wrap around more than once after cropping": ([3, 3], [3, -1]),
    "x has 5 dimensions, not 1 to 4": ([1, 1, 1, 1, 3], [1, 1]),
    r"dtypes \(torch.float64,\)": (torch.zeros(3, 3, dtype=torch.float64), [1, 1]),
}


@pytest.mark.parametrize("message", REFUSED)
@pytest.mark.parametrize("fake", [False, True])
def test_one_clear_message_for_what_is_refused(circular_pad: Any, message: str, fake: bool) -> None:
    x, padding = REFUSED[message]
    tensor = x if isinstance(x, torch.Tensor) else torch.zeros(x)
    with pytest.raises(RuntimeError, match=rf"circular_pad: .*{message}"):
        circular_pad(tensor.to("meta") if fake else tensor, padding)
