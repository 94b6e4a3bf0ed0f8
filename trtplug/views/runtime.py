"""Views of the modules that run: shapes, launch, op, plugin, converter and ONNX translation, a TypedDict a template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypedDict

from trtplug.dtypes import Dtype
from trtplug.expr import Call, Each, Expr, Value
from trtplug.model import Attribute, Op, Output, Parameter
from trtplug.torch_schema import Base
from trtplug.views import spelling
from trtplug.views.spelling import CONCRETE, SYMBOLIC, names


class Init(TypedDict):
    summary: str
    namespace: str
    op: str


def init(op: Op) -> Init:
    return Init(summary=spelling.in_docstring(op.summary), namespace=op.names.namespace, op=op.names.op)


class Names(TypedDict):
    name: str
    version: str
    namespace: str


def plugin_names(op: Op) -> Names:
    return Names(
        name=spelling.quoted(op.names.plugin),
        version=spelling.quoted(op.plugin_version),
        namespace=spelling.quoted(op.names.namespace),
    )


# --- _shapes.py -----------------------------------------------------------------------------------------------------


class OutputRule(TypedDict):
    name: str
    shape_parameters: str
    shape: str
    dtype_parameters: str
    dtype: str


class Shapes(TypedDict):
    op: str
    tensor_list: str
    dtype_rows: tuple[str, ...]
    check_parameters: str
    check_lines: tuple[str, ...]
    outputs: tuple[OutputRule, ...]
    rules: tuple[str, ...]


def shapes(op: Op) -> Shapes:
    symbolic = "Sequence[Dim]"
    expressions = [*(check.condition for check in op.checks), *(output.shape for output in op.outputs)]
    return Shapes(
        op=op.names.op,
        tensor_list=names(tensor.name for tensor in op.tensors),
        dtype_rows=tuple(spelling.row(dtype.torch for dtype in row) for row in dtype_rows(op)),
        check_parameters=names(spelling.parameters(op, check_needs(op), symbolic, spelling.given)),
        check_lines=tuple(_check_lines(op)),
        outputs=tuple(
            OutputRule(
                name=output.name,
                shape_parameters=names(
                    spelling.parameters(op, spelling.needs(op, output.shape), symbolic, spelling.given)
                ),
                shape=_as_list(output.shape),
                dtype_parameters=names(spelling.parameters(op, dtype_needs(op, output), symbolic, spelling.given)),
                dtype=output.dtype.torch if isinstance(output.dtype, Dtype) else SYMBOLIC.text(output.dtype),
            )
            for output in op.outputs
        ),
        rules=spelling.used_rules(expressions),
    )


def dtype_rows(op: Op) -> tuple[tuple[Dtype, ...], ...]:
    """Every combination of input dtypes that the op accepts."""
    rows: tuple[tuple[Dtype, ...], ...] = ((),)
    for tensor in op.tensors:
        rows = tuple((*row, dtype) for row in rows for dtype in tensor.dtypes)
    return rows


def dtype_needs(op: Op, output: Output) -> tuple[str, ...]:
    return () if isinstance(output.dtype, Dtype) else spelling.needs(op, output.dtype)


def check_needs(op: Op) -> tuple[str, ...]:
    """What the check reads: every dtype and shape, and the attributes that a condition names."""
    tensors = {f"{tensor.name}_{what}" for tensor in op.tensors for what in ("dtype", "shape")}
    read = {*tensors, *spelling.needs(op, *(check.condition for check in op.checks))}
    return tuple(name for name in spelling.keys(op) if name in read)


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
    for tensor in op.tensors:
        (low, high), rank = tensor.rank, f"len({tensor.name}_shape)"
        holds, allowed = (
            (f"{rank} == {low}", f"{low}") if low == high else (f"{low} <= {rank} <= {high}", f"{low} to {high}")
        )
        message = f'f"{op.names.op}: {tensor.name} has {{{rank}}} dimensions, not {allowed}"'
        lines.append(f"torch._check({holds}, lambda: {message})")
    for check in op.checks:
        message = spelling.quoted(f"{op.names.op}: {check.message}")
        match check.condition:
            case Each(every=True, body=body, variable=variable, source=source):
                lines.append(f"for {variable} in {SYMBOLIC.text(source)}:")
                lines.append(f"    torch._check({SYMBOLIC.text(body)}, lambda: {message})")
            case condition:
                lines.append(f"torch._check({SYMBOLIC.text(condition)}, lambda: {message})")
    return lines


# --- _launch.py -----------------------------------------------------------------------------------------------------


class Launch(TypedDict):
    op: str
    import_name: str
    kernel: str
    options: str
    prepare_parameters: tuple[str, ...]
    body: tuple[str, ...]
    buffers: str
    arguments: str
    grid: str
    something_to_write: str
    dtypes: str
    floats: bool
    rules: tuple[str, ...]


def launch(op: Op) -> Launch:
    plan = op.launch
    expressions = [*(let.value for let in plan.lets), *plan.grid, *(parameter.value for parameter in plan.parameters)]
    body = [
        f"{output.name}_shape = _shapes.{output.name}_shape({names(spelling.needs(op, output.shape))})"
        for output in op.outputs
    ]
    body += [f"{let.name} = {CONCRETE.text(let.value)}" for let in plan.lets]
    body += [f"{parameter.name} = {CONCRETE.text(parameter.value)}" for parameter in plan.constexprs]
    fixed, arguments = _grouped(op, plan.parameters)
    grid = [CONCRETE.text(axis) for axis in plan.grid]
    output_dtypes = [f"_shapes.{o.name}_dtype({names(dtype_needs(op, o))})" for o in op.outputs]
    return Launch(
        op=op.names.op,
        import_name=op.names.import_name,
        kernel=op.kernel_function,
        options=options(op),
        prepare_parameters=(
            *spelling.parameters(op, prepare_needs(op), "tuple[int, ...]", spelling.kept),
            *(["floats: str"] if float_names(op) else []),
        ),
        floats=bool(float_names(op)),
        body=(*body, *fixed),
        buffers=names(f"{name}: Any" for name in buffers(op)),
        arguments=spelling.row(arguments),
        grid=names([*grid, *["1"] * (3 - len(grid))]),
        something_to_write=_any(f"math.prod({output.name}_shape)" for output in op.outputs),
        dtypes=spelling.row([*(f"{tensor.name}_dtype" for tensor in op.tensors), *output_dtypes]),
        rules=spelling.used_rules(expressions),
    )


def options(op: Op) -> str:
    stages = f', "num_stages": {op.launch.num_stages}' if op.launch.num_stages is not None else ""
    return f'{{"num_warps": {op.launch.num_warps}{stages}}}'


def buffers(op: Op) -> tuple[str, ...]:
    """The tensors in the order of addresses: inputs, then outputs."""
    return (*(tensor.name for tensor in op.tensors), *(output.name for output in op.outputs))


def prepare_needs(op: Op) -> tuple[str, ...]:
    """What a launch is prepared from: every dtype, and what its expressions and the output rules read."""
    plan = op.launch
    expressions = [*(let.value for let in plan.lets), *plan.grid, *(parameter.value for parameter in plan.parameters)]
    shapes_read = [output.shape for output in op.outputs]
    read = {f"{tensor.name}_dtype" for tensor in op.tensors} | set(spelling.needs(op, *expressions, *shapes_read))
    return tuple(name for name in spelling.keys(op) if name in read)


def float_names(op: Op) -> tuple[str, ...]:
    """The attributes that hold floats, of those that a launch is prepared from."""
    floats = {a.name for a in op.attributes if a.base is Base.FLOAT}
    return tuple(name for name in prepare_needs(op) if name in floats)


def prepare_arguments(op: Op, spell: Mapping[str, str]) -> str:
    """The arguments of `prepare` after the device, each spelled as its caller has it."""
    floats = [f"repr({spelling.row(spell[name] for name in float_names(op))})"] if float_names(op) else []
    return names([*(spell[name] for name in prepare_needs(op)), *floats])


def _any(conditions: Iterable[str]) -> str:
    found = list(conditions)
    return found[0] if len(found) == 1 else f"({' or '.join(found)})"


def _grouped(op: Op, parameters: tuple[Parameter, ...]) -> tuple[list[str], list[str]]:
    """The lines that compute the values between buffers once, and the arguments that mix them with the buffers."""
    runs: list[list[str]] = []
    arguments: list[str] = []
    for parameter in parameters:
        if isinstance(parameter.value, Value) and parameter.value.name in buffers(op):
            arguments.append(parameter.value.name)
            runs.append([])
            continue
        if not runs or not runs[-1]:
            runs = [run for run in runs if run] + [[]]
            arguments.append(f"*values_{len(runs)}")
        runs[-1].append(parameter.name if parameter.constexpr else CONCRETE.text(parameter.value))
    runs = [run for run in runs if run]
    if len(runs) == 1:
        return [f"values = {spelling.row(runs[0])}"], [a.replace("*values_1", "*values") for a in arguments]
    return [f"values_{i} = {spelling.row(run)}" for i, run in enumerate(runs, 1)], arguments


# --- op.py ----------------------------------------------------------------------------------------------------------


class TorchOp(TypedDict):
    op: str
    namespace: str
    summary: str
    schema: str
    signature: str
    returns: str
    call: str
    outputs: str
    tensors: tuple[str, ...]
    first: str
    prepare: str
    pointers: str
    buffers: str
    check: str
    device_checks: tuple[str, ...]
    empties: str


def torch_op(op: Op) -> TorchOp:
    tensors = tuple(tensor.name for tensor in op.tensors)
    given = {f"{t}_{what}": f"{t}.{what}" for t in tensors for what in ("dtype", "shape")}
    hashable = given | {f"{t}_shape": f"tuple({t}.shape)" for t in tensors}
    hashable |= {a.name: spelling.keep(a, a.name) for a in op.attributes}
    empties = [
        f"{tensors[0]}.new_empty("
        f"_shapes.{output.name}_shape({names(given.get(n, n) for n in spelling.needs(op, output.shape))}), "
        f"dtype=_shapes.{output.name}_dtype({names(given.get(n, n) for n in dtype_needs(op, output))}))"
        for output in op.outputs
    ]
    return TorchOp(
        op=op.names.op,
        namespace=op.names.namespace,
        summary=spelling.in_docstring(op.summary),
        schema=spelling.quoted(op.schema),
        signature=spelling.signature(op),
        returns=spelling.returns(op),
        call=spelling.call(op),
        outputs=names(output.name for output in op.outputs),
        tensors=tensors,
        first=tensors[0],
        prepare=prepare_arguments(op, hashable),
        pointers=names(f"{name}.data_ptr()" for name in buffers(op)),
        buffers=names(buffers(op)),
        check=names(given.get(name, name) for name in check_needs(op)),
        device_checks=tuple(
            f"torch._check({other}.device == {tensors[0]}.device, "
            f'lambda: f"{op.names.op}: {other} is on {{{other}.device}}, {tensors[0]} on {{{tensors[0]}.device}}")'
            for other in tensors[1:]
        ),
        empties=names(empties),
    )


# --- _tensorrt.py, plugin.py ----------------------------------------------------------------------------------------


class TensorRT(TypedDict):
    op: str
    dtypes: tuple[Dtype, ...]


def tensorrt(op: Op) -> TensorRT:
    return TensorRT(op=op.names.op, dtypes=used_dtypes(op))


def used_dtypes(op: Op) -> tuple[Dtype, ...]:
    """Every dtype that an input or output may have."""
    used = [dtype for tensor in op.tensors for dtype in tensor.dtypes]
    used += [output.dtype for output in op.outputs if isinstance(output.dtype, Dtype)]
    return tuple(dict.fromkeys(used))


class PluginAttribute(TypedDict):
    name: str


class Plugin(TypedDict):
    op: str
    summary: str
    plugin_class: str
    creator_class: str
    dtype_names: str
    dtype_row: str
    combination_outputs: str
    init_parameters: str
    texts: tuple[str, ...]
    num_outputs: int
    attributes: tuple[PluginAttribute, ...]
    attribute_tuple: str
    clone_arguments: str
    field_arrays: str
    fields: str
    input_dtypes: str
    output_dtypes: str
    input_shapes: str
    output_shapes: str
    inputs: str
    check: str
    prepare: str
    creator_arrays: str
    creator_fields: str
    field_sets: tuple[str, ...]
    wrong_fields: str
    create_arguments: str
    helpers: tuple[str, ...]


@dataclass(frozen=True)
class _FieldKind:
    """How an attribute becomes a plugin field and comes back; NumPy type, TensorRT field type, and reader."""

    numpy: str
    field: str
    reader: str


_FIELDS = {
    Base.INT: _FieldKind("np.int64", "INT64", "_ints"),
    Base.FLOAT: _FieldKind("np.float64", "FLOAT64", "_floats"),
    Base.BOOL: _FieldKind("np.int8", "INT8", "_bools"),
    Base.STR: _FieldKind("np.int8", "CHAR", "_text"),
}


def plugin(op: Op) -> Plugin:
    tensors = [tensor.name for tensor in op.tensors]
    described = {f"{t}_dtype": f"TORCH_DTYPES[{t}.type]" for t in tensors}
    described |= {f"{t}_shape": f"tuple({t}.dims)" for t in tensors}
    described |= {a.name: f"self.{a.name}" for a in op.attributes}
    own = {a.name: f"self.{a.name}" for a in op.attributes}
    dtype_names = names(f"{t}_dtype" for t in tensors)
    output_dtypes = [f"_shapes.{o.name}_dtype({names(dtype_needs(op, o))})" for o in op.outputs]
    attribute_names = [a.name for a in op.attributes]
    optional = {a.name for a in op.attributes if a.argument.default is not None}
    annotation = "" if attribute_names else ": set[str]"  # an empty set has no type of its own
    field_sets = [f"expected{annotation} = {spelling.string_set(attribute_names)}"]
    wrong_fields = "given.keys() != expected"
    if optional == set(attribute_names):
        wrong_fields = "not given.keys() <= expected"
    elif optional:
        wrong_fields = "not required <= given.keys() <= expected"
        field_sets.append(f"required = {spelling.string_set(n for n in attribute_names if n not in optional)}")
    return Plugin(
        op=op.names.op,
        summary=spelling.in_docstring(op.summary),
        plugin_class=op.names.plugin_class,
        creator_class=op.names.creator_class,
        dtype_names=dtype_names,
        dtype_row=spelling.row(f"{t}_dtype" for t in tensors),
        combination_outputs=names(output_dtypes),
        init_parameters="".join(f", {a.name}: {spelling.kept(a)}" for a in op.attributes),
        texts=tuple(a.name for a in op.attributes if a.base is Base.STR),
        num_outputs=len(op.outputs),
        attributes=tuple(PluginAttribute(name=name) for name in attribute_names),
        attribute_tuple="".join(f"{name}, " for name in attribute_names).rstrip(" "),
        clone_arguments=names(f"{name}=self.{name}" for name in attribute_names),
        field_arrays=f"({''.join(f'{_array(a)}, ' for a in op.attributes)})",
        fields=names(_field(i, a) for i, a in enumerate(op.attributes)),
        input_dtypes=_unpacked((f"{t}_dtype" for t in tensors), (n for o in op.outputs for n in dtype_needs(op, o))),
        output_dtypes=names(f"TENSORRT_DTYPES[{text}]" for text in output_dtypes),
        input_shapes=_unpacked(
            (f"{t}_shape" for t in tensors), (n for o in op.outputs for n in spelling.needs(op, o.shape))
        ),
        output_shapes=names(
            f"write(_shapes.{o.name}_shape({names(own.get(n, n) for n in spelling.needs(op, o.shape))}), builder)"
            for o in op.outputs
        ),
        inputs=names(tensors) + ("," if len(tensors) == 1 else ""),
        check=names(described[name] for name in check_needs(op)),
        prepare=f"torch.cuda.current_device(), {prepare_arguments(op, described)}",
        creator_arrays=f"({''.join(f'np.empty(0, dtype={_FIELDS[a.base].numpy}), ' for a in op.attributes)})",
        creator_fields=names(_field(i, a) for i, a in enumerate(op.attributes)),
        field_sets=tuple(field_sets),
        wrong_fields=wrong_fields,
        create_arguments=names(f"{a.name}={_created(a)}" for a in op.attributes),
        helpers=_plugin_helpers(op),
    )


def _unpacked(targets: Iterable[str], used: Iterable[str]) -> str:
    """The targets of an assignment from a sequence, those that nobody reads marked as such."""
    read = set(used)
    marked = [name if name in read else f"_{name}" for name in targets]
    return f"{marked[0]}," if len(marked) == 1 else names(marked)


def _array(attribute: Attribute) -> str:
    value = f"self.{attribute.name}"
    if attribute.base is Base.STR:
        return f"np.frombuffer({value}.encode(), dtype=np.int8)"
    return f"np.array({value if attribute.is_list else f'[{value}]'}, dtype={_FIELDS[attribute.base].numpy})"


def _field(i: int, attribute: Attribute) -> str:
    kind = _FIELDS[attribute.base].field
    return f'trt.PluginField("{attribute.name}", self._arrays[{i}], trt.PluginFieldType.{kind})'


def _created(attribute: Attribute) -> str:
    read = f'{_FIELDS[attribute.base].reader}(given["{attribute.name}"])'
    if not attribute.is_list and attribute.base is not Base.STR:
        read = f'_one("{attribute.name}", {read})'
    default = attribute.argument.default
    if default is None:
        return read
    return f'{read} if "{attribute.name}" in given else {spelling.frozen(default.value)}'


def _plugin_helpers(op: Op) -> tuple[str, ...]:
    """The readers of fields that this op has; the ONNX parser sends int32 for int64 and float32 for float64."""
    used = {_FIELDS[a.base].reader for a in op.attributes}
    helpers = [text for name, text in _READERS.items() if name in used]
    if any(not a.is_list and a.base is not Base.STR for a in op.attributes):
        helpers.append(_ONE)
    return tuple(text.replace("OP", op.names.op) for text in helpers)


_READERS = {
    "_ints": '''\
def _ints(field: Any) -> tuple[int, ...]:
    """The ints of a field, copied out of TensorRT's memory; the ONNX parser sends int32."""
    if field.type not in (trt.PluginFieldType.INT32, trt.PluginFieldType.INT64):
        raise TypeError(f"OP: field {field.name!r} is {field.type}, not INT32 or INT64")
    return tuple(np.array(field.data).ravel().tolist())''',
    "_floats": '''\
