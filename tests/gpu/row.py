"""A row of the table, and how a measuring process hands its rows to the one that prints them."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

PASSED, FAILED, NOT_RUN = "passed", "**failed**", "not run"
_MARK = "row of tests.gpu: "


@dataclass(frozen=True)
class Row:
    """What was tried, how it went, the figure that came of it, and the libraries that it came of."""

    what: str
    result: str
    figure: str = ""
    library: str = ""


def report(what: str, passed: bool, figure: str, library: str) -> None:
    """Prints the row of something tried, for `reported` to find."""
    hand_over(Row(what, PASSED if passed else FAILED, figure, library))


def hand_over(row: Row) -> None:
    """Prints a row for `reported` to find."""
    print(_MARK + json.dumps(asdict(row)), flush=True)


def reported(output: str) -> list[Row]:
    """The rows in what a process printed."""
    lines = [line.removeprefix(_MARK) for line in output.splitlines() if line.startswith(_MARK)]
    return [Row(**json.loads(line)) for line in lines]


def versions(*distributions: str) -> str:
    """Names and versions of installed distributions."""
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in distributions)


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown."""
    lines = ["| what | result | figure | library |", "|---|---|---|---|"]
    lines += [f"| {row.what} | {row.result} | {row.figure} | {row.library} |" for row in rows]
    return "\n".join(lines) + "\n"
