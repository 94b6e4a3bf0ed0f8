"""Each shape rule gives the shape that torch gives, on ints and on SymInts; test_tensorrt.py does the same there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch._dynamo.source import ConstantSource
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

from tests.properties.expressions import SCOPES, Call
from tests.properties.shipped import SHIPPED
from tests.properties.test_expressions import run
from tests.properties.torch_rules import RULES, empty
from trtplug import expr, rules
from trtplug.expr import Python, Site

LENIENT = settings(max_examples=150, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck))
# trtplug's own, which `trtplug check` runs, and those of a package's launch and shape rules.
ON_INTS: Mapping[str, Mapping[str, Any]] = {
    "check": {name: getattr(rules, name) for name in SHIPPED[True]},
    "launch": SHIPPED[False],
    "shapes": SHIPPED[True],
}


def symbols(environment: ShapeEnv, name: str, shape: tuple[int, ...]) -> list[Any]:
    """A dynamic size for each of a shape's."""
    found = []
    for i, size in enumerate(shape):
        source = ConstantSource(f"{name}_{i}")
        symbol = environment.create_symbol(size, source, dynamic_dim=DimDynamic.DYNAMIC)
        found.append(environment.create_symintnode(symbol, hint=size, source=source))
    return found


@pytest.mark.parametrize("rule", RULES)
@LENIENT
@given(data=st.data())
def test_on_ints(rule: str, data: st.DataObject) -> None:
    call, shape = data.draw(RULES[rule].calls)
    for functions in ON_INTS.values():
        node = expr.parse(RULES[rule].text, SCOPES[Site.SHAPE])
        assert run(Python(symbolic=True), node, call, call.x, torch.Size(call.w), functions) == shape


@pytest.mark.parametrize("rule", RULES)
@settings(LENIENT, max_examples=60)
@given(data=st.data())
def test_on_symints_without_guards(rule: str, data: st.DataObject) -> None:
    """Sizes of 0 and 1 are symbols too, or, as torch has it unless it is told otherwise, ints."""
    call, shape = data.draw(RULES[rule].calls)
    environment = ShapeEnv(specialize_zero_one=data.draw(st.booleans()))
    x, w = (symbols(environment, *named) for named in (("x", call.x), ("w", call.w)))
    if data.draw(st.booleans()):
        w = list(call.w)
    result = run(Python(symbolic=True), expr.parse(RULES[rule].text, SCOPES[Site.SHAPE]), call, x, w)
    assert not environment.guards, environment.guards
    assert [int(size) for size in result] == shape


def test_sizes_of_one_symbol_broadcast_to_it() -> None:
    environment = ShapeEnv()
    x, w = symbols(environment, "x", (5, 7)), symbols(environment, "w", (5, 7))
    before = SHIPPED[True]["broadcast"](x, w)
    assert SHIPPED[True]["broadcasts"](x, w)
    assert [str(guard.expr).split("(")[0] for guard in environment.guards] == ["Eq", "Eq"]
    for result in (before, SHIPPED[True]["broadcast"](x, w), SHIPPED[True]["broadcast"](x, x)):
        assert all(bool(size == own) for size, own in zip(result, x, strict=True))
    assert len(environment.guards) == 2


@LENIENT
@given(x=st.lists(st.integers(0, 3), max_size=4), w=st.lists(st.integers(0, 3), max_size=4))
def test_broadcasts_says_what_torch_refuses(x: list[int], w: list[int]) -> None:
    try:
        shape = list((empty(x) + empty(w)).shape)
    except RuntimeError:
        shape = None
    for functions in ON_INTS.values():
        assert functions["broadcasts"](x, w) == (shape is not None)
        if shape is None:
            with pytest.raises(ValueError, match=r"sizes \d and \d do not broadcast"):
                functions["broadcast"](x, w)
        else:
            assert functions["broadcast"](x, w) == shape


def test_every_rule_is_held_against_torch() -> None:
    """Those that torch does not have are in expressions.py."""
    assert {name for name, function in expr.FUNCTIONS.items() if function.is_rule} - {*RULES} == {"pad", "broadcasts"}


def test_attributes_may_be_tuples() -> None:
    assert run(
        Python(symbolic=True),
        expr.parse("pool(x.shape, pads, [], [0, 0], [1, 1], False)", SCOPES[Site.SHAPE]),
        Call((3, 9, 9), (1,), pads=(2, 4)),
        (3, 9, 9),
        (1,),
    ) == [3, 4, 2]
