"""The view of plugin.py: the plugin class, its fields, and its creator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypedDict

from trtplug.expr import Expr
from trtplug.model import Attribute, Op, Size, Tensor
from trtplug.names import new_value
from trtplug.torch_schema import Base
from trtplug.views import facts, spelling
from trtplug.views.launching import prepare_arguments, prepare_call
from trtplug.views.spelling import names


class PluginAttribute(TypedDict):
    name: str
    field_type: str


class Text(TypedDict):
    name: str
    holds_nul: str


class Plugin(TypedDict):
    op: str
    shared: str
    summary: str
    plugin_class: str
    creator_class: str
    writes: bool
    aliases: str
    sources: str
    targets: str
    copied: str
    moved: str
    output_targets: str
    buffers: str
    optional: bool
    present: str
    own_combinations: bool
    combination: str
    dtype_row: str
    init_parameters: str
    texts: tuple[Text, ...]
    num_outputs: int
    sizes: tuple[str, ...]
    attributes: tuple[PluginAttribute, ...]
    attribute_tuple: str
    clone_arguments: str
    field_arrays: tuple[str, ...]
    optional_fields: tuple[str, ...]
    input_dtypes: str
    output_dtypes: str
    input_shapes: str
    output_shapes: str
    inputs: str
    outputs: str
    open_sizes: tuple[str, ...]
    check: str
    prepare: str
    workspace: str
    field_sets: tuple[str, ...]
    wrong_fields: str
    create_arguments: str
    helpers: tuple[str, ...]
    code_files: str


class _FieldKind(NamedTuple):
    """How an attribute becomes a plugin field and comes back; NumPy type, TensorRT field type, and reader."""

    numpy: str
    field: str
    reader: str


_FIELDS: Mapping[Base, _FieldKind] = {
    Base.INT: _FieldKind("np.int64", "INT64", "_ints"),
    Base.SYMINT: _FieldKind("np.int64", "INT64", "_ints"),
    Base.FLOAT: _FieldKind("np.float64", "FLOAT64", "_floats"),
    Base.BOOL: _FieldKind("np.int8", "INT8", "_bools"),
    Base.STR: _FieldKind("np.int8", "CHAR", "_text"),
    Base.SCALARTYPE: _FieldKind("np.int8", "CHAR", "_dtype"),
}
_TEXTS = (Base.STR, Base.SCALARTYPE)


def plugin(op: Op) -> Plugin:
    attributes = facts.plugin_attributes(op)
    own = {a.name: f"self.{a.name}" for a in attributes}
    described = read_off(op, "type", "dims")
    typed = own | {f"{t.name}_dtype": _described(t, f"{t.name}_dtype", f"{t.name}_dtype") for t in op.tensors}
    optional = any(tensor.optional for tensor in op.tensors)
    of_attributes = any(n in own for o in op.outputs for n in facts.dtype_needs(op, o))
    row = names(f"{t.name}_dtype" for t in op.tensors)
    output_dtypes = [facts.dtype_call(op, output) for output in op.results]
    combination = names([row, *output_dtypes, *["torch.int64"] * len(op.sizes)])
    # That a tensor is bool, TensorRT's type of it does not tell.
    bools = {f"{t.name}_dtype" for t in op.tensors if facts.is_bool(t) and not t.optional}
    needed_dtypes = [n for o in op.results for n in facts.dtype_needs(op, o) if n not in bools]
    field_sets, wrong_fields = _field_sets(attributes)
    return Plugin(
        op=op.names.op,
        shared=op.names.shared,
        summary=spelling.in_docstring(op.summary),
        plugin_class=op.names.plugin_class,
        creator_class=op.names.creator_class,
        writes=bool(op.written),
        aliases=_aliases(op),
        sources=names(t.name for t in op.written),
        targets=names(new_value(t.name) for t in op.written),
        copied=names(f"({described[f'{t.name}_dtype']}, {described[f'{t.name}_shape']})" for t in op.written),
        moved=_moved(op) if op.written else "",
        output_targets=_targets(o.name for o in op.results),
        buffers=names(
            [*(new_value(t.name) if t.written else t.name for t in op.tensors), *(o.name for o in op.outputs)]
        ),
        optional=optional,
        present=spelling.row(f"has_{t.name}" if t.optional else "True" for t in op.tensors),
        own_combinations=optional or of_attributes,
        combination=combination,
        dtype_row=row + ("," if len(op.tensors) == 1 else ""),
        init_parameters="".join(f", {a.name}: {spelling.kept(a)}" for a in attributes),
        texts=tuple(Text(name=a.name, holds_nul=_holds_nul(a)) for a in attributes if a.base is Base.STR),
        num_outputs=len(op.results) + len(op.sizes),
        sizes=tuple(
            f"{size.name} = Dim(builder.declare_size_tensor({i}, {_bound(op, size, 'typical')}, "
            f"{_bound(op, size, 'most')}), builder)"
            for i, size in enumerate(op.sizes, len(op.results))
        ),
        attributes=tuple(PluginAttribute(name=a.name, field_type=_FIELDS[a.base].field) for a in attributes),
        attribute_tuple="".join(f"{a.name}, " for a in attributes).rstrip(" "),
        clone_arguments=names(f"{a.name}=self.{a.name}" for a in attributes),
        field_arrays=tuple(f'"{a.name}": {_array(a)}' for a in attributes if not a.optional),
        optional_fields=tuple(
            line
            for a in attributes
            if a.optional
            for line in (f"if self.{a.name} is not None:", f'    arrays["{a.name}"] = {_array(a)}')
        ),
        input_dtypes=_unpacked((f"{t.name}_dtype" for t in op.tensors), needed_dtypes),
        output_dtypes=names(
            f"TENSORRT_DTYPES[_shapes.{o.name}_dtype({names(typed[n] for n in facts.dtype_needs(op, o))})]"
            for o in op.results
        )
        + ", TENSORRT_DTYPES[torch.int64]" * len(op.sizes),
        input_shapes=_unpacked(
            (f"{t.name}_shape" for t in op.tensors),
            _shapes_read(op),
        ),
        output_shapes=names(
            [
                *(f"write(_shapes.{o.name}_shape({_read_at_build(op, o.shape)}), builder)" for o in op.results),
                *["write([], builder)"] * len(op.sizes),
            ]
        ),
        inputs=_targets(t.name for t in op.tensors),
        outputs=_unpacked((o.name for o in op.results), (o.name for o in facts.open_outputs(op)))
        if facts.open_outputs(op)
        else "",
        open_sizes=tuple(
            f"{a.name} = next(open_sizes) if self.{a.name} is None else self.{a.name}" for a in facts.open_sizes(op)
        ),
        check=names(described[name] for name in facts.check_needs(op)),
        prepare=prepare_call(op, "torch.cuda.current_device()", described),
        workspace=prepare_arguments(op, read_off(op, "desc.type", "max")) if op.launch.scratch else "",
        field_sets=field_sets,
        wrong_fields=wrong_fields,
        create_arguments=names(f"{a.name}={_created(a)}" for a in attributes),
        helpers=helpers(op, attributes),
        code_files=_code_files(op),
    )


def _aliases(op: Op) -> str:
    """For each output the place of the input whose memory it is to share, or -1."""
    return spelling.row(map(str, [*facts.written_places(op), *[-1] * len(op.outputs)]))


def _moved(op: Op) -> str:
    """The condition that a tensor that kernels write to is not where its value is."""
    sources, targets = [t.name for t in op.written], [new_value(t.name) for t in op.written]
    return f"{targets[0]} != {sources[0]}" if len(sources) == 1 else f"({names(targets)}) != ({names(sources)})"


def _targets(values: Iterable[str]) -> str:
    """The targets of an assignment from a sequence."""
    found = list(values)
    return f"{found[0]}," if len(found) == 1 else names(found)


def read_off(op: Op, dtype: str, shape: str) -> dict[str, str]:
    """How a method reads what rules need off TensorRT's descriptions, by the attributes for type and dimensions."""
    read = {f"{t.name}_dtype": _described(t, f"TORCH_DTYPES[{t.name}.{dtype}]", t.name) for t in op.tensors}
    read |= {f"{t.name}_shape": _guarded(t, f"tuple({t.name}.{shape})", "()", t.name) for t in op.tensors}
    read |= {a.name: f"self.{a.name}" for a in facts.plugin_attributes(op)}
    return read | {f"{o.name}_shape": f"tuple({o.name}.{shape})" for o in op.outputs}


