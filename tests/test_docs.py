"""docs/spec.md and README.md against the code: every key and function is there, and every example does what it says.

How the page is read is said on the page itself: an example of YAML takes the place of the same keys of the first one, a
`text` block after it says with which words it is refused, and Python stands in scale.py or the file of its first line.
What an expression gives is worked out with the values that the page names.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest
import yaml
from pydantic.fields import FieldInfo

from trtplug import expr, resolve, rules, spec
from trtplug.dtypes import TABLE
from trtplug.expr import Kind, Scalar, Scope, Site
from trtplug.forms import Form
from trtplug.model import Op
from trtplug.problems import SpecError
from trtplug.torch_schema import Base
from trtplug.views.onnx import onnx
from trtplug.views.plugin import plugin
from trtplug.views.torch_op import torch_op

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "spec.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")


# --- reading the page -----------------------------------------------------------------------------------------------


class Example(NamedTuple):
    """A block of YAML: its section, its line, and with which words it is refused, if it is."""

    section: str
    line: int
    text: str
    refused: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Row:
    """One row of a table, by the headings of the columns."""

    section: str
    cells: Mapping[str, str]

    def __getitem__(self, heading: str) -> str:
        return self.cells[heading]


_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


def _section(at: int, page: str = PAGE) -> str:
    """The heading above a place of the page."""
    headings = re.findall(r"^##+ (.*)$", page[:at], re.MULTILINE)
    return headings[-1] if headings else ""


def _examples() -> tuple[Example, ...]:
    return tuple(
        Example(_section(m.start()), PAGE.count("\n", 0, m.start()) + 1, m[2], tuple((m[3] or "").splitlines()))
        for m in _BLOCK.finditer(PAGE)
        if m[1] == "yaml"
    )


def _files() -> dict[str, str]:
    """The Python files of the page; a block without a name on its first line goes on with scale.py."""
    files: dict[str, str] = {}
    for block in _BLOCK.finditer(PAGE):
        if block[1] == "python":
            named = re.match(r"# (\w+\.py)\n", block[2])
            name = named[1] if named else "scale.py"
            files[name] = f"{files.get(name, '')}{block[2]}\n\n"
    return files


def _rows(*headings: str, page: str = PAGE) -> list[Row]:
    """The rows of every table with these headings."""
    found: list[Row] = []
    for table in re.finditer(r"(?:^\|.*\n)+", page, re.MULTILINE):
        first, _, *rest = [_cells(line) for line in table[0].splitlines()]
        if set(headings) <= set(first):
            found += [Row(_section(table.start(), page), dict(zip(first, cells, strict=True))) for cells in rest]
    assert found, f"no table has the columns {headings}"
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def _code(cell: str) -> str:
    """The code that a cell consists of."""
    match = re.fullmatch(r"`(.*)`", cell) or re.fullmatch(r"`` (.*) ``", cell)
    assert match, f"{cell} is no code"
    return match[1]


EXAMPLES = _examples()
FILES = _files()
BASE = EXAMPLES[0].text


def _replaced(text: str) -> str:
    """The first example, with the keys of another one in place of its own, unless that is a whole spec."""
    given = _blocks(text)
    return text if {"spec", "cases"} <= given.keys() else "".join((_blocks(BASE) | given).values())


def _blocks(text: str) -> dict[str, str]:
    """The lines of each key at the top of a spec."""
    return {block.partition(":")[0]: block for block in re.split(r"^(?=\w)", text, flags=re.MULTILINE) if block}


def _resolve(text: str, folder: Path, files: Mapping[str, str] = FILES) -> Op:
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "scale.yaml").write_text(text, encoding="utf-8")
    return resolve.resolve(spec.load(folder / "scale.yaml"))


def _problems(text: str, folder: Path) -> list[str]:
    try:
        _resolve(text, folder)
    except SpecError as error:
        return [problem.message.replace(f"{folder}/", "") for problem in error.problems]
    return []


# --- examples and keys ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"line{e.line}")
def test_examples_are_what_the_page_says(example: Example, tmp_path: Path) -> None:
    assert sorted(_problems(_replaced(example.text), tmp_path)) == sorted(example.refused)


def test_the_first_example_is_the_least_that_a_spec_can_be(tmp_path: Path) -> None:
    for key, block in _blocks(BASE).items():
        assert _problems(BASE.replace(block, ""), tmp_path), f"a spec without {key} is no problem"


def test_every_key_is_documented_with_an_example() -> None:
    documented = {_code(row["key"]): row for row in _rows("key", "type", "default", "meaning")}
    known = dict(_keys(Form))
    assert sorted(documented) == sorted(known)
    given = {(e.section, path) for e in EXAMPLES if not e.refused for path in _given(yaml.safe_load(e.text), Form)}
    for path, field in known.items():
        row = documented[path]
        assert row["meaning"].replace("`", "") == field.description, path
        assert row["type"], path
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        if isinstance(default, str | int):
            assert row["default"] == f"`{default}`", path
        else:
            assert (row["default"] == "required") == field.is_required(), path
        assert (row.section, path) in given, f"no example of {path} in its section"


def _keys(form: Any, above: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every key of a form and of the forms in it, as `inputs.NAME.rank`."""
    for name, field in form.__pydantic_fields__.items():
        key = f"{above}{field.alias or name}"
        yield key, field
        if inner := _form_in(field):
            yield from _keys(inner.form, f"{key}.NAME." if inner.named else f"{key}.")


