"""Views of the generated tests, a TypedDict a template."""

from __future__ import annotations

from typing import TypedDict

from trtplug import cases
from trtplug.dtypes import TABLE
from trtplug.model import Attribute, Case, Op, Tensor
from trtplug.torch_schema import Base
from trtplug.views import runtime, spelling
from trtplug.views.spelling import names


class Conftest(TypedDict):
    pass


def conftest(op: Op) -> Conftest:
    return Conftest()


# --- calls.py -------------------------------------------------------------------------------------------------------


class Calls(TypedDict):
    op: str
    namespace: str
    import_name: str
    reference_import: str
    schema: str
    dtype_rows: tuple[str, ...]
    tolerance: tuple[str, ...]
    case_fields: tuple[str, ...]
    cases: tuple[str, ...]
    profile: tuple[str, ...]
    dynamic: str
    profile_shapes: str
    dtype_names: str
    single_tensor: bool
    argument_values: str
    random_values: tuple[str, ...]
    reference_call: str
    op_call: str


def calls(op: Op) -> Calls:
    in_kernel = op.reference == op.kernel
    module = f"{op.names.import_name}._kernel" if in_kernel else "reference_file"
    return Calls(
        op=op.names.op,
        namespace=op.names.namespace,
        import_name=op.names.import_name,
        reference_import=f"from {module} import {op.reference_function} as spec_reference",
        schema=spelling.quoted(op.schema),
        dtype_rows=tuple(spelling.row(dtype.torch for dtype in row) for row in runtime.dtype_rows(op)),
        tolerance=tuple(f"{TABLE[name].torch}: {value!r}" for name, value in op.tolerance.items()),
        case_fields=tuple(
            f"{a.name}: {spelling.kept(a) if isinstance(a, Attribute) else 'tuple[int, ...]'}" for a in op.arguments
        ),
        cases=tuple(_case(op, case) for case in op.cases),
        profile=tuple(_case(op, cases.profile_case(op, which)) for which in range(3)),
        dynamic="".join(f'("{p.tensor}", {p.dimension}, {p.sizes[0]}, {p.sizes[2]}), ' for p in op.profiles),
        profile_shapes=f"{{{names(f'{spelling.quoted(t.name)}: list(USUAL.{t.name})' for t in op.tensors)}}}",
        dtype_names=names(f"{t.name}_dtype" for t in op.tensors),
        single_tensor=len(op.tensors) == 1,
        argument_values="".join(f"{_argument(a)}, " for a in op.arguments),
        random_values=_random_values(op),
        reference_call="spec_reference(*call)",
        op_call=_op_call(op),
    )


def _case(op: Op, case: Case) -> str:
    attributes = cases.attribute_values(op, case)
    values = {**{name: list(shape) for name, shape in case.shapes.items()}, **attributes}
    return names(f"{a.name}={_frozen(a, values[a.name])}" for a in op.arguments)


def _frozen(argument: Tensor | Attribute, value: object) -> str:
    is_list = isinstance(argument, Tensor) or argument.is_list
    if not is_list:
        assert isinstance(value, bool | int | float | str)
        number = float(value) if isinstance(argument, Attribute) and argument.base is Base.FLOAT else value
        return spelling.literal(number)
    assert isinstance(value, list | tuple)
    items = [spelling.literal(item) for item in value]
    return spelling.row(items)


def _argument(argument: Tensor | Attribute) -> str:
    if isinstance(argument, Tensor):
        return f"_tensor(case.{argument.name}, {argument.name}_dtype, layout, device)"
    return f"list(case.{argument.name})" if argument.is_list else f"case.{argument.name}"


def _random_values(op: Op) -> tuple[str, ...]:
    """The lines that return a dense tensor of a dtype that the op takes."""
    floats = "return torch.randn(tuple(shape), device=device).to(dtype)"
    ints = "return torch.randint(-100, 100, tuple(shape), device=device).to(dtype)"
    kinds = {"float" in dtype.name for tensor in op.tensors for dtype in tensor.dtypes}
    if len(kinds) == 1:
        return (floats,) if True in kinds else (ints,)
    return ("if dtype.is_floating_point:", f"    {floats}", ints)


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
    tensors: tuple[RankTest, ...]


