"""The view of calls.py: the calls that generated tests make, and how they are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from trtplug import cases, trial
from trtplug.dtypes import TABLE
from trtplug.expr import Expr, Python
from trtplug.model import Attribute, Case, Op, Profile, Size, Tensor
from trtplug.torch_schema import Base
from trtplug.views import facts, spelling
from trtplug.views.spelling import names


class Calls(TypedDict):
    op: str
    namespace: str
    import_name: str
    reference_import: str
    schema: str
    tensor_names: str
    optional: bool
    dtype_rows: tuple[str, ...]
    tolerance: tuple[str, ...]
    case_fields: tuple[str, ...]
    cases: tuple[str, ...]
    profile: tuple[str, ...]
    dynamic: str
    profile_shapes: str
    tied: tuple[str, ...]
    dtype_targets: str
    argument_values: str
    ranged: bool
    ends_parameter: str
    ends_argument: str
    random_values: tuple[str, ...]
    integers: bool
    float8: bool
    float8_kernels: bool
    sizes: str
    op_call: str
    model_parameters: str
    model_body: tuple[str, ...]
    returns: str
    writes: bool
    variant: str
    functional: str
    written_names: str
    rules: tuple[str, ...]


def calls(op: Op) -> Calls:
    in_package = op.reference.name == op.code.name
    module = f"{op.names.import_name}.{facts.code_module(op)}" if in_package else ".reference_file"
    ranged = any(tensor.range for tensor in op.tensors)
    float8 = facts.returns(op, "float8_e4m3fn")
    tied = [(p, p.sizes) for p in op.profiles if not isinstance(p.sizes, tuple)]
    ends = [end for tensor in op.tensors if tensor.range for end in tensor.range]
    return Calls(
        op=op.names.op,
        namespace=op.names.namespace,
        import_name=op.names.import_name,
        reference_import=f"from {module} import {op.reference_function} as spec_reference",
        schema=spelling.quoted(op.schema),
        tensor_names=spelling.row(spelling.quoted(t.name) for t in op.tensors),
        optional=any(tensor.optional for tensor in op.tensors),
        dtype_rows=tuple(spelling.row(dtype.torch for dtype in row) for row in trial.dtype_rows(op)),
        tolerance=tuple(f"{TABLE[name].torch}: {value!r}" for name, value in op.tolerance.items()),
        case_fields=tuple(f"{a.name}: {_field(a)}" for a in op.arguments),
        cases=tuple(_case(op, case) for case in op.cases),
        profile=tuple(_case(op, trial.profile_case(op, which)) for which in range(3)),
        dynamic="".join(f'("{p.tensor}", {p.dimension}, {_least_and_most(op, p)}), ' for p in op.profiles),
        profile_shapes=f"{{{names(f'{spelling.quoted(t.name)}: list({_usual(t)})' for t in op.tensors)}}}",
        tied=tuple(
            f'shapes["{profile.tensor}"][{profile.dimension}] = {_over(size, _drawn(op))}' for profile, size in tied
        ),
        dtype_targets=names(f"{t.name}_dtype" for t in op.tensors) + "," * (len(op.tensors) == 1),
        argument_values="".join(f"{argument(a, op)}, " for a in op.arguments),
        ranged=ranged,
        ends_parameter=", ends: tuple[float, float] | None = None" * ranged,
        ends_argument=", ends" * ranged,
        random_values=_random_values(op),
        integers=any(not d.is_float for o in op.results for d in facts.possible_dtypes(op, o)),
        float8=float8,
        float8_kernels=float8 and bool(op.launch.kernels),
        sizes="".join(f"results[{_counted(op, size)}].shape[0], " for size in op.sizes),
        op_call=op_call(op),
        model_parameters=model_parameters(op),
        model_body=model_body(
            op,
            spelling.call(
                op, lambda a: a.name if isinstance(a, Tensor) else argument(a, op).replace("case.", "self.case.")
            ),
        ),
        returns=spelling.result_types(op),
        writes=bool(op.written),
        variant="functional variant of the op" if op.written else "op",
        functional=op.names.functional,
        written_names=spelling.row(spelling.quoted(t.name) for t in op.written),
        rules=spelling.used_rules([*ends, *(size for _, size in tied)], symbolic=False),
    )


def _counted(op: Op, size: Size) -> int:
    """The first output of which a size is the first dimension."""
    return next(i for i, output in enumerate(op.outputs) if size.name in spelling.needs(op, output.shape))


def model_parameters(op: Op) -> str:
    """Those of a model that passes the tensors on, in the order of the plugin's inputs."""
    return names(f"{t.name}: torch.Tensor" + " | None = None" * t.optional for t in op.tensors)


def model_body(op: Op, call: str) -> tuple[str, ...]:
    """The lines of a model that calls the op and returns its results; what is written to, only its name tells."""
    if not op.written:
        return (f"result: {spelling.returns(op)} = OP({call})", "return result")
    outputs = names(output.name for output in op.outputs)
    returned = names([*(t.name for t in op.written), *(o.name for o in op.outputs)])
    return (f"{outputs} = OP({call})" if outputs else f"OP({call})", f"return {returned}")


