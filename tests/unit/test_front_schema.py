"""The schema parser against torch's own, over good, bad and generated texts."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trtplug.torch_schema import Argument, ArgumentType, Base, Return, Schema, SchemaSyntaxError, parse

GOOD = [
    "(Tensor x, int[] padding) -> Tensor",
    "() -> ()",
    "(Tensor x) -> (Tensor)",
    "(Tensor x)->(Tensor values, Tensor indices)",
    "  ( Tensor  x ,int n=- 3 ) ->Tensor y  ",
    "(Tensor[] xs, Tensor? x=None, *, float eps=1e-5) -> Tensor[]",
    "(Tensor(a!) x, Tensor(b) y, Tensor(c)? z) -> Tensor(a!)",
    "(int a, int? b, int[] c, int[2] d, int[]? e, int [ 2 ]? f) -> int",
    "(SymInt a=7, SymInt? b=None, SymInt[] c=[], SymInt[2] d=1) -> SymInt",
    "(int a=-9223372036854775808, int b=9223372036854775807, int? c=5) -> ()",
    "(float a=1, float b=.5, float c=-1.E+3, float? d=2, float[] e=[1, -2.5], float[2] f=0.5, float g=0e-400) -> float",
    "(bool a=True, bool? b=False, bool[] c=[True, False], bool[2] d=True) -> bool",
    '(str[] a, str b="e f", str c=\'g\', str? d=None, str h="") -> str',
    "(ScalarType a, ScalarType? b=None) -> Tensor?",
    "(int a=1, *, int b) -> Tensor",
]

BOTH_REFUSE = [
    "",
    "Tensor x",
    "op(Tensor x) -> Tensor extra words",
    "(Tensor x)",
    "(Tensor x) ->",
    "(Tensor x,) -> Tensor",
    "(Tensor x) -> Tensor, Tensor",
    "(Tensor) -> Tensor",
    "(x) -> Tensor",
    "(Tensr x) -> Tensor",
    "(Tensor x -> Tensor",
    "(Tensor x)) -> Tensor",
    "(Tensor x=1) -> Tensor",
    "(Tensor 1x) -> Tensor",
    "(Tensor x;) -> Tensor",
    "(Tensor class) -> Tensor",
    "(Tensor é) -> Tensor",
    "(int a=1, int b) -> Tensor",
    "(int a=+1) -> Tensor",
    "(int a=1_000) -> Tensor",
    "(int a=99999999999999999999) -> Tensor",
    "(int[] a=1) -> Tensor",
    "(int[] a=[1,]) -> Tensor",
    "(int[] a=[1.5]) -> Tensor",
    "(int[]? a=[1]) -> Tensor",
    "(int[-1] a) -> Tensor",
    "(float a=inf) -> Tensor",
    "(float a=1e400) -> Tensor",
    "(float a=1e-400) -> Tensor",
    "(bool a=true) -> Tensor",
    "(bool[] a=[1]) -> Tensor",
    '(str[] a=["b"]) -> Tensor',
    "(str a=b) -> Tensor",
    "(Tensor[] a=[]) -> Tensor",
    "(Tensor x) -> (Tensor, *, Tensor)",
    "(Tensor x)\n-> Tensor",
]

# Torch takes these, and then ignores, misreads or fails on what they say.
ONLY_WE_REFUSE = [
    "(int a=1.5) -> Tensor",
    "(int a=True) -> Tensor",
    "(bool a=1) -> Tensor",
    "(int a=None) -> Tensor",
    "(int a=0x10) -> Tensor",
    "(str a=1) -> Tensor",
    "(Tensor x=None) -> Tensor",
    "(Tensor x, Tensor x) -> Tensor",
    "(Tensor x) -> (Tensor y, Tensor y)",
    "(int a=1, Tensor[] b) -> Tensor",
    "(Tensor lambda) -> Tensor",
    "(*, *, int a) -> Tensor",
    "(int[2] a=[1, 2, 3]) -> Tensor",
    "(int[][] a) -> Tensor",
    "(Tensor?[] a) -> Tensor",
    "(Device a) -> Tensor",
    "(Tensor x, ...) -> Tensor",
    "(Tensor x,\n Tensor y) -> Tensor",
]


def torch_parse(text: str) -> torch.FunctionSchema | None:
    try:
        return torch._C.parse_schema("ns::op" + text)
    except (RuntimeError, IndexError):
        return None


def from_torch(schema: torch.FunctionSchema) -> list[object]:
    """What torch says of a schema, as far as it tells."""
    return [
        [(a.name, str(a.real_type), length_of(a), a.kwarg_only, default_of(a), alias_of(a)) for a in schema.arguments],
        [(r.name, str(r.real_type), alias_of(r)) for r in schema.returns],
    ]


def length_of(argument: torch.Argument) -> int | None:
    length: int | None = getattr(argument, "N")  # noqa: B009 - torch's stubs leave it out
    return length


def default_of(argument: torch.Argument) -> object:
    return argument.has_default_value() and repr(argument.default_value)


def alias_of(argument: torch.Argument) -> tuple[frozenset[str], bool] | None:
    alias = argument.alias_info
    return None if alias is None else (frozenset(alias.before_set), alias.is_write)


def from_ours(schema: Schema) -> list[object]:
    """The same of ours."""
    return [[ours_argument(a) for a in schema.arguments], [ours_return(r) for r in schema.returns]]


def ours_argument(argument: Argument) -> tuple[object, ...]:
    type_, default = argument.type, False if argument.default is None else ours_value(argument)
    return argument.name, torch_type(type_), type_.size, argument.keyword_only, default, ours_alias(type_)


def ours_return(output: Return) -> tuple[object, ...]:
    assert output.alias == output.type.alias
    return output.name or "", torch_type(output.type), ours_alias(output.type)


def ours_value(argument: Argument) -> str:
    assert argument.default is not None
    value = argument.default.value
    if argument.type.optional and argument.type.base is Base.FLOAT and isinstance(value, float) and value.is_integer():
        value = int(value)  # torch keeps the 2 of `float? x=2` an int; ours is what the type says
    return repr(list(value) if isinstance(value, tuple) else value)


def torch_type(type_: ArgumentType) -> str:
    text = "int" if type_.base is Base.SYMINT else type_.base.value
    text = f"List[{text}]" if type_.is_list else text
    return f"Optional[{text}]" if type_.optional else text


def ours_alias(type_: ArgumentType) -> tuple[frozenset[str], bool] | None:
    if type_.alias is None:
        return None
    return frozenset(type_.alias.rstrip("!").split("|")), type_.alias.endswith("!")


@pytest.mark.parametrize("text", GOOD)
def test_reads_what_torch_reads(text: str) -> None:
    expected = torch_parse(text)
    assert expected is not None
    assert from_ours(parse(text)) == from_torch(expected)


@pytest.mark.parametrize("text", BOTH_REFUSE)
def test_refuses_what_torch_refuses(text: str) -> None:
    assert torch_parse(text) is None
    with pytest.raises(SchemaSyntaxError):
        parse(text)


@pytest.mark.parametrize("text", ONLY_WE_REFUSE)
def test_refuses_what_torch_gets_wrong(text: str) -> None:
    assert torch_parse(text) is not None
    with pytest.raises(SchemaSyntaxError):
        parse(text)


@pytest.mark.parametrize("text", ["Tensor(a!)", "Tensor(a|b)?", "Tensor[]", "int[2]?", "SymInt[]", "ScalarType?"])
def test_types_print_in_torchs_spelling(text: str) -> None:
    assert str(parse(f"({text} x) -> ()").arguments[0].type) == text


PIECES = [*"xy1-()[],*?=", *(base.value for base in Base), "None", "True", "2.5", "'s'", "->", "(a!)", "[]", "[2]"]


@st.composite
def nearly_schemas(draw: st.DrawFn) -> str:
    """A good text with a few pieces put in, taken out or replaced."""
    words = re.findall(r"->|\w+|\S", draw(st.sampled_from(GOOD)))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(words)))
        words[at : at + draw(st.integers(0, 2))] = draw(st.lists(st.sampled_from(PIECES), max_size=2))
    return " ".join(words)


@settings(max_examples=600, deadline=None)
@given(nearly_schemas())
def test_never_reads_what_torch_refuses_or_reads_otherwise(text: str) -> None:
    ours = parse_or_offset(text)
    if isinstance(ours, int):
        assert 0 <= ours <= len(text)
    else:
        expected = torch_parse(text)
        assert expected is not None
        assert from_ours(ours) == from_torch(expected)


def parse_or_offset(text: str) -> Schema | int:
    try:
        return parse(text)
    except SchemaSyntaxError as error:
        return error.offset


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("(Tensr x) -> Tensor", 1, "unknown type 'Tensr'; did you mean 'Tensor'?"),
        ("(Tensor x, int n=1.5) -> Tensor", 17, "expected a whole number as the default of 'int', found '1.5'"),
        ("(Tensor x, ) -> Tensor", 9, "nothing follows this ','; torch wants it removed"),
        ("(int x) -> int, int", 14, "the schema should end here, before ','; put several outputs in parentheses"),
        ("(Tensor x; int n) -> Tensor", 9, "a torch schema has no ';'; remove it"),
        ("(int a=1, int b) -> Tensor", 14, "'b' has no default but follows one that has; give it one, or put it first"),
        ("(Tensor x, Tensor x) -> Tensor", 18, "a second argument 'x'; give each its own name"),
    ],
)
def test_says_where_and_what_to_do(text: str, offset: int, message: str) -> None:
    with pytest.raises(SchemaSyntaxError) as caught:
        parse(text)
    assert (caught.value.offset, caught.value.message) == (offset, message)


def test_offsets_are_those_of_the_text() -> None:
    text = "(Tensor x, int[] padding) -> (Tensor y, Tensor)"
    schema = parse(text)
    assert [argument.offset for argument in schema.arguments] == [text.index("x"), text.index("padding")]
    assert [output.offset for output in schema.returns] == [text.index("Tensor y"), text.rindex("Tensor")]