def parity(op: Op) -> Parity:
    return Parity(
        op=op.names.op,
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
    tensor_parameters: str
    returns: str
    model_arguments: str
    opcheck_arguments: str
    dynamic_shapes: str


def opcheck(op: Op) -> Opcheck:
    keyword_only = [(i, a.name) for i, a in enumerate(op.arguments) if a.argument.keyword_only]
    opcheck_arguments = "call"
    if keyword_only:
        opcheck_arguments = (
            f"call[:{keyword_only[0][0]}], {{{names(f'{spelling.quoted(n)}: call[{i}]' for i, n in keyword_only)}}}"
        )
    return Opcheck(
        op=op.names.op,
        tensor_parameters=_tensor_parameters(op),
        returns=spelling.returns(op),
        model_arguments=_model_arguments(op),
        opcheck_arguments=opcheck_arguments,
        dynamic_shapes=_dynamic_shapes(op),
    )


def _tensor_parameters(op: Op) -> str:
    return names(f"{t.name}: torch.Tensor" for t in op.tensors)


def _model_arguments(op: Op, case: str = "USUAL.") -> str:
    """A call with the attributes of a case."""
    return spelling.call(op, lambda a: a.name if isinstance(a, Tensor) else _argument(a).replace("case.", case))


def _dynamic_shapes(op: Op) -> str:
    return f"{{{names(f'{spelling.quoted(t.name)}: {{}}' for t in op.tensors)}}}"


class CompileTest(TypedDict):
    pass


def compile_test(op: Op) -> CompileTest:
    return CompileTest()


class CompileKernel(TypedDict):
    import_name: str
    kernel: str
    constexprs: str
    types: tuple[str, ...]
    argument_names: str
    single_argument: bool
    prepare: str


def compile_kernel(op: Op) -> CompileKernel:
    prepared = {f"{t.name}_dtype": f"{t.name}.dtype" for t in op.tensors}
    prepared |= {f"{t.name}_shape": f"tuple({t.name}.shape)" for t in op.tensors}
    prepared |= {a.name: spelling.keep(a, a.name) for a in op.attributes}
    constexprs = [p.name for p in op.launch.parameters if p.constexpr]
    return CompileKernel(
        import_name=op.names.import_name,
        kernel=op.kernel_function,
        constexprs=f"{{{names(map(spelling.quoted, constexprs))}}}" if constexprs else "frozenset()",
        types=tuple(f'{dtype.torch}: "{dtype.triton}"' for dtype in runtime.used_dtypes(op)),
        argument_names=names(a.name for a in op.arguments),
        single_argument=len(op.arguments) == 1,
        prepare=runtime.prepare_arguments(op, prepared),
    )


_MOST_DIMENSIONS = 8  # of a description of TensorRT


class PluginTest(TypedDict):
    op: str
    import_name: str
    plugin_class: str
    kernel: str
    make_arguments: str
    attribute_strings: str
    attributes: bool
    has_numbers: bool
    number_strings: str
    missing_required: str
    attribute_list: str
    wrong_rank: int
    optional: str


def plugin_test(op: Op) -> PluginTest:
    numbers = [a.name for a in op.attributes if a.base is not Base.STR]
    least, most = op.tensors[0].rank
    optional = [a.name for a in op.attributes if a.argument.default is not None]
    return PluginTest(
        op=op.names.op,
        import_name=op.names.import_name,
        plugin_class=op.names.plugin_class,
        kernel=op.kernel_function,
        make_arguments=_make_arguments(op),
        attribute_strings="".join(f'"{a.name}", ' for a in op.attributes),
        attributes=bool(op.attributes),
        has_numbers=bool(numbers),
        number_strings=spelling.row(spelling.quoted(name) for name in numbers) if numbers else "",
        missing_required=_without_required(op),
        attribute_list=f"[{names(spelling.quoted(a.name) for a in op.attributes)}]",
        wrong_rank=most + 1 if most < _MOST_DIMENSIONS else least - 1,
        optional=spelling.string_set(optional) if optional else "",
    )


def _without_required(op: Op) -> str:
    """The fields without one that has no default, if there is one, as a further item."""
    required = [a.name for a in op.attributes if a.argument.default is None]
    return f", [field for field in fields if field.name != {spelling.quoted(required[0])}]" if required else ","


def _make_arguments(op: Op, case: str = "case") -> str:
    """The attributes of a case, for the plugin's class."""
    return names(f"{a.name}={case}.{a.name}" for a in op.attributes)


class NodeAttribute(TypedDict):
    name: str
    onnx_type: str
    node_value: str
    expected: str
    too_wide: str
    wide_values: str
    value_type: str


class OnnxTest(TypedDict):
    op: str
    import_name: str
    plugin_class: str
    translation_import: str
    onnx_elements: tuple[str, ...]
    tensor_parameters: str
    returns: str
    model_arguments: str
    dynamic_shapes: str
    attributes: tuple[NodeAttribute, ...]


def onnx_test(op: Op) -> OnnxTest:
    attributes = tuple(
        NodeAttribute(
            name=a.name,
            onnx_type=runtime.onnx_type(a),
            node_value=_node_value(a, "case"),
            expected=_expected(a),
            too_wide=_too_wide(op, a),
            wide_values="[2**31, -(2**31) - 1, 2**40 + 3]" if a.base is Base.INT else "[0.1, -1e-60, 1e300]",
            value_type="int" if a.base is Base.INT else "float",
        )
        for a in op.attributes
    )
    return OnnxTest(
        op=op.names.op,
        import_name=op.names.import_name,
        plugin_class=op.names.plugin_class,
        translation_import=f", {op.names.op}" if any(a["too_wide"] for a in attributes) else "",
        onnx_elements=tuple(f"{d.torch}: TensorProto.{d.onnx}" for d in runtime.used_dtypes(op)),
        tensor_parameters=_tensor_parameters(op),
        returns=spelling.returns(op),
        model_arguments=_model_arguments(op, "self.case."),
        dynamic_shapes=_dynamic_shapes(op),
        attributes=attributes,
    )


def _node_value(attribute: Attribute, case: str) -> str:
    value = f"{case}.{attribute.name}"
    if attribute.base is Base.BOOL:
        return f"[int(value) for value in {value}]" if attribute.is_list else f"int({value})"
    return f"list({value})" if attribute.is_list else value


def _expected(attribute: Attribute) -> str:
    value = _node_value(attribute, "case")
    return f"{value}.encode()" if attribute.base is Base.STR else value


def _too_wide(op: Op, attribute: Attribute) -> str:
    """A call of the translation with a value that ONNX or its parser would change, where the type has one."""
    wide = {Base.INT: "value", Base.FLOAT: "value"}.get(attribute.base)
    if wide is None:
        return ""
    value = f"[{wide}]" if attribute.is_list else wide
    others = [
        f"{a.name}=None" if isinstance(a, Tensor) else f"{a.name}={_argument(a).replace('case.', 'USUAL.')}"
        for a in op.arguments
        if a != attribute
    ]
    return names([*others, f"{attribute.name}={value}"])


class ConverterTest(TypedDict):
    import_name: str
    tensor_parameters: str
    model_arguments: str
    tensor_strings: str


def converter_test(op: Op) -> ConverterTest:
    return ConverterTest(
        import_name=op.names.import_name,
        tensor_parameters=_tensor_parameters(op),
        model_arguments=_model_arguments(op),
        tensor_strings=names(spelling.quoted(t.name) for t in op.tensors),
    )


class RunEngine(TypedDict):
    import_name: str


def run_engine(op: Op) -> RunEngine:
    return RunEngine(import_name=op.names.import_name)


class EngineTest(TypedDict):
    import_name: str
    plugin_class: str
    tensor_strings: str
    output_strings: str
    make_arguments: str


def engine_test(op: Op) -> EngineTest:
    return EngineTest(
        import_name=op.names.import_name,
        plugin_class=op.names.plugin_class,
        tensor_strings=names(spelling.quoted(t.name) for t in op.tensors),
        output_strings=names(spelling.quoted(o.name) for o in op.outputs),
        make_arguments=_make_arguments(op, "USUAL"),
    )
