"""What several views derive from an operator: dtype combinations, what is read, buffers, a plugin's attributes."""

from __future__ import annotations

import itertools

from trtplug import names
from trtplug.dtypes import TABLE, Dtype
from trtplug.expr import Expr, Value
from trtplug.model import Attribute, Body, Op, Output, Registered, Tensor
from trtplug.plugin_api import PluginApi
from trtplug.torch_schema import Argument, ArgumentType, Base, Default
from trtplug.trial import dtype_rows
from trtplug.views import spelling
from trtplug.views.spelling import SYMBOLIC

# The release of TensorRT-RTX whose ONNX parser knows nodes beside ONNX's own.
PARSED_SINCE = (1, 7)
PARSED_RELEASE = ".".join(map(str, PARSED_SINCE))


def accepted_rows(op: Op) -> tuple[tuple[Dtype | None, ...], ...]:
    """Every combination of input dtypes that the op accepts; None is the dtype of an absent tensor."""
    rows: list[tuple[Dtype | None, ...]] = []
    for row in dtype_rows(op):
        choices = [(dtype, None) if t.optional else (dtype,) for t, dtype in zip(op.tensors, row, strict=True)]
        rows += itertools.product(*choices)
    return tuple(dict.fromkeys(rows))


def dtype_of(output: Output) -> str:
    """The dtype of an output as an expression over `x_dtype` and attributes."""
    return output.dtype.torch if isinstance(output.dtype, Dtype) else SYMBOLIC.text(output.dtype)


def dtype_needs(op: Op, output: Output) -> tuple[str, ...]:
    """What the dtype of an output follows from."""
    return () if isinstance(output.dtype, Dtype) else spelling.needs(op, output.dtype)


def dtype_call(op: Op, output: Output) -> str:
    """The call of the rule that gives the dtype of an output."""
    return f"_shapes.{output.name}_dtype({', '.join(dtype_needs(op, output))})"


def buffer_dtypes(op: Op) -> dict[str, str]:
    """The dtype of each buffer outside of the workspace, in their order."""
    found = {tensor.name: f"{tensor.name}_dtype" for tensor in op.tensors}
    found |= {output.name: dtype_call(op, output) for output in op.outputs}
    return found | {size.name: "torch.int64" for size in op.sizes}


def possible_dtypes(op: Op, output: Output) -> tuple[Dtype, ...]:
    """Every dtype that an output may have."""
    if isinstance(output.dtype, Dtype):
        return (output.dtype,)
    read = spelling.needs(op, output.dtype)
    tensors = [dtype for tensor in op.tensors if f"{tensor.name}_dtype" in read for dtype in tensor.dtypes]
    attributes = [dtype for a in op.attributes if a.name in read for dtype in a.dtypes]
    return tuple(dict.fromkeys([*tensors, *attributes]))


def may_be(op: Op, output: Output, dtype: str) -> bool:
    """Whether an output may have a dtype, given by its name."""
    return any(possible.name == dtype for possible in possible_dtypes(op, output))


def returns(op: Op, dtype: str) -> bool:
    """Whether any result of the plugin may have a dtype, given by its name."""
    return any(may_be(op, output, dtype) for output in op.results)


def used_dtypes(op: Op) -> tuple[Dtype, ...]:
    """Every dtype that a tensor of the op may have, workspace included."""
    used = [dtype for tensor in op.tensors for dtype in tensor.dtypes]
    used += [dtype for output in (*op.outputs, *op.launch.scratch) for dtype in possible_dtypes(op, output)]
    used += [TABLE["int64"]] if op.sizes else []
    used += [dtype for attribute in op.attributes for dtype in attribute.dtypes]
    return tuple(dict.fromkeys(used))


def is_bool(tensor: Tensor) -> bool:
    return any(dtype.name == "bool" for dtype in tensor.dtypes)


def check_needs(op: Op) -> tuple[str, ...]:
    """What the check reads: every dtype and shape, dtype attributes, and the attributes that a condition names."""
    tensors = {f"{tensor.name}_{what}" for tensor in op.tensors for what in ("dtype", "shape")}
    dtypes = {a.name for a in op.attributes if a.base is Base.SCALARTYPE}
    read = {*tensors, *dtypes, *spelling.needs(op, *(check.condition for check in op.checks))}
    return tuple(name for name in spelling.keys(op) if name in read)


def buffers(op: Op) -> tuple[str, ...]:
    """The tensors in the order of addresses: inputs, outputs, sizes, workspace."""
    outputs, sizes = (output.name for output in op.outputs), (size.name for size in op.sizes)
    return (*(t.name for t in op.tensors), *outputs, *sizes, *(buffer.name for buffer in op.launch.scratch))


def code_module(op: Op) -> str:
    """The module that holds what runs, the user's own file."""
    return "_kernel" if op.body is Body.TRITON else "_reference"


def launch_expressions(op: Op) -> tuple[Expr, ...]:
    """All expressions of the launch, of ints alone."""
    plan = op.launch
    return (
        *(let.value for let in plan.lets),
        *(buffer.shape for buffer in plan.scratch),
        *(axis for kernel in plan.kernels for axis in kernel.grid),
        *(p.value for kernel in plan.kernels for p in kernel.parameters if p.value),
    )