def own_call(op: Op) -> str:
    """A call whose tensors may be written to, since the ones of `call` are still needed."""
    return "copied(call)" if op.written else "call"


def _field(argument: Tensor | Attribute) -> str:
    if isinstance(argument, Attribute):
        return spelling.kept(argument)
    return "tuple[int, ...] | None" if argument.optional else "tuple[int, ...]"


def _least_and_most(op: Op, profile: Profile) -> str:
    ends = [trial.profile_case(op, which).shapes[profile.tensor][profile.dimension] for which in (0, 2)]
    return f"{ends[0]}, {ends[1]}"


def _case(op: Op, case: Case) -> str:
    values: dict[str, object] = dict(cases.attribute_values(op, case))
    values |= {t.name: case.shapes.get(t.name) for t in op.tensors}
    return names(f"{a.name}={frozen(a, values[a.name])}" for a in op.arguments)


def frozen(argument: Tensor | Attribute, value: object) -> str:
    if value is None:
        return "None"
    if isinstance(argument, Attribute) and argument.base is Base.SCALARTYPE:
        return f"torch.{value}"
    is_list = isinstance(argument, Tensor) or argument.is_list
    is_float = isinstance(argument, Attribute) and argument.base is Base.FLOAT
    if not is_list:
        assert isinstance(value, bool | int | float | str)
        return spelling.literal(float(value) if is_float else value)
    assert isinstance(value, list | tuple)
    return spelling.row(spelling.literal(float(item) if is_float else item) for item in value)


def argument(argument: Tensor | Attribute, op: Op) -> str:
    """The value of an argument in a call, out of a case."""
    if isinstance(argument, Tensor):
        made = f"_tensor(case.{argument.name}, {argument.name}_dtype, layout, device"
        if argument.range:
            made += f", ({names(_over(end, _of_case(op)) for end in argument.range)})"
        return made + ")"
    if not argument.is_list:
        return f"case.{argument.name}"
    value = f"list(case.{argument.name})"
    return f"None if case.{argument.name} is None else {value}" if argument.optional else value


def _over(value: Expr, variables: Mapping[str, str]) -> str:
    """An expression over the shapes and attributes of a case, spelled as `variables` says."""
    return Python(False, spelling.private, lambda name: variables.get(name, name)).text(value)


def _of_case(op: Op) -> dict[str, str]:
    shapes = {f"{t.name}_shape": f"(case.{t.name} or ())" if t.optional else f"case.{t.name}" for t in op.tensors}
    return shapes | {a.name: f"case.{a.name}" for a in op.attributes}


def _usual(tensor: Tensor) -> str:
    return f"USUAL.{tensor.name} or ()" if tensor.optional else f"USUAL.{tensor.name}"


def _drawn(op: Op) -> dict[str, str]:
    return {f"{t.name}_shape": f'shapes["{t.name}"]' for t in op.tensors} | {
        a.name: f"USUAL.{a.name}" for a in op.attributes
    }


def _random_values(op: Op) -> tuple[str, ...]:
    """The lines that return a dense tensor of a dtype that the op takes."""
    dtypes = {dtype for tensor in op.tensors for dtype in tensor.dtypes}
    kinds: list[tuple[str, list[str]]] = []
    if any(dtype.name == "bool" for dtype in dtypes):
        kinds.append(("dtype == torch.bool", ["return torch.rand(shape, device=device) < 0.5"]))
    if any(dtype.is_float for dtype in dtypes):
        lines = ["return torch.randn(shape, device=device).to(dtype)"]
        if any(tensor.range and dtype.is_float for tensor in op.tensors for dtype in tensor.dtypes):
            lines[:0] = [
                "if ends is not None:",
                "    return torch.empty(shape, device=device).uniform_(*ends).to(dtype)",
            ]
        kinds.append(("dtype.is_floating_point", lines))
    if any(not dtype.is_float and dtype.name != "bool" for dtype in dtypes):
        ints = any(tensor.range and not dtype.is_float for tensor in op.tensors for dtype in tensor.dtypes)
        lines = ["return torch.randint(-100, 101, shape, device=device).to(dtype)"]
        if ints:
            lines = [
                "low, high = ends or (-100, 100)",
                # Of an empty tensor the range may be empty too.
                "return torch.randint(low, max(low, high) + 1, shape, device=device).to(dtype)",
            ]
        kinds.append(("", lines))
    *first, (_, last) = kinds
    return (*(line for condition, lines in first for line in (f"if {condition}:", *(f"    {x}" for x in lines))), *last)


def op_call(op: Op) -> str:
    """`call`, the arguments in the schema's order, as the op takes it."""
    keyword_only = [(i, a.name) for i, a in enumerate(op.arguments) if a.argument.keyword_only]
    if not keyword_only:
        return "*call"
    return names([f"*call[:{keyword_only[0][0]}]", *(f"{name}=call[{i}]" for i, name in keyword_only)])
