"""What a kernel does with its parameters, read without importing it: for the guesses of the spec.

The kernel's text is run on sets: the value of an expression is what it was made of. A helper function is run where it
is called. A function of Triton that matters to a guess is a case in `_Run._builtin`.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from trtplug.scaffold.source import Module

_DEEPEST = 12  # calls of helpers inside each other
_DTYPES = {"int1": "bool"} | {name: name for name in ("float32", "float16", "bfloat16", "int8", "int32", "int64")}
_ADDRESSES = frozenset(  # what gives an address back, moved or described
    {
        *("multiple_of", "max_contiguous", "max_constancy", "cast", "broadcast_to", "expand_dims", "reshape", "view"),
        *("make_block_ptr", "advance", "make_tensor_descriptor", "_experimental_make_tensor_descriptor", "where"),
    }
)
_DTYPE_AT = {"zeros": 1, "full": 2, "cast": 1}  # the argument that is a dtype


class Source(NamedTuple):
    """What a value was made of.

    A `program` id of an axis, a `lane` of a length, what was `loaded` by a parameter, a `loop` variable, the remainder
    of a division by a parameter (`modulo`), or that it was `expanded` to two dimensions.
    """

    kind: str
    name: str = ""


class Value(NamedTuple):
    """What is known of a value: its sources, and the parameters that it is or is a sum of."""

    sources: frozenset[Source] = frozenset()
    terms: tuple[str, ...] = ()
    dtype: str | None = None  # of a value, or that a name such as tl.int8 means
    items: tuple[Value, ...] | None = None  # of a tuple
    literal: object = None
    described: bool = False  # by a tensor descriptor that the kernel made


@dataclass
class Use:
    """What becomes of one parameter."""

    loaded: bool = False
    stored: bool = False
    kept: bool = False  # loaded where nothing need have been stored before, so that what it held matters
    atomic: bool = False
    optional: bool = False  # compared with None
    number: bool = False  # multiplied, compared, a bound of a loop: no address
    flag: bool = False  # a condition of its own
    called: bool = False
    is_dtype: bool = False
    descriptor: bool = False  # made on the host
    lanes: bool = False  # the length of a tl.arange or of a side of a block
    step: bool = False  # such lengths tile something larger
    strings: list[str] = field(default_factory=list)  # that it is compared with
    offsets: list[frozenset[Source]] = field(default_factory=list)  # of each access
    guards: frozenset[str] | None = None  # parameters that are true at each load
    dtypes: list[str | None] = field(default_factory=list)  # of what is stored

    @property
    def in_place(self) -> bool:
        """Whether the kernel changes what the parameter points to."""
        return self.kept and self.stored


@dataclass(frozen=True)
class KernelUse:
    """What a kernel does: by parameter, and by axis of the grid the lengths that its program ids are multiplied by."""

    parameters: Mapping[str, Use]
    axes: Mapping[int, tuple[str, ...]]

    def is_expanded(self) -> bool:
        """Whether the kernel addresses memory by rows and columns."""
        return any(Source("expanded") in offset for use in self.parameters.values() for offset in use.offsets)


def read(module: Module, kernel: str, constexprs: Collection[str]) -> KernelUse:
    """What a kernel of a file does with its parameters."""
    run = _Run(module, kernel)
    run.whole(constexprs)
    axes = {
        axis: tuple(name for name in dict.fromkeys(run.axes[axis]) if run.uses[name].lanes) for axis in sorted(run.axes)
    }
    return KernelUse(run.uses, axes)


def _join(values: Iterable[Value], sum_of: Iterable[Value] = ()) -> Value:
    """A value that is made of others, and is itself a sum of some."""
    sources = frozenset(source for value in values for source in value.sources)
    return Value(sources, tuple(dict.fromkeys(term for value in sum_of for term in value.terms)))


def _either(one: Value, other: Value) -> Value:
    joined = _join((one, other), (one, other))._replace(dtype=one.dtype or other.dtype)
    if one.items and other.items and len(one.items) == len(other.items):
        joined = joined._replace(items=tuple(map(_either, one.items, other.items)))
    return joined._replace(described=one.described or other.described)


class _Access(NamedTuple):
    """A load or a store: where, for which parameters that are true, in which branches, and the dtype that is stored."""

    action: str
    address: Value
    guards: frozenset[str]
    branches: frozenset[tuple[str, bool]]
    dtype: str | None


class _Run:
    """One run of a kernel; `uses` and `axes` fill up."""

    def __init__(self, module: Module, kernel: str) -> None:
        self._module = module
        self._kernel = module.functions[kernel]
        self._guards: list[str] = []
        self._branches: list[tuple[str, bool]] = []  # the conditions of ifs, and whether they hold
        self._depth = 0
        self._accesses: list[_Access] = []
        names = [argument.arg for argument in _arguments(self._kernel)]
        self.uses = {name: Use() for name in names}
        self.axes: dict[int, list[str]] = {}

    def whole(self, constexprs: Collection[str]) -> None:
        """Runs the kernel. Which term of an address is the pointer, and which are numbers, is known only at the end."""
        self._call(self._module, self._kernel, {name: Value(terms=(name,)) for name in self.uses})
        stores: dict[str, list[frozenset[tuple[str, bool]]]] = {name: [] for name in self.uses}
        for access in self._accesses:
            pointers = [name for name in access.address.terms if not self.uses[name].number and name not in constexprs]
            if not pointers:
                continue
            use = self.uses[pointers[0]]
            use.offsets.append(access.address.sources)
            if access.action == "load":
                use.loaded = True
                use.kept |= not any(branches <= access.branches for branches in stores[pointers[0]])
                use.guards = access.guards if use.guards is None else use.guards & access.guards
            else:
                use.stored = True
                use.atomic |= access.action != "store"
                use.dtypes.append(access.dtype)
                stores[pointers[0]].append(access.branches)

    # --- statements --------------------------------------------------------------------------------------------------

    def _call(self, module: Module, function: ast.FunctionDef, names: dict[str, Value]) -> Value:
        """Runs the body of a function, and returns what it returns."""
        if self._depth > _DEEPEST:
            return _join(names.values())
        outside, self._module = self._module, module
        self._depth += 1
        returned: list[Value] = []
        self._block(function.body, names, returned)
        self._depth -= 1
        self._module = outside
        result = returned[0] if returned else Value()
        for other in returned[1:]:
            result = _either(result, other)
        return result

    def _block(self, body: list[ast.stmt], names: dict[str, Value], returned: list[Value]) -> None:
        for node in body:
            self._statement(node, names, returned)

    def _statement(self, node: ast.stmt, names: dict[str, Value], returned: list[Value]) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                result = self._value(value, names)
                for target in targets:
                    self._assign(target, result, names)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._assign(target, self._value(value, names), names)
            case ast.AugAssign(target=target, op=operator, value=value):
                result = self._binary(self._value(target, names), operator, self._value(value, names))
                self._assign(target, result, names)
            case ast.Return(value=ast.expr() as value):
                returned.append(self._value(value, names))
            case ast.Expr(value=value):
                self._value(value, names)
            case ast.If(test=test, body=body, orelse=other):
                otherwise = dict(names)
                with self._where(test, names), self._branch(test, True):
                    self._block(body, names, returned)
                with self._branch(test, False):
                    self._block(other, otherwise, returned)
                self._merge(names, otherwise)
            case ast.For(target=target, iter=items, body=body):
                over = self._value(items, names)
                self._assign(target, Value(over.sources | {Source("loop")}), names)
                self._loop(body, names, returned)
            case ast.While(test=test, body=body):
                self._value(test, names)
                self._loop(body, names, returned)
                self._value(test, names)
            case ast.With(body=body):
                self._block(body, names, returned)
            case _:
                pass

    def _loop(self, body: list[ast.stmt], names: dict[str, Value], returned: list[Value]) -> None:
        for _ in range(2):  # what the first round makes, the second may address memory by
            before = dict(names)
            self._block(body, names, returned)
            self._merge(names, before)
            if names == before:
                return

    def _merge(self, names: dict[str, Value], other: Mapping[str, Value]) -> None:
        for name, value in other.items():
            names[name] = _either(names[name], value) if name in names else value

    def _assign(self, target: ast.expr, value: Value, names: dict[str, Value]) -> None:
        if isinstance(target, ast.Name):
            names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            items = value.items if value.items and len(value.items) == len(target.elts) else None
            for i, element in enumerate(target.elts):
                self._assign(element, items[i] if items else value, names)

    # --- conditions --------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _where(self, test: ast.expr, names: dict[str, Value]) -> Iterator[None]:
        """What is run inside runs only where the test holds."""
        self._value(test, names)
        self._condition(test, names)
        parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
        guards = [term for part in parts if isinstance(part, ast.Name) for term in self._value(part, names).terms]
        self._guards += guards
        yield
        del self._guards[len(self._guards) - len(guards) :]

    @contextlib.contextmanager
    def _branch(self, test: ast.expr, holds: bool) -> Iterator[None]:
        """What is run inside is not run where the test does not come out like this."""
        self._branches.append((ast.unparse(test), holds))
        yield
        self._branches.pop()

    def _condition(self, test: ast.expr, names: dict[str, Value]) -> None:
        match test:
            case ast.BoolOp(values=values):
                for value in values:
                    self._condition(value, names)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._condition(operand, names)
            case ast.Name():
                self._mark(self._value(test, names), "flag")

    def _compare(self, node: ast.Compare, names: dict[str, Value]) -> Value:
        operands = [node.left, *node.comparators]
        values = [self._value(operand, names) for operand in operands]
        constants = [operand.value for operand in operands if isinstance(operand, ast.Constant)]
        for value in values:
            if any(constant is None for constant in constants):
                self._mark(value, "optional")
            elif any(isinstance(constant, str) for constant in constants):
                for term in value.terms:
                    self.uses[term].strings += [constant for constant in constants if isinstance(constant, str)]
            else:
                self._mark(value, "number")
        return _join(values)._replace(dtype="bool")

    def _mark(self, value: Value, what: str) -> None:
        for term in value.terms:
            setattr(self.uses[term], what, True)

    # --- expressions -------------------------------------------------------------------------------------------------

    def _value(self, node: ast.expr, names: dict[str, Value]) -> Value:
        match node:
            case ast.Name(id=name):
                return names.get(name, Value())
            case ast.Constant(value=literal):
                return Value(literal=literal)
            case ast.BinOp(left=left, op=operator, right=right):
                return self._binary(self._value(left, names), operator, self._value(right, names))
            case ast.Compare():
                return self._compare(node, names)
            case ast.IfExp(test=test, body=body, orelse=other):
                with self._where(test, names):
                    value = self._value(body, names)
                return _either(value, self._value(other, names))
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                items = tuple(self._value(element, names) for element in elements)
                return _join(items)._replace(items=items)
            case ast.Subscript(value=value, slice=index):
                expanded = any(isinstance(part, ast.Constant) and part.value is None for part in ast.walk(index))
                base = self._value(value, names)
                self._value(index, names)
                return Value(base.sources | ({Source("expanded")} if expanded else set()), base.terms, base.dtype)
            case ast.Call():
                return self._called(node, names)
            case ast.Attribute(value=value, attr=name):
                return Value(self._value(value, names).sources, dtype=_DTYPES.get(name))
            case _:
                children = (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
                return _join([self._value(child, names) for child in children])

    def _binary(self, left: Value, operator: ast.operator, right: Value) -> Value:
        if isinstance(operator, ast.Add | ast.Sub | ast.BitAnd | ast.BitOr):
            return _join((left, right), (left, right) if isinstance(operator, ast.Add) else (left,))
        for one, other in ((left, right), (right, left)):
            self._mark(one, "number")
            if isinstance(operator, ast.Mult):
                self._product(one, other)
        result = _join((left, right))
        if isinstance(operator, ast.Mod):
            result = Value(result.sources | {Source("modulo", term) for term in right.terms})
        return result

    def _product(self, value: Value, by: Value) -> None:
        for source in value.sources:
            if source.kind == "program":
                self.axes.setdefault(int(source.name), []).extend(by.terms)
            if source.kind in ("program", "loop"):
                self._mark(by, "step")

    def _called(self, node: ast.Call, names: dict[str, Value]) -> Value:
        given = [self._value(argument, names) for argument in node.args]
        named = {keyword.arg: self._value(keyword.value, names) for keyword in node.keywords if keyword.arg}
        match node.func:
            case ast.Name(id=name) if name in names:  # a parameter that is a function
                self._mark(names[name], "called")
                return _join([*given, *named.values()])
            case ast.Name(id=name):
                called = self._helper(name)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name not in names:
                module, what = self._module.imported.get(name, (None, None))
                helper = module.functions.get(attribute) if module and what is None else None
                called = (module, helper) if module and helper else None
                name = attribute
            case ast.Attribute(value=ast.Attribute(), attr=name) if not self._is_value(node.func.value, names):
                called = None
            case ast.Attribute(value=value, attr=name):
                return self._method(self._value(value, names), name, given, named)
            case _:
                return _join([self._value(node.func, names), *given, *named.values()])
        if called:
            module, function = called
            parameters = [argument.arg for argument in _arguments(function)]
            inner = dict.fromkeys(parameters, Value()) | dict(zip(parameters, given, strict=False)) | named
            return self._call(module, function, inner)
        return self._builtin(name, given, named)

    def _is_value(self, node: ast.expr, names: Mapping[str, Value]) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return not isinstance(node, ast.Name) or node.id in names

    def _helper(self, name: str) -> tuple[Module, ast.FunctionDef] | None:
        if name in self._module.functions:
            return self._module, self._module.functions[name]
        module, what = self._module.imported.get(name, (None, None))
        function = module.functions.get(what) if module and what else None
        return (module, function) if module and function else None

    def _method(self, value: Value, name: str, given: list[Value], named: Mapping[str, Value]) -> Value:
        if name in ("load", "gather", "store", "scatter") or name.startswith("atomic_"):
            if not value.described:
                self._mark(value, "descriptor")
            action = {"gather": "load", "scatter": "store"}.get(name, name)
            return self._access(action, _join([value, *given], [value]), given[-1:])
        if name == "to":
            self._mark(_join((), given[:1]), "is_dtype")
            return Value(value.sources, value.terms, given[0].dtype if given else None)
        return _join([value, *given, *named.values()], [value])

    def _access(self, action: str, address: Value, stored: list[Value]) -> Value:
        dtype = next((v.dtype or ("int32" if type(v.literal) is int else None) for v in stored), None)
        self._accesses.append(_Access(action, address, frozenset(self._guards), frozenset(self._branches), dtype))
        return Value(frozenset(Source("loaded", term) for term in address.terms))

    def _builtin(self, name: str, given: list[Value], named: Mapping[str, Value]) -> Value:
        everything = [*given, *named.values()]
        first = given[0] if given else next(iter(named.values()), Value())
        if at := _DTYPE_AT.get(name):
            self._mark(_join((), [*given[at : at + 1], *(named[key] for key in named if key == "dtype")]), "is_dtype")
        if name in ("load", "store") or name.startswith("atomic_"):
            stored = [*given[1:2], *(named[key] for key in named if key in ("value", "val"))]
            return self._access(name, named.get("pointer", first), stored if name != "load" else [])
        if name == "program_id":
            axis = first.literal if isinstance(first.literal, int) else 0
            self.axes.setdefault(axis, [])
            return Value(frozenset({Source("program", str(axis))}))
        if name == "arange":
            lengths = _join((), everything)
            self._mark(lengths, "lanes")
            return Value(frozenset(Source("lane", name) for name in lengths.terms or ("",)), dtype="int32")
        if name in ("range", "static_range", "cdiv"):
            self._mark(_join((), everything), "number")
            self._mark(_join((), given[1:2] if name == "cdiv" else given[2:3]), "step")
            return _join(everything)
        if name in ("argmax", "argmin"):
            return _join(everything)._replace(dtype="int32")
        if name not in _ADDRESSES:
            return _join(everything)
        block = named.get("block_shape", given[-1] if name.startswith("make_") and given else Value())
        sides = _join((), block.items or ())
        self._mark(sides, "lanes")
        moved = given[1:3] if name == "where" else [named.get("base", first)]
        dtype = given[1].dtype if len(given) > 1 else None
        result = _join(everything, moved)
        sources = result.sources | {Source("lane", side) for side in sides.terms}
        return result._replace(sources=sources, dtype=dtype, described=name.endswith("make_tensor_descriptor"))


def _arguments(function: ast.FunctionDef) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
