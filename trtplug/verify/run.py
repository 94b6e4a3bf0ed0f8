"""Runs the stages in order, those that do not depend on each other side by side."""

from __future__ import annotations

import contextlib
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from trtplug import doctor
from trtplug.doctor import Facts
from trtplug.verify import compile as compile_stage
from trtplug.verify import converter, engine, environment, onnx, opcheck, package, parity, plugin, spec
from trtplug.verify.process import Processes
from trtplug.verify.stage import Context, PackageResult, Report, Stage, StageResult, Status
from trtplug.verify.target import Target

STAGES: tuple[Stage, ...] = tuple(
    module.STAGE for module in (spec, package, parity, opcheck, compile_stage, plugin, onnx, converter, engine)
)
NAMES = tuple(stage.name for stage in STAGES)


class CannotVerify(Exception):
    """There is nowhere to verify in; the message says what to do."""


class Listener(Protocol):
    """Hears how it goes, from several threads."""

    def started(self, package: str, stage: str) -> None: ...

    def finished(self, package: str, result: StageResult) -> None: ...


@dataclass(frozen=True)
class Options:
    """What a user asked for: the stages to run, those that must not be skipped, how many at a time, where."""

    stages: Collection[str] = NAMES
    required: Collection[str] = ()
    jobs: int = 1
    keep: Path | None = None


def verify(targets: Sequence[Target], facts: Facts, options: Options, listener: Listener) -> Report:
    """Prove one package after another."""
    results = []
    for index, target in enumerate(targets):
        with _folder(options.keep, f"{index}-{target.form.name}" if len(targets) > 1 else "") as work:
            results.append(_Run(target, work, facts, options, listener).package())
    return Report(tuple(results))


@contextlib.contextmanager
def _folder(keep: Path | None, name: str) -> Iterator[Path]:
    if keep is None:
        # Resolved, because a scratch environment and its packages are compared by path.
        with tempfile.TemporaryDirectory(prefix="trtplug-", ignore_cleanup_errors=True) as folder:
            yield Path(folder).resolve()
        return
    kept = (keep / name).absolute()
    try:
        kept.mkdir(parents=True, exist_ok=True)
        occupied = any(kept.iterdir())
    except OSError as error:
        raise CannotVerify(f"cannot use {kept}: {error.strerror}; choose another folder with --keep") from error
    if occupied:
        raise CannotVerify(f"{kept} is not empty; choose another folder with --keep")
    yield kept


class _Run:
    """The stages of one package."""

    def __init__(self, target: Target, work: Path, facts: Facts, options: Options, listener: Listener) -> None:
        self._name = target.form.name
        self._given = target.given
        self._facts = facts
        self._options = options
        self._listener = listener
        self._processes = Processes()
        self._gpu = threading.Lock()
        target.write(work / "package")
        done = environment.create(work, self._processes)
        if done.reason:
            raise CannotVerify(f"python -m venv fails ({done.reason}):\n{done.output}")
        self._context = Context(target, work / "package", work, environment.variables(work), self._processes)

    def package(self) -> PackageResult:
        stages = [stage for stage in STAGES if stage.name in self._options.stages]
        results = {stage.name: self._result(stage) for stage in stages if not stage.installed}
        tests = [stage for stage in stages if stage.installed]
        if tests:
            # Tests run against what this stage installs, whether or not a user wants to hear of it.
            installed = results.get("package") or self._result(package.STAGE)
            if installed.status is Status.FAILED:
                results["package"] = installed
            results.update(self._side_by_side(tests, installed))
        return PackageResult(self._name, self._given, tuple(results[name] for name in NAMES if name in results))

    def _side_by_side(self, stages: Sequence[Stage], installed: StageResult) -> dict[str, StageResult]:
        pool = ThreadPoolExecutor(self._options.jobs)
        try:
            futures = {stage.name: pool.submit(self._result, stage, installed) for stage in stages}
            return {name: future.result() for name, future in futures.items()}
        finally:
            # All has ended, unless the user interrupted it.
            self._processes.stop()
            pool.shutdown(cancel_futures=True)

    def _result(self, stage: Stage, installed: StageResult | None = None) -> StageResult:
        missing = doctor.missing(stage.needs, self._facts)
        if missing:
            why = f"{doctor.reason(missing, self._facts)}: {doctor.remedy(missing)}"
            result = StageResult(stage.name, Status.SKIPPED, why)
        elif installed and installed.status is not Status.PASSED:
            why = "failed" if installed.status is Status.FAILED else f"did not run: {installed.reason}"
            result = StageResult(stage.name, Status.SKIPPED, f"package {why}")
        else:
            result = self._run(stage)
        if result.status is Status.SKIPPED and stage.name in self._options.required:
            result = replace(result, status=Status.FAILED, reason=f"required, but could not run: {result.reason}")
        if not self._processes.stopped and (stage.name in self._options.stages or result.status is Status.FAILED):
            self._listener.finished(self._name, result)
        return result

    def _run(self, stage: Stage) -> StageResult:
        # One at a time on a GPU: they measure, and they fill its memory.
        alone = self._gpu if stage.gpu and self._facts.has("cuda") else contextlib.nullcontext()
        with alone:
            if stage.name in self._options.stages:
                self._listener.started(self._name, stage.name)
            start = time.perf_counter()
            result = stage.run(self._context)
            return replace(result, seconds=round(time.perf_counter() - start, 2))
