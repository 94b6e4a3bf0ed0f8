"""Spec to Op: gives every text of a spec its meaning, or says all that is wrong with it at once.

A new key of the spec is read here, after spec.py has its form and before model.py holds its meaning. signature.py does
so for the schema and the inputs, launch.py for the launch, registered.py for a plugin that is there already, cases.py
for the cases, and proving.py for what is of tests alone.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from trtplug import cases, expr, launch, names, proving, registered, signature, sources, trial
from trtplug.dtypes import TABLE, Dtype
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
from trtplug.forms import KernelForm
from trtplug.located import Located
from trtplug.model import Attribute, Body, Check, Op, Output, Size, Tensor
from trtplug.plugin_api import PluginApi
from trtplug.problems import Problems
from trtplug.spec import Spec
from trtplug.torch_schema import Base, Schema

_ATTRIBUTE_KINDS: Mapping[Base, Kind] = {
    Base.INT: INT,
    Base.FLOAT: FLOAT,
    Base.BOOL: BOOL,
    Base.STR: STR,
    Base.SYMINT: DIM,
    Base.SCALARTYPE: DTYPE,
}


def resolve(spec: Spec, plugin_api: PluginApi | None = None) -> Op:
    """The operator that a spec describes; raises SpecError with every problem of the spec, located.

    `plugin_api` takes the place of what the spec says.
    """
    located = Located(spec, Problems(str(spec.path), set(spec.problems)), all_understood=not spec.problems)
    op = _op(located, plugin_api or PluginApi(spec.form.plugin_api))
    located.problems.raise_if_any()
    if op is None:
        raise AssertionError("a spec without problems has a meaning")
    trial.try_out(op, located)
    located.problems.raise_if_any()
    return op


def _op(located: Located, wanted: PluginApi) -> Op | None:
    form = located.form
    # Whose limits hold; a registered plugin, whatever its interface, has those that registered.py knows.
    limits = PluginApi.V3 if form.plugin else wanted
    _names(located)
    schema = signature.read_schema(located)
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
    arguments = signature.read(located, schema, limits)
    if reference:
        signature.check_reference(located, reference, function, arguments)
    scope = _scope(arguments)
    checks = _checks(located, scope)
    sizes = _sizes(located, scope, limits)
    outputs = _outputs(located, schema, scope, sizes)
    _no_mixed_outputs(located, arguments, outputs)
    _unique_names(located, arguments)
    started = launch.resolve(located, scope, kernel, code, partial(_dtype, located)) if kernel else launch.NOTHING
    plugin = registered.resolve(located, form.plugin, arguments, scope) if form.plugin else wanted
    if body is Body.TRITON:
        signature.check_writing(located, schema, arguments, checks, outputs, started, limits)
        signature.check_use(located, arguments, limits)
    else:
        _no_kernels(located, schema, arguments)
    # What follows is of the tests, and uses no argument up.
    arguments = proving.with_ranges(located, arguments, scope)
    profiles = proving.profiles(located, arguments, scope)
    proving.check_tolerance(located, arguments, outputs)
    calls = cases.read(form.cases, arguments)
    cases.check(calls, arguments, located)
    if located.problems or not (code and reference):
        return None
    return Op(
        names=names.derive(form.name, form.namespace, form.package.name, form.package.import_name),
        plugin=plugin,
        plugin_version=form.version,
        package_version=form.package.version,
        summary=form.summary,
        schema=form.schema,
        arguments=arguments,
        outputs=outputs,
        sizes=sizes,
        checks=checks,
        body=body,
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


def _no_kernels(located: Located, schema: Schema, arguments: tuple[Tensor | Attribute, ...]) -> None:
    """Adds a problem for what takes a kernel, of an op that has none."""
    if not schema.returns:
        located.problem("the op returns nothing, and only a kernel writes to arguments; return a Tensor", "schema")
    for argument in arguments:
        if isinstance(argument, Tensor) and argument.written:
            message = f"'{argument.name}' is written to, which takes a kernel; return a new tensor"
            located.problem(message, "schema", offset=argument.argument.offset)
    for name, output in located.form.outputs.items():
        if output.init:
            message = "init is for kernels that accumulate, and a reference returns what it computes; remove it"
            located.problem(message, "outputs", name, "init", key=True)


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
            located.problem(f"{signature.BOOL_ALONE}; give it an output of its own", "outputs", output.name, "dtype")


def _dtype(located: Located, text: str, path: tuple[str, ...], scope: Scope) -> Expr | Dtype | None:
    if text in TABLE:
        return TABLE[text]
    if text.isidentifier() and text not in scope.names:
        close = difflib.get_close_matches(text, TABLE, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"write x.dtype, or one of {', '.join(TABLE)}"
        located.problem(f"unknown dtype '{text}'; {hint}", *path)
        return None
    return located.expression(scope, text, (DTYPE,), f"x.dtype, or one of {', '.join(TABLE)}", *path)


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
