"""The second call of the engine that holds two: attributes of another case that suit the tensors of the usual one."""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from trtplug import resolve, spec, trial
from trtplug.model import AttributeValue, Op


def op(path: str) -> Op:
    return resolve.resolve(spec.load(ROOT / path))


def others(of: Op) -> dict[str, object]:
    return {attribute.name: value for attribute, value in trial.other_attributes(of)}


def with_cases(of: Op, *attributes: dict[str, AttributeValue]) -> Op:
    """The first case, then one of its shapes for each of these attributes."""
    first, *_ = of.cases
    more = [first._replace(attributes={**first.attributes, **values}) for values in attributes]
    return of._replace(cases=(first, *more))


def test_the_first_later_case_that_no_check_refuses_is_taken() -> None:
    # The second case of circ_pad pads more dimensions than the usual sizes allow.
    assert others(op("specs/circ_pad.yaml")) == {"padding": (-2, 3, 1, -1)}


def test_attributes_that_are_the_same_are_left_out() -> None:
    assert others(op("specs/resize_bilinear.yaml")) == {"scale_h": 1.5, "scale_w": 0.75}


@pytest.mark.parametrize(
    ("path", "attributes", "why"),
    [
        ("specs/scatter_add.yaml", {"rows": 5}, "an index of 7 is inside 8 rows and outside 5"),
        ("specs/circ_pad.yaml", {"padding": (-4, -4)}, "nothing is left of 8 columns"),
        ("specs/circ_pad.yaml", {"padding": (1,)}, "a check refuses it"),
        ("specs/circ_pad.yaml", {}, "nothing differs"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_what_does_not_suit_the_usual_tensors_is_not_taken(
    path: str, attributes: dict[str, AttributeValue], why: str
) -> None:
    assert others(with_cases(op(path), attributes)) == {}


def test_tensors_may_be_filled_with_less_than_the_other_call_takes() -> None:
    assert others(with_cases(op("specs/scatter_add.yaml"), {"rows": 5}, {"rows": 9})) == {"rows": 9}


@pytest.mark.parametrize("path", ["specs/swiglu.yaml", "specs/scatter_add.yaml"])
def test_there_may_be_none(path: str) -> None:
    assert others(op(path)) == {}
