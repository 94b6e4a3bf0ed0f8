"""What `verify` found, for people and for machines; a new format is a function here."""

from __future__ import annotations

import json
import threading
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from trtplug import __version__
from trtplug.verify.stage import PackageResult, Report, StageResult, Status

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from rich.table import Table

_COLOURS = {Status.PASSED: "green", Status.FAILED: "bold red", Status.SKIPPED: "yellow"}


def to_json(report: Report) -> str:
    """The results for programs."""
    packages = [
        {
            "name": package.name,
            "spec": package.spec,
            "stages": [
                {
                    "name": stage.name,
                    "status": stage.status.value,
                    "reason": stage.reason,
                    "seconds": stage.seconds,
                    "figures": dict(stage.figures),
                }
                for stage in package.stages
            ],
        }
        for package in report.packages
    ]
    return json.dumps({"trtplug": __version__, "packages": packages}, indent=2) + "\n"


def to_junit(report: Report) -> str:
    """JUnit XML: a suite a package, a case a stage."""
    root = ET.Element("testsuites", name="trtplug")
    for package in report.packages:
        counts = {status: len(package.having(status)) for status in Status}
        suite = ET.SubElement(
            root,
            "testsuite",
            name=package.name,
            tests=str(len(package.stages)),
            failures=str(counts[Status.FAILED]),
            skipped=str(counts[Status.SKIPPED]),
            errors="0",
            time=f"{sum(stage.seconds for stage in package.stages):.2f}",
        )
        for stage in package.stages:
            case = ET.SubElement(
                suite, "testcase", classname=package.name, name=stage.name, time=f"{stage.seconds:.2f}"
            )
            if stage.figures:
                properties = ET.SubElement(case, "properties")
                for name, value in stage.figures.items():
                    ET.SubElement(properties, "property", name=name, value=str(value))
            if stage.status is Status.FAILED:
                ET.SubElement(case, "failure", message=_xml(stage.reason)).text = _xml(stage.output)
            elif stage.status is Status.SKIPPED:
                ET.SubElement(case, "skipped", message=_xml(stage.reason))
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def line(package: str, result: StageResult) -> str:
    """One stage on one line, for output that is no terminal."""
    seconds = "" if result.status is Status.SKIPPED else f" {result.seconds:.1f} s"
    reason = f": {result.reason}" if result.reason else ""
    figures = f" [{_figures(result)}]" if result.figures else ""
    return f"{package} {result.name} ... {result.status.value}{seconds}{reason}{figures}"


def table(package: PackageResult) -> Table:
    """The stages of a package, for a terminal."""
    from rich.table import Table
    from rich.text import Text

    rows = Table(title=package.name, title_justify="left", title_style="bold")
    for heading in ("stage", "status"):
        rows.add_column(heading, no_wrap=True)
    rows.add_column("seconds", justify="right", no_wrap=True)
    rows.add_column("figures, reason")
    for stage in package.stages:
        rows.add_row(
            stage.name,
            Text(stage.status.value, _COLOURS[stage.status]),
            "" if stage.status is Status.SKIPPED else f"{stage.seconds:.1f}",
            Text("\n".join(filter(None, (_figures(stage), stage.reason)))),
        )
    return rows


def outputs(report: Report) -> str:
    """All that the failing stages said."""
    return "".join(
        f"--- {package.name} {stage.name}: {stage.reason}\n{stage.output.rstrip()}\n\n"
        for package in report.packages
        for stage in package.having(Status.FAILED)
        if stage.output
    )


def summary(package: PackageResult) -> str:
    """How a package did, on one line: what did not run is never among what passed."""
    failed, passed, skipped = (package.having(s) for s in (Status.FAILED, Status.PASSED, Status.SKIPPED))
    parts = [f"{len(failed)} failed ({_names(failed)})"] if failed else []
    parts.append(f"{len(passed)} passed")
    if skipped:
        parts.append(f"{len(skipped)} did not run ({_names(skipped)})")
    return f"{package.name}: {', '.join(parts)}"


class Lines:
    """Progress as lines of plain text, one when a stage ends."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._lock = threading.Lock()

    def started(self, package: str, stage: str) -> None:
        """Says nothing: a line is written once."""

    def finished(self, package: str, result: StageResult) -> None:
        with self._lock:
            self._write(line(package, result))


class Spinners:
    """Progress on a terminal: one line a stage, which turns while it runs."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._running: dict[tuple[str, str], TaskID] = {}

    def started(self, package: str, stage: str) -> None:
        self._running[package, stage] = self._progress.add_task(f"{package} {stage}", total=None)

    def finished(self, package: str, result: StageResult) -> None:
        task = self._running.pop((package, result.name), None)
        if task is None:
            task = self._progress.add_task("")
        colour = _COLOURS[result.status]
        text = f"{package} {result.name} [{colour}]{result.status.value}[/]"
        self._progress.update(task, description=text, total=1, completed=1)


def _figures(stage: StageResult) -> str:
    return ", ".join(f"{name} {value}" for name, value in stage.figures.items())


def _names(stages: Sequence[StageResult]) -> str:
    return ", ".join(stage.name for stage in stages)


def _xml(text: str) -> str:
    """Text without the characters that XML 1.0 has no way to write."""
    return "".join(character for character in text if character in "\t\n\r" or character >= " ")
