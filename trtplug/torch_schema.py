"""Torch's operator schemas, parsed without torch; a new argument type is a member of `Base` and a case in `_item`."""

from __future__ import annotations

import difflib
import enum
import keyword
import math
import re
import sys
from typing import NamedTuple, NoReturn, TypeAlias

Item: TypeAlias = "bool | int | float | str"
Value: TypeAlias = "Item | tuple[Item, ...] | None"


class SchemaSyntaxError(Exception):
    """The text is no schema of a functional op; `offset` counts characters of the text from 0."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class Base(enum.Enum):
    """The types that a value, or an item of a list, can have."""

    TENSOR = "Tensor"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    STR = "str"
    SYMINT = "SymInt"
    SCALARTYPE = "ScalarType"


class ArgumentType(NamedTuple):
    """`Tensor(a!)`, `int[2]?`, `float`: `optional` is of the whole; `size` lets a caller give one item for so many."""

    base: Base
    is_list: bool = False
    optional: bool = False
    alias: str | None = None  # "a!", without the parentheses
    size: int | None = None

    def __str__(self) -> str:
        alias = f"({self.alias})" if self.alias else ""
        brackets = f"[{'' if self.size is None else self.size}]" if self.is_list else ""
        return f"{self.base.value}{alias}{brackets}{'?' if self.optional else ''}"


class Default(NamedTuple):
    """The default of an argument: wrapped, because None is a value and no default is not."""

    value: Value


class Argument(NamedTuple):
    """One argument; `offset` is where its name stands in the text."""

    name: str
    type: ArgumentType
    keyword_only: bool
    default: Default | None
    offset: int


class Return(NamedTuple):
    """One output; `offset` is where its type stands in the text."""

    type: ArgumentType
    name: str | None
    alias: str | None
    offset: int


class Schema(NamedTuple):
    """What a schema says, without the name of the op."""

    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]


def parse(text: str) -> Schema:
    """Read `(Tensor x, int[] padding) -> Tensor`; raises SchemaSyntaxError.

    Accepts nothing that torch refuses. Refuses what torch accepts and then gets wrong or ignores, such as `int x=1.5`.
    """
    return _Parser(text).schema()


class _Token(NamedTuple):
    kind: str
    text: str
    offset: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else f"'{self.text}'"


_TOKEN = re.compile(
    r"""\ *(?:
      (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?)(?![\w.])
    | (?P<string>"[^"\\\n]*"|'[^'\\\n]*')
    | (?P<mark>->|[()\[\],*?=!|-])
    | (?P<end>\Z)
    )""",
    re.VERBOSE,
)

# Torch's lexer keeps most of these for itself; the others would pass torch and break the code that is generated.
_NOT_A_NAME = frozenset(keyword.kwlist)
_INT64 = range(-(2**63), 2**63)
_EXAMPLE = 'such as "(Tensor x, int[] sizes) -> Tensor"'


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    at = 0
    while not tokens or tokens[-1].kind != "end":
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            offset = len(text) - len(text[at:].lstrip(" "))
            raise SchemaSyntaxError(_unreadable(text[offset:]), offset)
        tokens.append(_Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
        at = match.end()
    return tokens


def _unreadable(rest: str) -> str:
    if rest[0].isspace():
        return "a schema stands on one line, with spaces only"
    if rest[0] in "\"'":
        return "this text has no closing quote, or a backslash; write it without either"
    if rest[0].isdigit() or rest[0] == ".":
        return "this is no number in a torch schema; write a plain decimal one"
    return f"a torch schema has no {rest[0]!r}; remove it"


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0

    def schema(self) -> Schema:
        if self._now.text != "(":
            self._fail(f"a schema starts with its arguments in parentheses, {_EXAMPLE}; the name is a key of its own")
        arguments = self._arguments()
        self._expect("->", f"and then the outputs, {_EXAMPLE}")
        returns = self._returns()
        if self._now.kind != "end":
            several = "; put several outputs in parentheses" if self._now.text == "," else "; remove it"
            self._fail(f"the schema should end here, before {self._now}{several}")
        return Schema(arguments, returns)

    def _arguments(self) -> tuple[Argument, ...]:
        self._expect("(", "before the arguments")
        arguments: list[Argument] = []
        keyword_only = False
        more = not self._take(")")
        while more:
            if self._now.text == "*":
                if keyword_only:
                    self._fail("a second '*'; remove it")
                self._at += 1
                keyword_only = True
            else:
                arguments.append(self._argument(keyword_only, arguments))
            more = self._separator()
        return tuple(arguments)

    def _argument(self, keyword_only: bool, earlier: list[Argument]) -> Argument:
        type_ = self._type()
        token = self._now
        name = self._name(f"a name for this {type_} argument")
        if any(argument.name == name for argument in earlier):
            self._fail(f"a second argument '{name}'; give each its own name", token)
        default = Default(self._default(type_)) if self._take("=") else None
        # Torch lets a list pass here, for old files' sake; the Python signature that comes of it does not.
        if default is None and not keyword_only and any(argument.default for argument in earlier):
            self._fail(f"'{name}' has no default but follows one that has; give it one, or put it first", token)
        return Argument(name, type_, keyword_only, default, token.offset)

    def _returns(self) -> tuple[Return, ...]:
        if not self._take("("):
            return (self._return([]),)
        returns: list[Return] = []
        more = not self._take(")")
        while more:
            returns.append(self._return(returns))
            more = self._separator()
        return tuple(returns)

    def _return(self, earlier: list[Return]) -> Return:
        offset = self._now.offset
        type_ = self._type()
        token = self._now
        name = self._name("a name") if token.kind == "name" else None
        if name and any(other.name == name for other in earlier):
            self._fail(f"a second output '{name}'; give each its own name", token)
        return Return(type_, name, type_.alias, offset)

    def _type(self) -> ArgumentType:
        token = self._now
        names = [base.value for base in Base]
        if token.kind != "name":
            self._fail(f"expected a type ({', '.join(names)}), found {token}")
        if token.text not in names:
            close = difflib.get_close_matches(token.text, names, n=1)
            remedy = f"did you mean '{close[0]}'?" if close else f"the types are {', '.join(names)}"
            self._fail(f"unknown type '{token.text}'; {remedy}")
        self._at += 1
        base = Base(token.text)
        alias = self._alias(base) if self._take("(") else None
        is_list, size = False, None
        if self._take("["):
            if alias:
                self._fail("a list of tensors has no alias annotation; remove it", token)
            is_list, size = True, self._size()
        optional = self._take("?")
        if self._now.text in ("[", "?"):
            self._fail("a list of lists, or of optional values, is not supported; use a plain list")
        return ArgumentType(base, is_list, optional, alias, size)

    def _alias(self, base: Base) -> str:
        if base is not Base.TENSOR:
            self._fail("only a Tensor has an alias annotation; remove it")
        names = [self._name("an alias such as 'a'")]
        while self._take("|"):
            names.append(self._name("an alias such as 'a'"))
        written = "!" if self._take("!") else ""
        self._expect(")", "after the alias annotation")
        return "|".join(names) + written

    def _size(self) -> int | None:
        if self._take("]"):
            return None
        token = self._now
        if not token.text.isdigit():
            self._fail(f"expected ']', or the length of the list as a whole number, found {token}")
        self._at += 1
        self._expect("]", "after the length of the list")
        return int(token.text)

    def _default(self, type_: ArgumentType) -> Value:
        if self._now.text == "None":
            # Torch accepts None for most types, and the op then fails when it is called.
            if not type_.optional:
                self._fail(f"None is no {type_}; write '{type_}?', or another default")
            self._at += 1
            return None
        if not type_.is_list:
            return self._item(type_)
        if type_.optional:
            self._fail(f"torch takes no default but None for '{type_}'; write None")
        if type_.base in (Base.TENSOR, Base.STR):
            self._fail(f"torch takes no default for '{type_}'; remove it")
        if type_.size is not None and self._now.text != "[":
            return (self._item(type_),) * type_.size
        return self._list(type_)

    def _list(self, type_: ArgumentType) -> tuple[Item, ...]:
        self._expect("[", f"for the default of '{type_}'")
        items: list[Item] = []
        more = not self._take("]")
        while more:
            items.append(self._item(type_))
            more = self._take(",")
            if not more:
                self._expect("]", "or ',' in the list")
        if type_.size is not None and len(items) != type_.size:
            self._fail(f"the default of '{type_}' has {len(items)} items; write {type_.size}")
        return tuple(items)

    def _item(self, type_: ArgumentType) -> Item:
        start = self._now
        negative = self._take("-")
        token = self._now
        self._at += token.kind != "end"
        base = type_.base
        if base in (Base.INT, Base.SYMINT) and token.text.isdigit():
            number = -int(token.text) if negative else int(token.text)
            if number not in _INT64:
                self._fail(f"{number} does not fit into 64 bits; write a smaller number", start)
            return number
        if base is Base.FLOAT and token.kind == "number":
            real = -float(token.text) if negative else float(token.text)
            # Torch reads with C++'s stod, which throws where Python gives inf, zero or a denormal number.
            is_zero = not token.text.lower().split("e")[0].strip("0.")
            if math.isinf(real) or (abs(real) < sys.float_info.min and not is_zero):
                self._fail(f"{token.text} is out of the range of a float; write another number", start)
            return real
        if base is Base.BOOL and token.text in ("True", "False") and not negative:
            return token.text == "True"
        if base is Base.STR and token.kind == "string" and not negative:
            return token.text[1:-1]
        raise SchemaSyntaxError(f"expected {_KIND[base]} as the default of '{type_}', found {token}", start.offset)

    def _separator(self) -> bool:
        """Step over ',' (another follows) or ')' (the end)."""
        if self._take(","):
            if self._now.text == ")":
                self._fail("nothing follows this ','; torch wants it removed", self._tokens[self._at - 1])
            return True
        self._expect(")", "or ','")
        return False

    @property
    def _now(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, mark: str) -> bool:
        found = self._now.kind == "mark" and self._now.text == mark
        self._at += found
        return found

    def _expect(self, mark: str, why: str) -> None:
        if not self._take(mark):
            self._fail(f"expected '{mark}' {why}, found {self._now}")

    def _name(self, what: str) -> str:
        token = self._now
        if token.kind != "name":
            self._fail(f"expected {what}, found {token}")
        if token.text in _NOT_A_NAME:
            self._fail(f"'{token.text}' is a Python keyword; choose another name")
        self._at += 1
        return token.text

    def _fail(self, message: str, token: _Token | None = None) -> NoReturn:
        raise SchemaSyntaxError(message, (token or self._now).offset)


_KIND = {
    Base.TENSOR: "None",
    Base.INT: "a whole number",
    Base.FLOAT: "a number",
    Base.BOOL: "True or False",
    Base.STR: "text in quotes",
    Base.SYMINT: "a whole number",
    Base.SCALARTYPE: "None",
}
