"""The view of _launch.py: grids, arguments and options of the kernels, and what their decorators supply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

from trtplug.expr import Value
from trtplug.model import Body, Kernel, Op, Tensor
from trtplug.plugin_api import PluginApi
from trtplug.views import facts, spelling
from trtplug.views.spelling import CONCRETE, names


class Launch(TypedDict):
    op: str
    import_name: str
    kernels: str
    first_kernel: str
    optional: bool
    scratch: bool
    writes: bool
    zeros: bool
    heuristics: bool
    tuned: bool
    wide: bool
    prepare_parameters: tuple[str, ...]
    floats: bool
    first: tuple[str, ...]
    body: tuple[str, ...]
    steps: tuple[str, ...]
    something_to_write: str
    zero_steps: int
    all_shapes: str
    arguments: str
    rules: tuple[str, ...]


def launch(op: Op) -> Launch:
    plan = op.launch
    several = len(plan.kernels) > 1
    body = [f"{size.name} = {CONCRETE.text(size.most)}  # room for the most" for size in op.sizes]
    body += [
        f"{output.name}_shape = _shapes.{output.name}_shape({names(spelling.needs(op, output.shape))})"
        for output in op.outputs
        if output not in facts.open_outputs(op)
    ]
    body += [f"{let.name} = {CONCRETE.text(let.value)}" for let in plan.lets]
    body += [f"{buffer.name}_shape = {_as_list(CONCRETE.text(buffer.shape))}" for buffer in plan.scratch]
    first, body = body, []  # the limits of CUDA come between, before anything is tuned
    scratch = [f"({facts.dtype_of(buffer)}, math.prod({buffer.name}_shape))" for buffer in plan.scratch]
    arguments = ["steps", spelling.row(facts.buffer_dtypes(op).values())]
    if scratch:
        arguments.append(spelling.row(scratch))
    tuned = any(kernel.configs for kernel in plan.kernels)
    if tuned:
        body.append(f"dtypes = {arguments[1]}")
        arguments[1] = "dtypes"
    places = {name: i for i, name in enumerate(facts.buffers(op))}
    zeros = [(buffer.name, f"math.prod({buffer.name}_shape)") for buffer in (*op.outputs, *plan.scratch) if buffer.zero]
    zeros += [(size.name, "1") for size in op.sizes]
    steps = [f"_zeros({places[name]}, {count})" for name, count in zeros]
    zero_steps = len(steps)
    for i, kernel in enumerate(plan.kernels, 1):
        lines, step = _step(op, kernel, f"_{i}" if several else "")
        body += lines
        if several:  # made at once, since the next kernel may give its constexprs the same names
            body.append(f"step_{i} = {step}")
        steps.append(f"step_{i}" if several else step)
    written = [f"math.prod({output.name}_shape)" for output in op.outputs if not output.zero]
    shapes = [f"{name}_shape" for name in facts.buffers(op) if name not in {size.name for size in op.sizes}]
    return Launch(
        op=op.names.op,
        import_name=op.names.import_name,
        kernels=names(dict.fromkeys(kernel.function for kernel in plan.kernels)),
        first_kernel=jit(plan.kernels[0]),
        optional=any(tensor.optional for tensor in op.tensors),
        scratch=bool(scratch),
        writes=bool(op.written),
        zeros=bool(zeros),
        heuristics=any(kernel.heuristics for kernel in plan.kernels),
        tuned=tuned,
        wide=plan.offset_bits == 64,
        prepare_parameters=(
            *spelling.parameters(op, facts.prepare_needs(op), "tuple[int, ...]", spelling.kept),
            *(f"{output.name}_shape: tuple[int, ...]" for output in facts.open_outputs(op)),
            *(["floats: str"] if facts.float_names(op) else []),
        ),
        floats=bool(facts.float_names(op)),
        first=tuple(first),
        body=tuple(body),
        steps=tuple(steps),
        something_to_write=_any(written) if written else "",
        zero_steps=zero_steps,
        all_shapes=spelling.row(shapes),
        arguments=names(arguments),
        rules=spelling.used_rules(facts.launch_expressions(op), symbolic=False),
    )


class TorchLaunch(TypedDict):
    op: str
    raw: bool
    function: str
    optional: bool
    prepare_parameters: tuple[str, ...]
    first: tuple[str, ...]
    tensors: str
    call: str
    inputs: str
    outputs: str


def torch_launch(op: Op) -> TorchLaunch:
    """The view of _launch.py where the reference is what runs."""
    optional = {tensor.name for tensor in op.tensors if tensor.optional}
    dtypes = facts.buffer_dtypes(op)
    shapes = {o.name: f"tuple({o.name}_shape)" for o in op.outputs}
    buffers = {name: f"Buffer({dtype}, {shapes.get(name, f'{name}_shape')})" for name, dtype in dtypes.items()}
    buffers |= {name: f"{buffers[name]} if {name}_dtype else None" for name in optional}
    return TorchLaunch(
        op=op.names.op,
        raw=isinstance(op.plugin, PluginApi),
        function=op.reference_function,
        optional=bool(optional),
        prepare_parameters=spelling.parameters(op, facts.prepare_needs(op), "tuple[int, ...]", spelling.kept),
        first=tuple(
            f"{output.name}_shape = _shapes.{output.name}_shape({names(spelling.needs(op, output.shape))})"
            for output in op.outputs
        ),
        tensors=names(tensor.name for tensor in op.tensors),
        call=names(a.name if isinstance(a, Tensor) else spelling.unkeep(a, a.name) for a in op.arguments),
        inputs=spelling.row(buffers[tensor.name] for tensor in op.tensors),
        outputs=spelling.row(buffers[output.name] for output in op.outputs),
    )


def jit(kernel: Kernel) -> str:
    """What the decorators of a kernel wrap, which is what is compiled."""
    return kernel.function + ".fn" * len(kernel.decorators)


def prepare_call(op: Op, device: str, spell: Mapping[str, str]) -> str:
    """The arguments of `prepare`; a reference runs on whatever device its tensors are on."""
    arguments = prepare_arguments(op, spell)
    return f"{device}, {arguments}" if op.body is Body.TRITON else arguments


def prepare_arguments(op: Op, spell: Mapping[str, str]) -> str:
    """The arguments of `prepare` after the device, each spelled as its caller has it."""
    read = facts.float_names(op)
    floats = [f"repr({spelling.row(spell[name] for name in read)})"] if read else []
    shapes = [spell[f"{output.name}_shape"] for output in facts.open_outputs(op)]
    return names([*(spell[name] for name in facts.prepare_needs(op)), *shapes, *floats])


def _as_list(text: str) -> str:
    return text if text.startswith("[") else f"list({text})"


def _any(conditions: Iterable[str]) -> str:
    found = list(conditions)
    return found[0] if len(found) == 1 else f"({' or '.join(found)})"


def _step(op: Op, kernel: Kernel, suffix: str) -> tuple[list[str], str]:
    """The lines before the steps, and the step of one kernel."""
    lines = [f"{p.name} = {CONCRETE.text(p.value)}" for p in kernel.constexprs if p.value]
    fixed, arguments = _grouped(op, kernel, suffix)
    lines += fixed
    grid = [CONCRETE.text(axis) for axis in kernel.grid]
    grid_text = f"({names([*grid, *['1'] * (3 - len(grid))])})"
    function = f"lambda {names(facts.buffers(op))}: {spelling.row(arguments)}"
    step = f"Step({jit(kernel)}, {grid_text}, {function}, {_options(kernel)})"
    if kernel.heuristics:
        at = kernel.decorators.index("heuristics")
        step = f"_supplied({step}, {kernel.function}{'.fn' * at}.values, {_dtypes(op, kernel)})"
    if not kernel.configs:
        return lines, step
    configs = f"{kernel.function}{'.fn' * kernel.decorators.index('autotune')}.configs"
    supplied = [f'{name} = config.kwargs["{name}"]' for name in kernel.configs[0].constexprs]
    candidate = f"candidate{suffix}"
    nested = [f"def {candidate}(config: triton.Config) -> Step:"]
    nested += [f"    {line}" for line in (*supplied, *lines, f"return {step}")]
    key = spelling.row([spelling.quoted(kernel.function + suffix), "dtypes", *_tuned_by(op, kernel)])
    chosen = f"_fastest(device, [{candidate}(config) for config in {configs}], {key}, {_counts(op)})"
    return nested, chosen


def _options(kernel: Kernel) -> str:
    if kernel.configs:
        return '{"num_warps": config.num_warps, "num_stages": config.num_stages}'
    stages = f', "num_stages": {kernel.num_stages}' if kernel.num_stages is not None else ""
    return f'{{"num_warps": {kernel.num_warps}{stages}}}'


def _dtypes(op: Op, kernel: Kernel) -> str:
    """The dtypes of all buffers."""
    if kernel.configs and not op.launch.scratch:
        return "dtypes"
    return spelling.row([*facts.buffer_dtypes(op).values(), *map(facts.dtype_of, op.launch.scratch)])


def _counts(op: Op) -> str:
    """The dtype and the number of elements of each buffer."""
    dtypes = facts.buffer_dtypes(op) | {buffer.name: facts.dtype_of(buffer) for buffer in op.launch.scratch}
    counts = {size.name: "1" for size in op.sizes}
    return spelling.row(f"({dtype}, {counts.get(name, f'math.prod({name}_shape)')})" for name, dtype in dtypes.items())


def _tuned_by(op: Op, kernel: Kernel) -> list[str]:
    """The values that a choice of configuration holds for."""
    values = {p.name: p.value for p in kernel.parameters if p.value and p.name in kernel.tuned_by}
    return [CONCRETE.text(value) for value in values.values() if not facts.reads_buffer(op, value)]


def _grouped(op: Op, kernel: Kernel, suffix: str) -> tuple[list[str], list[str]]:
    """The lines that compute the values between buffers once, and the arguments that mix them with the buffers."""
    runs: list[list[str]] = []
    arguments: list[str] = []
    for parameter in kernel.parameters:
        value = parameter.value
        if isinstance(value, Value) and facts.reads_buffer(op, value):
            arguments.append(value.name)
            runs.append([])
            continue
        if not runs or not runs[-1]:
            runs = [run for run in runs if run] + [[]]
            arguments.append(f"*values_{len(runs)}")
        if value is None:
            supplied = kernel.configs and parameter.name in kernel.configs[0].constexprs
            runs[-1].append(parameter.name if supplied else "None")
        else:
            runs[-1].append(parameter.name if parameter.constexpr else CONCRETE.text(value))
    runs = [run for run in runs if run]
    if len(runs) == 1:
        named = f"values{suffix}"
        return [f"{named} = {spelling.row(runs[0])}"], [a.replace("*values_1", f"*{named}") for a in arguments]
    lines = [f"values{suffix}_{i} = {spelling.row(run)}" for i, run in enumerate(runs, 1)]
    return lines, [a.replace("*values_", f"*values{suffix}_") for a in arguments]
