"""An expression means what Python means by its text, however it is printed, on ints and on SymInts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import torch
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from torch._dynamo.source import ConstantSource
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

from tests.properties.expressions import SCOPES, Call, calls, conditions, expected, lists, numbers
from tests.properties.shipped import SHIPPED
from trtplug import expr
from trtplug.expr import Python, Site

LENIENT = settings(max_examples=300, deadline=None, print_blob=True, suppress_health_check=list(HealthCheck))


def run(
    printer: Python, node: expr.Expr, call: Call, x: Any, w: Any, functions: Mapping[str, Any] | None = None
) -> Any:
    values = {"a": call.a, "b": call.b, "mode": call.mode, "flag": call.flag, "pads": call.pads}
    names = {"math": math, "torch": torch, **(functions or SHIPPED[printer.symbolic]), "x_shape": x, "w_shape": w}
    try:
        return eval(printer.text(node), {**names, **values})
    except (ArithmeticError, LookupError, ValueError) as error:
        return type(error)


def plain(value: Any) -> Any:
    return list(value) if isinstance(value, list | tuple) else value


def check_on_ints(text: str, site: Site, call: Call) -> None:
    node = expr.parse(text, SCOPES[site])
    for printer in (Python(symbolic=True), Python(symbolic=False)):
        assert plain(run(printer, node, call, call.x, call.w)) == plain(expected(text, call))


def test_every_grouping_of_two_operators() -> None:
    for call in (Call((2,), (3, 4), a=7, b=-3), Call((5,), (2, 9), a=-8, b=5)):
        for one, other in itertools.product(["+", "-", "*", "//", "%"], repeat=2):
            for text in ("(a {} b) {} 4", "a {} (b {} 4)", "-(a {} b) {} 4", "-a {} -(b {} 4)"):
                check_on_ints(text.format(one, other), Site.LAUNCH, call)
        for one, other in itertools.product(["and", "or"], repeat=2):
            for flags in itertools.product(["a < 0", "b < 0", "not a < b"], repeat=3):
                for text in ("({0} {3} {1}) {4} {2}", "{0} {3} ({1} {4} {2})", "not ({0} {3} {1}) {4} {2}"):
                    check_on_ints(text.format(*flags, one, other), Site.CHECK, call)


@LENIENT
@given(text=st.one_of(numbers(Site.LAUNCH, 3), lists(Site.LAUNCH, 3)), call=calls())
def test_launch_on_ints(text: str, call: Call) -> None:
    check_on_ints(text, Site.LAUNCH, call)


@LENIENT
@given(text=conditions(3), call=calls())
@example(text="x.shape == pads", call=Call((1, 2), (3, 4), pads=(1, 2)))
def test_checks_on_ints(text: str, call: Call) -> None:
    check_on_ints(text, Site.CHECK, call)


@settings(LENIENT, max_examples=150)
@given(text=lists(Site.SHAPE, 3), call=calls(least=2))
@example(text="[min(x.shape[0], w.shape[0], 4) // 3, max(x.shape[0], 1) % w.shape[1]]", call=Call((7,), (3, 5)))
def test_shape_rules_on_symints_without_guards(text: str, call: Call) -> None:
    value = expected(text, call)
    assume(isinstance(value, list) and all(abs(item) < 2**40 for item in value))
    environment = ShapeEnv()

    def symbols(name: str, shape: tuple[int, ...]) -> list[Any]:
        found = []
        for i, size in enumerate(shape):
            source = ConstantSource(f"{name}_{i}")
            symbol = environment.create_symbol(size, source, dynamic_dim=DimDynamic.DYNAMIC)
            found.append(environment.create_symintnode(symbol, hint=size, source=source))
        return found

    node = expr.parse(text, SCOPES[Site.SHAPE])
    result = run(Python(symbolic=True), node, call, symbols("x", call.x), symbols("w", call.w))
    assert not environment.guards, environment.guards
    assert [int(size) for size in result] == value
