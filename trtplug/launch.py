"""The kernel, let and launch of a spec to `Launch`: each kernel parameter has its expression, and each name its use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from trtplug import names, sources
from trtplug.expr import BOOL, DIM, FLOAT, INT, STR, TENSOR, Expr, Kind, Scope, Site, Value, walk
from trtplug.kernel_file import Function, is_jit
from trtplug.located import Located
from trtplug.model import Launch, Let, Parameter, SourceFile

_VALUES = (INT, DIM, FLOAT, BOOL, STR)
_LET = (*_VALUES, *(Kind(kind.scalar, is_list=True) for kind in _VALUES))
_ARGUMENT = (TENSOR, INT, DIM, FLOAT)


def resolve(located: Located, scope: Scope, kernel: SourceFile | None) -> Launch:
    """What the kernel is started with; of a spec with problems, as much as can be made out."""
    form = located.form.launch
    scope = replace(scope, site=Site.LAUNCH, outputs=tuple(located.form.outputs))
    lets: list[Let] = []
    for name, text in located.form.let.items():
        value = located.expression(scope, text, _LET, "a number, a bool, a string or a list of them", "let", name)
        scope = scope.with_value(name, value.kind if value else None)
        if value:
            lets.append(Let(name, value))
    parameters: dict[str, Parameter] = {}
    for name, text in form.constexpr.items():
        wanted = "a number, a bool or a string"
        value = located.expression(scope, text, _VALUES, wanted, "launch", "constexpr", name)
        scope = scope.with_value(name, value.kind if value else None)
        if value:
            parameters[name] = Parameter(name, value, constexpr=True)
    for name, text in form.args.items():
        if name in form.constexpr:
            located.problem(f"'{name}' is under constexpr too; keep one", "launch", "args", name, key=True)
        elif value := located.expression(
            scope, text, _ARGUMENT, "a tensor or a number; make a bool tl.constexpr", "launch", "args", name
        ):
            parameters[name] = Parameter(name, value, constexpr=False)
    grid = [
        value
        for i, text in enumerate(form.grid)
        if (value := located.expression(scope, text, (INT, DIM), "an int", "launch", "grid", i))
    ]
    if located.all_understood:
        _all_used(located, lets, [*grid, *(parameter.value for parameter in parameters.values())])
    ordered = _in_kernel_order(located, kernel, parameters) if kernel else ()
    constexprs = tuple(parameter for parameter in parameters.values() if parameter.constexpr)
    return Launch(tuple(lets), tuple(grid), ordered, constexprs, int(form.num_warps), form.num_stages)


def _all_used(located: Located, lets: list[Let], read: list[Expr]) -> None:
    used = {node.name for value in read for node in walk(value) if isinstance(node, Value)}
    for output in located.form.outputs:
        if output not in {value.name for value in read if isinstance(value, Value)}:
            located.problem(
                f"no kernel parameter is given the output '{output}'; add PARAMETER: {output}",
                "launch",
                "args",
                key=True,
            )
    for let in reversed(lets):
        if let.name in used:
            used |= {node.name for node in walk(let.value) if isinstance(node, Value)}
        else:
            located.problem(f"the let name '{let.name}' is not used; remove it", "let", let.name, key=True)


def _in_kernel_order(
    located: Located, kernel: SourceFile, parameters: Mapping[str, Parameter]
) -> tuple[Parameter, ...]:
    form = located.form
    function = sources.function(located, kernel, form.kernel.function, "kernel", "function")
    if function is None:
        return ()
    if not function.is_kernel:
        message = f"'{function.name}' in {kernel.name} has no @triton.jit; decorate it, or name the kernel"
        located.problem(message, "kernel", "function")
        return ()
    for problem in _problems_with_kernel(function):
        located.problem(problem, "kernel", "function")
    known = [parameter.name for parameter in function.parameters]
    located.known(form.launch.args, known, f"parameter of {function.name}", "launch", "args")
    located.known(form.launch.constexpr, known, f"parameter of {function.name}", "launch", "constexpr")
    for parameter in function.parameters:
        sections = {"args": form.launch.args, "constexpr": form.launch.constexpr}
        right, wrong = ("constexpr", "args") if parameter.constexpr else ("args", "constexpr")
        if parameter.name in sections[wrong] and parameter.name not in sections[right]:
            is_what = "tl.constexpr" if parameter.constexpr else "no tl.constexpr"
            message = f"'{parameter.name}' is {is_what} in {function.name}; move it to {right}"
            located.problem(message, "launch", wrong, parameter.name, key=True)
        elif parameter.name not in sections[right] and not parameter.variadic:
            message = f"kernel parameter '{parameter.name}' has no expression; add it to launch.{right}"
            located.problem(message, "launch", right, key=True)
    return tuple(parameters[name] for name in known if name in parameters)


def _problems_with_kernel(function: Function) -> list[str]:
    name = function.name
    found = [problem] if (problem := names.problem_with_kernel_name(name)) else []
    for decorator in function.decorators:
        if not is_jit(decorator):
            what = decorator.split("(")[0]
            found.append(
                f"'{name}' has @{what}, which is not supported; remove it, and write fixed values under launch"
            )
    for parameter in function.parameters:
        if parameter.variadic or parameter.keyword_only:
            found.append(f"parameter '{parameter.name}' of {name} is not passed by position; make it a plain parameter")
    return found
