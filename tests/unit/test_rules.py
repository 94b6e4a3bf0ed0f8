"""The named shape rules: what each refuses, where it is exact, and how packages carry it.

That they give torch's shapes, in every kind of dimension, is in tests/properties.
"""

from __future__ import annotations

import builtins
import symtable
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from trtplug import expr, names, render, resolve, rules, spec
from trtplug.expr import Kind, Scalar, Scope, Site
from trtplug.views import spelling

SHAPE = Scope(
    Site.SHAPE,
    ("x", "w"),
    {"n": expr.INT, "scale": expr.FLOAT, "flag": expr.BOOL, "pads": Kind(Scalar.INT, is_list=True)},
)
SPEC = ROOT / "tests/bad_specs/output_not_written"  # sound but for `Y: x`


@pytest.mark.parametrize(
    ("found", "shape"),
    [
        (rules.broadcast([], []), []),
        (rules.broadcast([], [2, 0]), [2, 0]),
        (rules.broadcast([0, 1], [5, 1, 3]), [5, 0, 3]),
        (rules.reduce([2, 3], [], False), []),
        (rules.reduce([2, 3], [], True), [1, 1]),
        (rules.reduce([], [-1], True), []),
        (rules.matmul([3], [3]), []),
        (rules.matmul([7, 1, 2, 3], [5, 3, 4]), [7, 5, 2, 4]),
        (rules.concat(-1, [2, 3], [2, 0], [2, 4]), [2, 7]),
        (rules.concat(0, [2]), [2]),
        (rules.permute([], []), []),
        (rules.transpose([], 0, -1), []),
        (rules.transpose([2, 3, 4], 1, 1), [2, 3, 4]),
        (rules.conv([2, 3], [4, 3], [], [], []), [2, 4]),
        (rules.pool([5], [2], [], [0], [1], True), [3]),
        (rules.pool([2], [1], [3], [0], [1], True), [1]),  # a second window would start beyond the end
        (rules.pool([4, 4], [3, 3], [3, 3], [1, 1], [1, 1], True), [2, 2]),  # and a third one here, in the padding
        (rules.strides([]), []),
        (rules.strides([2, 0, 3]), [0, 3, 1]),
        ([rules.scaled(10, 0.7), rules.scaled(100, 0.29), rules.scaled(5, 0.0)], [7, 29, 0]),
    ],
)
def test_edges(found: list[int], shape: list[int]) -> None:
    assert found == shape


@pytest.mark.parametrize(
    ("rule", "arguments", "error", "message"),
    [
        (rules.broadcast, ([4, 2], [3]), ValueError, "sizes 2 and 3 do not broadcast"),
        (rules.reduce, ([4, 2], [2], True), IndexError, "dimension 2 is out of range; there are 2"),
        (rules.reduce, ([4, 2], [-1, 1], True), ValueError, "dims [-1, 1] name a dimension twice"),
        (rules.matmul, ([], [3]), ValueError, "matmul takes no scalars"),
        (rules.concat, (-3, [4, 2]), IndexError, "dimension -3 is out of range; there are 2"),
        (rules.concat, (0, [4, 2], [4]), ValueError, "ranks [2, 1] differ; tensors of one rank can be joined"),
        (rules.concat, (0, []), ValueError, "scalars cannot be joined"),
        (rules.permute, ([4, 2], [0]), ValueError, "dims [0] do not name each of 2 dimensions once"),
        (rules.permute, ([4, 2], [1, -1]), ValueError, "dims [1, -1] do not name each of 2 dimensions once"),
        (rules.transpose, ([4, 2], 0, 2), IndexError, "dimension 2 is out of range; there are 2"),
        (
            rules.conv,
            ([4, 2, 9], [3, 2], [1], [0], [1]),
            ValueError,
            "a convolution takes a shape and a weight_shape of one rank, two or more, not of 3 and 2",
        ),
        (
            rules.conv,
            ([4, 2, 9], [3, 2, 3], [1], [0, 0], [1]),
            ValueError,
            "padding [0, 0] has 2 items, not one for each of 1 spatial dimensions",
        ),
        (
            rules.pool,
            ([9], [3, 3], [], [0, 0], [1, 1], False),
            ValueError,
            "kernel_size [3, 3] has more dimensions than the 1 of the shape",
        ),
        (
            rules.pool,
            ([9], [3], [1, 2], [0], [1], False),
            ValueError,
            "stride [1, 2] has 2 items, not one for each of 1 spatial dimensions",
        ),
        *(
            (
                rules.scaled,
                (4, factor),
                ValueError,
                f"a size cannot be scaled by {factor}; a factor is 0, or a number from 1e-9 to 1e9",
            )
            for factor in (-0.5, float("nan"), float("inf"), 1e-10, 2e9)
        ),
    ],
)
def test_refused(rule: Any, arguments: tuple[Any, ...], error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        rule(*arguments)
    assert str(caught.value) == message


class Int64:
    """A dimension as TensorRT has it: no value, on the way either, leaves 64 bits."""

    def __init__(self, value: int) -> None:
        assert -(2**63) <= value < 2**63
        self.value = value

    def __mul__(self, other: int) -> Int64:
        return Int64(self.value * Int64(other).value)

    def __floordiv__(self, other: int) -> Int64:
        return Int64(self.value // Int64(other).value)

    def __add__(self, other: Int64) -> Int64:
        return Int64(self.value + other.value)


@pytest.mark.parametrize("n", [0, 1, 3, 4096, 2**31 - 1])
@pytest.mark.parametrize(
    "factor",
    [0.7, 1 / 3, 2 / 3, 1e-9, 1.2345678901234567e-09, 5e8 + 1 / 3, 1e9, 2.0**-29, 5.0**-10, 123456789.12345678, 2.0],
)
def test_scaled_is_exact_within_64_bits(n: int, factor: float) -> None:
    assert rules.scaled(Int64(n), factor).value == int(n * Decimal(repr(factor)))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("reduce(pads, [0], flag)", "a list, each item an int"),
        ("reduce(x.shape, pads, not flag and x.ndim > 1)", "a list, each item a dimension"),
        ("concat(0, pads, pads, x.shape)", "a list, each item a dimension"),
        ("[scaled(n, scale)]", "a list, each item an int"),
        ("scaled(x.shape[0], 0.5)", "a dimension"),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    assert str(expr.parse(text, SHAPE).kind) == kind


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("concat(0)", 0, "concat takes 2 arguments or more, not 1"),
        ("pad(x.shape, pads, pads)", 0, "pad takes 2 arguments, not 3"),
        ("concat(0, pads, n)", 16, "expected a list, each item a dimension; this is an int"),
        ("scaled(n, 2)", 10, "expected a float; this is an int"),
        *(
            (
                f"reduce(x.shape, [0], {condition})",
                21,
                "this depends on a dimension, which may be unknown; use bools, ints and ranks",
            )
            for condition in (
                "x.shape[0] > 1",
                "flag and x.shape == w.shape",
                "broadcasts(x.shape, w.shape)",
                "all(v == 1 for v in x.shape)",
            )
        ),
    ],
)
def test_refused_as_expressions(text: str, offset: int, message: str) -> None:
    with pytest.raises(expr.ExpressionError) as caught:
        expr.parse(text, SHAPE)
    assert (caught.value.message, caught.value.offset) == (message, offset)


