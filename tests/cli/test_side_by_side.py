"""How verify spreads stages over packages and jobs, shown with stages that wait for each other."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from trtplug import doctor
from trtplug.doctor import Facts, Library
from trtplug.fileset import FileSet
from trtplug.process import Done
from trtplug.verify import environment, package, run
from trtplug.verify.stage import Context, Report, Stage, StageResult, Status
from trtplug.verify.target import Subject, Target

SECONDS = 30  # after which what is waited for has not come


class Silent:
    """Hears nothing."""

    def started(self, package: str, stage: str) -> None: ...

    def finished(self, package: str, result: StageResult) -> None: ...


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "create", lambda work, processes: Done("", "", ""))
    monkeypatch.setattr(environment, "variables", lambda work: {})


def target(name: str, *ops: str) -> Target:
    """A package of one op that is all of it, or of several that are parts of it."""
    parts = {op: f"{name}.{op}" for op in ops} or {name: name}
    subjects = tuple(
        Subject(f"{op}.yaml", op, "test_ops", "() -> ()", part, "tests", True) for op, part in parts.items()
    )
    return Target(f"{name}.yaml", name, subjects, FileSet.of({"file": ""}))


def verify(
    monkeypatch: pytest.MonkeyPatch, stages: Mapping[str, Callable[[Context], object]], jobs: int, *targets: Target
) -> Report:
    """Runs stages that do this; those named gpu... use a GPU, which the machine has, and package is once a package."""

    def stage(name: str, does: Callable[[Context], object]) -> Stage:
        def result(context: Context) -> StageResult:
            does(context)
            return StageResult(name, Status.PASSED)

        whole = name == "package"
        return Stage(name, "", (), result, installed=not whole, gpu=name.startswith("gpu"), whole=whole)

    made = {name: stage(name, does) for name, does in stages.items()}
    monkeypatch.setattr(run, "STAGES", tuple(made.values()))
    monkeypatch.setattr(run, "NAMES", tuple(made))
    monkeypatch.setattr(package, "STAGE", made["package"])
    facts = Facts({"cuda": Library("1", "")})
    assert doctor.CUDA.names == ("cuda",)
    return run.verify(targets, facts, run.Options(tuple(made), (), jobs, None), Silent())


def test_packages_run_side_by_side_and_are_reported_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)

    def meet(context: Context) -> None:
        both.wait(SECONDS)

    report = verify(monkeypatch, {"package": meet, "test": meet}, 2, target("a"), target("b"))
    assert [(p.name, p.spec, [s.name for s in p.stages]) for p in report.packages] == [
        ("a", "a.yaml", ["package", "test"]),
        ("b", "b.yaml", ["package", "test"]),
    ]


def test_the_first_packages_come_first_and_no_more_jobs_run_than_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def note(context: Context) -> None:
        order.append(" ".join(subject.import_name for subject in context.subjects))

    verify(monkeypatch, {"package": note, "test": note}, 1, target("a", "x", "y"), target("b"))
    assert order == ["a.x a.y", "a.x", "a.y", "b", "b"]


def test_one_stage_at_a_time_uses_the_gpu_and_others_run_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu, beside, alone = threading.Lock(), threading.Semaphore(0), list[bool]()

    def on_gpu(context: Context) -> None:
        alone.append(gpu.acquire(blocking=False))
        assert beside.acquire(timeout=SECONDS), "nothing ran beside a stage on the GPU"
        gpu.release()

    stages = {"package": lambda _: None, "gpu one": on_gpu, "gpu two": on_gpu, "free": lambda _: beside.release(2)}
    report = verify(monkeypatch, stages, 2, target("a", "x", "y"), target("b"))
    assert alone == [True] * 6
    assert [p.name for p in report.packages] == ["a", "a.x", "a.y", "b"]


def test_an_error_ends_all_and_leaves_no_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def works() -> Iterator[str]:
        return (path.name for path in tmp_path.iterdir())

    def fail(context: Context) -> None:
        assert list(works())
        raise RuntimeError("a fault of trtplug")

    with pytest.raises(RuntimeError, match="a fault of trtplug"):
        verify(monkeypatch, {"package": lambda _: None, "test": fail}, 2, target("a"), target("b"))
    assert not list(works())


def test_a_folder_goes_as_soon_as_its_package_is_done(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left: list[int] = []
    verify(
        monkeypatch,
        {"package": lambda _: left.append(len(list(tmp_path.iterdir())))},
        1,
        *(target(name) for name in "abc"),
    )
    assert left == [3, 2, 1]
