"""Spec to Op: gives every text of a spec its meaning, or says all that is wrong with it at once.

A new key of the spec is read here, after spec.py has its form and before model.py holds its meaning; launch.py does so
for the launch, cases.py for the cases.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from trtplug import cases, expr, launch, names, registered, sources, trial
from trtplug.dtypes import TABLE, Dtype, problem_with_dtype
from trtplug.explain import missing
from trtplug.expr import (
    BOOL,
    DIM,
    DIMS,
    DTYPE,
    FLOAT,
    INT,
    STR,
    Call,
    Expr,
    Items,
    Kind,
    Property,
    Scope,
    Site,
    Value,
    walk,
)
from trtplug.forms import InputForm, KernelForm
from trtplug.located import Located
from trtplug.model import Attribute, Body, Check, Launch, Op, Output, Profile, Size, SourceFile, Tensor
from trtplug.plugin_api import PluginApi
from trtplug.problems import Problems
from trtplug.spec import Spec
from trtplug.torch_schema import Argument, Base, Schema, SchemaSyntaxError, parse

_ATTRIBUTE_KINDS: Mapping[Base, Kind] = {
    Base.INT: INT,
    Base.FLOAT: FLOAT,
    Base.BOOL: BOOL,
    Base.STR: STR,
    Base.SYMINT: DIM,
    Base.SCALARTYPE: DTYPE,
}
_MOST_OPTIONAL = 3  # tensors, each of which doubles the calls to test

_MOST_ARGUMENTS = 64  # of a schema, in torch

_BOOL_ALONE = "bool is int8 inside TensorRT, behind a cast, and cannot stand beside other dtypes"


def resolve(spec: Spec, plugin_api: PluginApi | None = None) -> Op:
    """The operator that a spec describes; raises SpecError with every problem of the spec, located.

    `plugin_api` takes the place of what the spec says.
    """
    located = Located(spec, Problems(str(spec.path), set(spec.problems)), all_understood=not spec.problems)
    wanted = plugin_api or PluginApi(spec.form.plugin_api)
    op = _op(located, PluginApi.V3 if spec.form.plugin else wanted)  # a registered plugin is what it is
    located.problems.raise_if_any()
    if op is None:
        raise AssertionError("a spec without problems has a meaning")
    trial.try_out(op, located)
    located.problems.raise_if_any()
    return op


def _op(located: Located, plugin_api: PluginApi) -> Op | None:
    form = located.form
    _names(located)
    schema = _schema(located)
    file, _, function = form.reference.partition(":")
    kernel, body = _body(located)
    if kernel:
        code, helpers = sources.with_helpers(located, kernel.file, "kernel", "file")
        reference = code if file == kernel.file else sources.read(located, file, "reference")
    else:
        code, helpers = sources.with_helpers(located, file, "reference")
        reference = code
    if schema is None:
        return None
    arguments = _arguments(located, schema, plugin_api)
    if reference:
        _reference(located, reference, function, arguments)
    scope = _scope(arguments)
    checks = _checks(located, scope)
    sizes = _sizes(located, scope, plugin_api)
    outputs = _outputs(located, schema, scope, sizes)
    _no_mixed_outputs(located, arguments, outputs)
    _unique_names(located, arguments)
    started = launch.resolve(located, scope, kernel, code, partial(_dtype, located)) if kernel else launch.NOTHING
    ready = registered.resolve(located, form.plugin, arguments, scope) if form.plugin else None
    if body is Body.TRITON:
        _writing(located, schema, arguments, started, plugin_api)
        _no_idle_arguments(located, arguments, plugin_api)
    for tensor in (argument for argument in arguments if isinstance(argument, Tensor) and argument.written):
        if body is Body.TORCH:
            message = f"'{tensor.name}' is written to, which takes a kernel; return a new tensor"
            located.problem(message, "schema", offset=tensor.argument.offset)
    # What follows is of the tests, and uses no argument up.
    arguments = _with_ranges(located, arguments, scope)
    profiles = _profiles(located, arguments, scope)
    _tolerance(located, arguments, outputs)
    calls = cases.read(form.cases, arguments)
    cases.check(calls, arguments, located)
    if located.problems or not (code and reference):
        return None
    return Op(
        names=names.derive(form.name, form.namespace, form.package.name, form.package.import_name),
        plugin_api=plugin_api,
        plugin_version=form.version,
        package_version=form.package.version,
        summary=form.summary,
        schema=form.schema,
        arguments=arguments,
        outputs=outputs,
        sizes=sizes,
        checks=checks,
        body=body,
        registered=ready,
        launch=started,
        code=code,
        helpers=helpers,
        reference=reference,
        reference_function=function,
        tolerance=form.tolerance,
        cases=(*calls, *cases.with_other_tensors(calls, arguments)),
        profiles=profiles,
        spec_text=located.spec.text,
    )


def _body(located: Located) -> tuple[KernelForm | None, Body]:
    """What runs, and where its kernels are; says which keys go with it."""
    form = located.form
    given = located.spec.document.places
    if form.plugin and ("version",) in given:
        located.problem("the version of a registered plugin stands under plugin; move it there", "version", key=True)
    if form.plugin and ("plugin_api",) in given:
        located.problem("a registered plugin has the interface that it has; remove this", "plugin_api", key=True)
    if form.implementation == "torch" or form.plugin:
        why = (
            "TensorRT has the plugin and PyTorch the reference"
            if form.plugin
            else "with implementation: torch the reference runs"
        )
        for key in ("kernel", "sizes", "let", "workspace", "launch"):
            if (key,) in given:
                located.problem(f"'{key}' is about Triton kernels, and {why}; remove it", key, key=True)
        return None, Body.TORCH
    for key, value in (("kernel", form.kernel), ("launch", form.launch)):
        if not value:
            located.problem(missing((key,)), key, key=True)
            located.all_understood = False
    return form.kernel, Body.TRITON


# --- names ----------------------------------------------------------------------------------------------------------


def _names(located: Located) -> None:
    form = located.form
    located.problem(names.problem_with_op_name(form.name), "name")
    located.problem(names.problem_with_namespace(form.namespace), "namespace")
    located.problem(names.problem_with_package_version(form.package.version), "package", "version")
    if form.package.name is not None:
        located.problem(names.problem_with_distribution(form.package.name), "package", "name")
    if form.package.import_name is not None:
        located.problem(names.problem_with_import_name(form.package.import_name), "package", "import")
    elif form.package.name is not None:
        derived = names.derive(form.name, form.namespace, form.package.name).import_name
        if names.problem_with_import_name(derived):
            message = f"it would be imported as '{derived}', which cannot be; add import: with another name"
            located.problem(message, "package", "name")


def _unique_names(located: Located, arguments: tuple[Tensor | Attribute, ...]) -> None:
    """Every name of a spec becomes a variable of one generated function, so each may mean one thing."""
    form = located.form
    tensors = [*(a.name for a in arguments if isinstance(a, Tensor)), *form.outputs, *form.workspace]
    written = [a.name for a in arguments if isinstance(a, Tensor) and a.written]
    tensors += map(names.new_value, written)
    meanings = dict.fromkeys(names.of_tensors(tensors), "carries the shape or dtype of a tensor in generated code")
    meanings |= {
        names.presence(a.name): f"says whether {a.name} is given"
        for a in arguments
        if isinstance(a, Tensor) and a.optional
    }
    meanings |= {
        f"{a.name}_size": f"is what ONNX may call the size {a.name}"
        for a in arguments
        if isinstance(a, Attribute) and a.base is Base.SYMINT
    }
    meanings |= {names.new_value(name): f"is what {name} becomes" for name in written}
    meanings |= {names.dense(name): f"is the dense form of {name}" for name in written}
    if written:
        meanings[names.ALIASED] = "says whether a plugin writes in place"
        meanings[f"{form.name}_functional"] = "is the variant of the op that writes to no argument"
    for argument in arguments:
        if argument.name in meanings:
            message = f"'{argument.name}' {meanings[argument.name]}; choose another name"
            located.problem(message, "schema", offset=argument.argument.offset)
        meanings.setdefault(argument.name, "is an argument already")
    sections: list[tuple[str, Mapping[str, object], tuple[str, ...]]] = [
        ("is an output already", form.outputs, ("outputs",)),
        ("is a size already", form.sizes, ("sizes",)),
        ("is a buffer of the workspace already", form.workspace, ("workspace",)),
        ("is a let name already", form.let, ("let",)),
    ]
    for meaning, section, path in sections:
        _new_names(located, section, path, meanings)
        meanings |= dict.fromkeys(section, meaning)
    for i, launched in enumerate(form.launch):
        _new_names(located, launched.constexpr, ("launch", i, "constexpr"), meanings)
        kernel = launched.kernel or (form.kernel.function if form.kernel else None)
        if kernel and (kernel in meanings or kernel in launched.constexpr):
            meaning = meanings.get(kernel, "is a constexpr already")
            at = ("launch", i, "kernel") if launched.kernel else ("kernel", "function")
            located.problem(f"'{kernel}' {meaning}; rename the kernel", *at)


def _new_names(
    located: Located, section: Mapping[str, object], path: tuple[str | int, ...], meanings: Mapping[str, str]
) -> None:
    for name, value in section.items():
        if problem := names.problem_with_argument_name(name, expr.RESERVED):
            located.problem(problem, *path, name, key=True)
        elif name in meanings and value != name:  # BLOCK: BLOCK gives the kernel what has that name already
            message = f"'{name}' {meanings[name]}; choose another name"
            located.problem(message, *path, name, key=True)


# --- schema, arguments, reference -----------------------------------------------------------------------------------


def _schema(located: Located) -> Schema | None:
    try:
        return parse(located.form.schema)
    except SchemaSyntaxError as error:
        located.problem(f"schema: {error.message}", "schema", offset=error.offset)
        return None


def _arguments(located: Located, schema: Schema, plugin_api: PluginApi) -> tuple[Tensor | Attribute, ...]:
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
            located.problem(f"{_BOOL_ALONE}; give it an argument of its own", *path, "dtypes")
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


def _writing(
    located: Located,
    schema: Schema,
    arguments: tuple[Tensor | Attribute, ...],
    launched: Launch,
    plugin_api: PluginApi,
) -> None:
    """Adds a problem for each argument that cannot be written to, or is not, though the schema says so."""
    written = [argument for argument in arguments if isinstance(argument, Tensor) and argument.written]
    if not (schema.returns or written):
        located.problem("the op returns nothing and writes to nothing; return a Tensor", "schema")
    read = [p.value for kernel in launched.kernels for p in kernel.parameters if p.value]
    given = {value.name for value in read if isinstance(value, Value)}
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
        if located.all_understood and name not in given and not _unsupported(tensor.argument, plugin_api):
            message = f"no kernel parameter is given '{name}', which the op writes to; add PARAMETER: {name}"
            located.problem(message, "launch", 0, "args", key=True)
    if written and located.form.sizes:
        message = "an op that writes to its arguments finds out no sizes; return new tensors, or fixed sizes"
        located.problem(message, "sizes", key=True)


def _no_idle_arguments(located: Located, arguments: tuple[Tensor | Attribute, ...], plugin_api: PluginApi) -> None:
    if not located.all_understood:
        return
    nodes = [node for expression in located.expressions for node in walk(expression)]
    used = {node.name for node in nodes if isinstance(node, Value)}
    used |= {node.tensor for node in nodes if isinstance(node, Property)}
    for argument in arguments:
        if argument.name not in used and not _unsupported(argument.argument, plugin_api):
            message = f"no check, output, let or kernel parameter uses '{argument.name}'; use it, or remove it"
            located.problem(message, "schema", offset=argument.argument.offset)


def _reference(located: Located, source: SourceFile, name: str, arguments: tuple[Tensor | Attribute, ...]) -> None:
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


# --- checks, outputs ------------------------------------------------------------------------------------------------


def _scope(arguments: Iterable[Tensor | Attribute]) -> Scope:
    tensors = [argument for argument in arguments if isinstance(argument, Tensor)]
    optional = tuple(tensor.name for tensor in tensors if tensor.optional)
    scope = Scope(Site.SHAPE, tuple(tensor.name for tensor in tensors), optional=optional)
    for argument in arguments:
        if isinstance(argument, Attribute):
            kind = _ATTRIBUTE_KINDS[argument.base]
            scope = scope.with_value(argument.name, Kind(kind.scalar, argument.is_list, argument.optional))
    return scope


def _checks(located: Located, scope: Scope) -> tuple[Check, ...]:
    scope = replace(scope, site=Site.CHECK)
    found: list[Check] = []
    for i, (text, message) in enumerate(located.form.checks):
        condition = located.expression(scope, text, (BOOL,), "a condition, such as x.ndim > 0", "checks", i, 0)
        if condition:
            found.append(Check(condition, message, _read_optionals(condition, scope)))
    return tuple(found)


def _read_optionals(condition: Expr, scope: Scope) -> tuple[str, ...]:
    """The optional tensors that a condition takes for given."""
    read: set[str] = set()
    asked: set[str] = set()
    for node in walk(condition):
        if isinstance(node, Property):
            read.add(node.tensor)
        elif isinstance(node, Call) and node.function in ("numel", "present") and isinstance(node.arguments[0], Value):
            (asked if node.function == "present" else read).add(node.arguments[0].name)
    return tuple(name for name in scope.optional if name in read - asked)


def _sizes(located: Located, scope: Scope, plugin_api: PluginApi) -> tuple[Size, ...]:
    if located.form.sizes and plugin_api is PluginApi.V2:
        message = (
            "an IPluginV2DynamicExt cannot declare sizes that the kernels find out; "
            "write plugin_api: v3, or give outputs a size that follows from the inputs"
        )
        located.problem(message, "sizes", key=True)
    sizes: list[Size] = []
    for name, form in located.form.sizes.items():
        wanted = "a size, such as numel(x)"
        most = typical = located.expression(scope, form.most, (INT, DIM), wanted, "sizes", name, "most")
        if form.typical is not None:
            typical = located.expression(scope, form.typical, (INT, DIM), wanted, "sizes", name, "typical")
        if most and typical:
            sizes.append(Size(name, most, typical))
    return tuple(sizes)


def _outputs(located: Located, schema: Schema, scope: Scope, sizes: tuple[Size, ...]) -> tuple[Output, ...]:
    form = located.form.outputs
    for size in located.form.sizes:
        scope = scope.with_value(size, DIM)
    if len(schema.returns) != len(form):
        message = f"the schema returns {_count(len(schema.returns), 'tensor')}, outputs describes {len(form)}"
        located.problem(f"{message}; make them agree", "outputs", key=True)
    for returned in schema.returns:
        if returned.type.base is not Base.TENSOR or returned.type.is_list or returned.type.optional:
            message = f"the op returns '{returned.type}'; a plugin returns tensors, so write Tensor"
            located.problem(message, "schema", offset=returned.offset)
        elif returned.type.alias:
            message = f"the op returns an alias, '{returned.type}'; return a new tensor, so write Tensor"
            located.problem(message, "schema", offset=returned.offset)
    outputs: list[Output] = []
    for name, output in form.items():
        dtype = _dtype(located, output.dtype, ("outputs", name, "dtype"), scope)
        wanted = "a shape, such as x.shape or [n, 4]"
        shape = located.expression(scope, output.shape, (DIMS,), wanted, "outputs", name, "shape")
        if shape and not _counts_first(shape, {size.name for size in sizes}):
            message = "a size that the kernels find out is a first dimension and no other, as in [count] + x.shape[1:]"
            located.problem(message, "outputs", name, "shape")
        if dtype and shape:
            if output.init and any(isinstance(node, Value) and node.name in located.form.sizes for node in walk(shape)):
                message = "how much of it there is to fill, only the kernels find out; let them write all of it"
                located.problem(message, "outputs", name, "init")
            outputs.append(Output(name, dtype, shape, output.init == "zero"))
    return tuple(outputs)


def _counts_first(shape: Expr, sizes: set[str]) -> bool:
    """Whether a shape reads sizes of `sizes` as its first item only: what lies behind it in memory must not move."""
    reads = [node for node in walk(shape) if isinstance(node, Value) and node.name in sizes]
    first = shape.items[0] if isinstance(shape, Items) and shape.items else None
    return not reads or (len(reads) == 1 and first is reads[0])


def _no_mixed_outputs(located: Located, arguments: tuple[Tensor | Attribute, ...], outputs: tuple[Output, ...]) -> None:
    """Refuses an output that is a bool in some calls only."""
    dtypes = {argument.name: {dtype.name for dtype in argument.dtypes} for argument in arguments}
    for output in outputs:
        nodes = () if isinstance(output.dtype, Dtype) else walk(output.dtype)
        read = [getattr(node, "tensor", None) or node.name for node in nodes if isinstance(node, Property | Value)]
        possible = {name for argument in read for name in dtypes.get(argument, ())}
        if "bool" in possible and len(possible) > 1:
            located.problem(f"{_BOOL_ALONE}; give it an output of its own", "outputs", output.name, "dtype")


def _dtype(located: Located, text: str, path: tuple[str, ...], scope: Scope) -> Expr | Dtype | None:
    if text in TABLE:
        return TABLE[text]
    if text.isidentifier() and text not in scope.names:
        close = difflib.get_close_matches(text, TABLE, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"write x.dtype, or one of {', '.join(TABLE)}"
        located.problem(f"unknown dtype '{text}'; {hint}", *path)
        return None
    return located.expression(scope, text, (DTYPE,), f"x.dtype, or one of {', '.join(TABLE)}", *path)


# --- profile, tolerance ---------------------------------------------------------------------------------------------


def _profiles(located: Located, arguments: tuple[Tensor | Attribute, ...], scope: Scope) -> tuple[Profile, ...]:
    scope = replace(scope, site=Site.LAUNCH)
    ranks = {argument.name: argument.rank for argument in arguments if isinstance(argument, Tensor)}
    located.known(located.form.dynamic, ranks, "tensor argument of the schema", "dynamic")
    profiles: list[Profile] = []
    for tensor, dimensions in located.form.dynamic.items():
        for dimension, sizes in dimensions.items():
            if tensor in ranks and not 0 <= dimension < ranks[tensor][1]:
                message = f"{tensor} has no dimension {dimension}; name one from 0 to {ranks[tensor][1] - 1}"
                located.problem(message, "dynamic", tensor, dimension, key=True)
            if not isinstance(sizes, str):
                profiles.append(Profile(tensor, dimension, sizes))
            elif tied := located.expression(scope, sizes, (INT, DIM), "a dimension", "dynamic", tensor, dimension):
                profiles.append(Profile(tensor, dimension, tied))
    return tuple(profiles)


def _with_ranges(
    located: Located, arguments: tuple[Tensor | Attribute, ...], scope: Scope
) -> tuple[Tensor | Attribute, ...]:
    """The arguments with the values that tests draw for them."""
    scope = replace(scope, site=Site.LAUNCH)
    found: list[Tensor | Attribute] = []
    for argument in arguments:
        form = located.form.inputs.get(argument.name)
        if isinstance(argument, Tensor) and form and form.range:
            ends = [
                located.expression(scope, text, (INT, DIM, FLOAT), "a number", "inputs", argument.name, "range", i)
                for i, text in enumerate(form.range)
            ]
            integers = [dtype.name for dtype in argument.dtypes if not dtype.is_float]
            if "bool" in integers:
                located.problem("bools are drawn from both; remove the range", "inputs", argument.name, "range")
            for i, end in enumerate(ends):
                if integers and end and end.kind == FLOAT:
                    message = f"{argument.name} may be {integers[0]}, and then holds no fractions; write a whole number"
                    located.problem(message, "inputs", argument.name, "range", i)
            if ends[0] and ends[1]:
                argument = argument._replace(range=(ends[0], ends[1]))
        found.append(argument)
    return tuple(found)


def _tolerance(located: Located, arguments: tuple[Tensor | Attribute, ...], outputs: tuple[Output, ...]) -> None:
    """Floats are compared within what the inputs' dtypes allow, or what their own does if no input is a float."""
    used = {dtype for argument in arguments if isinstance(argument, Tensor) for dtype in argument.dtypes}
    if not any(dtype.is_float for dtype in used):
        used = {output.dtype for output in outputs if isinstance(output.dtype, Dtype)}
        used |= {dtype for argument in arguments if isinstance(argument, Attribute) for dtype in argument.dtypes}
    if missing := sorted({dtype.name for dtype in used if dtype.is_float} - set(located.form.tolerance)):
        message = f"no tolerance for {', '.join(missing)}; add one for each dtype of the inputs"
        located.problem(message, "tolerance", key=True)


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
