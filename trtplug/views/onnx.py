"""The view of onnx.py: the schema of the node and the translation to it."""

from __future__ import annotations

from typing import TypedDict

from trtplug.dtypes import TABLE, Dtype
from trtplug.expr import Property
from trtplug.model import Attribute, Op, Output, Tensor
from trtplug.torch_schema import Base
from trtplug.views import facts, spelling
from trtplug.views.spelling import names


class OnnxAttribute(TypedDict):
    name: str
    onnx_type: str
    required: str


class Onnx(TypedDict):
    op: str
    target: str
    writes: bool
    places: str
    written_count: int
    namespace: str
    inputs: str
    outputs: str
    type_constraints: str
    attributes: tuple[OnnxAttribute, ...]
    signature: str
    casts: tuple[str, ...]
    values: tuple[str, ...]
    optional_values: tuple[str, ...]
    open_sizes: tuple[str, ...]
    node_inputs: str
    results: str
    returned: str
    helpers: tuple[str, ...]
    inferred: tuple[str, ...]
    elements: tuple[str, ...]


# Numbers are text: TensorRT's parser would make each int an int32 and each float a float32.
_TYPES = {
    Base.INT: "STRING",
    Base.SYMINT: "STRING",
    Base.FLOAT: "STRING",
    Base.BOOL: "INT",
    Base.STR: "STRING",
    Base.SCALARTYPE: "STRING",
}
_BACK = "{element: dtype for dtype, element in _ELEMENTS.items()}"
_CAST = "opset18.Cast({0}, to=TensorProto.{1})"


def onnx(op: Op) -> Onnx:
    attributes = facts.plugin_attributes(op)
    added = facts.added_values(op)
    optional = [t for t in op.tensors if t.optional]
    sizes = [a.name for a in facts.open_sizes(op)]
    constraints = [_constraint(f"T_{t.name}", t.dtypes, t.name) for t in op.tensors if not t.optional]
    for i, tensor in enumerate(optional):
        # A node holds the inputs that are given, so that each optional place may hold each tensor that follows.
        here = optional[i:]
        dtypes = tuple(dict.fromkeys(dtype for t in here for dtype in t.dtypes))
        if sizes and TABLE["int64"] not in dtypes:
            dtypes = (*dtypes, TABLE["int64"])  # of a size, which follows too
        constraints.append(_constraint(f"T_{tensor.name}", dtypes, " or ".join(t.name for t in here)))
    constraints += [
        _constraint(f"T_{output.name}", facts.possible_dtypes(op, output), output.name)
        for output in op.results
        if _input_of(output) is None and not isinstance(output.dtype, Dtype)
    ]
    bools = [any(dtype.name == "bool" for dtype in facts.possible_dtypes(op, output)) for output in op.results]
    results = [output.name for output in op.results]
    sizes_found = [f"_{size.name}" for size in op.sizes]
    returned = [_CAST.format(name, "BOOL") if is_bool else name for name, is_bool in zip(results, bools, strict=True)]
    given = names(t.name for t in op.tensors)
    bases = {a.base for a in attributes if a.name not in sizes}
    return Onnx(
        op=op.names.op,
        target=op.names.functional if op.written else op.names.op,
        writes=bool(op.written),
        places=spelling.row(map(str, facts.written_places(op))),
        written_count=len(op.written),
        namespace=op.names.namespace,
        inputs=names([*map(_parameter, op.tensors), *map(_size_parameter, sizes)]),
        outputs=names(
            [
                *(f'OpSchema.FormalParameter("{o.name}", {_output_type(o)})' for o in op.results),
                *(f'OpSchema.FormalParameter("{size.name}", "tensor(int64)")' for size in op.sizes),
            ]
        ),
        type_constraints=names(constraints),
        attributes=tuple(
            OnnxAttribute(
                name=a.name, onnx_type=onnx_type(a), required=", required=False" if a.optional else ", required=True"
            )
            for a in attributes
        ),
        signature=spelling.signature(op, tensor=lambda _: "Any", attribute=_as_exported),
        casts=tuple(line for t in op.tensors if facts.is_bool(t) for line in _cast_lines(t)),
        values=tuple(
            f'"{a.name}": {added_value(added.get(a.name)) or onnx_value(a, a.name)}'
            for a in attributes
            if not a.optional
        ),
        optional_values=tuple(
            line
            for a in attributes
            if a.optional and a.name not in sizes
            for line in (f"if {_is_given(a)}:", f'    attributes["{a.name}"] = {onnx_value(a, a.name)}')
        ),
        open_sizes=tuple(sizes),
        node_inputs=f"*[tensor for tensor in ({given}) if tensor is not None]" if optional else given,
        results=names([*results, *sizes_found]) if any(bools) or op.sizes else "",
        returned=names(returned) if any(bools) or op.sizes else "",
        inferred=_inferred(op),
        elements=tuple(f"{dtype.torch}: TensorProto.{dtype.onnx}" for dtype in facts.used_dtypes(op)),
        helpers=tuple(text.replace("OP", op.names.op) for base, text in _HELPERS.items() if base in bases),
    )


