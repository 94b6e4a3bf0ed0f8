"""Views of the generated tests, a TypedDict a template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

from trtplug import cases, trial
from trtplug.dtypes import TABLE
from trtplug.expr import Expr, Python
from trtplug.model import Attribute, Case, Op, Output, Profile, Tensor
from trtplug.plugin_api import PluginApi
from trtplug.torch_schema import Base
from trtplug.views import facts, launching, onnx, spelling
from trtplug.views.spelling import names

# --- calls.py -------------------------------------------------------------------------------------------------------


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
    dtype_names: str
    single_tensor: bool
    argument_values: str
    ranged: bool
    random_values: tuple[str, ...]
    integers: bool
    float8: bool
    sizes: tuple[int, ...]
    op_call: str
    model_parameters: str
    model_body: tuple[str, ...]
    returns: str
    writes: bool
    functional: str
    written_names: str
    rules: tuple[str, ...]


def calls(op: Op) -> Calls:
    in_package = op.reference.name == op.code.name
    module = f"{op.names.import_name}.{facts.code_module(op)}" if in_package else ".reference_file"
    ranged = any(tensor.range for tensor in op.tensors)
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
        dtype_names=names(f"{t.name}_dtype" for t in op.tensors),
        single_tensor=len(op.tensors) == 1,
        argument_values="".join(f"{_argument(a, op)}, " for a in op.arguments),
        ranged=ranged,
        random_values=_random_values(op),
        integers=any(not d.is_float for o in op.results for d in facts.possible_dtypes(op, o)),
        float8=_returns(op, "float8_e4m3fn"),
        sizes=tuple(
            next(i for i, o in enumerate(op.outputs) if size.name in spelling.needs(op, o.shape)) for size in op.sizes
        ),
        op_call=_op_call(op),
        model_parameters=_model_parameters(op),
        model_body=_model_body(
            op,
            spelling.call(
                op, lambda a: a.name if isinstance(a, Tensor) else _argument(a, op).replace("case.", "self.case.")
            ),
        ),
        returns=spelling.result_types(op),
        writes=bool(op.written),
        functional=op.names.functional,
        written_names=spelling.row(spelling.quoted(t.name) for t in op.written),
        rules=spelling.used_rules([*ends, *(size for _, size in tied)], symbolic=False),
    )


def _model_parameters(op: Op) -> str:
    """Those of a model that passes the tensors on, in the order of the plugin's inputs."""
    return names(f"{t.name}: torch.Tensor" + " | None = None" * t.optional for t in op.tensors)


def _model_body(op: Op, call: str) -> tuple[str, ...]:
    """The lines of a model that calls the op and returns its results; what is written to, only its name tells."""
    if not op.written:
        return (f"result: {spelling.returns(op)} = OP({call})", "return result")
    outputs = names(output.name for output in op.outputs)
    returned = names([*(t.name for t in op.written), *(o.name for o in op.outputs)])
    return (f"{outputs} = OP({call})" if outputs else f"OP({call})", f"return {returned}")


def _own_call(op: Op) -> str:
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
    return names(f"{a.name}={_frozen(a, values[a.name])}" for a in op.arguments)


def _frozen(argument: Tensor | Attribute, value: object) -> str:
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


def _argument(argument: Tensor | Attribute, op: Op) -> str:
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


def _op_call(op: Op) -> str:
    """`call`, the arguments in the schema's order, as the op takes it."""
    keyword_only = [(i, a.name) for i, a in enumerate(op.arguments) if a.argument.keyword_only]
    if not keyword_only:
        return "*call"
    return names([f"*call[:{keyword_only[0][0]}]", *(f"{name}=call[{i}]" for i, name in keyword_only)])


# --- the test files -------------------------------------------------------------------------------------------------


class RankTest(TypedDict):
    name: str
    position: int
    wrong_ranks: str


class Parity(TypedDict):
    op: str
    import_name: str
    tensors: tuple[RankTest, ...]
    tied: bool
    kernels: bool
    configurations: int
    writes: bool


def parity(op: Op) -> Parity:
    return Parity(
        op=op.names.op,
        import_name=op.names.import_name,
        tied=any(tensor.same_as and len(tensor.dtypes) > 1 for tensor in op.tensors),
        kernels=bool(op.launch.kernels),
        configurations=_configurations(op),
        writes=bool(op.written),
        tensors=tuple(
            RankTest(name=a.name, position=i, wrong_ranks=_wrong_ranks(a))
            for i, a in enumerate(op.arguments)
            if isinstance(a, Tensor)
        ),
    )


def _wrong_ranks(tensor: Tensor) -> str:
    least, most = tensor.rank
    return f"[{least - 1}, {most + 1}]" if least else f"[{most + 1}]"


