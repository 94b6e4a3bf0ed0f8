"""Spec to Op: gives every text of a spec its meaning, or says all that is wrong with it at once.

A new key of the spec is read here, after spec.py has its form and before model.py holds its meaning; launch.py does so
for the launch, cases.py for the cases.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from trtplug import cases, expr, launch, names, sources
from trtplug.dtypes import TABLE, Dtype
from trtplug.expr import BOOL, DIMS, DTYPE, FLOAT, INT, STR, Expr, Kind, Property, Scope, Site, Value, walk
from trtplug.located import Located
from trtplug.model import Attribute, Check, Op, Output, Profile, SourceFile, Tensor
from trtplug.problems import Problems
from trtplug.spec import Spec
from trtplug.torch_schema import Argument, Base, Schema, SchemaSyntaxError, parse

_ATTRIBUTE_KINDS: Mapping[Base, Kind] = {Base.INT: INT, Base.FLOAT: FLOAT, Base.BOOL: BOOL, Base.STR: STR}

_MOST_ARGUMENTS = 64  # of a schema, in torch


def resolve(spec: Spec) -> Op:
    """The operator that a spec describes; raises SpecError with every problem of the spec, located."""
    located = Located(spec, Problems(str(spec.path), set(spec.problems)), all_understood=not spec.problems)
    op = _op(located)
    located.problems.raise_if_any()
    if op is None:
        raise AssertionError("a spec without problems has a meaning")
    cases.try_out(op, located)
    located.problems.raise_if_any()
    return op


def _op(located: Located) -> Op | None:
    form = located.form
    _names(located)
    schema = _schema(located)
    kernel = sources.read(located, form.kernel.file, "kernel", "file")
    file, _, function = form.reference.partition(":")
    reference = kernel if file == form.kernel.file else sources.read(located, file, "reference")
    if schema is None:
        return None
    arguments = _arguments(located, schema)
    if reference:
        _reference(located, reference, function, arguments)
    scope = _scope(arguments)
    checks = _checks(located, scope)
    outputs = _outputs(located, schema, scope)
    _unique_names(located, arguments)
    started = launch.resolve(located, scope, kernel)
    _no_idle_arguments(located, arguments)
    profiles = _profiles(located, arguments)
    _tolerance(located, arguments)
    calls = cases.read(form.cases, arguments)
    cases.check(calls, arguments, located)
    if located.problems or not (kernel and reference):
        return None
    return Op(
        names=names.derive(form.name, form.namespace, form.package.name, form.package.import_name),
        plugin_version=form.version,
        package_version=form.package.version,
        summary=form.summary,
        schema=form.schema,
        arguments=arguments,
        outputs=outputs,
        checks=checks,
        launch=started,
        kernel=kernel,
        kernel_function=form.kernel.function,
        reference=reference,
        reference_function=function,
        tolerance=form.tolerance,
        cases=calls,
        profiles=profiles,
        spec_path=PurePosixPath(located.spec.path.name),
        spec_text=located.spec.text,
    )


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
    tensors = [*(a.name for a in arguments if isinstance(a, Tensor)), *form.outputs]
    meanings = dict.fromkeys(names.of_tensors(tensors), "carries the shape or dtype of a tensor in generated code")
    for argument in arguments:
        if argument.name in meanings:
            message = f"'{argument.name}' {meanings[argument.name]}; choose another name"
            located.problem(message, "schema", offset=argument.argument.offset)
        meanings.setdefault(argument.name, "is an argument already")
    sections: list[tuple[str, Mapping[str, object], tuple[str, ...]]] = [
        ("is an output already", form.outputs, ("outputs",)),
        ("is a let name already", form.let, ("let",)),
        ("is a constexpr already", form.launch.constexpr, ("launch", "constexpr")),
    ]
    for meaning, section, path in sections:
        for name, value in section.items():
            if problem := names.problem_with_argument_name(name, expr.RESERVED):
                located.problem(problem, *path, name, key=True)
            elif name in meanings and value != name:  # BLOCK: BLOCK gives the kernel what has that name already
                message = f"'{name}' {meanings[name]}; choose another name"
                located.problem(message, *path, name, key=True)
            meanings.setdefault(name, meaning)


# --- schema, arguments, reference -----------------------------------------------------------------------------------


def _schema(located: Located) -> Schema | None:
    try:
        return parse(located.form.schema)
    except SchemaSyntaxError as error:
        located.problem(f"schema: {error.message}", "schema", offset=error.offset)
        return None


def _arguments(located: Located, schema: Schema) -> tuple[Tensor | Attribute, ...]:
    arguments: list[Tensor | Attribute] = []
    for argument in schema.arguments:
        problem = names.problem_with_argument_name(argument.name, expr.RESERVED) or _unsupported(argument)
        if not problem and argument.type.base is Base.TENSOR:
            problem = names.problem_with_tensor_name(argument.name)
        located.problem(problem, "schema", offset=argument.offset)
        form = located.form.inputs.get(argument.name)
        if argument.type.base is not Base.TENSOR:
            arguments.append(Attribute(argument))
        elif form or problem:
            dtypes = form.dtypes if form else ()
            if repeated := [name for name in dict.fromkeys(dtypes) if dtypes.count(name) > 1]:
                located.problem(f"{repeated[0]} stands here twice; keep one", "inputs", argument.name, "dtypes")
            arguments.append(Tensor(argument, form.rank if form else (0, 8), tuple(TABLE[name] for name in dtypes)))
        else:
            message = f"inputs says nothing of '{argument.name}'; add {argument.name}: {{rank: ..., dtypes: [...]}}"
            located.problem(message, "schema", offset=argument.offset)
            arguments.append(Tensor(argument, (0, 8), ()))
    if len(arguments) > _MOST_ARGUMENTS:
        located.problem(f"torch takes {_MOST_ARGUMENTS} arguments, not {len(arguments)}; put some into lists", "schema")
    tensors = [argument.name for argument in arguments if isinstance(argument, Tensor)]
    if not tensors:
        located.problem("the op has no tensor argument; a plugin needs one or more", "schema")
    located.known(located.form.inputs, tensors, "tensor argument of the schema", "inputs")
    return tuple(arguments)


def _unsupported(argument: Argument) -> str | None:
    kind = argument.type
    if kind.alias and kind.alias.endswith("!"):
        return f"'{argument.name}' is written to; trtplug takes functional ops only: return a new tensor"
    if kind.base is Base.TENSOR and (kind.is_list or kind.optional):
        return f"'{argument.name}' is '{kind}'; trtplug takes plain Tensor arguments only"
    if kind.base is not Base.TENSOR and (kind.base not in _ATTRIBUTE_KINDS or kind.optional):
        return f"'{argument.name}' is '{kind}'; trtplug takes Tensor, int, float, bool, str and lists of them"
    if kind.base is Base.STR and kind.is_list:
        return f"'{argument.name}' is 'str[]'; no plugin field holds a list of strings, so use one str"
    return None


def _no_idle_arguments(located: Located, arguments: tuple[Tensor | Attribute, ...]) -> None:
    if not located.all_understood:
        return
    nodes = [node for expression in located.expressions for node in walk(expression)]
    used = {node.name for node in nodes if isinstance(node, Value)}
    used |= {node.tensor for node in nodes if isinstance(node, Property)}
    for argument in arguments:
        if argument.name not in used:
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
    scope = Scope(Site.SHAPE, tuple(argument.name for argument in arguments if isinstance(argument, Tensor)))
    for argument in arguments:
        if isinstance(argument, Attribute):
            kind = _ATTRIBUTE_KINDS.get(argument.base)
            scope = scope.with_value(argument.name, Kind(kind.scalar, argument.is_list) if kind else None)
    return scope


def _checks(located: Located, scope: Scope) -> tuple[Check, ...]:
    scope = replace(scope, site=Site.CHECK)
    found: list[Check] = []
    for i, (text, message) in enumerate(located.form.checks):
        condition = located.expression(scope, text, (BOOL,), "a condition, such as x.ndim > 0", "checks", i, 0)
        if condition:
            found.append(Check(condition, message))
    return tuple(found)


def _outputs(located: Located, schema: Schema, scope: Scope) -> tuple[Output, ...]:
    form = located.form.outputs
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
        dtype = _output_dtype(located, name, output.dtype, scope)
        wanted = "a shape, such as x.shape or [n, 4]"
        shape = located.expression(scope, output.shape, (DIMS,), wanted, "outputs", name, "shape")
        if dtype and shape:
            outputs.append(Output(name, dtype, shape))
    return tuple(outputs)


def _output_dtype(located: Located, name: str, text: str, scope: Scope) -> Expr | Dtype | None:
    if text in TABLE:
        return TABLE[text]
    path = ("outputs", name, "dtype")
    if text.isidentifier():
        close = difflib.get_close_matches(text, TABLE, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"write x.dtype, or one of {', '.join(TABLE)}"
        located.problem(f"unknown dtype '{text}'; {hint}", *path)
        return None
    return located.expression(scope, text, (DTYPE,), f"x.dtype, or one of {', '.join(TABLE)}", *path)


# --- profile, tolerance ---------------------------------------------------------------------------------------------


def _profiles(located: Located, arguments: tuple[Tensor | Attribute, ...]) -> tuple[Profile, ...]:
    ranks = {argument.name: argument.rank for argument in arguments if isinstance(argument, Tensor)}
    located.known(located.form.dynamic, ranks, "tensor argument of the schema", "dynamic")
    profiles: list[Profile] = []
    for tensor, dimensions in located.form.dynamic.items():
        for dimension, sizes in dimensions.items():
            if tensor in ranks and not 0 <= dimension < ranks[tensor][1]:
                message = f"{tensor} has no dimension {dimension}; name one from 0 to {ranks[tensor][1] - 1}"
                located.problem(message, "dynamic", tensor, dimension, key=True)
            profiles.append(Profile(tensor, dimension, sizes))
    return tuple(profiles)


def _tolerance(located: Located, arguments: tuple[Tensor | Attribute, ...]) -> None:
    used = {dtype.name for argument in arguments if isinstance(argument, Tensor) for dtype in argument.dtypes}
    if missing := sorted(used - set(located.form.tolerance)):
        message = f"no tolerance for {', '.join(missing)}; add one for each dtype of the inputs"
        located.problem(message, "tolerance", key=True)


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
