"""What torch itself says of each shape rule: calls of the rules, and the shapes that torch gives them.

A new rule that torch has too goes into `RULES`, with its text in terms of a `Call`, and a strategy of its calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from hypothesis import strategies as st

from tests.properties.expressions import Call

FACTORS = (0.7, 0.5, 2.0, 1.0, 0.1, 1.5, 0.29, 1 / 3, 2 / 3, 0.0, 1e-9, 3.141592653589793, 1e-05, 12345.678901234567)


class Rule(NamedTuple):
    """The text of a shape, and calls for it with the shape that torch gives."""

    text: str
    calls: st.SearchStrategy[tuple[Call, list[int]]]


def empty(shape: Any) -> torch.Tensor:
    """A tensor of a shape, without memory."""
    return torch.empty(tuple(shape), device="meta")


def _signed(dims: list[int], rank: int, draw: st.DrawFn) -> tuple[int, ...]:
    """Dimensions, some of them counted from the end."""
    return tuple(dim - rank if draw(st.booleans()) else dim for dim in dims)


def _alike(shape: list[int], draw: st.DrawFn) -> list[int]:
    """A shape that broadcasts with this one."""
    ones = [1 if draw(st.booleans()) else size for size in shape]
    return ones[draw(st.integers(0, max(len(shape) - 1, 0))) :]


def _sizes(draw: st.DrawFn, least: int, low: int, high: int) -> list[int]:
    return draw(st.lists(st.integers(least, 9), min_size=low, max_size=high))


@st.composite
def broadcasts(draw: st.DrawFn) -> tuple[Call, list[int]]:
    whole = _sizes(draw, 0, 1, 4)
    x, w = _alike(whole, draw), _alike(whole, draw)
    return Call(tuple(x), tuple(w)), list((empty(x) + empty(w)).shape)


@st.composite
def reductions(draw: st.DrawFn) -> tuple[Call, list[int]]:
    x = _sizes(draw, 0, 1, 4)
    dims = _signed(draw(st.lists(st.integers(0, len(x) - 1), unique=True)), len(x), draw)
    call = Call(tuple(x), (1,), flag=draw(st.booleans()), pads=dims)
    return call, list(empty(x).sum(dim=list(dims), keepdim=call.flag).shape)


@st.composite
def products(draw: st.DrawFn) -> tuple[Call, list[int]]:
    batch = _sizes(draw, 0, 1, 2)
    rows, inner, columns = _sizes(draw, 0, 3, 3)
    x = draw(st.sampled_from([[inner], [rows, inner], [*_alike(batch, draw), rows, inner]]))
    w = draw(st.sampled_from([[inner], [inner, columns], [*_alike(batch, draw), inner, columns]]))
    return Call(tuple(x), tuple(w)), list(torch.matmul(empty(x), empty(w)).shape)


@st.composite
def joins(draw: st.DrawFn) -> tuple[Call, list[int]]:
    x = _sizes(draw, 0, 1, 4)
    dim = draw(st.integers(0, len(x) - 1))
    w = [draw(st.integers(0, 9)) if i == dim else size for i, size in enumerate(x)]
    (a,) = _signed([dim], len(x), draw)
    return Call(tuple(x), tuple(w), a=a), list(torch.cat([empty(x), empty(w), empty(x)], dim=a).shape)


@st.composite
def orders(draw: st.DrawFn) -> tuple[Call, list[int]]:
    x = _sizes(draw, 0, 1, 4)
    dims = _signed(draw(st.permutations(range(len(x)))), len(x), draw)
    return Call(tuple(x), (1,), pads=dims), list(empty(x).permute(dims).shape)


@st.composite
def exchanges(draw: st.DrawFn) -> tuple[Call, list[int]]:
    x = _sizes(draw, 0, 1, 4)
    a, b = (draw(st.integers(-len(x), len(x) - 1)) for _ in range(2))
    return Call(tuple(x), (1,), a=a, b=b), list(empty(x).transpose(a, b).shape)


class _Window(NamedTuple):
    size: int
    kernel: int
    stride: int
    padding: int
    dilation: int


@st.composite
def _windows(draw: st.DrawFn, half: bool) -> _Window:
    """One dimension of a convolution or a pooling; torch pads by at most half of what it pools."""
    kernel, stride, dilation = draw(st.integers(1, 4)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    padding = draw(st.integers(0, kernel // 2 if half else 4))
    return _Window(draw(st.integers(dilation * (kernel - 1) + 1, 20)), kernel, stride, padding, dilation)


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[Call, list[int]]:
    groups = draw(st.sampled_from([1, 2]))
    size, kernel, *lists = zip(*draw(st.lists(_windows(half=False), min_size=1, max_size=3)), strict=True)
    x, w = (draw(st.integers(1, 3)), 4, *size), (2 * draw(st.integers(1, 3)), 4 // groups, *kernel)
    run = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[len(size)]
    stride, padding, dilation = lists
    shape = run(empty(x), empty(w), None, stride, padding, dilation, groups).shape
    return Call(x, w, pads=tuple(value for values in lists for value in values)), list(shape)


@st.composite
def poolings(draw: st.DrawFn) -> tuple[Call, list[int]]:
    windows = draw(st.lists(_windows(half=True), min_size=1, max_size=3))
    if draw(st.booleans()):
        windows = [window._replace(stride=window.kernel) for window in windows]
    size, *lists = zip(*windows, strict=True)
    kernel, stride, padding, dilation = lists
    x = (*draw(st.sampled_from([(3,), (2, 3)])), *size)
    flag = draw(st.booleans())
    run = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[len(size)]
    shape = list(run(torch.empty(x), kernel, stride, padding, dilation, flag).shape)
    if set(dilation) == {1}:
        average = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[len(size)]
        assert list(average(torch.empty(x), kernel, stride, padding, flag).shape) == shape
    return Call(x, (1,), a=len(size), flag=flag, pads=tuple(value for values in lists for value in values)), shape


@st.composite
def dense(draw: st.DrawFn) -> tuple[Call, list[int]]:
    x = _sizes(draw, 1, 1, 4)
    return Call(tuple(x), (1,)), list(empty(x).stride())


@st.composite
def scales(draw: st.DrawFn) -> tuple[Call, list[int]]:
    n = draw(st.integers(0, 4096) | st.sampled_from([100_000, 99_999]))
    return Call((n,), (1,)), [int(n * Decimal(repr(factor))) for factor in FACTORS]  # exact, in 28 digits


RULES: Mapping[str, Rule] = {
    "broadcast": Rule("broadcast(x.shape, w.shape)", broadcasts()),
    "reduce": Rule("reduce(x.shape, pads, flag)", reductions()),
    "matmul": Rule("matmul(x.shape, w.shape)", products()),
    "concat": Rule("concat(a, x.shape, w.shape, x.shape)", joins()),
    "permute": Rule("permute(x.shape, pads)", orders()),
    "transpose": Rule("transpose(x.shape, a, b)", exchanges()),
    "conv": Rule(
        "conv(x.shape, w.shape, pads[:x.ndim - 2], pads[x.ndim - 2:2 * x.ndim - 4], pads[2 * x.ndim - 4:])",
        convolutions(),
    ),
    "pool": Rule("pool(x.shape, pads[:a], pads[a:2 * a], pads[2 * a:3 * a], pads[3 * a:], flag)", poolings()),
    "strides": Rule("strides(x.shape)", dense()),
    "scaled": Rule(f"[{', '.join(f'scaled(x.shape[0], {factor!r})' for factor in FACTORS)}]", scales()),
}
