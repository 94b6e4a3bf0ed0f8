"""The calls that the tests make: the cases of the spec, and random ones inside its optimisation profile."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

import trtplug_circular_pad  # noqa: F401  (registers the op)
from trtplug_circular_pad._kernel import reference as spec_reference

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
OP = torch.ops.trtplug_ops.circular_pad

# What the spec says, beside the code that is to fulfil it: the schema, the tensors in the order of the plugin's inputs,
# and the accepted combinations of their dtypes.
SCHEMA = "trtplug_ops::circular_pad(Tensor x, int[] padding) -> Tensor"
TENSORS = ("x",)
DTYPES = (
    (torch.float32,),
    (torch.float16,),
    (torch.bfloat16,),
)

# How far a result may be from the reference, relative and absolute.
TOLERANCE = {
    torch.float32: 0.0,
    torch.float16: 0.0,
    torch.bfloat16: 0.0,
}


@dataclass(frozen=True)
class Case:
    """The shape of each tensor and the value of each attribute of one call."""

    x: tuple[int, ...]
    padding: tuple[int, ...]


CASES = (
    Case(x=(1, 1, 3, 3), padding=(1, 1, 2, 0)),
    Case(x=(2, 3, 5, 7), padding=(1, 2, 3, 4, 2, 1, 0, 2)),
    Case(x=(2, 3, 5, 7), padding=(-2, 3, 1, -1)),
    Case(x=(4, 3, 2, 5), padding=(0, 0, -1, 0, 0, 1, -1, -2)),
    Case(x=(4, 6, 5), padding=(-1, -3, 0, 2, -2, 1)),
    Case(x=(9, 1), padding=(1, 0, 9, 9)),
    Case(x=(513,), padding=(300, 7)),
    Case(x=(2, 0, 3), padding=(1, 1)),
    Case(x=(3, 4), padding=()),
)

# The ends of the optimisation profile, which completes the first case.
LEAST, USUAL, MOST = (
    Case(x=(1, 1, 3, 3), padding=(1, 1, 2, 0)),
    Case(x=(1, 1, 8, 8), padding=(1, 1, 2, 0)),
    Case(x=(1, 1, 64, 64), padding=(1, 1, 2, 0)),
)

# The sizes that the profile leaves open: tensor, dimension, least, most.
DYNAMIC: tuple[tuple[str, int, int, int], ...] = (
    ("x", 2, 3, 64),
    ("x", 3, 3, 64),
)


def random_case() -> Case:
    """A call whose dynamic dimensions are anywhere inside the profile."""
    shapes = {"x": list(USUAL.x)}
    for tensor, dimension, least, most in DYNAMIC:
        shapes[tensor][dimension] = random.randint(least, most)
    chosen: dict[str, Any] = {name: tuple(shape) for name, shape in shapes.items()}
    return replace(USUAL, **chosen)


def arguments(
    case: Case, dtypes: Sequence[torch.dtype], layout: str = "dense", device: torch.device = DEVICE
) -> tuple[Any, ...]:
    """Random tensors and the attributes of a case, in the schema's order; `dtypes` are those of TENSORS."""
    (x_dtype,) = dtypes
    return (
        _tensor(case.x, x_dtype, layout, device),
        list(case.padding),
    )


def reference(call: Sequence[Any]) -> tuple[torch.Tensor, ...]:
    """What the spec's reference returns for the arguments of a call, always as a tuple."""
    result = spec_reference(*call)
    return result if isinstance(result, tuple) else (result,)


def invoke(call: Sequence[Any]) -> Any:
    """What the op returns for the arguments of a call."""
    return OP(*call)


def run(call: Sequence[Any]) -> tuple[torch.Tensor, ...]:
    """What the op returns for the arguments of a call, always as a tuple."""
    result = invoke(call)
    return result if isinstance(result, tuple) else (result,)


def tensors(call: Sequence[Any]) -> dict[str, torch.Tensor]:
    """The tensors of a call by name, in the order of the plugin's inputs."""
    names = [argument.name for argument in OP.default._schema.arguments]
    given = dict(zip(names, call, strict=True))
    return {name: given[name] for name in TENSORS if given[name] is not None}


class Model(torch.nn.Module):
    """The op alone, its attributes those of a case."""

    def __init__(self, case: Case = USUAL) -> None:
        super().__init__()
        self.case = case

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Calls the op as a user's model does."""
        result: torch.Tensor = OP(x, list(self.case.padding))
        return result


def assert_close(
    actual: Sequence[torch.Tensor], expected: Sequence[torch.Tensor], dtypes: Sequence[torch.dtype]
) -> None:
    """Same number, shapes, dtypes and values.

    Floats are compared within the largest tolerance of their own and the call's input dtypes.
    """
    assert len(actual) == len(expected), f"{len(actual)} results, where the reference returns {len(expected)}"
    for one, other in zip(actual, expected, strict=True):
        involved = (other.dtype, *dtypes)
        tolerance = max(TOLERANCE.get(dtype, 0) for dtype in involved)
        torch.testing.assert_close(one, other, rtol=tolerance, atol=tolerance, equal_nan=True)


LAYOUTS = ("dense", "permuted", "stepped", "offset")


def _tensor(shape: Sequence[int], dtype: torch.dtype, layout: str, device: torch.device) -> torch.Tensor:
    """Random values of one shape, laid out in memory in one of several ways."""
    if layout == "permuted":
        return _values(shape[::-1], dtype, device).permute(tuple(range(len(shape)))[::-1])
    if layout == "stepped" and shape:
        return _values([*shape[:-1], 2 * shape[-1]], dtype, device)[..., ::2]
    if layout == "offset":
        return _values([math.prod(shape) + 1], dtype, device)[1:].view(tuple(shape))
    return _values(shape, dtype, device)


def _values(size: Sequence[int], dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Random values, dense."""
    shape = tuple(size)
    return torch.randn(shape, device=device).to(dtype)
