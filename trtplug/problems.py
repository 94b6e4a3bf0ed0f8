"""Where a spec is wrong and what to do about it; a new kind of complaint is a new message, never a new class."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Position:
    """A place in a text file; both numbers count from 1, as editors do."""

    line: int
    column: int


@dataclass(frozen=True, order=True)
class Problem:
    """One thing wrong at one place: the message says what, and what to do; what has no lines is at line 0."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{place}: {self.message}"


class SpecError(Exception):
    """All problems of a file at once."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


@dataclass
class Problems:
    """Collects the problems of one file, so that a user sees them all at once."""

    file: str
    _found: set[Problem] = field(default_factory=set)

    def add(self, position: Position, message: str) -> None:
        self._found.add(Problem(self.file, position.line, position.column, message))

    def __bool__(self) -> bool:
        return bool(self._found)

    def sorted(self) -> tuple[Problem, ...]:
        return tuple(sorted(self._found))

    def raise_if_any(self) -> None:
        if self._found:
            raise SpecError(self.sorted())