class Opcheck(TypedDict):
    op: str
    writes: bool
    own_call: str
    opcheck_arguments: str
    opcheck_tests: str
    sizes: bool


def opcheck(op: Op) -> Opcheck:
    keyword_only = [(i, a.name) for i, a in enumerate(op.arguments) if a.argument.keyword_only]
    opcheck_arguments = "call"
    if keyword_only:
        opcheck_arguments = (
            f"call[:{keyword_only[0][0]}], {{{names(f'{spelling.quoted(n)}: call[{i}]' for i, n in keyword_only)}}}"
        )
    # Torch's test of the schema multiplies the inputs, and it multiplies no float8.
    float8 = any(dtype.name.startswith("float8") for tensor in op.tensors for dtype in tensor.dtypes)
    rest = ("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    return Opcheck(
        op=op.names.op,
        writes=bool(op.written),
        own_call=_own_call(op),
        opcheck_arguments=opcheck_arguments,
        sizes=bool(op.sizes),
        opcheck_tests=f", test_utils={spelling.row(map(spelling.quoted, rest))}" if float8 else "",
    )


class CompileTest(TypedDict):
    architectures: str


def compile_test(op: Op) -> CompileTest:
    known = (80, 86, 89, 90, 100, 120)
    least = 89 if any(dtype.name.startswith("float8") for dtype in facts.used_dtypes(op)) else 0
    return CompileTest(architectures=spelling.row(spelling.quoted(str(each)) for each in known if each >= least))


class CompileKernel(TypedDict):
    import_name: str
    types: tuple[str, ...]
    optional: bool
    prepare: str
    argument_names: str
    single_argument: bool
    configurations: int
    writes: bool
    places: str


def compile_kernel(op: Op) -> CompileKernel:
    prepared = {f"{t.name}_dtype": _if_given(t, f"{t.name}.dtype", "None") for t in op.tensors}
    prepared |= {f"{t.name}_shape": _if_given(t, f"tuple({t.name}.shape)", "()") for t in op.tensors}
    prepared |= {a.name: spelling.keep(a, a.name) for a in op.attributes}
    shapes = {f"{t.name}_shape": f"{t.name}.shape" for t in op.tensors}
    for output in facts.open_outputs(op):
        read = names(shapes.get(name, name) for name in spelling.needs(op, output.shape))
        prepared[f"{output.name}_shape"] = f"tuple(_shapes.{output.name}_shape({read}))"
    used = {name.removesuffix("_dtype").removesuffix("_shape") for name in facts.prepare_needs(op)}
    used |= {name.removesuffix("_shape") for o in facts.open_outputs(op) for name in spelling.needs(op, o.shape)}
    return CompileKernel(
        import_name=op.names.import_name,
        types=tuple(f'{dtype.torch}: "{dtype.triton}"' for dtype in facts.used_dtypes(op)),
        optional=any(tensor.optional for tensor in op.tensors),
        prepare=launching.prepare_arguments(op, prepared),
        argument_names=names(a.name if a.name in used else f"_{a.name}" for a in op.arguments),
        single_argument=len(op.arguments) == 1,
        configurations=_configurations(op),
        writes=bool(op.written),
        places=spelling.row(map(str, facts.written_places(op))),
    )


def _if_given(tensor: Tensor, value: str, absent: str) -> str:
    return f"{absent} if {tensor.name} is None else {value}" if tensor.optional else value


_MOST_DIMENSIONS = 8  # of a description of TensorRT
_STATE = ("plugin_name", "plugin_version", "plugin_namespace", "num_outputs", "timing_cache_id")  # of a plugin in C++


class PluginTest(TypedDict):
    op: str
    import_name: str
    package: str
    plugin_class: str
    kernels: bool
    kept: str
    attribute_strings: str
    attributes: bool
    has_numbers: bool
    number_strings: str
    missing_required: str
    wrong_rank: int
    defaulted: str
    written: str
    sizes: int
    op_call: str
    absent: str
    optional_tensors: bool
    scratch: bool
    tuned: bool
    writes: bool
    own_outputs: str
    state_strings: str
    name_attribute: str
    fields_of_subject: str
    phase: str
    for_context: str
    desc: str


