"""The view of op.py: the torch op, its fake, and its call of the launch."""

from __future__ import annotations

from typing import TypedDict

from trtplug.model import Op
from trtplug.names import dense, new_value
from trtplug.views import facts, spelling
from trtplug.views.launching import prepare_arguments
from trtplug.views.spelling import names


class Functional(TypedDict):
    """The variant of an op that returns the new values of what the op writes to."""

    name: str
    schema: str
    returns: str
    clones: tuple[str, ...]
    call: str
    results: str
    copies: tuple[str, ...]


class TorchOp(TypedDict):
    op: str
    namespace: str
    summary: str
    schema: str
    signature: str
    returns: str
    call: str
    outputs: str
    dense: tuple[str, ...]
    first: str
    prepare: str
    pointers: str
    buffers: str
    scratch: bool
    check: str
    device_checks: tuple[str, ...]
    empties: str
    optional: bool
    sizes: tuple[str, ...]
    room: tuple[str, ...]
    unknown: tuple[str, ...]
    results: str
    mutates: str
    first_step: str
    written: tuple[str, ...]
    functional: Functional | None


def torch_op(op: Op) -> TorchOp:
    first = next(tensor.name for tensor in op.tensors if not tensor.optional)
    given = {f"{t.name}_dtype": f"_dtype({t.name})" if t.optional else f"{t.name}.dtype" for t in op.tensors}
    given |= {f"{t.name}_shape": f"_shape({t.name})" if t.optional else f"{t.name}.shape" for t in op.tensors}
    hashable = given | {f"{t.name}_shape": f"tuple({given[f'{t.name}_shape']})" for t in op.tensors if not t.optional}
    hashable |= {a.name: spelling.keep(a, a.name) for a in op.attributes}
    hashable |= {f"{output.name}_shape": f"tuple({output.name}.shape)" for output in op.outputs}
    empties = [
        f"{first}.new_empty("
        f"_shapes.{output.name}_shape({names(given.get(n, n) for n in spelling.needs(op, output.shape))}), "
        f"dtype=_shapes.{output.name}_dtype({names(given.get(n, n) for n in facts.dtype_needs(op, output))}))"
        for output in op.outputs
    ]
    sizes = [size.name for size in op.sizes]
    tensors = [*(tensor.name for tensor in op.tensors), *(output.name for output in op.outputs), *sizes]
    most = {
        s.name: f"_shapes.{s.name}_most({names(given.get(n, n) for n in spelling.needs(op, s.most))})" for s in op.sizes
    }
    counted = {o.name: next(n for n in spelling.needs(op, o.shape) if n in sizes) for o in facts.counted_outputs(op)}
    optional = {tensor.name for tensor in op.tensors if tensor.optional}
    inside = {tensor.name: dense(tensor.name) for tensor in op.written}
    return TorchOp(
        op=op.names.op,
        namespace=op.names.namespace,
        summary=spelling.in_docstring(op.summary),
        schema=spelling.quoted(op.schema),
        signature=spelling.signature(op),
        returns=spelling.returns(op),
        call=spelling.call(op),
        outputs=names(output.name for output in op.outputs),
        dense=tuple(
            f"{inside.get(t.name, t.name)} = {t.name}.contiguous()" + f" if {t.name} is not None else None" * t.optional
            for t in op.tensors
        ),
        first=first,
        prepare=prepare_arguments(op, hashable),
        pointers=names(
            f"_address({name})" if name in optional else f"{inside.get(name, name)}.data_ptr()" for name in tensors
        ),
        buffers=names(inside.get(name, name) for name in tensors),
        scratch=bool(op.launch.scratch),
        check=names(given.get(name, name) for name in facts.check_needs(op)),
        device_checks=_device_checks(op, first),
        empties=names(empties),
        optional=bool(optional),
        sizes=tuple(sizes),
        room=tuple(f"{name} = {value}" for name, value in most.items()),
        unknown=tuple(
            line
            for name, value in most.items()
            for line in (
                f"{name} = torch.library.get_ctx().new_dynamic_size()",
                f"torch._check({name} <= {value})",
            )
        ),
        results=names(f"{o.name}[: int({counted[o.name]})]" if o.name in counted else o.name for o in op.outputs),
        mutates=spelling.row(spelling.quoted(tensor.name) for tensor in op.written),
        first_step=_first_step(op),
        written=tuple(f"{name}.copy_({within})" for name, within in inside.items()),
        functional=_functional(op) if op.written else None,
    )


def _first_step(op: Op) -> str:
    """The function that checks a call and allocates what the op returns."""
    if op.sizes:
        return "_room"
    return "_empty_outputs" if op.outputs else "_check"


def _functional(op: Op) -> Functional:
    new = {tensor.name: new_value(tensor.name) for tensor in op.written}
    return Functional(
        name=op.names.functional,
        schema=spelling.quoted(_functional_schema(op)),
        returns=spelling.result_types(op),
        clones=tuple(f"{value} = {name}.clone(memory_format=torch.contiguous_format)" for name, value in new.items()),
        call=spelling.call(op, lambda argument: new.get(argument.name, argument.name)),
        results=names(output.name for output in op.results),
        copies=tuple(f"{name}.copy_({value})" for name, value in new.items()),
    )


def _functional_schema(op: Op) -> str:
    """The schema without its alias annotations, each of which stands before the name of an argument."""
    arguments = op.schema.rpartition("->")[0]
    for tensor in reversed(op.written):
        at = tensor.argument.offset
        arguments = f"{arguments[:at].rpartition('(')[0].rstrip()} {arguments[at:]}"
    returns = names(["Tensor"] * len(op.results))
    return f"{arguments.rstrip()} -> {returns if len(op.results) == 1 else f'({returns})'}"


def _device_checks(op: Op, first: str) -> tuple[str, ...]:
    lines: list[str] = []
    for tensor in op.tensors:
        other = tensor.name
        if other == first:
            continue
        line = (
            f"torch._check({other}.device == {first}.device, "
            f'lambda: f"{op.names.op}: {other} is on {{{other}.device}}, {first} on {{{first}.device}}")'
        )
        lines += [f"if {other} is not None:", f"    {line}"] if tensor.optional else [line]
    return tuple(lines)
