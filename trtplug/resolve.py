"""Spec to Op: gives every text of a spec its meaning, or says all that is wrong with it at once.

A new key of the spec is read here, after spec.py has its form and before model.py holds its meaning.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath

from trtplug import cases, expr, kernel_file, names
from trtplug.dtypes import TABLE, Dtype
from trtplug.expr import BOOL, DIM, DIMS, DTYPE, FLOAT, INT, STR, TENSOR, Expr, Kind, Names, Scope
from trtplug.model import Attribute, Check, Launch, Let, Op, Output, Parameter, Profile, SourceFile, Tensor
from trtplug.problems import Problems
from trtplug.spec import Spec
from trtplug.torch_schema import Argument, Base, Schema, SchemaSyntaxError, parse

_ATTRIBUTE_KINDS: Mapping[Base, Kind] = {Base.INT: INT, Base.FLOAT: FLOAT, Base.BOOL: BOOL, Base.STR: STR}
_KERNEL_VALUES = (TENSOR, INT, DIM, FLOAT, BOOL)
_CONSTEXPR_VALUES = (INT, DIM, FLOAT, BOOL, STR)
# Locals and parameters of the generated functions, beside those that carry a tensor's name.
_GENERATED_LOCALS = ("device", "arguments", "grid", "launch")


def resolve(spec: Spec) -> Op:
    """The operator that a spec describes; raises SpecError with every problem of the spec, located."""
    problems = Problems(str(spec.path))
    op = _Resolver(spec, problems).op()
    problems.raise_if_any()
    if op is None:
        raise AssertionError("a spec without problems has a meaning")
    cases.check(op, spec, problems)
    problems.raise_if_any()
    return op


class _Resolver:
    def __init__(self, spec: Spec, problems: Problems) -> None:
        self._spec = spec
        self._form = spec.form
        self._problems = problems

    def op(self) -> Op | None:
        self._names()
        schema = self._schema()
        kernel = self._source(self._form.kernel.file, "kernel", "file")
        file, _, function = self._form.reference.partition(":")
        reference = kernel if file == self._form.kernel.file else self._source(file, "reference")
        if reference:
            self._function(reference, function, "reference")
        if schema is None:
            return None
        arguments = self._arguments(schema)
        scope = self._scope(arguments)
        checks = [
            self._expression(Names.CHECK, scope, text, ("checks", i, 0), [BOOL])
            for i, (text, _) in enumerate(self._form.checks)
        ]
        outputs = self._outputs(schema, scope)
        self._unique_names(arguments)
        launch = self._launch(scope, kernel)
        profiles = self._profiles(arguments)
        self._tolerance(arguments)
        if self._problems or not (kernel and reference and launch):
            return None
        form = self._form
        return Op(
            names=names.derive(form.name, form.namespace, form.package.name, form.package.import_name),
            plugin_version=form.version,
            package_version=form.package.version,
            summary=form.summary,
            schema=form.schema,
            arguments=arguments,
            outputs=outputs,
            checks=tuple(
                Check(condition, message)
                for condition, (_, message) in zip(checks, form.checks, strict=True)
                if condition is not None
            ),
            launch=launch,
            kernel=kernel,
            kernel_function=form.kernel.function,
            reference=reference,
            reference_function=function,
            tolerance=form.tolerance,
            cases=cases.read(form.cases, arguments),
            profiles=profiles,
            spec_path=PurePosixPath(self._spec.path.name),
            spec_text=self._spec.text,
        )

    # --- names ------------------------------------------------------------------------------------------------------

    def _names(self) -> None:
        form = self._form
        self._named(names.problem_with_op_name(form.name), "name")
        self._named(names.problem_with_namespace(form.namespace), "namespace")
        self._named(names.problem_with_package_version(form.package.version), "package", "version")
        if form.package.name is not None:
            self._named(names.problem_with_distribution(form.package.name), "package", "name")
        if form.package.import_name is not None:
            self._named(names.problem_with_import_name(form.package.import_name), "package", "import")

    def _named(self, problem: str | None, *path: str) -> None:
        if problem:
            self._problems.add(self._spec.position(*path), problem)

    def _unique_names(self, arguments: tuple[Tensor | Attribute, ...]) -> None:
        """Every name of a spec becomes a variable of one generated function, so each may mean one thing."""
        form = self._form
        places: dict[str, str] = dict.fromkeys(_GENERATED_LOCALS, "the generated code")
        tensors = [*(a.name for a in arguments if isinstance(a, Tensor)), *form.outputs]
        for tensor in tensors:
            places |= {f"{tensor}_shape": f"the shape of {tensor}", f"{tensor}_dtype": f"the dtype of {tensor}"}
        sections: list[tuple[str, Iterable[str], tuple[str, ...]]] = [
            ("an argument", [argument.name for argument in arguments], ("schema",)),
            ("an output", form.outputs, ("outputs",)),
            ("a let name", form.let, ("let",)),
            ("a constexpr", form.launch.constexpr, ("launch", "constexpr")),
        ]
        for what, section, path in sections:
            for name in section:
                at = self._spec.position(*path) if path == ("schema",) else self._spec.position(*path, name, key=True)
                problem = names.problem_with_argument_name(name, expr.RESERVED) if path != ("schema",) else None
                if problem:
                    self._problems.add(at, problem)
                elif name in places:
                    self._problems.add(at, f"'{name}' is {places[name]} already; choose another name")
                places.setdefault(name, what)

    # --- schema, arguments, outputs ---------------------------------------------------------------------------------

    def _schema(self) -> Schema | None:
        try:
            return parse(self._form.schema)
        except SchemaSyntaxError as error:
            self._problems.add(self._spec.position("schema", offset=error.offset), f"schema: {error.message}")
            return None

    def _arguments(self, schema: Schema) -> tuple[Tensor | Attribute, ...]:
        arguments: list[Tensor | Attribute] = []
        for argument in schema.arguments:
            at = self._spec.position("schema", offset=argument.offset)
            if problem := names.problem_with_argument_name(argument.name, expr.RESERVED) or _unsupported(argument):
                self._problems.add(at, problem)
            if argument.type.base is not Base.TENSOR:
                arguments.append(Attribute(argument))
            elif argument.name in self._form.inputs:
                form = self._form.inputs[argument.name]
                arguments.append(Tensor(argument, form.rank, tuple(TABLE[name] for name in form.dtypes)))
            else:
                self._problems.add(
                    at, f"inputs says nothing of '{argument.name}'; add {argument.name}: {{rank: ..., dtypes: [...]}}"
                )
                arguments.append(Tensor(argument, (0, 8), ()))
        tensors = [argument.name for argument in arguments if isinstance(argument, Tensor)]
        if not tensors:
            self._problems.add(
                self._spec.position("schema"), "the op has no tensor argument; a plugin needs one or more"
            )
        self._known(self._form.inputs, tensors, "tensor argument of the schema", "inputs")
        return tuple(arguments)

    def _outputs(self, schema: Schema, scope: Scope) -> tuple[Output, ...]:
        if len(schema.returns) != len(self._form.outputs):
            self._problems.add(
                self._spec.position("outputs", key=True),
                f"the schema returns {_count(len(schema.returns), 'tensor')}, "
                f"outputs describes {len(self._form.outputs)}; make them agree",
            )
        for returned in schema.returns:
            if returned.type.base is not Base.TENSOR or returned.type.is_list or returned.type.optional:
                at = self._spec.position("schema", offset=returned.offset)
                self._problems.add(at, f"the op returns '{returned.type}'; a plugin returns tensors, so write Tensor")
        outputs: list[Output] = []
        for name, form in self._form.outputs.items():
            dtype = self._output_dtype(name, form.dtype, scope)
            shape = self._expression(Names.SHAPE, scope, form.shape, ("outputs", name, "shape"), [DIMS])
            if dtype and shape:
                outputs.append(Output(name, dtype, shape))
        return tuple(outputs)

    def _output_dtype(self, name: str, text: str, scope: Scope) -> Expr | Dtype | None:
        if text in TABLE:
            return TABLE[text]
        if text.isidentifier():
            close = difflib.get_close_matches(text, TABLE, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"write x.dtype, or one of {', '.join(TABLE)}"
            self._problems.add(self._spec.position("outputs", name, "dtype"), f"unknown dtype '{text}'; {hint}")
            return None
        return self._expression(Names.SHAPE, scope, text, ("outputs", name, "dtype"), [DTYPE])

    def _scope(self, arguments: tuple[Tensor | Attribute, ...]) -> Scope:
        return Scope(
            Names.SHAPE,
            tuple(argument.name for argument in arguments if isinstance(argument, Tensor)),
            {
                argument.name: Kind(_ATTRIBUTE_KINDS[argument.base].scalar, argument.is_list)
                for argument in arguments
                if isinstance(argument, Attribute) and argument.base in _ATTRIBUTE_KINDS
            },
        )

    # --- launch -----------------------------------------------------------------------------------------------------

    def _launch(self, scope: Scope, kernel: SourceFile | None) -> Launch | None:
        form = self._form.launch
        scope = Scope(Names.LAUNCH, (*scope.tensors, *self._form.outputs), scope.values)
        lets: list[Let] = []
        values = (INT, DIM, FLOAT, BOOL, STR)
        for name, text in self._form.let.items():
            kinds = [*values, *(Kind(kind.scalar, is_list=True) for kind in values)]
            if value := self._expression(Names.LAUNCH, scope, text, ("let", name), kinds):
                lets.append(Let(name, value))
                scope = scope.with_value(name, value.kind)
        parameters: dict[str, Parameter] = {}
        for name, text in form.constexpr.items():
            path = ("launch", "constexpr", name)
            if value := self._expression(Names.LAUNCH, scope, text, path, _CONSTEXPR_VALUES):
                parameters[name] = Parameter(name, value, constexpr=True)
                scope = scope.with_value(name, value.kind)
        for name, text in form.args.items():
            path = ("launch", "args", name)
            if name in form.constexpr:
                self._problems.add(self._spec.position(*path, key=True), f"'{name}' is under constexpr too; keep one")
            elif value := self._expression(Names.LAUNCH, scope, text, path, _KERNEL_VALUES):
                parameters[name] = Parameter(name, value, constexpr=False)
        grid = [
            self._expression(Names.LAUNCH, scope, text, ("launch", "grid", i), [INT, DIM])
            for i, text in enumerate(form.grid)
        ]
        written = {p.value.name for p in parameters.values() if isinstance(p.value, expr.Value)}
        for output in self._form.outputs:
            if output not in written and len(parameters) == len(form.args) + len(form.constexpr):
                at = self._spec.position("launch", "args", key=True)
                self._problems.add(at, f"no kernel parameter is given the output '{output}'; add PARAMETER: {output}")
        ordered = self._in_kernel_order(kernel, parameters) if kernel else ()
        return Launch(tuple(lets), tuple(axis for axis in grid if axis), ordered, int(form.num_warps), form.num_stages)

    def _in_kernel_order(self, kernel: SourceFile, parameters: Mapping[str, Parameter]) -> tuple[Parameter, ...]:
        function = self._function(kernel, self._form.kernel.function, "kernel", "function")
        if function is None:
            return ()
        form = self._form.launch
        if not function.is_kernel:
            at = self._spec.position("kernel", "function")
            self._problems.add(
                at, f"'{function.name}' in {kernel.name} has no @triton.jit; decorate it, or name the kernel"
            )
            return ()
        known = [parameter.name for parameter in function.parameters]
        self._known(form.args, known, f"parameter of {function.name}", "launch", "args")
        self._known(form.constexpr, known, f"parameter of {function.name}", "launch", "constexpr")
        for parameter in function.parameters:
            section = "constexpr" if parameter.constexpr else "args"
            other = "args" if parameter.constexpr else "constexpr"
            if parameter.name in getattr(form, other) and parameter.name not in getattr(form, section):
                is_what = "tl.constexpr" if parameter.constexpr else "no tl.constexpr"
                at = self._spec.position("launch", other, parameter.name, key=True)
                self._problems.add(at, f"'{parameter.name}' is {is_what} in {function.name}; move it to {section}")
            elif parameter.name not in getattr(form, section):
                at = self._spec.position("launch", section, key=True)
                self._problems.add(
                    at, f"kernel parameter '{parameter.name}' has no expression; add it to launch.{section}"
                )
        return tuple(parameters[name] for name in known if name in parameters)

    # --- profile, tolerance -----------------------------------------------------------------------------------------

    def _profiles(self, arguments: tuple[Tensor | Attribute, ...]) -> tuple[Profile, ...]:
        ranks = {argument.name: argument.rank for argument in arguments if isinstance(argument, Tensor)}
        self._known(self._form.dynamic, ranks, "tensor argument of the schema", "dynamic")
        profiles: list[Profile] = []
        for tensor, dimensions in self._form.dynamic.items():
            for dimension, sizes in dimensions.items():
                if tensor in ranks and not 0 <= dimension < ranks[tensor][1]:
                    at = self._spec.position("dynamic", tensor, dimension, key=True)
                    self._problems.add(at, f"{tensor} has no dimension {dimension}; it has at most {ranks[tensor][1]}")
                profiles.append(Profile(tensor, dimension, sizes))
        return tuple(profiles)

    def _tolerance(self, arguments: tuple[Tensor | Attribute, ...]) -> None:
        used = {dtype.name for argument in arguments if isinstance(argument, Tensor) for dtype in argument.dtypes}
        if missing := sorted(used - set(self._form.tolerance)):
            at = self._spec.position("tolerance", key=True)
            self._problems.add(at, f"no tolerance for {', '.join(missing)}; add one for each dtype of the inputs")

    # --- files and expressions --------------------------------------------------------------------------------------

    def _source(self, file: str, *path: str) -> SourceFile | None:
        at = self._spec.position(*path)
        folder = self._spec.path.parent
        if PurePosixPath(file).name != file or not file.endswith(".py"):
            self._problems.add(at, f"'{file}' must be the name of a .py file beside the spec")
            return None
        try:
            text = (folder / file).read_text(encoding="utf-8")
        except OSError as error:
            self._problems.add(at, f"cannot read {folder / file}: {error.strerror}; it stands beside the spec")
            return None
        except UnicodeDecodeError:
            self._problems.add(at, f"{folder / file} is not UTF-8; save it as UTF-8")
            return None
        try:
            kernel_file.functions(text)
        except (SyntaxError, ValueError) as error:
            line = f"line {error.lineno}: {error.msg}" if isinstance(error, SyntaxError) else str(error)
            self._problems.add(at, f"{folder / file} is no Python ({line}); mend it first")
            return None
        return SourceFile(file, text)

    def _function(self, source: SourceFile, name: str, *path: str) -> kernel_file.Function | None:
        functions = kernel_file.functions(source.text)
        if name not in functions:
            at = self._spec.position(*path)
            self._problems.add(at, f"{source.name} has no function '{name}'{_suggest(name, functions)}")
        return functions.get(name)

    def _expression(
        self, place: Names, scope: Scope, text: str, path: tuple[str | int, ...], kinds: Collection[Kind]
    ) -> Expr | None:
        scope = Scope(place, scope.tensors, scope.values)
        try:
            value = expr.parse(text, scope)
        except expr.ExpressionError as error:
            self._problems.add(self._spec.position(*path, offset=error.offset), error.message)
            return None
        if not any(expr.accepts(kind, value.kind) for kind in kinds):
            wanted = " or ".join(str(kind) for kind in list(kinds)[:4])
            self._problems.add(self._spec.position(*path), f"'{text}' is {value.kind}; expected {wanted}")
            return None
        return value

    def _known(self, given: Iterable[str], known: Collection[str], what: str, *path: str) -> None:
        for name in given:
            if name not in known:
                at = self._spec.position(*path, name, key=True)
                self._problems.add(at, f"'{name}' is no {what}{_suggest(name, known)}")


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


def _suggest(name: str, known: Collection[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean '{close[0]}'?" if close else f"; there are {', '.join(known)}" if known else ""


def _count(n: int, what: str) -> str:
    return f"{n} {what}{'' if n == 1 else 's'}"