def _as_exported(attribute: Attribute) -> str:
    """The type of an attribute as torch's exporter passes it."""
    if attribute.base is Base.SCALARTYPE:
        return "int | None" if attribute.optional else "int"
    return spelling.given(attribute)


def _is_given(attribute: Attribute) -> str:
    if attribute.base is Base.SCALARTYPE:
        return f"{attribute.name} not in (None, -1)"  # which torch's exporter makes of None
    return f"{attribute.name} is not None"


def _inferred(op: Op) -> tuple[str, ...]:
    """The lines of an inference function, which is needed where an attribute decides the type of an output."""
    needed = {name for output in op.results for name in facts.dtype_needs(op, output)}
    attributes = [a for a in op.attributes if a.name in needed]
    if not attributes:
        return ()
    lines = [
        f"{t.name}_dtype = {_BACK}[context.get_input_type({i}).tensor_type.elem_type]"
        for i, t in enumerate(op.tensors)
        if f"{t.name}_dtype" in needed
    ]
    for a in attributes:
        read = f'getattr(torch, context.get_attribute("{a.name}").s.decode())'
        if a.optional:
            read = f'{read} if context.get_attribute("{a.name}") else None'
        lines.append(f"{a.name} = {read}")
    for i, output in enumerate(op.results):
        dtype = facts.dtype_call(op, output)
        lines.append(f"context.set_output_type({i}, make_tensor_type_proto(_ELEMENTS[{dtype}], None))")
    return tuple(lines)


def added_value(condition: str | None) -> str:
    """The value in the node of an attribute that the op itself does not have."""
    return "0" if condition == "False" else f"int({condition})" if condition else ""


def _cast_lines(tensor: Tensor) -> tuple[str, ...]:
    cast = f"{tensor.name} = {_CAST.format(tensor.name, 'INT8')}"
    return (f"if {tensor.name} is not None:", f"    {cast}") if tensor.optional else (cast,)


def _constraint(name: str, dtypes: tuple[Dtype, ...], what: str) -> str:
    types = dict.fromkeys(spelling.quoted(dtype.onnx_type) for dtype in dtypes)
    return f'("{name}", [{names(types)}], "The dtypes of {what}.")'


def _parameter(tensor: Tensor) -> str:
    if tensor.optional:
        option = "param_option=OpSchema.FormalParameterOption.Optional"
        return f'OpSchema.FormalParameter("{tensor.name}", "T_{tensor.name}", {option})'
    return f'OpSchema.FormalParameter("{tensor.name}", "T_{tensor.name}")'


def _size_parameter(name: str) -> str:
    option = "param_option=OpSchema.FormalParameterOption.Optional"
    return f'OpSchema.FormalParameter("{name}_size", "tensor(int64)", {option})'


def _output_type(output: Output) -> str:
    if isinstance(output.dtype, Dtype):
        return spelling.quoted(output.dtype.onnx_type)
    return spelling.quoted(f"T_{_input_of(output) or output.name}")


def _input_of(output: Output) -> str | None:
    """The input whose dtype an output has."""
    return output.dtype.tensor if isinstance(output.dtype, Property) else None


def onnx_type(attribute: Attribute) -> str:
    """The type of an attribute of the node."""
    return _TYPES[attribute.base] + "S" * (attribute.is_list and attribute.base is Base.BOOL)


def onnx_value(attribute: Attribute, value: str) -> str:
    """The expression of an attribute's value in the node."""
    one = {
        Base.INT: "str({1})",
        Base.SYMINT: 'str(_known("{0}", {1}))',
        Base.FLOAT: "repr(float({1}))",
        Base.BOOL: "int({1})",
        Base.STR: '_text("{0}", {1})',
        Base.SCALARTYPE: "_dtype({1})",
    }[attribute.base]
    if not attribute.is_list:
        return one.format(attribute.name, value)
    items = f"{one.format(attribute.name, 'value')} for value in {value}"
    return f"[{items}]" if attribute.base is Base.BOOL else f'" ".join({items})'


_HELPERS = {
    Base.STR: '''\
def _text(name: str, value: str) -> str:
    """The value, if it survives TensorRT's fields, which may end in NUL."""
    if "\\0" in value:
        raise ValueError(f"OP: {name} holds a NUL, which TensorRT would take for its end")
    return value''',
    Base.SYMINT: '''\
def _known(name: str, value: Any) -> int:
    """The value, if it is known when the model is exported."""
    if not isinstance(value, int):
        raise ValueError(f"OP: {name} depends on a shape that is open; a plugin's attribute is fixed")
    return value''',
    Base.SCALARTYPE: '''\
def _dtype(value: int) -> str:
    """The name of a dtype, which torch's exporter has made one of ONNX."""
    return ir.DataType(value).numpy().name''',
}
