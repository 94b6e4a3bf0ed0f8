"""The kernels, let, workspace and launch of a spec to `Launch`: each parameter has a value, each name its use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from trtplug import names, sources
from trtplug.dtypes import Dtype
from trtplug.expr import BOOL, DIM, DIMS, FLOAT, INT, STR, TENSOR, Expr, Kind, Scope, Site, Value, walk
from trtplug.forms import KernelForm, LaunchForm
from trtplug.kernel_file import Function
from trtplug.located import Located
from trtplug.model import Config, Kernel, Launch, Let, Output, Parameter, SourceFile

_VALUES = (INT, DIM, FLOAT, BOOL, STR)
_LET = (*_VALUES, *(Kind(kind.scalar, is_list=True) for kind in _VALUES))
_ARGUMENT = (TENSOR, INT, DIM, FLOAT)
_SUPPLIED: Mapping[type, Kind] = {int: INT, bool: BOOL, str: STR}

DtypeReader = Callable[[str, tuple[str, ...], Scope], "Expr | Dtype | None"]


NOTHING = Launch((), (), (), offset_bits=64)


def resolve(located: Located, scope: Scope, named: KernelForm, kernel: SourceFile | None, dtype: DtypeReader) -> Launch:
    """What the kernels are started with; of a spec with problems, as much as can be made out."""
    form = located.form
    scope = replace(scope, site=Site.LAUNCH, outputs=tuple(form.outputs))
    lets: list[Let] = []
    for name, text in form.let.items():
        value = located.expression(scope, text, _LET, "a number, a bool, a string or a list of them", "let", name)
        scope = scope.with_value(name, value.kind if value else None)
        if value:
            lets.append(Let(name, value))
    scratch: list[Output] = []
    for name, buffer in form.workspace.items():
        kind = dtype(buffer.dtype, ("workspace", name, "dtype"), scope)
        wanted = "a shape, such as x.shape or [n, 4]"
        shape = located.expression(scope, buffer.shape, (DIMS,), wanted, "workspace", name, "shape")
        if kind and shape:
            scratch.append(Output(name, kind, shape, buffer.init == "zero"))
    scope = replace(scope, outputs=(*form.outputs, *form.workspace), written=tuple(form.sizes))
    kernels = [_kernel(located, scope, named, kernel, i, launch) for i, launch in enumerate(form.launch)]
    if located.all_understood:
        _all_used(located, lets, scratch, kernels)
    return Launch(tuple(lets), tuple(scratch), tuple(kernels), named.offset_bits)


def _kernel(
    located: Located, scope: Scope, named: KernelForm, source: SourceFile | None, i: int, form: LaunchForm
) -> Kernel:
    path = ("launch", i)
    name = form.kernel or named.function
    at: tuple[str | int, ...] = (*path, "kernel") if form.kernel else ("kernel", "function")
    if name is None:
        located.problem("which kernel is launched? add kernel: here, or function: under kernel", *path)
    function = sources.function(located, source, name, *at) if source and name else None
    if function is None or not function.is_kernel:
        located.all_understood = False
    for decorator in function.decorators if function else ():
        for parameter, example in decorator.configs[0].constexprs.items() if decorator.configs else ():
            scope = scope.with_value(parameter, _SUPPLIED.get(type(example)))
    parameters: dict[str, Parameter] = {}
    for name, text in form.constexpr.items():
        value = located.expression(scope, text, _VALUES, "a number, a bool or a string", *path, "constexpr", name)
        scope = scope.with_value(name, value.kind if value else None)
        if value:
            parameters[name] = Parameter(name, value, constexpr=True)
    for name, text in form.args.items():
        wanted = "a tensor or a number; make a bool tl.constexpr"
        if name in form.constexpr:
            located.problem(f"'{name}' is under constexpr too; keep one", *path, "args", name, key=True)
        elif value := located.expression(scope, text, _ARGUMENT, wanted, *path, "args", name):
            parameters[name] = Parameter(name, value, constexpr=False)
    grid = [
        value
        for axis, text in enumerate(form.grid)
        if (value := located.expression(scope, text, (INT, DIM), "an int", *path, "grid", axis))
    ]
    constexprs = tuple(parameter for parameter in parameters.values() if parameter.constexpr)
    decorators = [d for d in function.decorators if not d.is_jit] if function else []
    tuner = next((d for d in decorators if d.configs), None)
    for supplied in tuner.supplied if tuner else ():
        located.problem(names.problem_with_argument_name(supplied), *at)
    for key in tuner.key if tuner else ():
        value = parameters[key].value if key in parameters else None
        read = {node.name for node in walk(value) if isinstance(node, Value)} if value else set()
        if depends := sorted({*form.constexpr, *(tuner.supplied if tuner else ())} & {*read, key}):
            message = f"autotune's key '{key}' depends on the constexpr {depends[0]}; let it follow from the call alone"
            located.problem(message, *at)
    for option in ("num_warps", "num_stages") if tuner else ():
        if (*path, option) in located.spec.document.places:
            message = f"each config of autotune says its {option}; remove it here"
            located.problem(message, *path, option, key=True)
    return Kernel(
        function.name if function else "",
        tuple(grid),
        _in_kernel_order(located, function, parameters, form, path, at) if function else (),
        constexprs,
        int(form.num_warps),
        form.num_stages,
        tuple(d.kind for d in decorators),
        tuple(Config(c.constexprs, c.num_warps, c.num_stages) for c in tuner.configs) if tuner else (),
        tuner.key if tuner else (),
    )


def _all_used(located: Located, lets: list[Let], scratch: list[Output], kernels: list[Kernel]) -> None:
    read = [p.value for kernel in kernels for p in kernel.parameters if p.value]
    given = {value.name for value in read if isinstance(value, Value)}
    for output in located.form.outputs:
        if output not in given:
            message = f"no kernel parameter is given the output '{output}'; add PARAMETER: {output}"
            located.problem(message, "launch", 0, "args", key=True)
    for size in located.form.sizes:
        if size not in given:
            message = f"no kernel parameter is given the size '{size}', which a kernel writes; add PARAMETER: {size}"
            located.problem(message, "launch", 0, "args", key=True)
    for buffer in scratch:
        if buffer.name not in given:
            message = f"no kernel parameter is given the buffer '{buffer.name}'; use it, or remove it"
            located.problem(message, "workspace", buffer.name, key=True)
    read += [axis for kernel in kernels for axis in kernel.grid] + [buffer.shape for buffer in scratch]
    used = {node.name for value in read for node in walk(value) if isinstance(node, Value)}
    for let in reversed(lets):
        if let.name in used:
            used |= {node.name for node in walk(let.value) if isinstance(node, Value)}
        else:
            located.problem(f"the let name '{let.name}' is not used; remove it", "let", let.name, key=True)


def _in_kernel_order(
    located: Located,
    function: Function,
    parameters: Mapping[str, Parameter],
    form: LaunchForm,
    path: tuple[str | int, ...],
    at: tuple[str | int, ...],
) -> tuple[Parameter, ...]:
    """The parameters of the kernel, those that a decorator supplies without a value; `at` is where it is named."""
    if not function.is_kernel:
        located.problem(f"'{function.name}' has no @triton.jit; decorate it, or name the kernel", *at)
        return ()
    for problem in _problems_with_kernel(function):
        located.problem(problem, *at)
    supplied = {name for decorator in function.decorators for name in decorator.supplied}
    known = [parameter.name for parameter in function.parameters]
    located.known(form.args, known, f"parameter of {function.name}", *path, "args")
    located.known(form.constexpr, known, f"parameter of {function.name}", *path, "constexpr")
    ordered = []
    for parameter in function.parameters:
        sections = {"args": form.args, "constexpr": form.constexpr}
        right, wrong = ("constexpr", "args") if parameter.constexpr else ("args", "constexpr")
        if parameter.name in supplied:
            if parameter.name in parameters:
                message = f"a decorator of {function.name} supplies '{parameter.name}'; remove it here"
                located.problem(message, *path, right, parameter.name, key=True)
            ordered.append(Parameter(parameter.name, None, constexpr=True))
        elif parameter.name in sections[wrong] and parameter.name not in sections[right]:
            is_what = "tl.constexpr" if parameter.constexpr else "no tl.constexpr"
            message = f"'{parameter.name}' is {is_what} in {function.name}; move it to {right}"
            located.problem(message, *path, wrong, parameter.name, key=True)
        elif parameter.name not in sections[right] and not parameter.variadic:
            message = f"kernel parameter '{parameter.name}' has no expression; add it to launch.{right}"
            located.problem(message, *path, right, key=True)
        elif parameter.name in parameters:
            ordered.append(parameters[parameter.name])
    return tuple(ordered)


def _problems_with_kernel(function: Function) -> list[str]:
    name = function.name
    found = [problem] if (problem := names.problem_with_kernel_name(name)) else []
    known = [parameter.name for parameter in function.parameters]
    if not function.decorators[-1].is_jit:
        found.append(f"@{function.decorators[-1].name} stands below @triton.jit on '{name}'; put @triton.jit last")
    for decorator in function.decorators:
        if decorator.problem:
            found.append(decorator.problem)
        elif not decorator.is_jit and not decorator.supplied:
            remedy = "remove it, and write fixed values under launch"
            found.append(f"'{name}' has @{decorator.name}, which is not supported; {remedy}")
        found += [
            f"@{decorator.name} of '{name}' names '{other}', which is no parameter of it; correct the kernel"
            for other in (*decorator.supplied, *decorator.key)
            if other not in known
        ]
    for parameter in function.parameters:
        if parameter.variadic or parameter.keyword_only:
            found.append(f"parameter '{parameter.name}' of {name} is not passed by position; make it a plain parameter")
    return found
