"""Views of the modules that say what the op is: its names, its shapes and dtypes, and what the package imports."""

from __future__ import annotations

from typing import TypedDict

from trtplug.dtypes import TABLE, Dtype
from trtplug.expr import Call, Each, Expr
from trtplug.model import Check, Op, Package
from trtplug.plugin_api import PluginApi
from trtplug.torch_schema import Base
from trtplug.views import facts, spelling
from trtplug.views.spelling import SYMBOLIC, names


class Init(TypedDict):
    summary: str
    plugin: str
    namespace: str
    op: str


def init(op: Op) -> Init:
    own = isinstance(op.plugin, PluginApi)
    return Init(
        summary=spelling.in_docstring(op.summary),
        plugin="registers the TensorRT plugin" if own else "finds the plugin that TensorRT has",
        namespace=op.names.namespace,
        op=op.names.op,
    )


class Names(TypedDict):
    name: str
    version: str
    namespace: str


def plugin_names(op: Op) -> Names:
    name, version, namespace = map(spelling.quoted, facts.registry_key(op))
    return Names(name=name, version=version, namespace=namespace)


class TensorRT(TypedDict):
    ops: str
    dtypes: tuple[Dtype, ...]
    bools: bool


def tensorrt(package: Package) -> TensorRT:
    used = [dtype for op in package.ops for dtype in facts.used_dtypes(op)]
    return TensorRT(
        ops="all ops" if package.several else package.ops[0].names.op,
        dtypes=tuple(dict.fromkeys(TABLE["int8"] if dtype.name == "bool" else dtype for dtype in used)),
        bools=any(dtype.name == "bool" for dtype in used),
    )


class Dims(TypedDict):
    v2: bool


def dims(package: Package) -> Dims:
    # Before TensorRT 10, which an IPluginV2DynamicExt may meet, there are no DimsExprs of a length alone.
    return Dims(v2=package.brings(PluginApi.V2))


class OutputRule(TypedDict):
    name: str
    shape_parameters: str
    shape: str
    dtype_parameters: str
    dtype: str


class SizeRule(TypedDict):
    name: str
    most_parameters: str
    most: str
    typical_parameters: str
    typical: str


class Shapes(TypedDict):
    op: str
    own: bool
    tensor_list: str
    dtype_rows: tuple[str, ...]
    check_parameters: str
    check_lines: tuple[str, ...]
    sizes: tuple[SizeRule, ...]
    outputs: tuple[OutputRule, ...]
    rules: tuple[str, ...]


def shapes(op: Op) -> Shapes:
    symbolic = "Sequence[Dim]"
    expressions = [*(check.condition for check in op.checks), *(output.shape for output in op.results)]
    expressions += [bound for size in op.sizes for bound in (size.most, size.typical)]
    rows = facts.accepted_rows(op)
    return Shapes(
        op=op.names.op,
        own=isinstance(op.plugin, PluginApi),
        tensor_list=names(tensor.name for tensor in op.tensors),
        dtype_rows=tuple(spelling.row(dtype.torch if dtype else "None" for dtype in row) for row in rows),
        check_parameters=names(spelling.parameters(op, facts.check_needs(op), symbolic, spelling.symbolic)),
        check_lines=tuple(_check_lines(op)),
        sizes=tuple(
            SizeRule(
                name=size.name,
                most_parameters=_parameters(op, size.most),
                most=SYMBOLIC.text(size.most),
                typical_parameters=_parameters(op, size.typical),
                typical=SYMBOLIC.text(size.typical),
            )
            for size in op.sizes
        ),
        outputs=tuple(
            OutputRule(
                name=output.name,
                shape_parameters=_parameters(op, output.shape),
                shape=_as_list(output.shape),
                dtype_parameters=names(
                    spelling.parameters(op, facts.dtype_needs(op, output), symbolic, spelling.given)
                ),
                dtype=facts.dtype_of(output),
            )
            for output in op.results
        ),
        rules=spelling.used_rules(expressions),
    )


def _parameters(op: Op, expression: Expr) -> str:
    """The parameters of the function that a rule becomes."""
    return names(spelling.parameters(op, spelling.needs(op, expression), "Sequence[Dim]", spelling.symbolic))


def _as_list(shape: Expr) -> str:
    text = SYMBOLIC.text(shape)
    is_list = text.startswith("[") or isinstance(shape, Call)
    return text if is_list else f"list({text})"


def _check_lines(op: Op) -> list[str]:
    dtypes = spelling.row(f"{tensor.name}_dtype" for tensor in op.tensors)
    lines = [
        f"dtypes = {dtypes}",
        f'torch._check(dtypes in DTYPES, lambda: f"{op.names.op}: the dtypes {{dtypes}} are not in {{DTYPES}}")',
    ]
    for attribute in op.attributes:
        if attribute.base is Base.SCALARTYPE:
            allowed = spelling.row(dtype.torch for dtype in attribute.dtypes)
            known = f"{attribute.name} is None or " if attribute.optional else ""
            message = f'f"{op.names.op}: {attribute.name} is {{{attribute.name}}}, not in {allowed}"'
            lines.append(f"torch._check({known}{attribute.name} in {allowed}, lambda: {message})")
    # In groups, each behind the tensors that must be given for it to apply.
    groups: list[tuple[tuple[str, ...], list[str]]] = []
    for tensor in op.tensors:
        (low, high), rank = tensor.rank, f"len({tensor.name}_shape)"
        holds, allowed = (
            (f"{rank} == {low}", f"{low}") if low == high else (f"{low} <= {rank} <= {high}", f"{low} to {high}")
        )
        message = f'f"{op.names.op}: {tensor.name} has {{{rank}}} dimensions, not {allowed}"'
        group = (tensor.name,) if tensor.optional else ()
        _add(groups, group, f"torch._check({holds}, lambda: {message})")
    for check in op.checks:
        for line in _condition_lines(op, check):
            _add(groups, check.given, line)
    for given, members in groups:
        if given:
            lines.append(f"if {' and '.join(f'{tensor}_dtype is not None' for tensor in given)}:")
        lines += [f"    {line}" if given else line for line in members]
    return lines


def _add(groups: list[tuple[tuple[str, ...], list[str]]], given: tuple[str, ...], line: str) -> None:
    if not groups or groups[-1][0] != given:
        groups.append((given, []))
    groups[-1][1].append(line)


def _condition_lines(op: Op, check: Check) -> list[str]:
    message = spelling.quoted(f"{op.names.op}: {check.message}")
    match check.condition:
        case Each(every=True, body=body, variable=variable, source=source):
            return [
                f"for {variable} in {SYMBOLIC.text(source)}:",
                f"    torch._check({SYMBOLIC.text(body)}, lambda: {message})",
            ]
        case condition:
            return [f"torch._check({SYMBOLIC.text(condition)}, lambda: {message})"]
