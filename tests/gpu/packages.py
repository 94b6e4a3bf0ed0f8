"""Builds a spec's package with trtplug, installs its wheel alone, and runs the generated tests from there."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from tests.gpu.row import FAILED, NOT_RUN, PASSED, Row
from trtplug import fileset, render, resolve, spec
from trtplug.model import Op, Registered
from trtplug.plugin_api import PluginApi
from trtplug.process import Done, Processes
from trtplug.verify import pytests
from trtplug.verify.stage import StageResult, Status
from trtplug.views import facts

ROOT = Path(__file__).parents[2]
BRIDGED = ROOT / "tests" / "harness" / "bridged"
TESTS = ("parity", "opcheck", "compile", "plugin", "converter", "engine")  # those of them that gain from a GPU
TESTS_OF_V2 = ("plugin", "converter", "engine")  # those to which the interface of the plugin makes a difference
IN_ENGINES = ("converter", "engine")
_MOST_INPUTS = 3  # of the bridge, which only works where TensorRT-RTX is
LIBRARIES = ("library", "torch", "triton")  # the figures that name what ran a stage
RESULTS = {Status.PASSED: PASSED, Status.FAILED: FAILED, Status.SKIPPED: NOT_RUN}


@dataclass(frozen=True)
class Installed:
    """A package as a user has it: `site` holds the wheel's content and nothing else, `tests` a copy of its tests."""

    op: Op
    site: Path
    tests: Path
    work: Path
    processes: Processes

    @property
    def name(self) -> str:
        """What the rows call it."""
        return self.op.names.op + " as an IPluginV2DynamicExt" * (self.op.plugin is PluginApi.V2)

    @property
    def test_names(self) -> tuple[str, ...]:
        """The tests to run; an op in PyTorch has no kernel to compile."""
        chosen = TESTS_OF_V2 if self.op.plugin is PluginApi.V2 else TESTS
        return tuple(name for name in chosen if name != "compile" or self.op.launch.kernels)

    def run(self, arguments: list[str], folder: Path, *, bridged: bool = False) -> Done:
        """Runs Python where the installed package, and with `bridged` plugin layers, are to be had."""
        paths = [str(BRIDGED)] * bridged + [str(ROOT), str(self.site), os.environ.get("PYTHONPATH", "")]
        variables = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONFAULTHANDLER": "1",
            "TRITON_CACHE_DIR": str(self.work / "triton"),
            "BRIDGED_OUTPUTS": str(len(self.op.results)),
        }
        return self.processes.run([sys.executable, *arguments], folder, variables)


def needs_bridge() -> bool:
    """Whether the only TensorRT here is a TensorRT-RTX whose networks take no plugins, not even parsed ones."""
    if importlib.util.find_spec("tensorrt") is not None or importlib.util.find_spec("tensorrt_rtx") is None:
        return False
    return tuple(map(int, metadata.version("tensorrt-rtx").split(".")[:2])) < facts.PARSED_SINCE


def install(path: Path, api: PluginApi | None, work: Path) -> tuple[Row, Installed | None]:
    """The package of a spec, or of an interface that it does not say, as an installed wheel; None if that failed."""
    op = resolve.resolve(spec.load(path), api)
    source, site = work / "source", work / "site"
    fileset.apply(fileset.plan(render.render(op), source))
    installed = Installed(op, site, source / "tests", work, Processes())
    name = f"{op.names.distribution}{installed.name.removeprefix(op.names.op)}: wheel built, installed alone, imported"
    origin = f"import {op.names.import_name} as p; print(p.__file__)"
    for arguments in (
        ["-m", "build", "--wheel", "--no-isolation", "--outdir", str(work / "wheel"), str(source)],
        ["-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-build-isolation", "--target", str(site)],
        ["-c", origin],
    ):
        wheels = [str(wheel) for wheel in (work / "wheel").glob("*.whl")] if "pip" in arguments else []
        done = installed.run([*arguments, *wheels], work)
        if done.reason:
            print(done.output)
            return Row(name, FAILED, done.reason), None
    inside = done.stdout.strip().startswith(str(site))
    return Row(name, PASSED if inside else FAILED, f"version {op.package_version}"), installed


def run_test(installed: Installed, name: str) -> list[Row]:
    """The row of tests/test_<name>.py, run in a process of its own."""
    what = f"{installed.name}: generated tests, {name}"
    if unfit := _unfit(installed.op, name) if needs_bridge() else "":
        return [Row(what, NOT_RUN, unfit)]
    folder = installed.work / name
    # Not as `tests`, which is this repository's package once the bridge is imported.
    shutil.copytree(installed.tests, folder / "generated")
    report = folder / "report.xml"
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", f"--junitxml={report}"]
    arguments += ["-o", "junit_family=xunit1", f"generated/test_{name}.py"]
    done = installed.run(arguments, folder, bridged=name in IN_ENGINES and needs_bridge())
    result = pytests.result(name, done, report)
    if result.status is Status.FAILED:
        print(result.output)
    return [of_stage(what, result)]


def of_stage(what: str, result: StageResult) -> Row:
    """The row of a stage: its figures and its reason, and the libraries that ran it apart."""
    figures = dict(result.figures)
    libraries = [f"{name} {figures.pop(name)}".removeprefix("library ") for name in LIBRARIES if name in figures]
    passed = [f"{figures.pop('passed')} tests"] if "passed" in figures else []
    said = [*passed, *(f"{name} {value}" for name, value in figures.items()), *filter(None, [result.reason])]
    return Row(what, RESULTS[result.status], "; ".join(said), ", ".join(libraries))


def _unfit(op: Op, test: str) -> str:
    """Why the bridge into TensorRT-RTX's networks cannot hold an op, if a test needs it to."""
    if test in IN_ENGINES and isinstance(op.plugin, Registered):
        return "the bridge into TensorRT-RTX's networks stands in the place of TensorRT's own plugin"
    if test in IN_ENGINES and len(op.tensors) > _MOST_INPUTS:
        return f"the bridge into TensorRT-RTX's networks takes {_MOST_INPUTS} inputs, not {len(op.tensors)}"
    if test in IN_ENGINES and len(op.results) > 1 and facts.open_outputs(op):
        return "the bridge into TensorRT-RTX's networks tells a plugin the shape of one output alone"
    if test == "converter" and op.sizes:
        return "the bridge into TensorRT-RTX's networks takes no sizes that a plugin finds out"
    return ""
