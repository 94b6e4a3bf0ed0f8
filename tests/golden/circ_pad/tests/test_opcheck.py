"""The op is a well-behaved torch op: opcheck, fake against real, export with dynamic dimensions, torch.compile."""

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from .calls import (
    CASES,
    DTYPES,
    DYNAMIC,
    LAYOUTS,
    LEAST,
    MOST,
    OP,
    SCHEMA,
    USUAL,
    Case,
    Model,
    arguments,
    assert_close,
    invoke,
    random_case,
    reference,
    tensors,
)


def test_schema_is_that_of_the_spec() -> None:
    assert OP.default._schema == torch._C.parse_schema(SCHEMA)


@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_opcheck(case: Case, dtypes: tuple[torch.dtype, ...]) -> None:
    call = arguments(case, dtypes)
    torch.library.opcheck(OP.default, call)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_fake_equals_real(case: Case, dtypes: tuple[torch.dtype, ...], layout: str) -> None:
    call = arguments(case, dtypes, layout)
    real = invoke(call)
    with FakeTensorMode() as mode:
        fake = invoke([mode.from_tensor(value) if isinstance(value, torch.Tensor) else value for value in call])
    real, fake = (value if isinstance(value, tuple) else (value,) for value in (real, fake))
    properties = [(t.shape, t.dtype, t.stride(), t.storage_offset(), t.device) for t in real]
    assert [(t.shape, t.dtype, t.stride(), t.storage_offset(), t.device) for t in fake] == properties
    inputs = {value.untyped_storage().data_ptr() for value in call if isinstance(value, torch.Tensor) and value.numel()}
    assert not inputs & {t.untyped_storage().data_ptr() for t in real if t.numel()}, "an output shares memory"


def test_export_keeps_dynamic_dimensions() -> None:
    given = tensors(arguments(USUAL, DTYPES[0]))
    shapes: dict[str, dict[int, torch.export.Dim]] = {name: {} for name in given}
    for tensor, dimension, _, _ in DYNAMIC:
        shapes[tensor][dimension] = torch.export.Dim.DYNAMIC
    program = torch.export.export(Model(), (), given, dynamic_shapes=shapes)
    (node,) = [node for node in program.graph.nodes if node.target == OP.default]
    for tensor, dimension, _, _ in DYNAMIC:
        placeholder = next(node for node in program.graph.nodes if node.name == tensor)
        assert isinstance(placeholder.meta["val"].shape[dimension], torch.SymInt), "the fake specialises a dimension"
    assert node.target == OP.default
    for case in (LEAST, MOST, random_case()):
        call = arguments(case, DTYPES[0])
        result = program.module()(**tensors(call))
        assert_close(result if isinstance(result, tuple) else (result,), reference(call), DTYPES[0])


def test_compile_captures_one_graph() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(Model(), fullgraph=True, backend="aot_eager", dynamic=True)
    for case in (USUAL, random_case()):
        call = arguments(case, DTYPES[0])
        result = compiled(**tensors(call))
        assert_close(result if isinstance(result, tuple) else (result,), reference(call), DTYPES[0])
