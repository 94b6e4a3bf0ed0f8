"""Guesses at what a launch gives a kernel: sizes, strides, block sizes, arguments of the op, and the grid."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from trtplug.scaffold import words
from trtplug.scaffold.tensors import GuessError, Parameter, Tensor, Tensors
from trtplug.scaffold.use import KernelUse
from trtplug.signature import tied


class Argument(NamedTuple):
    """An argument of the op that is no tensor."""

    name: str
    type: str
    default: str


class Guess(NamedTuple):
    """An expression, and why it may be right."""

    text: str
    why: str


class Guesses(NamedTuple):
    """All of a spec that a kernel tells; `values` are by kernel parameter."""

    inputs: list[Tensor]
    outputs: list[Tensor]
    arguments: list[Argument]
    checks: list[tuple[str, str]]
    values: dict[str, Guess]
    grid: list[Guess]


def guess(kernel: str, parameters: tuple[Parameter, ...], use: KernelUse) -> Guesses:
    """The guesses for a kernel; raises GuessError."""
    _refuse_what_no_launch_can_give(kernel, parameters, use)
    tensors = Tensors(kernel, parameters, use)
    guesses = _Values(parameters, use, tensors)
    values = {parameter.name: guesses.value(parameter) for parameter in parameters if parameter.supplied is None}
    grid, checks = list(guesses.grid()), list(tensors.checks())
    told = [*(guess.text for guess in (*values.values(), *grid)), *(tensor.shape for tensor in tensors.outputs)]
    checks += _least_sizes(tensors, told, [condition for condition, _ in checks])
    return Guesses(tensors.inputs, tensors.outputs, guesses.arguments, checks, values, grid)


def _least_sizes(tensors: Tensors, told: list[str], checks: list[str]) -> Iterator[tuple[str, str]]:
    """A check for each tensor that is written in place and of whose size nothing else tells, as a spec must."""
    known = {t.name for t in tensors.inputs if not (t.optional or t.written) or _sizes(t.name, told)}
    ties = [{t.name for t in tensors.inputs if _sizes(t.name, [check])} for check in checks]
    absent = {t.name for t in tensors.inputs if t.optional}
    known = tied(known, [tie for tie in ties if not tie & absent])
    for tensor in tensors.inputs:
        if tensor.written and tensor.name not in known:
            message = f"{tensor.name} has fewer elements than the kernel writes to"
            yield f"numel({tensor.name}) >= {math.prod(tensor.case)}", message


def _sizes(name: str, texts: list[str]) -> bool:
    """Whether any of the texts reads the size of a tensor."""
    return any(re.search(rf"(?<!strides\()\b{name}\.shape|numel\({name}\)", text) for text in texts)


def _refuse_what_no_launch_can_give(kernel: str, parameters: tuple[Parameter, ...], use: KernelUse) -> None:
    for parameter in parameters:
        name, used = parameter.name, use.parameters[parameter.name]
        if parameter.supplied:
            continue
        if used.descriptor and not parameter.constexpr:
            raise GuessError(
                f"parameter '{name}' of {kernel} is a tensor descriptor made on the host, and a launch gives pointers; "
                "make it in the kernel, by tl.make_tensor_descriptor"
            )
        if used.is_dtype:
            raise GuessError(
                f"parameter '{name}' of {kernel} is a dtype, which a launch cannot give; take it from a pointer in the "
                "kernel, as in y_ptr.dtype.element_ty"
            )


class _Values:
    """Guesses by the tensors, and the arguments of the op that they come to need."""

    def __init__(self, parameters: tuple[Parameter, ...], use: KernelUse, tensors: Tensors) -> None:
        self._parameters = {parameter.name: parameter for parameter in parameters}
        self._uses = use.parameters
        self._axes = use.axes
        self._tensors = tensors
        self.arguments: list[Argument] = []

    def value(self, parameter: Parameter) -> Guess:
        """What the launch gives a parameter; what nothing tells becomes an argument of the op."""
        name = parameter.name
        for tensor in (*self._tensors.inputs, *self._tensors.outputs):
            if tensor.parameter == name:
                return Guess(tensor.name, tensor.note)
        if name in self._tensors.flags:
            return Guess(" and ".join(f"present({t.name})" for t in self._tensors.flags[name]), "it guards the loads")
        use = self._uses[name]
        if parameter.constexpr and parameter.has_default and (type(parameter.default) is int or not use.lanes):
            return self._default(parameter)
        if name in self._tensors.strides:
            return self._stride(*self._tensors.strides[name])
        if parameter.constexpr and use.lanes and use.step:
            alone = sum(other.lanes for other in self._uses.values()) == 1
            return Guess("1024" if alone else "32", "a block's side, of which the kernel takes several")
        if size := self._size(name):
            return Guess(f"next_power_of_2({size.text})" if use.lanes else size.text, size.why)
        if not parameter.constexpr:
            return self._new_argument(parameter)
        if use.lanes:
            return Guess(f"next_power_of_2({self._whole(name)})", "the kernel takes all in one block")
        if use.called:
            return Guess("False", "a function cannot be given; call it by name in the kernel")
        if use.strings or use.flag or words.float_default(name, parameter.annotation):
            return self._new_argument(parameter)
        if "group" in name.lower():
            return Guess("8", "blocks that share what they load")
        if use.step and self._tensors.by_rows:
            return Guess(f"{self._tensors.anchor.name}.shape[-1]", "programs are so far apart")
        return Guess("1024" if "block" in name.lower() else "1", "it has no default")

    def _default(self, parameter: Parameter) -> Guess:
        value = parameter.default
        if isinstance(value, str):
            return Guess(f"'{value}'", "the kernel's default")
        if isinstance(value, bool | int | float):
            return Guess(repr(value), "the kernel's default")
        return Guess("''" if self._uses[parameter.name].strings else "False", "its default cannot be given")

    def _stride(self, tensor: Tensor, i: int, dim: str) -> Guess:
        if len(tensor.dims) == len(tensor.case) and len(tensor.dims) > 1:
            index = i
        else:
            index = -1 if dim in words.COLUMNS else 0 if dim in ("b", "z", "batch") else -2
        return Guess(tensor.item(f"strides({tensor.name}.shape)", index), f"by its name, a stride of {tensor.name}")

    def _size(self, name: str) -> Guess | None:
        """The size that a name means, if it means one."""
        tensor, word = self._tensors.anchor, words.size(name)
        for other in (*self._tensors.inputs, *self._tensors.outputs):
            first, _, rest = name.lower().partition("_")
            called = words.aliases(other.parameter) | (
                {"out", "output"} if other in self._tensors.outputs[:1] else set()
            )
            if rest and first in called and len(other.case) > 1:
                tensor, word = other, words.size(rest)
        why = "by its name"
        if word in self._tensors.told:
            return Guess(self._tensors.told[word], why)
        if word in words.COUNTS or (word in words.LENGTHS and not self._tensors.by_rows):
            return Guess(f"numel({tensor.name})", f"{why}, the number of elements")
        at = words.OF_IMAGES if self._tensors.of_images else words.OF_ATTENTION
        if tensor.rank in ("3", "4") and word in at and len(tensor.case) > at[word] >= -len(tensor.case):
            return Guess(tensor.item(f"{tensor.name}.shape", at[word]), why)
        if not self._tensors.by_rows and len(word) == 1:
            return None
        if word in words.ROWS:
            return Guess(f"prod({tensor.name}.shape[:-1])", f"{why}, the number of rows")
        if word in words.COLUMNS | words.LENGTHS:
            return Guess(tensor.item(f"{tensor.name}.shape", -1), f"{why}, the length of a row")
        return None

    def _whole(self, lanes: str) -> str:
        """How far lanes must reach that are not moved."""
        if words.block(lanes) in self._tensors.told:
            return self._tensors.told[words.block(lanes)]
        if size := self._size(words.block(lanes)):
            return size.text
        if not self._tensors.by_rows:
            return f"numel({self._tensors.anchor.name})"
        rows = self._tensors.roles.get(lanes) == "row"
        return f"prod({self._tensors.anchor.name}.shape[:-1])" if rows else f"{self._tensors.anchor.name}.shape[-1]"

    def _new_argument(self, parameter: Parameter) -> Guess:
        use, default = self._uses[parameter.name], parameter.default
        number = words.float_default(parameter.name, parameter.annotation)
        if use.strings:
            kind, text = "str", f'"{use.strings[0]}"'
        elif parameter.constexpr and use.flag and not use.number:
            kind, text = "bool", "False"
        elif isinstance(default, float) or (number and not isinstance(default, int)):
            kind, text = "float", repr(default) if isinstance(default, float) else str(number)
        else:
            kind, text = "float" if number else "int", repr(int(default)) if isinstance(default, int) else "1"
        argument = Argument(self._tensors.argument(parameter.name.lower(), parameter.name), kind, text)
        self.arguments.append(argument)
        return Guess(argument.name, "nothing tells it, so it is an argument of the op")

    def grid(self) -> Iterator[Guess]:
        """One size for each axis of which the kernel asks its program id."""
        shape = f"{self._tensors.anchor.name}.shape"
        raw = [axis for axis, lengths in self._axes.items() if not lengths]
        for axis in range(max(self._axes, default=0) + 1):
            if lengths := self._axes.get(axis):
                text = " * ".join(self._blocks(length, bool(raw)) for length in lengths)
                yield Guess(text, f"program_id({axis}) counts blocks of {' and '.join(lengths)}")
            elif axis not in raw:
                yield Guess("1", f"the kernel asks for no program_id({axis})")
            elif len(raw) > 1:
                yield Guess(
                    f"{shape}[{min(raw.index(axis), len(self._tensors.anchor.case) - 1)}]", f"program_id({axis})"
                )
            elif not self._tensors.by_rows:
                yield Guess(f"numel({self._tensors.anchor.name})", f"program_id({axis}) counts elements")
            else:
                blocks = [length for several in self._axes.values() for length in several]
                planes = self._tensors.planes or any(self._tensors.roles[length] == "row" for length in blocks)
                yield Guess(f"prod({shape}[:{-2 if planes else -1}])", f"program_id({axis}) counts rows")

    def _blocks(self, length: str, has_raw: bool) -> str:
        """How many blocks of a length there are."""
        shape = f"{self._tensors.anchor.name}.shape"
        if words.block(length) in self._tensors.told:
            whole = self._tensors.told[words.block(length)]
        elif not self._tensors.by_rows:
            whole = f"numel({self._tensors.anchor.name})"
        elif self._tensors.roles[length] == "row":
            whole = f"{shape}[-2]" if has_raw and len(self._tensors.anchor.case) > 1 else f"prod({shape}[:-1])"
        else:
            whole = f"prod({shape}[-2:])" if self._tensors.planes else f"{shape}[-1]"
        # What heuristics choose is known too late for the grid; programs with nothing to do are masked.
        return whole if self._parameters[length].supplied == "heuristics" else f"cdiv({whole}, {length})"
