"""What stages have in common: the context that they run in and the result that they give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from trtplug.doctor import Need
from trtplug.process import Done, Processes
from trtplug.verify.target import Subject, Target

Figure = int | float | str


class Status(Enum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class StageResult:
    """How one stage went: `reason` is one line, `output` everything that a failing process said."""

    name: str
    status: Status
    reason: str = ""
    seconds: float = 0.0
    figures: Mapping[str, Figure] = field(default_factory=dict)
    output: str = ""


@dataclass(frozen=True)
class PackageResult:
    """The stages of one package, or of one op among several in it; `spec` is what the user named."""

    name: str
    spec: str
    stages: tuple[StageResult, ...]

    def having(self, status: Status) -> tuple[StageResult, ...]:
        return tuple(stage for stage in self.stages if stage.status is status)


@dataclass(frozen=True)
class Report:
    packages: tuple[PackageResult, ...]

    @property
    def failed(self) -> bool:
        return any(package.having(Status.FAILED) for package in self.packages)


@dataclass(frozen=True)
class Context:
    """What a stage works on: the package's source tree, the ops that it is about, and a folder for what it needs."""

    target: Target
    subjects: tuple[Subject, ...]
    tree: Path
    work: Path
    variables: Mapping[str, str]
    processes: Processes

    @property
    def python(self) -> Path:
        """The interpreter of the scratch environment."""
        return self.work / "env" / "bin" / "python"

    def run(self, arguments: Sequence[str | Path], folder: Path, **variables: str) -> Done:
        """Run the scratch interpreter."""
        return self.processes.run([self.python, *arguments], folder, {**self.variables, **variables})


@dataclass(frozen=True)
class Stage:
    """One stage.

    `installed` says that it tests what the stage `package` installs, `gpu` that it uses a GPU if it can, and `whole`
    that it is about a package once, however many ops that holds; other stages are about one op.
    """

    name: str
    proves: str
    needs: tuple[Need, ...]
    run: Callable[[Context], StageResult]
    installed: bool = True
    gpu: bool = True
    whole: bool = False
