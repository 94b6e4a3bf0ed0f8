"""Views of the generated tests that need no engine to run, and of the ONNX export, a TypedDict a template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypedDict

from trtplug.model import Attribute, Op, Tensor
from trtplug.torch_schema import Base
from trtplug.views import calls, facts, launching, onnx, spelling
from trtplug.views.spelling import names


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
        own_call=calls.own_call(op),
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
    number_strings: str
    missing_required: str
    wrong_rank: int
    defaulted: str
    written: str
    sizes: int
    op_call: str
    absent: str
    scratch: bool
    tuned: bool
    writes: bool
    own_outputs: str
    launch_dtypes: str
    state_strings: str
    name_attribute: str
    fields_of_subject: str
    phase: str
    for_context: str
    desc: str


def plugin_test(op: Op) -> PluginTest:
    attributes = facts.plugin_attributes(op)
    numbers = (Base.INT, Base.SYMINT, Base.FLOAT, Base.BOOL)
    least, most = op.tensors[0].rank
    open_sizes = {a.name for a in facts.open_sizes(op)}
    optional = [a.name for a in attributes if a.argument.default is not None or a.optional]
    optional = [name for name in optional if name not in open_sizes]
    own_outputs = f"outputs[{len(op.written)} :]" if op.written else "outputs"
    return PluginTest(
        op=op.names.op,
        import_name=op.names.import_name,
        package=op.names.package,
        plugin_class=op.names.plugin_class,
        kernels=bool(op.launch.kernels),
        kept=_kept(op),
        attribute_strings="".join(f'"{a.name}", ' for a in attributes),
        attributes=bool(attributes),
        number_strings=_strings(a.name for a in op.attributes if a.base in numbers),
        missing_required=_without_required(attributes),
        wrong_rank=most + 1 if most < _MOST_DIMENSIONS else least - 1,
        written="written" if op.sizes else "reference",
        sizes=len(op.sizes),
        op_call=calls.op_call(op),
        defaulted=spelling.string_set(optional) if optional else "",
        absent=_strings(a.name for a in attributes if a.optional),
        scratch=bool(op.launch.scratch),
        tuned=bool(_configurations(op)),
        writes=bool(op.written),
        own_outputs=own_outputs,
        launch_dtypes=_launch_dtypes(op, own_outputs),
        state_strings=names(map(spelling.quoted, _STATE)),
        name_attribute=_STATE[0],
        fields_of_subject="subject.get_fields_to_serialize()",
        phase=", trt.TensorRTPhase.BUILD",
        for_context="attach_to_context(None)",
        desc=".desc",
    )


def _launch_dtypes(op: Op, outputs: str) -> str:
    """The dtypes that a launch is prepared for, of the given inputs and of `outputs`."""
    given = any(tensor.optional for tensor in op.tensors)
    dtypes = "[dtype for dtype in subject._launch.dtypes if dtype]" if given else "list(subject._launch.dtypes)"
    return f"{dtypes}[: len(inputs) + len({outputs})]" if op.launch.scratch else dtypes


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
    parsed_since: str
    parsed_release: str


def onnx_test(op: Op) -> OnnxTest:
    added = facts.added_values(op, "case.")
    sizes = facts.open_sizes(op)
    return OnnxTest(
        op=op.names.op,
        import_name=op.names.import_name,
        package=op.names.package,
        plugin_class=op.names.plugin_class,
        kept=_kept(op),
        bools=facts.returns(op, "bool"),
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
        open_body=calls.model_body(op, _open_call(op)) if sizes and op.profiles else (),
        model_parameters=calls.model_parameters(op),
        returns=spelling.result_types(op),
        writes=bool(op.written),
        aliases=f"{{{names(f'{i}: {place}' for i, place in enumerate(facts.written_places(op)))}}}",
        first_written=next(iter(facts.written_places(op)), -1),
        parsed_since=str(facts.PARSED_SINCE),
        parsed_release=facts.PARSED_RELEASE,
    )


def _open_call(op: Op) -> str:
    """A call of the op with each open size taken from the first dynamic dimension."""
    size = f"{op.profiles[0].tensor}.shape[{op.profiles[0].dimension}]"
    sizes = facts.open_sizes(op)

    def spell(argument: Tensor | Attribute) -> str:
        if isinstance(argument, Tensor):
            return argument.name
        return size if argument in sizes else calls.argument(argument, op).replace("case.", "self.case.")

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