def _given(value: Any, form: Any, above: str = "") -> Iterator[str]:
    """The keys that an example gives, as `_keys` spells them."""
    for name, field in form.__pydantic_fields__.items():
        key = field.alias or name
        if key not in value:
            continue
        yield f"{above}{key}"
        if inner := _form_in(field):
            several = value[key].values() if inner.named else value[key]
            for item in several if inner.named or isinstance(several, list) else [several]:
                yield from _given(item, inner.form, f"{above}{key}.NAME." if inner.named else f"{above}{key}.")


class _Inner(NamedTuple):
    """The form that a key holds, and whether it holds several by name."""

    form: Any
    named: bool


def _form_in(field: FieldInfo) -> _Inner | None:
    if dataclasses.is_dataclass(field.annotation):
        return _Inner(field.annotation, False)
    arguments = get_args(field.annotation)
    forms = [argument for argument in arguments if dataclasses.is_dataclass(argument)]
    return _Inner(forms[0], str in arguments) if forms else None


# --- expressions ----------------------------------------------------------------------------------------------------

SHAPES: Mapping[str, list[int]] = {"x": [2, 3, 8, 6], "w": [4, 3, 3, 3], "bias": []}
VALUES: Mapping[str, Any] = {"n": 10, "sizes": [1, 2, 3], "factor": 0.7, "flag": True, "mode": "tanh", "m": None}
SCOPE = Scope(
    Site.LAUNCH,
    tensors=("x", "w", "bias"),
    values={
        "n": expr.INT,
        "sizes": Kind(Scalar.INT, is_list=True),
        "factor": expr.FLOAT,
        "flag": expr.BOOL,
        "mode": expr.STR,
        "m": Kind(Scalar.INT, optional=True),
    },
    optional=("bias",),
)
SITES = {"a shape": Site.SHAPE, "a check": Site.CHECK, "the launch": Site.LAUNCH}


@pytest.mark.parametrize("row", _rows("example", "value"), ids=lambda row: row["example"])
def test_expressions_give_what_the_page_says(row: Row) -> None:
    text = _code(row["example"])
    launch_only = any(function.launch_only for name, function in expr.FUNCTIONS.items() if f"{name}(" in text)
    for site in [Site.LAUNCH] if launch_only else [Site.LAUNCH, Site.CHECK]:
        tree = expr.parse(text, dataclasses.replace(SCOPE, site=site))
        names = {name: getattr(rules, name) for name in expr.FUNCTIONS if hasattr(rules, name)}
        names |= {f"{name}_shape": shape for name, shape in SHAPES.items()}
        names |= {"math": math, "x_dtype": "float16", "w_dtype": "float32", "bias_dtype": None, **VALUES}
        value = eval(expr.Python(symbolic=False).text(tree), names)
        shown = _code(row["value"])
        assert (value == shown) if tree.kind == expr.DTYPE else (repr(value) == repr(eval(shown)))


def test_the_values_of_the_examples_are_those_of_the_page() -> None:
    stated = {_code(row["name"]): _code(row["is"]) for row in _rows("name", "is")}
    shapes = {f"{name}.shape": repr(shape) for name, shape in SHAPES.items() if shape}
    values = {name: repr(value).replace("'", '"') for name, value in VALUES.items()}
    assert stated == shapes | values | {"x.dtype": "float16", "w.dtype": "float32", "bias": "absent"}


def test_every_function_is_documented() -> None:
    documented = {_code(row["function"]).partition("(")[0]: row for row in _rows("function", "gives", "example")}
    assert sorted(documented) == sorted(expr.RESERVED)
    kinds = {_spelled(kind): kind for function in expr.FUNCTIONS.values() for kind in function.parameters}
    for name, function in expr.FUNCTIONS.items():
        row = documented[name]
        assert f"{name}(" in row["example"]
        assert row["gives"] == _spelled(function.returns), name
        given = re.fullmatch(r"\w+\((.*)\)", _code(row["function"]))
        assert given
        parameters = [part for part in given[1].split(", ") if part != "..."]
        assert ("..." in given[1]) == function.variadic, name
        assert [kinds[part.partition(": ")[2]] for part in parameters] == list(function.parameters), name
        if function.is_rule:
            names = list(inspect.signature(getattr(rules, name)).parameters)
            assert [part.partition(":")[0] for part in parameters] == names[: len(parameters)], name


def _spelled(kind: Kind) -> str:
    return kind.scalar.name.lower() + "s" * kind.is_list