def defined(sources: Sequence[str]) -> list[str]:
    return [source.split("(")[0].removeprefix("def ") for source in sources]


def test_what_a_rule_calls_travels_with_it() -> None:
    calls = [expr.parse(text, SHAPE) for text in ("matmul(x.shape, w.shape)", "strides(broadcast(x.shape, [n]))")]
    sources = spelling.used_rules(calls)
    assert defined(sources) == ["_broadcast", "_matmul", "_strides", "_broadcast_size"]
    assert "return [*_broadcast(a[:-2], b[:-2]), *rows, *columns]" in sources[1]


def test_a_launch_carries_rules_for_ints() -> None:
    sources = spelling.used_rules([expr.parse("broadcast(x.shape, w.shape)", SHAPE)], symbolic=False)
    assert sources[0].startswith("def _broadcast(a: Sequence[int], b: Sequence[int]) -> list[int]:")
    assert sources[1].endswith("return max(min(m, n), min(max(m, n), m * n))")


def test_every_module_of_a_package_imports_what_its_rules_need(tmp_path: Path) -> None:
    """Each rule in a shape and in the launch, where Dim and torch.sym_min have no place."""
    used = [
        "broadcast(SHAPE, [1])",
        "reduce(SHAPE, [0], True)",
        "matmul(SHAPE + [4], [4, 1])",
        "concat(0, SHAPE, SHAPE)",
        "permute(SHAPE[:1], [0])",
        "transpose(SHAPE, 0, -1)",
        "conv([1, 1] + SHAPE[:1], [1, 1, 1], [1], [0], [1])",
        "pool(SHAPE[:1], [1], [], [0], [1], True)",
        "strides(SHAPE)",
        "[scaled(SHAPE[0], 0.5)]",
        "pad(SHAPE, [1, 1])",
    ]
    assert {text.split("(")[0].removeprefix("[") for text in used} == {
        name for name, function in expr.FUNCTIONS.items() if function.is_rule and function.returns != expr.BOOL
    }
    size = " + ".join(f"sum({text})" for text in used)
    text = (SPEC / "spec.yaml").read_text(encoding="utf-8")
    for old, new in (
        ("Y: x", "Y: y"),
        ("shape: x.shape", f"shape: '[{size.replace('SHAPE', 'x.shape')}]'"),
        ("n: numel(y)", f"n: {size.replace('SHAPE', 'y.shape')}"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    (tmp_path / "op.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "scale.py").write_bytes((SPEC / "scale.py").read_bytes())
    for file, content in render.render(resolve.resolve(spec.load(tmp_path / "op.yaml"))).items():
        if file.name not in ("_shapes.py", "_launch.py"):
            continue
        module = symtable.symtable(content.decode(), file.name, "exec")
        known = {*module.get_identifiers(), *dir(builtins)}
        tables = [module]
        while tables:
            table = tables.pop()
            tables += table.get_children()
            unknown = {s.get_name() for s in table.get_symbols() if s.is_global() and s.is_referenced()} - known
            assert not unknown, (file, table.get_name(), unknown)


def test_a_kernel_cannot_hide_what_rules_import() -> None:
    assert names.problem_with_kernel_name("Fraction")
