"""The op equals the reference: over the cases, every dtype, strided inputs, and sizes all over the profile."""

from collections.abc import Callable

import pytest
import torch

from .calls import (
    CASES,
    DEVICE,
    DTYPES,
    LAYOUTS,
    LEAST,
    MOST,
    Case,
    arguments,
    assert_close,
    invoke,
    random_case,
    reference,
    run,
)


@pytest.fixture(autouse=True)
def _how_the_kernel_ran(record_property: Callable[[str, object], None]) -> None:
    # An interpreted kernel proves logic; races, integer overflow and bfloat16 rounding show only once it is compiled.
    record_property("kernel", "compiled" if DEVICE.type == "cuda" else "interpreted")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_op_equals_reference(case: Case, dtypes: tuple[torch.dtype, ...], layout: str) -> None:
    call = arguments(case, dtypes, layout)
    before = [value.clone() if isinstance(value, torch.Tensor) else value for value in call]
    expected = reference(call)
    actual = run(call)
    assert_close(actual, expected, dtypes)
    assert all(output.is_contiguous() for output in actual)
    for was, value in zip(before, call, strict=True):
        if isinstance(value, torch.Tensor):
            torch.testing.assert_close(value, was, rtol=0, atol=0, equal_nan=True, msg="the op changed an input")


@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
@pytest.mark.parametrize("which", ["least", "most", "random", "another"])
def test_op_equals_reference_inside_the_profile(which: str, dtypes: tuple[torch.dtype, ...]) -> None:
    call = arguments({"least": LEAST, "most": MOST}.get(which) or random_case(), dtypes)
    assert_close(run(call), reference(call), dtypes)


def test_other_dtypes_are_refused() -> None:
    call = arguments(CASES[0], DTYPES[0])
    call = tuple(value.to(torch.complex64) if isinstance(value, torch.Tensor) else value for value in call)
    with pytest.raises(RuntimeError, match="circular_pad: the dtypes"):
        invoke(call)


@pytest.mark.parametrize("rank", [0, 5])
def test_other_ranks_of_x_are_refused(rank: int) -> None:
    call = list(arguments(CASES[0], DTYPES[0]))
    call[0] = call[0].new_zeros((1,) * rank)
    with pytest.raises(RuntimeError, match="circular_pad: x has"):
        invoke(call)