@pytest.mark.parametrize("row", _rows("expression", "in", "refused with"), ids=lambda row: row["expression"])
def test_expressions_are_refused_as_the_page_says(row: Row) -> None:
    scope = dataclasses.replace(SCOPE, site=SITES[row["in"]])
    with pytest.raises(expr.ExpressionError) as refused:
        expr.parse(_code(row["expression"]), scope)
    assert refused.value.message == _code(row["refused with"])


# --- schemas, dtypes, messages --------------------------------------------------------------------------------------


def test_every_type_of_the_schema_is_documented() -> None:
    documented = [_code(row["type"]) for row in _rows("type", "plugin field")]
    assert sorted({text.rstrip("?").removesuffix("[]") for text in documented}) == sorted(base.value for base in Base)


@pytest.mark.parametrize("row", _rows("type", "plugin field"), ids=lambda row: row["type"])
def test_types_of_the_schema_become_what_the_page_says(row: Row, tmp_path: Path) -> None:
    kind = _code(row["type"])
    described = {"Tensor": "  a: {rank: 1, dtypes: [float32]}\n", "ScalarType": "  a: {dtypes: [float32, int8]}\n"}
    text = _replaced(
        f'schema: "(Tensor x, float by, {kind} a{"=None" * kind.endswith("?")}) -> Tensor"\n'
        f"inputs:\n  x: {{rank: 2, dtypes: [float32]}}\n{described.get(kind.rstrip('?'), '')}"
        f"checks:\n  - ['{_code(row['in a check'])}', message]\n"
        f"cases:\n  - {{x: [2, 3], by: 2.0, {_code(row['in a case'])}}}\n"
        'reference: "types.py:reference"\n'
    )
    files = {**FILES, "types.py": "def reference(x, by, a): ...\n"}
    op = _resolve(text, tmp_path, files)
    python = re.search(r"\ba: (.*?)(?: = None)?$", torch_op(op)["signature"])
    assert python
    assert _code(row["in Python"]) == python[1]
    name = "has_a" if kind.startswith("Tensor") else "a"
    fields = [a["field_type"] for a in plugin(op)["attributes"] if a["name"] == name]
    attributes = [a["onnx_type"] for a in onnx(op)["attributes"] if a["name"] == name]
    if kind == "Tensor":
        assert (row["plugin field"], row["ONNX attribute"], fields, attributes) == ("none", "none", [], [])
    else:
        prefix = f"{name}: " if name == "has_a" else ""
        assert [_code(row["plugin field"])] == [f"{prefix}{field}" for field in fields]
        assert [_code(row["ONNX attribute"])] == [f"{prefix}{attribute}" for attribute in attributes]


@pytest.mark.parametrize("row", _rows("schema", "refused with"), ids=lambda row: row["schema"])
def test_schemas_are_refused_as_the_page_says(row: Row, tmp_path: Path) -> None:
    text = _replaced(f"schema: '{_code(row['schema'])}'\n")
    assert _code(row["refused with"]) in _problems(text, tmp_path)


def test_the_table_of_dtypes_is_the_code() -> None:
    rows = [
        tuple(row[column].strip("`") for column in ("dtype", "TensorRT", "ONNX", "Triton", "NumPy", "bytes"))
        for row in _rows("dtype", "TensorRT", "bytes")
    ]
    assert rows == [(d.name, d.tensorrt, d.onnx, d.triton, d.numpy or "none", str(d.bytes)) for d in TABLE.values()]


@pytest.mark.parametrize("row", _rows("when called"), ids=lambda row: row["when called"])
def test_messages_of_a_call_are_those_of_the_templates(row: Row) -> None:
    files = (ROOT / "templates" / "package" / "src").glob("*.jinja")
    assert any(_code(row["when called"]) in file.read_text(encoding="utf-8") for file in files)


# --- links, README --------------------------------------------------------------------------------------------------


def test_links_lead_somewhere() -> None:
    for page, folder in ((PAGE, ROOT / "docs"), (README, ROOT)):
        anchors = {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in re.findall(r"^#+ (.*)$", page, re.M)}
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", _BLOCK.sub("", page))):
            file, _, anchor = target.partition("#")
            assert "://" in target or not file or (folder / file).exists(), target
            assert file or anchor in anchors, target


def test_readme_names_every_operator() -> None:
    named = [re.sub(r"\[(.*?)\].*", r"\1", row["operator"]) for row in _rows("operator", "shows", page=README)]
    assert named == sorted(path.stem for path in (ROOT / "specs").glob("*.yaml"))


def test_the_spec_of_readme_is_sound(tmp_path: Path) -> None:
    text = next(block[2] for block in _BLOCK.finditer(README) if block[1] == "yaml")
    form = yaml.safe_load(text)
    constexprs = ", ".join(f"{name}: tl.constexpr" for name in form["launch"]["constexpr"])
    parameters = f"{', '.join(form['launch']['args'])}, {constexprs}"
    kernel = f"@triton.jit\ndef {form['kernel']['function']}({parameters}): ...\n"
    imports, reference = "import triton\nimport triton.language as tl\n", "def reference(x, scale): ...\n"
    _resolve(text, tmp_path, {form["kernel"]["file"]: imports + kernel + reference})