def plugin_test(op: Op) -> PluginTest:
    attributes = facts.plugin_attributes(op)
    numbers = [a.name for a in op.attributes if a.base in (Base.INT, Base.SYMINT, Base.FLOAT, Base.BOOL)]
    least, most = op.tensors[0].rank
    open_sizes = {a.name for a in facts.open_sizes(op)}
    optional = [a.name for a in attributes if a.argument.default is not None or a.optional]
    optional = [name for name in optional if name not in open_sizes]
    return PluginTest(
        op=op.names.op,
        import_name=op.names.import_name,
        package=op.names.package,
        plugin_class=op.names.plugin_class,
        kernels=bool(op.launch.kernels),
        kept=_kept(op),
        attribute_strings="".join(f'"{a.name}", ' for a in attributes),
        attributes=bool(attributes),
        has_numbers=bool(numbers),
        number_strings=spelling.row(spelling.quoted(name) for name in numbers) if numbers else "",
        missing_required=_without_required(attributes),
        wrong_rank=most + 1 if most < _MOST_DIMENSIONS else least - 1,
        written="written" if op.sizes else "reference",
        sizes=len(op.sizes),
        op_call=_op_call(op),
        defaulted=spelling.string_set(optional) if optional else "",
        absent=_strings(a.name for a in attributes if a.optional),
        optional_tensors=any(t.optional for t in op.tensors),
        scratch=bool(op.launch.scratch),
        tuned=bool(_configurations(op)),
        writes=bool(op.written),
        own_outputs=f"outputs[{len(op.written)} :]" if op.written else "outputs",
        state_strings=names(map(spelling.quoted, _STATE)),
        name_attribute=_STATE[0],
        fields_of_subject="subject.get_fields_to_serialize()",
        phase=", trt.TensorRTPhase.BUILD",
        for_context="attach_to_context(None)",
        desc=".desc",
    )


def _configurations(op: Op) -> int:
    """The most that the autotuning of a kernel chooses from; 0 if none is tuned."""
    return max((len(kernel.configs) for kernel in op.launch.kernels), default=0)


def _strings(values: Iterable[str]) -> str:
    """Strings as a tuple, or nothing if there are none."""
    quoted = [spelling.quoted(value) for value in values]
    return spelling.row(quoted) if quoted else ""


def _without_required(attributes: tuple[Attribute, ...]) -> str:
    """The fields without one that has no default, if there is one, as a further item."""
    required = [a.name for a in attributes if a.argument.default is None and not a.optional]
    return f", [field for field in fields if field.name != {spelling.quoted(required[0])}]" if required else ","


def _make_arguments(op: Op, case: str = "case") -> str:
    """The attributes of a case, for the plugin's class."""
    added = facts.added_values(op, f"{case}.")
    return names(f"{a.name}={added.get(a.name, f'{case}.{a.name}')}" for a in facts.plugin_attributes(op))


def _kept(op: Op) -> str:
    """The items of a dict of what the plugin of a case keeps."""
    added = facts.added_values(op, "case.")
    values = {a.name: added.get(a.name, f"case.{a.name}") for a in facts.plugin_attributes(op)}
    return names(f"{spelling.quoted(name)}: {value}" for name, value in values.items())


class NodeAttribute(TypedDict):
    name: str
    onnx_type: str
    node_value: str
    expected: str
    optional: bool


class OnnxTest(TypedDict):
    op: str
    import_name: str
    package: str
    plugin_class: str
    kept: str
    bools: bool
    onnx_elements: tuple[str, ...]
    attributes: tuple[NodeAttribute, ...]
    written: str
    open_names: str
    open_strings: str
    open_count: int
    open_call: bool
    open_body: tuple[str, ...]
    model_parameters: str
    returns: str
    writes: bool
    aliases: str
    first_written: int


def onnx_test(op: Op) -> OnnxTest:
    added = facts.added_values(op, "case.")
    sizes = facts.open_sizes(op)
    return OnnxTest(
        op=op.names.op,
        import_name=op.names.import_name,
        package=op.names.package,
        plugin_class=op.names.plugin_class,
        kept=_kept(op),
        bools=_returns(op, "bool"),
        onnx_elements=tuple(f"{d.torch}: TensorProto.{d.onnx}" for d in facts.used_dtypes(op)),
        attributes=tuple(
            NodeAttribute(
                name=a.name,
                onnx_type=onnx.onnx_type(a),
                node_value=_node_value(a, added),
                expected=_expected(a, added),
                optional=a.optional,
            )
            for a in facts.plugin_attributes(op)
        ),
        written="written" if op.sizes else "reference",
        open_names=" and ".join(a.name for a in sizes),
        open_strings=names(spelling.quoted(a.name) for a in sizes),
        open_count=len(sizes),
        open_call=bool(sizes and op.profiles),
        open_body=_model_body(op, _open_call(op)) if sizes and op.profiles else (),
        model_parameters=_model_parameters(op),
        returns=spelling.result_types(op),
        writes=bool(op.written),
        aliases=f"{{{names(f'{i}: {place}' for i, place in enumerate(facts.written_places(op)))}}}",
        first_written=next(iter(facts.written_places(op)), -1),
    )