def _code_files(op: Op) -> str:
    """The files that decide what a launch does."""
    files = (f"{facts.code_module(op)}.py", "_launch.py", "_shapes.py", *sorted(helper.name for helper in op.helpers))
    return spelling.row(spelling.quoted(name) for name in files)


def _holds_nul(text: Attribute) -> str:
    known = f"{text.name} is not None and " if text.optional else ""
    return f'{known}"\\0" in {text.name}'


def _described(tensor: Tensor, dtype: str, subject: str) -> str:
    """The dtype of an input, which TensorRT's own type does not tell of a bool."""
    return _guarded(tensor, "torch.bool" if facts.is_bool(tensor) else dtype, "None", subject)


def _guarded(tensor: Tensor, value: str, absent: str, subject: str) -> str:
    if not tensor.optional or value == subject:
        return value
    return f"{absent} if {subject} is None else {value}"


def _bound(op: Op, size: Size, which: str) -> str:
    """A bound of a size as a dimension expression."""
    rule = size.most if which == "most" else size.typical
    return f"expression(_shapes.{size.name}_{which}({_read_at_build(op, rule)}), builder)"


def _read_at_build(op: Op, rule: Expr) -> str:
    """What a rule reads when an engine is built; an open size is a variable, other attributes are the plugin's own."""
    sizes = facts.open_sizes(op)
    own = {a.name: f"self.{a.name}" for a in op.attributes if a not in sizes}
    return names(_shape(op, own, name) for name in spelling.needs(op, rule))