def _floats(field: Any) -> tuple[float, ...]:
    """The floats of a field, copied out of TensorRT's memory; the ONNX parser sends float32."""
    if field.type not in (trt.PluginFieldType.FLOAT32, trt.PluginFieldType.FLOAT64):
        raise TypeError(f"OP: field {field.name!r} is {field.type}, not FLOAT32 or FLOAT64")
    return tuple(np.array(field.data).ravel().tolist())''',
    "_bools": '''\
def _bools(field: Any) -> tuple[bool, ...]:
    """The bools of a field, copied out of TensorRT's memory; the ONNX parser sends int32."""
    if field.type not in (trt.PluginFieldType.INT8, trt.PluginFieldType.INT32):
        raise TypeError(f"OP: field {field.name!r} is {field.type}, not INT8 or INT32")
    return tuple(np.array(field.data).ravel().astype(bool).tolist())''',
    "_text": '''\
def _text(field: Any) -> str:
    """The text of a field, copied out of TensorRT's memory; some senders end it in NUL."""
    if field.type != trt.PluginFieldType.CHAR:
        raise TypeError(f"OP: field {field.name!r} is {field.type}, not CHAR")
    return np.array(field.data).astype(np.int8).tobytes().decode().removesuffix("\\0")''',
}
_ONE = '''\
def _one(name: str, values: tuple[Any, ...]) -> Any:
    """The single value of a field."""
    if len(values) != 1:
        raise ValueError(f"OP: field {name!r} has {len(values)} values, not 1")
    return values[0]'''


# --- converter.py ---------------------------------------------------------------------------------------------------


class Converter(TypedDict):
    op: str
    namespace: str
    plugin_class: str
    bind_parameters: str
    argument_names: str
    argument_tuple: str
    attribute_names: str
    single_argument: bool
    bound_attributes: str
    plugin_arguments: str
    inputs: str
    result: str


def converter(op: Op) -> Converter:
    count = len(op.outputs)
    return Converter(
        op=op.names.op,
        namespace=op.names.namespace,
        plugin_class=op.names.plugin_class,
        bind_parameters=spelling.signature(op, tensor="Any", attribute=lambda _: "Any"),
        argument_names=names(argument.name for argument in op.arguments),
        argument_tuple=spelling.row(argument.name for argument in op.arguments),
        attribute_names=names(a.name for a in op.attributes),
        single_argument=len(op.arguments) == 1,
        bound_attributes=names(a.name if isinstance(a, Attribute) else f"_{a.name}" for a in op.arguments),
        plugin_arguments=names(f"{a.name}={spelling.keep(a, a.name)}" for a in op.attributes),
        inputs=names(f'get_trt_tensor(ctx, {t.name}, f"{{name}}_{t.name}")' for t in op.tensors),
        result="layer.get_output(0)" if count == 1 else f"({names(f'layer.get_output({i})' for i in range(count))})",
    )


# --- onnx.py --------------------------------------------------------------------------------------------------------


class OnnxAttribute(TypedDict):
    name: str
    onnx_type: str
    value: str


class Onnx(TypedDict):
    op: str
    namespace: str
    inputs: str
    outputs: str
    type_constraints: str
    attributes: tuple[OnnxAttribute, ...]
    signature: str
    node_inputs: str
    helpers: tuple[str, ...]


_ONNX_TYPES = {Base.INT: "INT", Base.FLOAT: "FLOAT", Base.BOOL: "INT", Base.STR: "STRING"}
_ONNX_CHECKS = {Base.INT: "_int32", Base.FLOAT: "_float32", Base.STR: "_text"}


def onnx(op: Op) -> Onnx:
    constraints = [
        f'("T_{t.name}", [{names(spelling.quoted(dtype.onnx_type) for dtype in t.dtypes)}], "The dtypes of {t.name}.")'
        for t in op.tensors
    ]
    checks = {_ONNX_CHECKS[a.base] for a in op.attributes if a.base in _ONNX_CHECKS}
    return Onnx(
        op=op.names.op,
        namespace=op.names.namespace,
        inputs=names(f'OpSchema.FormalParameter("{t.name}", "T_{t.name}")' for t in op.tensors),
        outputs=names(f'OpSchema.FormalParameter("{o.name}", {_onnx_type(o)})' for o in op.outputs),
        type_constraints=names(constraints),
        attributes=tuple(
            OnnxAttribute(name=a.name, onnx_type=onnx_type(a), value=onnx_value(a, a.name)) for a in op.attributes
        ),
        signature=spelling.signature(op, tensor="Any"),
        node_inputs=names(t.name for t in op.tensors),
        helpers=tuple(text.replace("OP", op.names.op) for name, text in _NARROWING.items() if name in checks),
    )


def _onnx_type(output: Output) -> str:
    if isinstance(output.dtype, Dtype):
        return spelling.quoted(output.dtype.onnx_type)
    return spelling.quoted(f"T_{SYMBOLIC.text(output.dtype).removesuffix('_dtype')}")


def onnx_type(attribute: Attribute) -> str:
    """The type of an attribute of the node."""
    return _ONNX_TYPES[attribute.base] + "S" * attribute.is_list


def onnx_value(attribute: Attribute, value: str) -> str:
    """The expression of an attribute's value in the node."""
    one = {
        Base.INT: '_int32("{0}", {1})',
        Base.FLOAT: '_float32("{0}", {1})',
        Base.BOOL: "int({1})",
        Base.STR: '_text("{0}", {1})',
    }[attribute.base]
    if not attribute.is_list:
        return one.format(attribute.name, value)
    items = f"[{one.format(attribute.name, 'value')} for value in {value}]"
    if attribute.base is not Base.FLOAT:
        return items
    # An empty list has no type of its own, and would become one of ints.
    return f'AttrFloat32s("{attribute.name}", {items})'


_NARROWING = {
    "_text": '''\
def _text(name: str, value: str) -> str:
    """The value, if it survives TensorRT's fields, which may end in NUL."""
    if "\\0" in value:
        raise ValueError(f"OP: {name} holds a NUL, which TensorRT would take for its end")
    return value''',
    "_int32": '''\
def _int32(name: str, value: int) -> int:
    """The value, if it survives TensorRT's ONNX parser, which makes every int an int32."""
    if not -(2**31) <= value < 2**31:
        raise ValueError(f"OP: {name} is {value}; TensorRT's ONNX parser would cut it to 32 bits")
    return value''',
    "_float32": '''\
def _float32(name: str, value: float) -> float:
    """The value, if it survives ONNX, which makes every float a float32."""
    with np.errstate(over="ignore"):
        rounded = float(np.float32(value))
    if rounded != value and not math.isnan(value):
        raise ValueError(f"OP: {name} is {value}; ONNX would round it to {rounded}, so give it that value")
    return value''',
}