def _open_call(op: Op) -> str:
    """A call of the op with each open size taken from the first dynamic dimension."""
    size = f"{op.profiles[0].tensor}.shape[{op.profiles[0].dimension}]"
    sizes = facts.open_sizes(op)

    def spell(argument: Tensor | Attribute) -> str:
        if isinstance(argument, Tensor):
            return argument.name
        return size if argument in sizes else _argument(argument, op).replace("case.", "self.case.")

    return spelling.call(op, spell)


def _node_value(attribute: Attribute, added: Mapping[str, str]) -> str:
    """The value of a node's attribute for a case, said once more beside the code that is to write it."""
    if attribute.name in added:
        return onnx.added_value(added[attribute.name])
    value = f"case.{attribute.name}"
    if attribute.base is Base.BOOL:
        return f"[int(value) for value in {value}]" if attribute.is_list else f"int({value})"
    if attribute.base is Base.STR:
        return value
    if attribute.base is Base.SCALARTYPE:
        return f'str({value}).removeprefix("torch.")'
    return f'" ".join(map(str, {value}))' if attribute.is_list else f"str({value})"


def _expected(attribute: Attribute, added: Mapping[str, str]) -> str:
    value = _node_value(attribute, added)
    return value if attribute.base is Base.BOOL else f"{value}.encode()"


class InTorchTensorRT(TypedDict):
    import_name: str
    package: str
    model_parameters: str
    tensor_names: str
    several_outputs: bool
    float8: bool
    only_float8: bool
    scalars: bool
    writes: bool
    results: int
    other: str


def in_torch_tensorrt(op: Op) -> InTorchTensorRT:
    return InTorchTensorRT(
        import_name=op.names.import_name,
        package=op.names.package,
        model_parameters=_model_parameters(op),
        tensor_names=names(t.name for t in op.tensors),
        several_outputs=len(op.results) > 1,
        float8=_returns(op, _FLOAT8),
        only_float8=all(_may_be(op, output, _FLOAT8) for output in op.results),
        scalars=[] in trial.usual_shapes(op) or any(t.rank[0] == 0 for t in op.written),
        writes=bool(op.written),
        results=len(op.results),
        other=names(f"{a.name}={_frozen(a, value)}" for a, value in trial.other_attributes(op)),
    )


class ConverterTest(TypedDict):
    import_name: str
    package: str
    writes: bool
    own: bool
    v3: bool
    add_plugin: str
    several_outputs: bool
    sizes: bool
    dynamic: bool
    other: str


def converter_test(op: Op) -> ConverterTest:
    return ConverterTest(
        writes=bool(op.written),
        import_name=op.names.import_name,
        package=op.names.package,
        own=op.registered is None,
        v3=op.registered is None and op.plugin_api is PluginApi.V3,
        add_plugin=facts.add_plugin(op),
        several_outputs=len(op.results) > 1,
        sizes=bool(op.sizes),
        dynamic=bool(op.profiles),
        other=names(a.name for a, _ in trial.other_attributes(op)),
    )


class FreshProcess(TypedDict):
    package: str


def fresh_process(op: Op) -> FreshProcess:
    return FreshProcess(package=op.names.package)


class RunEngine(TypedDict):
    import_name: str
    dtypes: str
    package: str


def run_engine(op: Op) -> RunEngine:
    more = {"BOOL": "torch.int8"} if _returns(op, "bool") else {}
    if TABLE["float32"] not in facts.used_dtypes(op):
        more["FLOAT"] = "torch.float32"  # what a model of Torch-TensorRT's returns
    added = names(f"trt.DataType.{name}: {dtype}" for name, dtype in more.items())
    return RunEngine(
        import_name=op.names.import_name,
        package=op.names.package,
        dtypes=f"{{**TORCH_DTYPES, {added}}}" if added else "TORCH_DTYPES",
    )


_FLOAT8 = "float8_e4m3fn"


def _returns(op: Op, dtype: str) -> bool:
    return any(_may_be(op, output, dtype) for output in op.results)


def _may_be(op: Op, output: Output, dtype: str) -> bool:
    return any(possible.name == dtype for possible in facts.possible_dtypes(op, output))


class EngineTest(TypedDict):
    import_name: str
    package: str
    plugin_class: str
    output_strings: str
    sizes: bool
    make_arguments: str
    bools: bool
    add_plugin: str


def engine_test(op: Op) -> EngineTest:
    return EngineTest(
        import_name=op.names.import_name,
        package=op.names.package,
        plugin_class=op.names.plugin_class,
        output_strings=spelling.row(spelling.quoted(o.name) for o in op.results),
        sizes=bool(op.sizes),
        make_arguments=_make_arguments(op, "USUAL"),
        bools=_returns(op, "bool"),
        add_plugin=facts.add_plugin(op),
    )