def open_sizes(op: Op) -> tuple[Attribute, ...]:
    """The SymInts that may be unknown when an engine is built: only shapes of outputs follow from them.

    TensorRT tells a plugin the value of a shape input nowhere but in the shapes of its outputs, and an
    IPluginV2DynamicExt has no shape inputs at all.
    """
    if op.plugin is PluginApi.V2:
        return ()
    sizes = [a for a in op.attributes if a.base is Base.SYMINT and not (a.is_list or a.optional)]
    if not sizes or op.body is Body.TORCH or op.sizes or op.launch.scratch:
        return ()  # what a launch needs besides, as all of it may be, is not told it then
    read = set(spelling.needs(op, *launch_expressions(op), *(check.condition for check in op.checks)))
    read |= {name for output in (*op.outputs, *op.launch.scratch) for name in dtype_needs(op, output)}
    return tuple(size for size in sizes if size.name not in read)


def open_outputs(op: Op) -> tuple[Output, ...]:
    """The outputs whose shapes follow from open sizes, so that a launch is told their shapes."""
    return _reading(op, {a.name for a in open_sizes(op)})


def _reading(op: Op, names: set[str]) -> tuple[Output, ...]:
    return tuple(output for output in op.outputs if names & set(spelling.needs(op, output.shape)))


def prepare_needs(op: Op) -> tuple[str, ...]:
    """What a launch is prepared from: every dtype, and what its expressions and the output rules read.

    A reference is called with all there is.
    """
    if op.body is Body.TORCH:
        return spelling.keys(op)
    shapes_read = [output.shape for output in op.outputs if output not in open_outputs(op)]
    read = {f"{tensor.name}_dtype" for tensor in op.tensors}
    read |= set(spelling.needs(op, *launch_expressions(op), *shapes_read))
    for output in (*op.outputs, *op.launch.scratch):
        read |= set(dtype_needs(op, output))
    if op.launch.offset_bits == 32 or any(kernel.configs for kernel in op.launch.kernels):
        read |= {f"{tensor.name}_shape" for tensor in op.tensors}
    read |= set(spelling.needs(op, *(size.most for size in op.sizes)))
    found = {size.name for size in op.sizes}
    return tuple(name for name in spelling.keys(op) if name in read - found)


def counted_outputs(op: Op) -> tuple[Output, ...]:
    """The outputs whose first dimension is a size that the kernels find out."""
    return _reading(op, {size.name for size in op.sizes})


def float_names(op: Op) -> tuple[str, ...]:
    """The attributes that hold floats, of those that a launch is prepared from."""
    if op.body is Body.TORCH:
        return ()  # no prepared launch is kept for another call
    floats = {a.name for a in op.attributes if a.base is Base.FLOAT}
    return tuple(name for name in prepare_needs(op) if name in floats)


def plugin_attributes(op: Op) -> tuple[Attribute, ...]:
    """What a plugin and an ONNX node keep: attributes of the op, which optional tensors are given, if it is aliased."""
    given = ArgumentType(Base.BOOL)
    presences = [Attribute(Argument(names.presence(t.name), given, False, None, 0)) for t in op.tensors if t.optional]
    aliased = [Attribute(Argument(names.ALIASED, given, False, Default(False), 0))] if op.written else []
    sizes = open_sizes(op)
    return (*(_or_none(a) if a in sizes else a for a in op.attributes), *presences, *aliased)


def _or_none(attribute: Attribute) -> Attribute:
    argument = attribute.argument
    # Without the default of the schema: what is left out of a node is a shape input.
    return attribute._replace(argument=argument._replace(type=argument.type._replace(optional=True), default=None))


def written_places(op: Op) -> tuple[int, ...]:
    """The places of what the op writes to among the inputs of the plugin."""
    return tuple(i for i, tensor in enumerate(op.tensors) if tensor.written)


def added_values(op: Op, place: str = "") -> dict[str, str]:
    """The values of the attributes that the op itself does not have; its arguments are found at a place."""
    presences = {names.presence(t.name): f"{place}{t.name} is not None" for t in op.tensors if t.optional}
    return presences | ({names.ALIASED: "False"} if op.written else {})


def add_plugin(op: Op) -> str:
    """The method of TensorRT's networks that takes the plugin; one that takes an IPluginV3 takes what TensorRT has."""
    return "add_plugin_v2" if op.plugin is PluginApi.V2 else "add_plugin_v3"


def registry_key(op: Op) -> tuple[str, str, str]:
    """Name, version and namespace of the plugin in TensorRT's registry."""
    if isinstance(op.plugin, Registered):
        return op.plugin.name, op.plugin.version, op.plugin.namespace
    return op.names.plugin, op.plugin_version, op.names.namespace


def reads_buffer(op: Op, value: Expr) -> bool:
    """Whether a kernel parameter is one of the tensors."""
    return isinstance(value, Value) and value.name in buffers(op)