def _shape(op: Op, own: Mapping[str, str], name: str) -> str:
    optional = {f"{t.name}_shape" for t in op.tensors if t.optional}
    dtypes = {f"{t.name}_dtype": f"{t.name}_shape" for t in op.tensors if t.optional}
    if name in optional:
        return f"{name} or ()"
    if name in dtypes:  # a rule that asks whether the tensor is given
        return f"None if {dtypes[name]} is None else {_any_dtype(op, name)}"
    return own.get(name, name)


def _any_dtype(op: Op, name: str) -> str:
    return next(t.dtypes[0].torch for t in op.tensors if f"{t.name}_dtype" == name)


def _field_sets(attributes: tuple[Attribute, ...]) -> tuple[tuple[str, ...], str]:
    """The sets of fields that the creator compares with, and the condition that they are wrong."""
    attribute_names = [a.name for a in attributes]
    optional = {a.name for a in attributes if a.argument.default is not None or a.optional}
    annotation = "" if attribute_names else ": set[str]"  # an empty set has no type of its own
    field_sets = [f"expected{annotation} = {spelling.string_set(attribute_names)}"]
    if optional == set(attribute_names) and attribute_names:
        return tuple(field_sets), "not given.keys() <= expected"
    if not optional:
        return tuple(field_sets), "given.keys() != expected"
    field_sets.append(f"required = {spelling.string_set(n for n in attribute_names if n not in optional)}")
    return tuple(field_sets), "not required <= given.keys() <= expected"


