"""The schema, the inputs and the reference of a spec to its arguments, and what each may be."""

from __future__ import annotations

from collections.abc import Iterable

from trtplug import expr, names, sources
from trtplug.dtypes import TABLE, Dtype, problem_with_dtype
from trtplug.expr import Call, Expr, Property, Value, walk
from trtplug.forms import InputForm
from trtplug.located import Located
from trtplug.model import Attribute, Check, Launch, Output, SourceFile, Tensor
from trtplug.plugin_api import PluginApi
from trtplug.torch_schema import Argument, Base, Schema, SchemaSyntaxError, parse

_MOST_OPTIONAL = 3  # tensors, each of which doubles the calls to test
_MOST_ARGUMENTS = 64  # of a schema, in torch

BOOL_ALONE = "bool is int8 inside TensorRT, behind a cast, and cannot stand beside other dtypes"


def read_schema(located: Located) -> Schema | None:
    try:
        return parse(located.form.schema)
    except SchemaSyntaxError as error:
        located.problem(f"schema: {error.message}", "schema", offset=error.offset)
        return None


def read(located: Located, schema: Schema, plugin_api: PluginApi) -> tuple[Tensor | Attribute, ...]:
    arguments: list[Tensor | Attribute] = []
    for argument in schema.arguments:
        problem = names.problem_with_argument_name(argument.name, expr.RESERVED) or _unsupported(argument, plugin_api)
        if not problem and argument.type.base is Base.TENSOR:
            problem = names.problem_with_tensor_name(argument.name)
        located.problem(problem, "schema", offset=argument.offset)
        form = located.form.inputs.get(argument.name)
        described = argument.type.base in (Base.TENSOR, Base.SCALARTYPE)
        if described and form is None and not problem:
            rank = "rank: ..., " if argument.type.base is Base.TENSOR else ""
            message = f"inputs says nothing of '{argument.name}'; add {argument.name}: {{{rank}dtypes: [...]}}"
            located.problem(message, "schema", offset=argument.offset)
        dtypes, same_as = _dtypes(located, argument, form, schema) if described and form else ((), None)
        if argument.type.base is not Base.TENSOR:
            arguments.append(Attribute(argument, dtypes))
            continue
        if form and form.rank is None:
            message = "missing key 'rank': the number of dimensions, such as 4, or [least, most]"
            located.problem(message, "inputs", argument.name, key=True)
        arguments.append(Tensor(argument, (form.rank if form else None) or (0, 8), dtypes, same_as))
    if len(arguments) > _MOST_ARGUMENTS:
        located.problem(f"torch takes {_MOST_ARGUMENTS} arguments, not {len(arguments)}; put some into lists", "schema")
    tensors = [argument for argument in arguments if isinstance(argument, Tensor)]
    if all(tensor.optional for tensor in tensors):
        located.problem("the op has no tensor argument that is always given; a plugin needs one or more", "schema")
    if sum(tensor.optional for tensor in tensors) > _MOST_OPTIONAL:
        located.problem(f"more than {_MOST_OPTIONAL} optional tensors; split the op", "schema")
    described_names = [a.name for a in arguments if isinstance(a, Tensor) or a.base is Base.SCALARTYPE]
    located.known(located.form.inputs, described_names, "tensor argument of the schema", "inputs")
    return tuple(arguments)


