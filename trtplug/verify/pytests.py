"""A stage that is a test file of the generated package, run against the installed wheel, and what pytest reports."""

from __future__ import annotations

import ast
import shutil
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

from trtplug.process import Done
from trtplug.verify.stage import Context, Figure, StageResult, Status

# The test of a stage's file without which the stage has not been run, whatever else passed: TensorRT may lack a plugin
# that a package does not bring, or be unable to make it here.
_DECISIVE = {
    "plugin": "test_the_registry_has_the_plugin_and_its_fields",
    "onnx": "test_engine_is_built_with_the_plugin_inside",
}
_NOTHING = "exit status 5"  # pytest's, where it collected no test or skipped the whole file


def runs(name: str) -> Callable[[Context], StageResult]:
    """The stage that runs test_<name>.py of an op."""
    return partial(_run, name)


def _run(name: str, context: Context) -> StageResult:
    (subject,) = context.subjects
    file = f"{subject.tests}/test_{name}.py"
    if not (context.tree / file).is_file():
        return StageResult(name, Status.FAILED, f"the package has no {file}")
    # A copy beside nothing else, so that the installed package is the only one to import.
    folder = context.work / "stages" / f"{subject.import_name}-{name}"
    shutil.copytree(context.tree / "tests", folder / "tests")
    (folder / "pytest.ini").write_text("[pytest]\njunit_family = xunit1\n", encoding="utf-8")
    report = folder / "report.xml"
    options = ["-q", "--tb=short", "--show-capture=no", "-p", "no:cacheprovider", f"--junitxml={report}"]
    done = context.run(["-m", "pytest", file, *options], folder)
    return result(name, done, report)


def result(name: str, done: Done, report: Path) -> StageResult:
    """What the tests of a stage amount to."""
    cases = list(ET.parse(report).iter("testcase")) if report.exists() else []
    broken = [element for case in cases for element in case if element.tag in ("failure", "error")]
    not_run = Counter(_line(element) for case in cases for element in case.iter("skipped"))
    figures: dict[str, Figure] = {
        element.get("name", ""): _figure(element.get("value", ""))
        for case in cases
        for element in case.iter("property")
    }
    if broken:
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        return StageResult(name, Status.FAILED, _line(broken[0]) + more, figures=figures, output=done.output)
    if done.reason not in ("", _NOTHING):
        return StageResult(name, Status.FAILED, done.reason, figures=figures, output=done.output)
    if not cases:
        return StageResult(name, Status.FAILED, "no tests were collected", output=done.output)
    decisive = [case for case in cases if case.get("name", "").partition("[")[0] == _DECISIVE.get(name)]
    for needed in (cases, decisive):
        skipped = [_line(element) for case in needed for element in case.iter("skipped")]
        if needed and len(skipped) == len(needed):
            return StageResult(name, Status.SKIPPED, "; ".join(dict.fromkeys(skipped)), figures=figures)
    figures["passed"] = len(cases) - not_run.total()
    if not_run:
        figures["not_run"] = not_run.total()
    notes = [f"{count} not run: {why}" for why, count in not_run.items()]
    if figures.get("kernel") == "interpreted":
        notes.insert(0, "the kernel was interpreted, not compiled")
    reason = "; ".join(notes)
    return StageResult(name, Status.PASSED, reason, figures=figures)


def _line(element: ET.Element) -> str:
    """The message of a failure or skip, on one line."""
    message = element.get("message", "")
    if message == "collection skipped":
        # pytest.skip(..., allow_module_level=True): the reason is in the text, as (file, line, 'Skipped: reason').
        message = str(ast.literal_eval(element.text or "('',)")[-1]).removeprefix("Skipped: ")
    lines = message.strip().splitlines()
    return lines[0] if lines else "no message"


def _figure(text: str) -> Figure:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
