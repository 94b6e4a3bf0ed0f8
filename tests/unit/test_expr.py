"""The expression language: what each text means, how it is printed, and which words refuse it, and where."""

from __future__ import annotations

import pytest

from trtplug import expr
from trtplug.expr import Kind, Python, Scalar, Scope, Site

VALUES = {
    "n": expr.INT,
    "eps": expr.FLOAT,
    "mode": expr.STR,
    "flag": expr.BOOL,
    "pads": Kind(Scalar.INT, is_list=True),
    "taps": Kind(Scalar.FLOAT, is_list=True, optional=True),
}
SHAPE = Scope(Site.SHAPE, ("x", "w"), VALUES)
CHECK = Scope(Site.CHECK, ("x", "w"), VALUES)
LAUNCH = Scope(Site.LAUNCH, ("x", "w"), VALUES, outputs=("y",))


@pytest.mark.parametrize(
    ("text", "kind", "printed"),
    [
        ("n * 2 - -3", "an int", "n * 2 - -3"),
        ("-(n // 2)", "an int", "-(n // 2)"),
        ("n - (n - 1) - 1", "an int", "n - (n - 1) - 1"),
        ("x.shape[-1] % n", "a dimension", "x_shape[-1] % n"),
        ("min(n, 2, len(pads))", "an int", "min(n, 2, len(pads))"),
        ("min(n, x.shape[0], 3)", "a dimension", "torch.sym_min(torch.sym_min(n, x_shape[0]), 3)"),
        ("cdiv(n + 1, 2 * n)", "an int", "-(-(n + 1) // (2 * n))"),
        ("[1, n] + x.shape[::2] + []", "a list, each item a dimension", "[1, n, *x_shape[::2]]"),
        ("[v * v for v in pads][1:]", "a list, each item an int", "[v * v for v in pads][1:]"),
        ("pad(pads, [n])", "a list, each item an int", "pad(pads, [n])"),
        ("numel(x) + sum(w.shape)", "a dimension", "math.prod(x_shape) + sum(w_shape)"),
        ("eps * n", "a float", "eps * n"),
        ("or_else(taps, [])", "a list, each item a float", "[] if taps is None else taps"),
    ],
)
def test_numbers_and_lists(text: str, kind: str, printed: str) -> None:
    node = expr.parse(text, SHAPE)
    assert (str(node.kind), Python(symbolic=True).text(node)) == (kind, printed)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("0 < n < x.ndim", "0 < n and n < len(x_shape)"),
        ("not (flag or n == 1) and mode != 'a'", 'not (flag or n == 1) and mode != "a"'),
        ("flag == (n == 1)", "flag == (n == 1)"),
        ("x.shape == [n, 2]", "list(x_shape) == [n, 2]"),  # a tuple or a torch.Size never equals a list
        ("x.dtype == w.dtype", "x_dtype == w_dtype"),
        ("all(v >= min(n, v) for v in x.shape)", "all(v >= torch.sym_min(n, v) for v in x_shape)"),
    ],
)
def test_conditions(text: str, printed: str) -> None:
    node = expr.parse(text, CHECK)
    assert (node.kind, Python(symbolic=True).text(node)) == (expr.BOOL, printed)


def test_text_for_ints_alone_calls_python_itself() -> None:
    node = expr.parse("max(x.shape[0], next_power_of_2(y.shape[0]))", LAUNCH)
    assert (
        Python(symbolic=False, rename=lambda name: f"_{name}").text(node)
        == "max(x_shape[0], _next_power_of_2(y_shape[0]))"
    )


def test_a_launch_indexes_and_counts_with_dimensions() -> None:
    assert expr.parse("[x.shape[i] for i in range(x.shape[0])][w.shape[0]:]", LAUNCH).kind == expr.DIMS


