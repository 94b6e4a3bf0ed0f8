"""Which parameters of a kernel are tensors, and guesses at their shapes, by strides and by what is in the offsets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from trtplug import names
from trtplug.expr import RESERVED
from trtplug.scaffold import words
from trtplug.scaffold.use import KernelUse, Source

_MOST_OPTIONAL = 3  # tensors, in resolve.py
_KINDS = ("axes", "full", "table", "row", "column", "scalar")


class GuessError(Exception):
    """There is nothing to guess; the message says what to do."""


class Parameter(NamedTuple):
    """A kernel parameter as its signature has it; `supplied` names the decorator that takes care of it."""

    name: str
    constexpr: bool
    annotation: str
    has_default: bool
    default: object  # None if it is no literal
    supplied: str | None


@dataclass
class Tensor:
    """An input or output of the op.

    `kind` says how its shape goes with that of the main input: `full` is the same, `row` all but the last dimension,
    `column` the last one, `table` rows that are chosen by index, `scalar` one value, and `axes` has `dims` of its own,
    called as in the names of its strides.
    """

    parameter: str
    name: str
    kind: str = "full"
    dims: list[str] = field(default_factory=list)
    optional: bool = False
    rank: str = "[1, 4]"
    shape: str = ""
    case: list[int] = field(default_factory=list)
    dtype: str = "float32"
    range: str | None = None
    init_zero: bool = False
    written: bool = False  # an input that the kernel changes in place
    note: str = ""

    def item(self, items: str, i: int) -> str:
        """One of the items that each dimension has, also where the tensor is absent and has no dimensions."""
        if not self.optional:
            return f"{items}[{i}]"
        absent = ", ".join(["0"] * (i + 1 if i >= 0 else -i))
        return f"({items} + [{absent}])[{i}]" if i >= 0 else f"([{absent}] + {items})[{i}]"


class Tensors:
    """The inputs and outputs of the op, and what they tell of sizes.

    `main` is the input by which the other shapes are told, and `anchor` the tensor that the kernel goes over. `sizes`
    are those of the dimensions that strides name, `strides` says of which tensor and dimension each is, `roles` of each
    length of lanes whether they lie along rows or columns, and `flags` which constexprs say that tensors are given.
    """

    def __init__(self, kernel: str, parameters: tuple[Parameter, ...], use: KernelUse) -> None:
        self._parameters = {parameter.name: parameter for parameter in parameters}
        self._uses = use.parameters
        self._axes = use.axes
        self._expanded = use.is_expanded()
        self._constexprs = {parameter.name for parameter in parameters if parameter.constexpr}
        in_place = any(use.parameters[parameter.name].in_place for parameter in parameters)
        self._taken: set[str] = {names.ALIASED} if in_place else set()
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self._find(kernel)
        self.flags = self._find_optional()
        self.sizes: dict[str, str] = {}
        self.told: dict[str, str] = {}  # of them those of tensors that are always given
        self.strides: dict[str, tuple[Tensor, int, str]] = {}
        self._read_strides()
        raw = any(not lengths for lengths in self._axes.values())
        self.by_rows = self._works_by_rows(raw)
        self.roles = self._roles_of_lanes(raw)
        # Rows that are chosen by index tell nothing of what is written in place, of whose size something must.
        self._main = min(
            (tensor for tensor in self.inputs if not tensor.optional),
            key=lambda tensor: (
                not tensor.written and (self._is_index(tensor) or (in_place and self._kind(tensor) == "table")),
                _KINDS.index(self._kind(tensor)),
            ),
        )
        for tensor in (*self.inputs, *self.outputs):
            tensor.kind = self._kind(tensor)
        if self._main.kind not in ("axes", "full", "table"):
            self._main.kind = "full"
        self._name_dimensions()
        found = {words.size(parameter.name) for parameter in parameters}
        self.of_images = not self.sizes and ({"h", "w"} <= found or {"height", "width"} <= found)
        self.planes = self.of_images and not self._expanded  # lanes go along a row and on to the next
        for tensor in sorted(self.inputs, key=lambda tensor: tensor is not self._main):
            self._describe(tensor)
        for tensor in self.outputs:
            self._describe_output(tensor)
        # Of a table, the kernel takes some rows.
        self.anchor = self._main if self._main.kind != "table" else self.outputs[0]

    # --- tensors ----------------------------------------------------------------------------------------------------

    def _find(self, kernel: str) -> None:
        for name, parameter in self._parameters.items():
            use = self._uses[name]
            if parameter.constexpr or not (use.loaded or use.stored or (words.is_pointer(name) and not use.number)):
                continue
            called = self.argument(words.of_pointer(name), name, tensor=True, written=use.in_place)
            tensor = Tensor(name, called, written=use.in_place)
            if use.in_place:
                tensor.note = "the kernel loads from it, then stores to it: written in place"
                self.inputs.append(tensor)
                continue
            if not use.stored:
                tensor.note = "the kernel loads from it" if use.loaded else "by its name, a pointer"
                self.inputs.append(tensor)
                continue
            self.outputs.append(tensor)
            tensor.init_zero = use.atomic or use.loaded
            tensor.note = "the kernel stores to it"
            if use.atomic:
                tensor.note += " by atomics, so it starts as zeros"
            elif use.loaded:
                tensor.note += ", and then loads from it: zeros, never the values of an input"
        if not (self.outputs or any(tensor.written for tensor in self.inputs)):
            raise GuessError(
                f"{kernel} stores to none of its parameters; name the kernel that writes the result by tl.store or "
                "tl.atomic_*: a helper that returns a value is not launched"
            )
        if not self.inputs:
            note = "an op takes a tensor; the kernel takes no values from any, so that this is a shape"
            self.inputs.append(Tensor("", self.argument("like", "", tensor=True), note=note))

    def argument(self, wanted: str, parameter: str, tensor: bool = False, written: bool = False) -> str:
        """A name that means nothing else in the spec; a constexpr may have that of the argument that it is given."""

        def also(name: str) -> set[str]:
            """What else generated code calls by such a name."""
            new = {names.new_value(name), *names.of_tensors([names.new_value(name)]), names.dense(name)}
            return {*names.of_tensors([name]), names.presence(name), *(new if written else ())} if tensor else set()

        name = re.sub("[^a-z0-9_]", "", wanted).strip("_")
        name = name if name[:1].isalpha() else f"x{name}"
        taken = self._taken | (self._constexprs - {parameter})
        while names.problem_with_argument_name(name, RESERVED) or name in taken or taken & also(name):
            name += "_"
        self._taken |= {name} | also(name)
        return name

    def _find_optional(self) -> dict[str, list[Tensor]]:
        """Marks the tensors that may be absent, and returns the flags that say so, each with its tensors."""
        given = [tensor for tensor in self.inputs if tensor.parameter and not tensor.written]
        guards = {tensor.parameter: self._guards(tensor.parameter) for tensor in given}
        optional = [t for t in given if self._uses[t.parameter].optional or guards[t.parameter]]
        if len(optional) == len(self.inputs):
            optional = optional[1:]  # an op needs a tensor that is always given
        flags: dict[str, list[Tensor]] = {}
        for tensor in optional[:_MOST_OPTIONAL]:
            tensor.optional = True
            tensor.note += ", if it is there"
            for flag in guards[tensor.parameter]:
                flags.setdefault(flag, []).append(tensor)
        return flags

    def _guards(self, name: str) -> list[str]:
        """The flags without which the kernel does not load from a pointer."""
        flags = [self._parameters[flag] for flag in self._uses[name].guards or () if flag in self._parameters]
        return [
            flag.name
            for flag in flags
            if flag.constexpr
            and not self._uses[flag.name].lanes
            and (flag.supplied == "heuristics" or (not flag.supplied and words.is_presence(flag.name)))
        ]

    # --- shapes -----------------------------------------------------------------------------------------------------

    def _read_strides(self) -> None:
        tensors = {tensor.parameter for tensor in (*self.inputs, *self.outputs)}
        for name in self._parameters:
            if "stride" in name.lower() and name not in tensors:
                tensor, dim = self._strided(name)
                self.strides[name] = (tensor, len(tensor.dims), dim)
                tensor.dims.append(dim)

    def _strided(self, name: str) -> tuple[Tensor, str]:
        """The tensor that a stride is of, and what its dimension is called."""
        parts = [part for part in re.sub("strides?", "_", name.lower()).split("_") if part]
        rest = "_".join(parts)
        tensors = [*self.inputs, *self.outputs]
        aliases = {alias: tensor for tensor in reversed(tensors) for alias in words.aliases(tensor.parameter)}
        for first, others in ((parts[:1], parts[1:]), (parts[-1:], parts[:-1])):
            if first and first[0] in aliases:
                return aliases[first[0]], "_".join(others)
        if rest not in words.DIMENSIONS and not rest.isdigit():
            for length in range(len(rest) - 1, 0, -1):
                if len(rest) - length <= 2 and rest[:length] in aliases:
                    return aliases[rest[:length]], rest[length:]
            for tensor in tensors:
                if len(rest) == 2 and rest[0] == tensor.name[0]:
                    return tensor, rest[1]
        return self.inputs[0], rest

    def _works_by_rows(self, raw: bool) -> bool:
        """Whether the kernel goes over rows and columns, and not over elements one after another."""
        lanes = any(use.lanes for use in self._uses.values()) or any(
            source.kind == "lane" for use in self._uses.values() for offset in use.offsets for source in offset
        )
        return self._expanded or bool(self.strides) or (raw and lanes)

    def _roles_of_lanes(self, raw: bool) -> dict[str, str]:
        """Of each length of lanes whether they lie along rows or columns."""
        lanes = [name for name, use in self._uses.items() if use.lanes]
        rows = [name for name in lanes if words.block(name) in words.ROWS]
        if self._expanded and not rows and not raw:
            rows = [name for name in lanes if words.block(name) not in words.COLUMNS][:1]
        return {name: "row" if name in rows else "column" for name in lanes}

    def _kind(self, tensor: Tensor) -> str:
        sources = {source for offset in self._offsets(tensor) for source in offset}
        lanes = {source.name for source in sources if source.kind == "lane"}
        axes = [int(source.name) for source in sources if source.kind == "program"]
        if len(tensor.dims) > 1:
            are_names = all(map(str.isalpha, tensor.dims)) and len(set(tensor.dims)) == len(tensor.dims)
            return "axes" if are_names else "full"
        if tensor.dims or not sources:
            return "full"
        if not self.by_rows:
            repeated = any(source.kind == "modulo" and words.is_columns(source.name) for source in sources)
            loaded = any(source.kind == "loaded" for source in sources)
            return "column" if repeated else "full" if lanes or axes or loaded else "scalar"
        row = any(self.roles.get(lane) == "row" for lane in lanes) or any(not self._axes[axis] for axis in axes)
        column = any(self.roles.get(lane, "column") == "column" for lane in lanes)
        if any(source.kind == "loaded" for source in sources) and not row:
            return "table" if tensor in self.inputs and not tensor.written else "full"
        row |= not column and bool(axes)
        return {(True, True): "full", (True, False): "row", (False, True): "column"}.get((row, column), "scalar")

    def _offsets(self, tensor: Tensor) -> list[frozenset[Source]]:
        return self._uses[tensor.parameter].offsets if tensor.parameter else []

    def _is_index(self, tensor: Tensor) -> bool:
        return bool(self._indexed_by(tensor)) or words.is_index(tensor.name)

    def _indexed_by(self, tensor: Tensor) -> list[Tensor]:
        """The tensors that the kernel addresses by what it loads from this one."""
        return [
            other
            for other in (*self.inputs, *self.outputs)
            for offset in self._offsets(other)
            if any(source == ("loaded", tensor.parameter) for source in offset)
        ]

    def _name_dimensions(self) -> None:
        """Finds for each dimension that strides name a tensor that has it.

        Attention names them by what they are to a product, so that one name means two sizes: there, all have one shape.
        """
        axes = [tensor for tensor in (*self.inputs, *self.outputs) if tensor.kind == "axes"]
        aliases = {alias for tensor in self.inputs for alias in words.aliases(tensor.parameter)}
        if {"q", "k", "v"} <= aliases and any(len(tensor.dims) > 2 for tensor in axes):
            for tensor in axes:
                tensor.kind = "full"
            return
        for tensor in sorted(self.inputs, key=lambda tensor: tensor.optional):
            for i, dim in enumerate(tensor.dims if tensor.kind == "axes" else []):
                size = self.sizes.setdefault(dim, tensor.item(f"{tensor.name}.shape", i))
                if not tensor.optional:
                    self.told[dim] = size

    def _describe(self, tensor: Tensor) -> None:
        if self._is_index(tensor):
            tensor.dtype = "int64"
            # Of which dimension it is an index is not known, and the tests must not read outside of any.
            given = [other for other in self.inputs if not other.optional]
            indexed = [*(other for other in self._indexed_by(tensor) if other in given), self._main]
            shape = f"{indexed[0].name}.shape"
            tensor.range = f"min({shape}[0], {shape}[-1]) - 1"
        elif tensor.written:
            stored = self._stored(tensor) or "float32"
            tensor.dtype = "int8" if stored == "bool" else stored  # no bool is written in place
        elif words.is_mask(tensor.name):
            tensor.dtype = "bool"
        tensor.rank, tensor.case = self._rank_and_case(tensor)

    def _rank_and_case(self, tensor: Tensor) -> tuple[str, list[int]]:
        main, whole = self._main, self._main.kind in ("axes", "full")
        if tensor.kind == "axes":
            return str(len(tensor.dims)), [self._size_in_case(dim) for dim in tensor.dims]
        if tensor.kind == "full" and whole and tensor is not main:
            return main.rank, main.case
        if tensor.kind == "full":
            if rank := 4 if self.of_images else len(tensor.dims) if len(tensor.dims) > 1 else 0:
                return str(rank), ([2] * rank + [3, 16, 32])[-rank:]
            least = max(2, sum(not lengths for lengths in self._axes.values()))
            return (f"[{least}, 4]", [3, 5, 40]) if self.by_rows else ("[1, 4]", [2, 3, 8, 8])
        of_main = main.case if whole else [7, 40]
        return {
            "table": ("2", [11, 40]),
            "row": ("[0, 7]", of_main[:-1]),
            "column": ("1", [self._size_in_case(dim) if (dim := self._letter(tensor)) else of_main[-1]]),
            "scalar": ("[0, 1]", [1]),
        }[tensor.kind]

    def _size_in_case(self, dim: str) -> int:
        """A size of its own for each named dimension; small for those before the last two."""
        dims = list(self.sizes)
        outer = any(dim in tensor.dims[:-2] for tensor in self.inputs)
        return (2, 3)[dims.index(dim) % 2] if outer else (32, 48, 64, 16)[dims.index(dim) % 4]

    def _letter(self, tensor: Tensor) -> str | None:
        """The named dimension along which the kernel goes through a vector."""
        sources = {source for offset in self._offsets(tensor) for source in offset}
        found = {words.block(source.name) for source in sources if source.kind == "lane"} & self.sizes.keys()
        return min(found) if found else None

    def _describe_output(self, tensor: Tensor) -> None:
        main = self._main
        if stored := self._stored(tensor):
            tensor.dtype = stored
        elif main.dtype == "float32":
            tensor.dtype = f"{main.name}.dtype"
        shape, case = f"{main.name}.shape", main.case
        index = next((t for t in self.inputs if not t.optional and main in self._indexed_by(t)), None)
        if tensor.kind == "axes" and tensor.dims != main.dims:
            sizes = [self.told.get(dim, f"{shape}[{min(i, len(case) - 1)}]") for i, dim in enumerate(tensor.dims)]
            tensor.shape, tensor.case = f"[{', '.join(sizes)}]", [1] * len(sizes)
        elif tensor.kind == "column":
            size = self.told.get(self._letter(tensor) or "")
            tensor.shape, tensor.case = f"[{size}]" if size else f"{shape}[-1:]", case[-1:]
        elif tensor.kind == "row":
            tensor.shape, tensor.case = f"{shape}[:-1]", case[:-1]
        elif tensor.kind == "scalar":
            tensor.shape, tensor.case = "[1]", [1]
        elif main.kind == "table" and index:
            tensor.shape, tensor.case = f"{index.name}.shape + {shape}[1:]", [*index.case, *case[1:]]
        else:
            tensor.shape, tensor.case = shape, case

    def _stored(self, tensor: Tensor) -> str | None:
        """The dtype of what the kernel stores, if that is one and not the usual."""
        stored = {dtype for dtype in self._uses[tensor.parameter].dtypes if dtype not in (None, "float32")}
        return stored.pop() if len(stored) == 1 else None

    def checks(self) -> Iterator[tuple[str, str]]:
        """What the kernel takes for granted of the inputs' shapes."""
        main = self._main
        if main.kind == "table":
            return
        for tensor in self.inputs:
            if tensor.kind == "axes":
                for i, dim in enumerate(tensor.dims):
                    if self.sizes[dim] != f"{tensor.name}.shape[{i}]":
                        condition = f"{tensor.name}.shape[{i}] == {self.sizes[dim]}"
                        yield condition, f"dimension {i} of {tensor.name} is not {self.sizes[dim]}"
            elif tensor is main:
                continue
            elif tensor.kind == "full" and main.kind == "full":
                yield f"{tensor.name}.shape == {main.name}.shape", f"{tensor.name} and {main.name} differ in shape"
            elif tensor.kind == "row":
                message = f"{tensor.name} has one value for each row of {main.name}"
                yield f"numel({tensor.name}) == prod({main.name}.shape[:-1])", message
            elif tensor.kind == "column":
                size = self.sizes.get(self._letter(tensor) or "", f"{main.name}.shape[-1]")
                yield f"numel({tensor.name}) == {size}", f"{tensor.name} has one value for each column"
            elif tensor.kind == "scalar":
                yield f"numel({tensor.name}) == 1", f"{tensor.name} has one value"