def _shapes_read(op: Op) -> Iterable[str]:
    """The shapes that the rules of output shapes read; that a tensor is given, its shape tells here."""
    rules = [*(o.shape for o in op.results), *(rule for s in op.sizes for rule in (s.most, s.typical))]
    return [name.replace("_dtype", "_shape") for name in spelling.needs(op, *rules)]


def _unpacked(targets: Iterable[str], used: Iterable[str]) -> str:
    """The targets of an assignment from a sequence, those that nobody reads marked as such."""
    read = set(used)
    targets = tuple(targets)
    if not read.intersection(targets):
        return ""
    marked = [name if name in read else f"_{name}" for name in targets]
    return f"{marked[0]}," if len(marked) == 1 else names(marked)


def _array(attribute: Attribute) -> str:
    value = f"self.{attribute.name}"
    if attribute.base in _TEXTS:
        text = value if attribute.base is Base.STR else f'str({value}).removeprefix("torch.")'
        return f"np.frombuffer({text}.encode(), dtype=np.int8)"
    return f"np.array({value if attribute.is_list else f'[{value}]'}, dtype={_FIELDS[attribute.base].numpy})"


def _created(attribute: Attribute) -> str:
    read = f'{_FIELDS[attribute.base].reader}(given["{attribute.name}"])'
    if not attribute.is_list and attribute.base not in _TEXTS:
        read = f'_one("{attribute.name}", {read})'
    default = attribute.argument.default
    if default is None and not attribute.optional:
        return read
    return f'{read} if "{attribute.name}" in given else {spelling.frozen(default.value if default else None)}'


def helpers(op: Op, attributes: tuple[Attribute, ...], readers: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The readers of fields that this op has."""
    used = {_FIELDS[a.base].reader for a in attributes}
    if used & {"_ints", "_floats", "_dtype"}:
        used.add("_text")  # which they read with
    found = [text for name, text in (readers or READERS).items() if name in used]
    if any(not a.is_list and a.base not in _TEXTS for a in attributes):
        found.append(_ONE)
    return tuple(text.replace("OP", op.names.op) for text in found)


READERS = {
    "_ints": '''\
def _ints(field: Any) -> tuple[int, ...]:
    """The ints of a field, copied out of TensorRT's memory; exported nodes have them as text."""
    if field.type == trt.PluginFieldType.CHAR:
        return tuple(map(int, _text(field).split()))
    if field.type not in (trt.PluginFieldType.INT32, trt.PluginFieldType.INT64):
        raise TypeError(f"OP: field {field.name!r} is {field.type}, not INT64, INT32 or text")
    return tuple(np.array(field.data).ravel().tolist())''',
    "_floats": '''\
def _floats(field: Any) -> tuple[float, ...]:
    """The floats of a field, copied out of TensorRT's memory; exported nodes have them as text."""
    if field.type == trt.PluginFieldType.CHAR:
        return tuple(map(float, _text(field).split()))
    if field.type not in (trt.PluginFieldType.FLOAT32, trt.PluginFieldType.FLOAT64):
        raise TypeError(f"OP: field {field.name!r} is {field.type}, not FLOAT64, FLOAT32 or text")
    return tuple(np.array(field.data).ravel().tolist())''',
    "_bools": '''\
def _bools(field: Any) -> tuple[bool, ...]:
    """The bools of a field, copied out of TensorRT's memory; the ONNX parser sends int32."""
    if field.type not in (trt.PluginFieldType.INT8, trt.PluginFieldType.INT32):
        raise TypeError(f"OP: field {field.name!r} is {field.type}, not INT8 or INT32")
    return tuple(np.array(field.data).ravel().astype(bool).tolist())''',
    "_dtype": '''\
def _dtype(field: Any) -> torch.dtype:
    """The dtype that a field names."""
    known = {str(dtype).removeprefix("torch."): dtype for dtype in TENSORRT_DTYPES}
    name = _text(field)
    if name not in known:
        raise ValueError(f"OP: field {field.name!r} is {name!r}, not one of {sorted(known)}")
    return known[name]''',
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
