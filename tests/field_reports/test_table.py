"""docs/field-reports.md and the tests agree: each report has a row, each test stands in it, what a row names exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT

HERE = Path(__file__).parent
REPORTS = [f"S{number}" for number in range(1, 27)]


def rows() -> dict[str, list[str]]:
    """The cells of each row but the head's, by report."""
    lines = (ROOT / "docs" / "field-reports.md").read_text(encoding="utf-8").splitlines()
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| S")]
    assert all(len(cells) == 5 for cells in table)
    assert len({cells[0] for cells in table}) == len(table)
    return {cells[0]: cells[1:] for cells in table}


def functions_in(folder: Path, pattern: str) -> Iterator[str]:
    """The names of the test functions in files, templates of files too."""
    for file in folder.glob(pattern):
        yield from re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_report_has_a_row_and_an_outcome() -> None:
    assert list(rows()) == REPORTS
    for report, (symptom, _, outcome, gpu) in rows().items():
        assert symptom, report
        assert re.match(r"prevented|refused|told|open", outcome), report
        assert gpu, report


def test_every_test_stands_in_the_row_of_its_report() -> None:
    written = {report: set(re.findall(r"`(test_\w+)`", cells[1])) for report, cells in rows().items()}
    for report, names in written.items():
        own = {name for name in functions_in(HERE, "test_*.py") if name.startswith(f"test_s{int(report[1:]):02}_")}
        assert own, report
        assert own <= names, report
        assert names <= set(functions_in(HERE, "test_*.py")), report


def test_generated_tests_that_the_table_names_exist() -> None:
    generated = set(functions_in(ROOT / "templates" / "package" / "tests", "test_*.py.jinja"))
    for report, cells in rows().items():
        named = set(re.findall(r"`(test_\w+)`", cells[3]))
        assert named <= generated, report


def test_messages_that_the_table_quotes_are_those_of_the_tests() -> None:
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in HERE.glob("test_*.py")]
    constants = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    texts = [text.replace("\\", "") for text in constants if isinstance(text, str)]
    for report, cells in rows().items():
        for quoted in re.findall(r'"([^"]*)"', cells[2]):
            part = max(quoted.split("…"), key=len).strip(" :;,")
            assert any(part in text for text in texts), f"{report}: {quoted}"
