"""Runs the stages of all packages, those that do not depend on each other side by side."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from trtplug import doctor
from trtplug.doctor import Facts
from trtplug.process import Processes
from trtplug.verify import compile as compile_stage
from trtplug.verify import converter, engine, environment, onnx, opcheck, package, parity, plugin, spec
from trtplug.verify.stage import Context, PackageResult, Report, Stage, StageResult, Status
from trtplug.verify.target import Subject, Target

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
    """Prove the packages: `options.jobs` stages at a time, those of the first packages first."""
    processes = Processes()
    with contextlib.ExitStack() as folders:
        runs = []
        for index, target in enumerate(targets):
            name = f"{index}-{target.name}" if len(targets) > 1 else ""
            folder = contextlib.ExitStack()
            folders.push(folder)
            work = folder.enter_context(_folder(options.keep, name))
            runs.append(_Run(index, target, work, folder, processes, facts, options, listener))
        waiting = [job for run in runs for job in run.begin()]
        running: dict[Future[StageResult | None], _Job] = {}
        pool = ThreadPoolExecutor(options.jobs)
        try:
            while waiting or running:
                for job in _next(waiting, list(running.values()), options.jobs):
                    waiting.remove(job)
                    running[pool.submit(job.run.work, job)] = job
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in ended:
                    job = running.pop(future)
                    waiting += job.run.after(job, future.result())
        finally:
            # All has ended, unless the user interrupted it.
            processes.stop()
            pool.shutdown(cancel_futures=True)
        return Report(tuple(result for run in runs for result in run.results()))


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


class _Job(NamedTuple):
    """One stage of a package, or the preparation for all of them; `subject` is an op of it, None for all of them."""

    run: _Run
    stage: Stage | None
    subject: Subject | None = None

    @property
    def gpu(self) -> bool:
        return self.stage is not None and self.stage.gpu and self.run.facts.has("cuda")


def _next(waiting: Sequence[_Job], running: Sequence[_Job], jobs: int) -> list[_Job]:
    """The jobs to start now, one at a time of those on a GPU: they measure, and they fill its memory."""
    chosen: list[_Job] = []
    for job in sorted(waiting, key=lambda job: job.run.index):
        beside = [*running, *chosen]
        if len(beside) < jobs and not (job.gpu and any(other.gpu for other in beside)):
            chosen.append(job)
    return chosen


class _Run:
    """The stages of one package, in the order in which they may run, and what came of them."""

    def __init__(
        self,
        index: int,
        target: Target,
        work: Path,
        folder: contextlib.ExitStack,
        processes: Processes,
        facts: Facts,
        options: Options,
        listener: Listener,
    ) -> None:
        self.index = index
        self.facts = facts
        self._target = target
        self._work = work
        self._folder = folder
        self._processes = processes
        self._options = options
        self._listener = listener
        self._stages = [stage for stage in STAGES if stage.name in options.stages]
        self._variables: dict[str, str] = {}
        self._installed: StageResult | None = None
        self._results: dict[tuple[Subject | None, str], StageResult] = {}
        self._left = 0

    def begin(self) -> list[_Job]:
        """What is to be done first."""
        return self._started([_Job(self, None)])

    def after(self, job: _Job, result: StageResult | None) -> list[_Job]:
        """What is to be done after a job, of which this is the result."""
        self._left -= 1
        tests = [stage for stage in self._stages if stage.installed]
        then: list[_Job] = []
        if job.stage is None:
            # Tests run against what the stage `package` installs, whether or not a user wants to hear of it.
            first = [stage for stage in self._stages if not stage.installed]
            then = self._jobs([*first, package.STAGE] if tests and package.STAGE not in first else first)
        elif result is not None:
            if job.stage.name in self._options.stages or result.status is Status.FAILED:
                self._results[job.subject, job.stage.name] = result
            if job.stage is package.STAGE:
                self._installed = result
                then = self._jobs(tests)
        started = self._started(then)
        if not self._left:
            self._folder.close()
        return started

    def work(self, job: _Job) -> StageResult | None:
        """Does a job, in a thread of its own."""
        if job.stage is None:
            self._prepare()
            return None
        return self._result(job, job.stage)

    def results(self) -> tuple[PackageResult, ...]:
        """The results in the order of the stages: those of the package, then, of several ops, those of each."""
        target = self._target
        if not target.several:
            return (self._of(target.name, target.given, None, *target.subjects),)
        whole = self._of(target.name, target.given, None)
        ops = [self._of(subject.import_name, subject.given, subject) for subject in target.subjects]
        return tuple(result for result in (whole, *ops) if result.stages)

    def _of(self, name: str, given: str, *subjects: Subject | None) -> PackageResult:
        keys = [(subject, stage) for stage in NAMES for subject in subjects]
        return PackageResult(name, given, tuple(self._results[key] for key in keys if key in self._results))

    def _jobs(self, stages: Sequence[Stage]) -> list[_Job]:
        """A job a stage of the package as a whole, and one for each op a stage of an op."""
        return [
            _Job(self, stage, subject)
            for subject in (None, *self._target.subjects)
            for stage in stages
            if stage.whole == (subject is None)
        ]

    def _started(self, jobs: list[_Job]) -> list[_Job]:
        self._left += len(jobs)
        return jobs

    def _prepare(self) -> None:
        self._target.write(self._work / "package")
        done = environment.create(self._work, self._processes)
        if done.reason and not self._processes.stopped:
            raise CannotVerify(f"python -m venv fails ({done.reason}):\n{done.output}")
        self._variables = environment.variables(self._work)

    def _result(self, job: _Job, stage: Stage) -> StageResult:
        installed = self._installed
        missing = doctor.missing(stage.needs, self.facts)
        if missing:
            why = f"{doctor.reason(missing, self.facts)}: {doctor.remedy(missing, self.facts)}"
            result = StageResult(stage.name, Status.SKIPPED, why)
        elif installed and installed.status is not Status.PASSED:
            why = "failed" if installed.status is Status.FAILED else f"did not run: {installed.reason}"
            result = StageResult(stage.name, Status.SKIPPED, f"package {why}")
        else:
            result = self._run(job, stage)
        if result.status is Status.SKIPPED and stage.name in self._options.required:
            result = replace(result, status=Status.FAILED, reason=f"required, but could not run: {result.reason}")
        if not self._processes.stopped and (stage.name in self._options.stages or result.status is Status.FAILED):
            self._listener.finished(self._name(job), result)
        return result

    def _run(self, job: _Job, stage: Stage) -> StageResult:
        if stage.name in self._options.stages:
            self._listener.started(self._name(job), stage.name)
        subjects = (job.subject,) if job.subject else self._target.subjects
        context = Context(self._target, subjects, self._work / "package", self._work, self._variables, self._processes)
        start = time.perf_counter()
        result = stage.run(context)
        return replace(result, seconds=round(time.perf_counter() - start, 2))

    def _name(self, job: _Job) -> str:
        return job.subject.import_name if job.subject and self._target.several else self._target.name