@pytest.mark.parametrize(
    ("scope", "text", "offset", "message"),
    [
        (SHAPE, "n + ", 4, "this is no expression (invalid syntax); write one as in Python"),
        (SHAPE, "[n, lne(pads)]", 4, "unknown function 'lne'; did you mean 'len'?"),
        (SHAPE, "n + né", 4, "unknown name 'né'; did you mean 'n'?"),
        (SHAPE, "'é' + n", 0, "expected a number; this is a string"),
        (SHAPE, "'é' == nn", 7, "unknown name 'nn'; did you mean 'n'?"),
        (SHAPE, "  n\n  + nn", 8, "unknown name 'nn'; did you mean 'n'?"),
        (SHAPE, "x.shape[x.shape[0]]", 8, "expected an int; this is a dimension"),
        (SHAPE, "x.shape * 2", 0, "a list takes only '+' and another list; write [1] + [2], or [f(v) for v in values]"),
        (SHAPE, "eps * x.shape[0]", 0, "a dimension and a float do not mix; use ints"),
        (SHAPE, "x.shape[0] / 2", 0, "true division has no dimension; write // or cdiv(a, b)"),
        (SHAPE, "1 + next_power_of_2(n)", 4, "next_power_of_2 has no form in a shape rule; use it under launch or let"),
        (SHAPE, "n # more", 2, "an expression has no comments; write it in YAML, outside of the expression"),
        (SHAPE, "[x.ndim, x]", 0, "a tensor cannot stand in a list; write x.shape or numel(x)"),
        (SHAPE, "[1, 'a']", 0, "the items of a list are of one kind"),
        (SHAPE, "[1 for x_shape in pads]", 7, "'x_shape' means something else already; choose another name"),
        (
            SHAPE,
            "[1 for torch in pads]",
            7,
            "'torch' is reserved: the generated code uses it; rename it, for instance to 'torch_'",
        ),
        (
            SHAPE,
            "[sum([1 for v in pads]) for u in pads]",
            5,
            "a 'for' inside a 'for' is not supported; give the inner list a let name",
        ),
        (CHECK, "flag < True", 0, "lists, strings, bools and dtypes compare with == and != only"),
        (CHECK, "flag == True == flag", 0, "a chain such as 0 < n < 8 compares numbers; write 'and'"),
        (CHECK, "mode == 1", 0, "cannot compare a string with an int"),
        (CHECK, "all(n for v in pads)", 4, "all takes a condition for each item; this is an int"),
        (LAUNCH, "y.dtype == x.dtype", 0, "the dtype of the output y follows from the inputs; write that of an input"),
        (LAUNCH, "9223372036854775808", 0, "this number does not fit into 64 bits; write a smaller one"),
        (LAUNCH, "1e999", 0, "this number is too large for a float; write a smaller one"),
        (LAUNCH, "-" * 60 + "n", 0, "nested more than 50 deep; split it, for instance by let names"),
        (LAUNCH, "n" + " + n" * 600, 0, "longer than 2000 characters; split it, for instance by let names"),
    ],
)
def test_refused(scope: Scope, text: str, offset: int, message: str) -> None:
    with pytest.raises(expr.ExpressionError) as caught:
        expr.parse(text, scope)
    assert (caught.value.message, caught.value.offset) == (message, offset)


@pytest.mark.parametrize(
    "text",
    [
        "n" + " + n" * 47,
        "cdiv(" * 45 + "n" + ", n)" * 45,
        "[" + ", ".join(["n"] * 400) + "]",
        "[max(" + ", ".join(["v"] * 400) + ") for v in x.shape]",
    ],
)
def test_long_expressions_stay_within_python_s_own_limits(text: str) -> None:
    compile(Python(symbolic=True).text(expr.parse(text, SHAPE)), "", "eval")


def test_what_hangs_on_a_refused_name_is_not_refused_again() -> None:
    with pytest.raises(expr.NotUnderstood):
        expr.parse("n + m", SHAPE.with_value("m", None))