def _dtypes(
    located: Located, argument: Argument, form: InputForm, schema: Schema
) -> tuple[tuple[Dtype, ...], str | None]:
    """The dtypes that an argument may have, and the tensor that it shares them with."""
    path = ("inputs", argument.name)
    if argument.type.base is Base.SCALARTYPE and (form.rank or form.range or form.dtype):
        located.problem(f"'{argument.name}' is a dtype, of which dtypes: [...] is all there is to say", *path, key=True)
    if (form.dtypes is None) == (form.dtype is None):
        message = "say either dtypes: [...], or dtype: with another tensor's (x.dtype) or a single one"
        located.problem(message, *path, key=True)
    if form.dtype is None or form.dtypes is not None:
        dtypes = form.dtypes or ()
        if repeated := [name for name in dict.fromkeys(dtypes) if dtypes.count(name) > 1]:
            located.problem(f"{repeated[0]} stands here twice; keep one", *path, "dtypes")
        if "bool" in dtypes and len(set(dtypes)) > 1:
            located.problem(f"{BOOL_ALONE}; give it an argument of its own", *path, "dtypes")
        return tuple(TABLE[name] for name in dtypes), None
    tensor, _, what = form.dtype.partition(".")
    if not what:
        located.problem(problem_with_dtype(form.dtype), *path, "dtype")
        return tuple(TABLE[name] for name in (form.dtype,) if name in TABLE), None
    others = {a.name for a in schema.arguments if a.type.base is Base.TENSOR and not a.type.optional} - {argument.name}
    other = located.form.inputs.get(tensor)
    if tensor in others and other is not None and other.dtypes is None and located.spec.problems:
        return (), None  # of whose dtypes something is wrong, which has been said
    if what != "dtype" or tensor not in others or other is None or other.dtypes is None:
        message = (
            f"'{form.dtype}' is not the dtype of a tensor that is always given and lists its dtypes; write x.dtype"
        )
        located.problem(message, *path, "dtype")
        return (), None
    return tuple(TABLE[name] for name in other.dtypes), tensor


def _unsupported(argument: Argument, plugin_api: PluginApi) -> str | None:
    kind = argument.type
    if kind.alias and kind.alias.endswith("!"):
        if plugin_api is PluginApi.V2:
            why = "an IPluginV2DynamicExt has no output that is an input in place"
            return f"'{argument.name}' is written to; {why}: return a new tensor instead"
        if problem := _unsupported_writing(argument):
            return problem
    elif kind.alias:
        return f"'{argument.name}' is '{kind}', of which torch expects a view to be returned; write Tensor"
    if kind.base is Base.TENSOR and argument.keyword_only:
        return (
            f"'{argument.name}' is a tensor by keyword only, which torch takes in no custom op; put it before the '*'"
        )
    if kind.base is Base.TENSOR and kind.is_list:
        return f"'{argument.name}' is '{kind}'; a plugin has a fixed number of inputs, so give each a name"
    if kind.base in (Base.STR, Base.SCALARTYPE) and kind.is_list:
        return f"'{argument.name}' is '{kind}'; no plugin field holds such a list, so use one {kind.base.value}"
    if kind.optional and argument.default and argument.default.value is not None:
        return (
            f"'{argument.name}' may be None and has another default; a plugin leaves out what is None, so write =None"
        )
    return None


def _unsupported_writing(argument: Argument) -> str | None:
    name, kind = argument.name, argument.type
    if kind.optional:
        return f"'{name}' is written to and may be None, when there is nothing to alias with an output; write Tensor"
    if "|" in (kind.alias or ""):
        return f"'{name}' is '{kind}', but a plugin's output is the alias of one input; give it one letter, as in (a!)"
    return None


