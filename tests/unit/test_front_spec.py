"""Spec files to forms: what is read, what is refused with which words, and where everything stands."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from trtplug import forms, spec
from trtplug.problems import Position, SpecError

TEXT = """\
spec: 1
name: scale
summary: Scales.
schema: "(Tensor x, float by) -> Tensor"
kernel: {file: scale.py, function: scale_kernel}
inputs:
  x: {rank: [1, 4], dtypes: [float32, float16]}
checks:
  - [x.ndim > 0, "x has dimensions"]
outputs:
  y: {dtype: x.dtype, shape: [n, 4]}
let:
  n: 'x.shape[0]'
launch:
  grid: ["cdiv(n, BLOCK)", 2]
  args: {X: x, BY: by}
  constexpr: {BLOCK: 1024, FAST: true}
reference: "scale.py:reference"
tolerance: {float32: 0, float16: 1e-3}
cases:
  - {x: [3, 4], by: 2.5}
dynamic:
  x: {0: [1, 3, 8]}
package: {import: scale_op}
"""


def load(folder: Path, text: str | bytes) -> spec.Spec:
    path = folder / "op.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return spec.load(path)


def problems(folder: Path, text: str | bytes) -> list[str]:
    try:
        found = load(folder, text).problems
    except SpecError as error:
        found = error.problems
    return [str(problem).replace(f"{folder}/", "") for problem in found]


def test_reads_every_key(tmp_path: Path) -> None:
    assert load(tmp_path, TEXT).form == forms.Form(
        spec=1,
        name="scale",
        namespace="trtplug_ops",
        version="1",
        summary="Scales.",
        schema="(Tensor x, float by) -> Tensor",
        kernel=forms.KernelForm(file="scale.py", function="scale_kernel"),
        inputs={"x": forms.InputForm(rank=(1, 4), dtypes=("float32", "float16"))},
        checks=(("x.ndim > 0", "x has dimensions"),),
        outputs={"y": forms.OutputForm(dtype="x.dtype", shape="[n, 4]")},
        let={"n": "x.shape[0]"},
        launch=(
            forms.LaunchForm(
                grid=("cdiv(n, BLOCK)", "2"),
                args={"X": "x", "BY": "by"},
                constexpr={"BLOCK": "1024", "FAST": "True"},
                num_warps=4,
                num_stages=None,
            ),
        ),
        reference="scale.py:reference",
        tolerance={"float32": 0.0, "float16": 1e-3},
        cases=({"x": (3, 4), "by": 2.5},),
        dynamic={"x": {0: (1, 3, 8)}},
        package=forms.PackageForm(**{"import": "scale_op"}),
    )


def test_one_rank_is_least_and_most(tmp_path: Path) -> None:
    assert load(tmp_path, TEXT.replace("[1, 4]", "2")).form.inputs["x"].rank == (2, 2)


@pytest.mark.parametrize("text", ["yes", "on", "1_000", "010", "1:30", "2026-11-30", "'1'", "0x10", "1.2.3"])
def test_text_that_yaml_1_1_takes_for_something_else(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, TEXT.replace("by: 2.5", f"by: {text}")).form.cases[0]["by"] == text.strip("'")


@pytest.mark.parametrize(("text", "value"), [("1e-5", 1e-5), ("-3", -3), ("True", True), ("~", None), (".inf", 1e999)])
def test_values_of_yaml_1_2(tmp_path: Path, text: str, value: object) -> None:
    read = load(tmp_path, TEXT.replace("by: 2.5", f"by: {text}")).form.cases[0]["by"]
    assert (type(read), read) == (type(value), value)


@pytest.mark.parametrize(
    ("path", "offset", "key", "stands_at"),
    [
        (("name",), 0, False, "scale\nsummary"),
        (("name",), 0, True, "name: scale"),
        (("name",), 2, False, "ale\nsummary"),
        (("schema",), 8, False, "x, float by"),
        (("let", "n"), 2, False, "shape[0]"),
        (("outputs", "y", "shape"), 4, False, "4]}\nlet"),
        (("launch", "grid", 0), 5, False, "n, BLOCK"),
        (("launch", "constexpr", "FAST"), 0, True, "FAST"),
        (("dynamic", "x", 0), 0, False, "[1, 3, 8]"),
        (("inputs", "x", "nothing"), 3, False, "{rank"),
        (("inputs", "x", "nothing"), 0, True, "x: {rank"),
        (("kernel",), 3, False, "{file"),
        (("nothing", "there"), 0, False, "spec: 1"),
    ],
)
def test_positions(tmp_path: Path, path: tuple[str | int, ...], offset: int, key: bool, stands_at: str) -> None:
    before = TEXT[: TEXT.index(stands_at)]
    expected = Position(before.count("\n") + 1, len(before) - before.rfind("\n"))
    assert load(tmp_path, TEXT).position(*path, offset=offset, key=key) == expected


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("x.shape\n   [0]", "x.shape [0]"),
        ('"x.shape\n   [0]"', "x.shape [0]"),
        (">\n   x.shape\n   [0]", "x.shape [0]"),
        ("|\n   x.shape\n   [0]", "x.shape\n[0]"),
    ],
)
def test_positions_in_text_of_several_lines(tmp_path: Path, written: str, text: str) -> None:
    spec_ = load(tmp_path, TEXT.replace("'x.shape[0]'", written))
    assert spec_.form.let["n"] == text
    place = spec_.position("let", "n", offset=text.index("0"))
    assert spec_.text.splitlines()[place.line - 1][place.column - 1 :].startswith("0]")


def test_text_that_yaml_spells_with_escapes_keeps_the_position_of_its_start(tmp_path: Path) -> None:
    escaped = TEXT.replace("'x.shape[0]'", '"\\x78.shape[0]"')
    assert load(tmp_path, escaped).form.let["n"] == "x.shape[0]"
    assert load(tmp_path, escaped).position("let", "n", offset=8) == Position(13, 6)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("kernel:", "kernal:", "5:1: unknown key 'kernal'; did you mean 'kernel'?"),
        ("by: 2.5}", "by: 2.5}\nzzzz: 1", "22:1: unknown key 'zzzz'; the keys here are spec, name, "),
        ("rank:", "rnak:", "7:7: unknown key 'rnak'; did you mean 'rank'?"),
        ("import:", "import_name:", "24:11: unknown key 'import_name'; did you mean 'import'?"),
        ("schema: ", "#", "1:1: missing key 'schema': the torch schema of the op, such as \"(Tensor x) -> Tensor\""),
        ("file: scale.py, ", "", "5:1: missing key 'file': the Python file of the kernel, beside the spec"),
        ("name: scale", "name: scale\nname: x", "3:1: duplicate key 'name', first on line 2; remove one"),
        ("X: x,", "X: x, X: y,", "16:16: duplicate key 'X', first on line 16; remove one"),
        ("spec: 1", "spec: 2", "1:7: spec must be 1, not the number 2"),
        ("spec: 1", "spec: true", "1:7: spec must be a whole number, not true"),
        ("summary: Scales.", "summary: 1.0", '3:10: summary must be text, not the number 1.0; quote it: "1.0"'),
        ("summary: Scales.", "summary:", "3:1: summary must be text, not empty"),
        ("summary: Scales.", 'summary: " "', "3:10: summary must not be empty"),
        ("summary: Scales.", 'summary: "a\\nb"', "3:10: summary must stand on one line"),
        ("file: scale.py", 'file: "a\\0.py"', "5:16: kernel.file holds a character that cannot be printed; remove it"),
        ("[1, 4]", "[4, 1]", "7:13: inputs.x.rank must be a rank, such as 4, or [least, most], from 0 to 8"),
        ("[1, 4]", "true", "7:13: inputs.x.rank must be a rank, such as 4, or [least, most], from 0 to 8"),
        ("[float32, ", "[flaot32, ", "7:30: unknown dtype 'flaot32'; did you mean 'float32'?"),
        ("{float32: 0", "{float23: 0", "19:13: unknown dtype 'float23'; did you mean 'float32'?"),
        ("{float32: 0", "{float32: -1", "19:22: tolerance.float32 must be at least 0, not the number -1"),
        ("{float32: 0", "{float32: '0'", "19:22: tolerance.float32 must be a number, not the text '0'"),
        ("{float32: 0", "{float32: .nan", "19:22: tolerance.float32 must be a finite number, not the number nan"),
        ("[x.ndim > 0, ", "[max(1, 2), ", '9:5: checks[0] must be [condition, "message"]; quote a condition'),
        ("'x.shape[0]'", "{a: 1}", "13:6: let.n must be an expression, such as 2 * n or [n, 4], not a map"),
        ("'x.shape[0]'", "", "13:3: let.n must be an expression, such as 2 * n or [n, 4], not empty"),
        (", 2]", ", 2, 3, 4]", "15:9: launch.grid must hold at most 3 items, not 4"),
        ('["cdiv(n, BLOCK)", 2]', "[]", "15:9: launch.grid must not be an empty list"),
        ('["cdiv(n, BLOCK)", 2]', "n", "15:9: launch.grid must be a list, not the text 'n'"),
        ("{X: x, BY: by}", "[x]", "16:9: launch.args must be a map of keys to values, not a list"),
        ("{X: x,", "{1: x,", "16:10: the key '1' must be text, not the number 1; quote it: \"1\""),
        ("args:", "num_warps: 3\n  args:", "16:14: launch.num_warps must be 1, 2, 4, 8, 16 or 32, not the number 3"),
        ("args:", "num_stages: 0\n  args:", "16:15: launch.num_stages must be at least 1, not the number 0"),
        ("args:", "num_stages: '2'\n  args:", "16:15: launch.num_stages must be a whole number, not the text '2'"),
        ("scale.py:ref", "scale:ref", '18:12: reference must be "FILE.py:FUNCTION", such as "op.py:reference"'),
        ("[3, 4]", "[[3]]", "21:9: cases[0].x must be a number, true, false, text, null or one flat list, not a list"),
        ("- {x: [3, 4], by: 2.5}", "- 3", "21:5: cases[0] must be a map of keys to values, not the number 3"),
        ("{0: [1,", "{'0': [1,", "23:7: the key '0' must be a whole number, not the text '0'"),
        ("[1, 3, 8]", "[3, 1, 8]", "23:10: dynamic.x[0] must be [min, opt, max]"),
        ("[1, 3, 8]", "[1, 3]", "23:10: dynamic.x[0] must be [min, opt, max]"),
        ("name: scale", "name: &a scale", "2:7: a spec has no YAML anchors and tags; write the value out, or quote it"),
        ("name: scale", "name: !!str 1", "2:7: a spec has no YAML anchors and tags; write the value out, or quote it"),
        ("name: scale", "[a]: scale", "2:1: a key is one word or number, not a list or a map; quote it if it is text"),
        ("{X: x,", "{1.5: x,", '16:10: a key is text or a small whole number; quote it: "1.5"'),
        ("{file:", "{0: 1, file:", "5:10: unknown key '0'; the keys here are file, function"),
        ("name: scale", "name: a: b", "2:8: YAML syntax error: mapping values are not allowed in this context; put"),
        ("{X: x,", "{X: x[0],", "16:14: YAML syntax error while parsing a flow mapping: did not find expected"),
        ("name: scale", "name: *a", "2:7: '*' starts a YAML alias; put the text in quotes"),
        ("name: scale", "---\nname: scale", "2:1: a second YAML document; keep one spec a file"),
        ("Scales.", "Sc\x07ales.", "3:12: character '\\x07' is not allowed in YAML; remove it"),
        ("Scales.", "[" * 5000, "3:1009: nested too deep; a spec needs no more than 20 levels"),
        ("Scales.", "[" * 50 + "]" * 50, "3:30: nested too deep; a spec needs no more than 20 levels"),
    ],
)
def test_one_mistake_is_one_problem(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in TEXT
    (line,) = problems(tmp_path, TEXT.replace(old, new, 1))
    assert line.startswith(f"op.yaml:{expected}")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "1:1: the file is empty; start it with 'spec: 1', or let 'trtplug new' write one"),
        (b"# nothing\n", "1:1: the file is empty; start it with 'spec: 1', or let 'trtplug new' write one"),
        (b"- spec: 1\n", "1:1: a spec is a map of keys to values; start it with 'spec: 1'"),
        (b"spec", "1:1: a spec is a map of keys to values; start it with 'spec: 1'"),
        (b"spec: 1\nname: \xff\n", "2:7: byte 0xff is not UTF-8; save the file as UTF-8"),
    ],
)
def test_files_that_hold_no_map(tmp_path: Path, data: bytes, expected: str) -> None:
    assert problems(tmp_path, data) == [f"op.yaml:{expected}"]


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path, why in [(tmp_path / "none.yaml", "No such file or directory"), (tmp_path, "Is a directory")]:
        with pytest.raises(SpecError, match=f"{path}:1:1: cannot read the spec: {why}; check the path"):
            spec.load(path)


def test_all_problems_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = TEXT.replace("kernel:", "kernal:").replace("name: scale", "name: scale\nname: x").replace("[1, 4]", "9")
    assert [line.split(": ")[0] for line in problems(tmp_path, text)] == ["op.yaml:3:1", "op.yaml:6:1", "op.yaml:8:13"]


def test_byte_order_mark_and_windows_line_ends_move_nothing(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + TEXT.replace("\n", "\r\n").encode()
    read = load(tmp_path, data)
    assert read.form == load(tmp_path, TEXT).form
    assert read.position("name", offset=1) == Position(2, 8)
    assert read.position("spec", key=True) == Position(1, 1)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_no_value_anywhere_ends_in_a_traceback(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    whole: Any = yaml.safe_load(TEXT)
    at = whole
    while True:
        key = data.draw(st.sampled_from(list(at) if isinstance(at, dict) else range(len(at))))
        if not isinstance(at[key], dict | list) or data.draw(st.booleans()):
            break
        at = at[key]
    at[key] = data.draw(VALUES)
    try:
        load(tmp_path_factory.getbasetemp(), yaml.safe_dump(whole))
    except SpecError as error:
        assert error.problems  # noqa: PT017 - the other outcome is no error


def test_every_key_is_described_for_editors() -> None:
    schema = spec.json_schema()
    objects = [schema, *schema["$defs"].values()]
    described = [(key, field.get("description")) for object_ in objects for key, field in object_["properties"].items()]
    assert {"name", "import", "grid", "rank", "shape", "function"} <= {key for key, _ in described}
    assert [key for key, description in described if not description] == []
    assert all(object_["additionalProperties"] is False for object_ in objects)


def test_reading_a_spec_imports_no_torch() -> None:
    code = "import sys, trtplug.spec, trtplug.torch_schema, trtplug.names; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
