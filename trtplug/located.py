"""Problems by their place in a spec, and the spec's expressions; all parts of resolve.py report and read through it."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from trtplug import expr
from trtplug.expr import Expr, Kind, Property, Scope, Value, walk
from trtplug.forms import Form
from trtplug.model import Attribute, Tensor
from trtplug.problems import Problems
from trtplug.spec import Spec


@dataclass
class Located:
    """One spec, what is wrong with it, and every expression of it that was understood."""

    spec: Spec
    problems: Problems
    expressions: list[Expr] = field(default_factory=list)
    all_understood: bool = True

    @property
    def form(self) -> Form:
        return self.spec.form

    def problem(self, message: str | None, *path: str | int, offset: int = 0, key: bool = False) -> None:
        """Notes what is wrong with the value (or the key) at `path`; None is nothing."""
        if message:
            self.problems.add(self.spec.position(*path, offset=offset, key=key), message)

    def expression(
        self, scope: Scope, text: str, kinds: Collection[Kind], wanted: str, *path: str | int
    ) -> Expr | None:
        """The expression at `path`, if it is one of these kinds; `wanted` says so in words."""
        try:
            value = expr.parse(text, scope)
        except expr.ExpressionError as error:
            self.problem(error.message, *path, offset=error.offset)
        except expr.NotUnderstood:
            pass
        else:
            if any(expr.accepts(kind, value.kind) for kind in kinds):
                self.expressions.append(value)
                return value
            self.problem(f"this is {value.kind}; expected {wanted}", *path)
        self.all_understood = False
        return None

    def unused(self, arguments: Iterable[Tensor | Attribute]) -> Iterator[Tensor | Attribute]:
        """Those that no expression uses, of a spec whose expressions are all understood."""
        if not self.all_understood:
            return
        nodes = [node for expression in self.expressions for node in walk(expression)]
        used = {node.name for node in nodes if isinstance(node, Value)}
        used |= {node.tensor for node in nodes if isinstance(node, Property)}
        yield from (argument for argument in arguments if argument.name not in used)

    def known(self, given: Iterable[str], known: Collection[str], what: str, *path: str | int) -> None:
        """Notes each name under `path` that is not known."""
        for name in given:
            if name not in known:
                self.problem(f"'{name}' is no {what}{suggest(name, known)}", *path, name, key=True)


def suggest(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; there {'is' if len(known) == 1 else 'are'} {', '.join(known)}" if known else ""