def check_writing(
    located: Located,
    schema: Schema,
    arguments: tuple[Tensor | Attribute, ...],
    checks: tuple[Check, ...],
    outputs: tuple[Output, ...],
    launched: Launch,
    plugin_api: PluginApi,
) -> None:
    """Adds a problem for each argument that cannot be written to, or is not, though the schema says so.

    What kernels write of an argument must have to do with its size, or else a smaller one is written out of bounds.
    """
    written = [argument for argument in arguments if isinstance(argument, Tensor) and argument.written]
    if not (schema.returns or written):
        located.problem("the op returns nothing and writes to nothing; return a Tensor", "schema")
    read = [p.value for kernel in launched.kernels for p in kernel.parameters if p.value]
    given = {value.name for value in read if isinstance(value, Value)}
    read += [axis for kernel in launched.kernels for axis in kernel.grid]
    told = _sizes([*read, *(output.shape for output in outputs)], launched)
    # A check that reads an optional tensor does not apply without it.
    ties = [_sizes([check.condition], launched) for check in checks if not check.given]
    sized = tied(told | {t.name for t in arguments if t not in written}, ties)
    letters: dict[str | None, str] = {}
    for tensor in written:
        name, at = tensor.name, tensor.argument.offset
        other = letters.setdefault(tensor.argument.type.alias, name)
        if other != name:
            message = (
                f"'{other}' and '{name}' have the letter of one alias, as if they shared memory; give each its own"
            )
            located.problem(message, "schema", offset=at)
        if any(dtype.name == "bool" for dtype in tensor.dtypes):
            why = "is int8 inside TensorRT, behind a cast, so that nothing would be written in place"
            located.problem(f"'{name}' is written to and may be bool, which {why}; make it int8", "schema", offset=at)
        if not located.all_understood or _unsupported(tensor.argument, plugin_api):
            continue
        if name not in given:
            message = f"no kernel parameter is given '{name}', which the op writes to; add PARAMETER: {name}"
            located.problem(message, "launch", 0, "args", key=True)
        elif name not in sized and tensor.rank != (0, 0):
            message = f"nothing tells the size of '{name}', and kernels would write to a smaller one out of bounds"
            located.problem(f"{message}; {_remedy(name, arguments)}", "schema", offset=at)
    if written and located.form.sizes:
        message = "an op that writes to its arguments finds out no sizes; return new tensors, or fixed sizes"
        located.problem(message, "sizes", key=True)


def _sizes(values: Iterable[Expr], launched: Launch) -> set[str]:
    """The tensors of whose sizes values tell anything, themselves or by `let` names; a rank or strides do not."""
    nodes = [node for value in values for node in walk(value, but=("len", "strides"))]
    for let in reversed(launched.lets):
        if any(isinstance(node, Value) and node.name == let.name for node in nodes):
            nodes += walk(let.value, but=("len", "strides"))
    shapes = {node.tensor for node in nodes if isinstance(node, Property) and node.name == "shape"}
    counted = [node.arguments[0] for node in nodes if isinstance(node, Call) and node.function == "numel"]
    return shapes | {tensor.name for tensor in counted if isinstance(tensor, Value)}


def tied(known: set[str], ties: list[set[str]]) -> set[str]:
    """The tensors of known size and those that ties relate to them, or to a number: a tie of one tensor."""
    for _ in ties:
        known = known.union(*(tie for tie in ties if len(tie) == 1 or tie & known))
    return known


def _remedy(name: str, arguments: tuple[Tensor | Attribute, ...]) -> str:
    """What relates the size of a tensor to something: to a tensor that is always given, best one that is only read."""
    given = {t.name: t for t in arguments if isinstance(t, Tensor) and not t.optional}
    others = [tensor for tensor in given.values() if tensor.name != name]
    if not others:
        return f"give a kernel its size, such as numel({name})"
    other = min(others, key=lambda tensor: (tensor.rank != given[name].rank, tensor.written))
    if other.rank == given[name].rank:
        return f"add a check, such as {name}.shape == {other.name}.shape"
    return f"add a check, such as numel({name}) >= numel({other.name})"


def check_use(located: Located, arguments: tuple[Tensor | Attribute, ...], plugin_api: PluginApi) -> None:
    for argument in located.unused(arguments):
        if not _unsupported(argument.argument, plugin_api):
            message = f"no check, output, let or kernel parameter uses '{argument.name}'; use it, or remove it"
            located.problem(message, "schema", offset=argument.argument.offset)


def check_reference(located: Located, source: SourceFile, name: str, arguments: tuple[Tensor | Attribute, ...]) -> None:
    offset = len(located.form.reference) - len(name)
    function = sources.function(located, source, name, "reference", offset=offset)
    if function is None:
        return
    if function.is_kernel:
        located.problem(f"'{name}' is a Triton kernel; name a function in plain PyTorch", "reference", offset=offset)
    elif not function.takes(len(arguments)):
        given = ", ".join(argument.name for argument in arguments)
        message = f"'{name}' is called with the schema's arguments, by position ({given}); change its parameters"
        located.problem(message, "reference", offset=offset)
