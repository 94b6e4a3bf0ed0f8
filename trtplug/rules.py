"""The named shape rules of the expression language; a new rule is one function here and a row in expr/tree.py.

Each is plain Python over dimensions, so one text serves ints, SymInts and TensorRT dimension expressions. Generated
packages carry the source of the rules that they use, with the functions of this file that those call, and
`trtplug check` runs the same functions. A rule may use `+ - * // %`, `len`, indexing, `torch.sym_min` and
`torch.sym_max`, and must never branch on the value of a dimension; ranks, lengths of lists and attributes are Python
values and may be branched on. That two shapes fit each other is a matter of a check, so a rule says only what is wrong
with Python values. Annotations and calls are all that a rule may name of this file.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

Dim = Any

# The generator works without torch, and only on ints.
torch: Any = SimpleNamespace(sym_min=min, sym_max=max)


def pad(shape: Sequence[Dim], padding: Sequence[int]) -> list[Dim]:
    """Adds a before and an after to each padded dimension, the last one first, as torch.nn.functional.pad does."""
    padded = list(shape)
    for i in range(len(padding) // 2):
        padded[-1 - i] = padded[-1 - i] + padding[2 * i] + padding[2 * i + 1]
    return padded


def broadcast(a: Sequence[Dim], b: Sequence[Dim]) -> list[Dim]:
    """The shape of two tensors that are broadcast together, as in NumPy and torch, for any ranks."""
    short, long = sorted((list(a), list(b)), key=len)
    lead = len(long) - len(short)
    return [*long[:lead], *(_broadcast_size(m, n) for m, n in zip(long[lead:], short, strict=True))]


def _broadcast_size(m: Dim, n: Dim) -> Dim:
    """The size that m and n have together: n if m is 1, m if n is 1, and otherwise both are the same."""
    if isinstance(m, int) and isinstance(n, int) and m != n and 1 not in (m, n):
        raise ValueError(f"sizes {m} and {n} do not broadcast")
    if isinstance(m, int):
        return n if m == 1 else m
    if isinstance(n, int):
        return m if n == 1 else n
    # The larger is wrong for 0 and 1, which give 0; the product, kept between both, is right for every pair. SymInts
    # of one size give that size again, and not a formula that later guards would have to prove equal to it.
    return torch.sym_max(torch.sym_min(m, n), torch.sym_min(torch.sym_max(m, n), m * n))


def broadcasts(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    """Whether two shapes can be broadcast together; a condition, so it compares sizes, as torch itself does."""
    return all(m == 1 or n == 1 or m == n for m, n in zip(reversed(a), reversed(b), strict=False))


def reduce(shape: Sequence[Dim], dims: Sequence[int], keepdim: bool) -> list[Dim]:
    """What is left of a shape when `dims` are reduced, as torch.sum does: an empty list is all of them."""
    axes = [_axis(dim, len(shape)) for dim in dims]
    if len(set(axes)) < len(axes):
        raise ValueError(f"dims {list(dims)} name a dimension twice")
    reduced = axes or range(len(shape))
    if keepdim:
        return [1 if i in reduced else size for i, size in enumerate(shape)]
    return [size for i, size in enumerate(shape) if i not in reduced]


def matmul(a: Sequence[Dim], b: Sequence[Dim]) -> list[Dim]:
    """The shape of torch.matmul(a, b): the last two dimensions multiplied, those before them broadcast.

    A vector has no rows (as a) or no columns (as b), nor has then the result.
    """
    if len(a) == 0 or len(b) == 0:
        raise ValueError("matmul takes no scalars")
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else []
    return [*broadcast(a[:-2], b[:-2]), *rows, *columns]


def concat(dim: int, shape: Sequence[Dim], *shapes: Sequence[Dim]) -> list[Dim]:
    """The shape of tensors joined along `dim`, as torch.cat does; the other sizes are those of the first."""
    if any(len(other) != len(shape) for other in shapes):
        raise ValueError(f"ranks {[len(each) for each in (shape, *shapes)]} differ; tensors of one rank can be joined")
    if len(shape) == 0:
        raise ValueError("scalars cannot be joined")
    axis = _axis(dim, len(shape))
    return [*shape[:axis], sum(each[axis] for each in (shape, *shapes)), *shape[axis + 1 :]]


def permute(shape: Sequence[Dim], dims: Sequence[int]) -> list[Dim]:
    """The dimensions in another order, as torch.permute does."""
    axes = [_axis(dim, len(shape)) for dim in dims]
    if sorted(axes) != list(range(len(shape))):
        raise ValueError(f"dims {list(dims)} do not name each of {len(shape)} dimensions once")
    return [shape[axis] for axis in axes]


def transpose(shape: Sequence[Dim], i: int, j: int) -> list[Dim]:
    """Two dimensions exchanged, as torch.transpose does."""
    one, other = _axis(i, len(shape)), _axis(j, len(shape))
    exchanged = {one: other, other: one}
    return [shape[exchanged.get(k, k)] for k in range(len(shape))]


def conv(
    shape: Sequence[Dim],
    weight_shape: Sequence[Dim],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> list[Dim]:
    """The shape of a convolution of a batch, as torch.nn.functional.conv2d and its kin; groups do not change it."""
    spatial = len(shape) - 2
    if spatial < 0 or len(weight_shape) != len(shape):
        ranks = f"{len(shape)} and {len(weight_shape)}"
        raise ValueError(f"a convolution takes a shape and a weight_shape of one rank, two or more, not of {ranks}")
    _same_length(spatial, stride=stride, padding=padding, dilation=dilation)
    sizes = [
        (shape[2 + i] + 2 * padding[i] - dilation[i] * (weight_shape[2 + i] - 1) - 1) // stride[i] + 1
        for i in range(spatial)
    ]
    return [shape[0], weight_shape[0], *sizes]


def pool(
    shape: Sequence[Dim],
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> list[Dim]:
    """The shape of torch's max and average pooling over the last dimensions, as many as kernel_size has.

    An empty stride is the kernel_size, as in torch.
    """
    lead = len(shape) - len(kernel_size)
    if lead < 0:
        raise ValueError(f"kernel_size {list(kernel_size)} has more dimensions than the {len(shape)} of the shape")
    steps = kernel_size if len(stride) == 0 else stride
    _same_length(len(kernel_size), stride=steps, padding=padding, dilation=dilation)
    sizes = []
    for i, step in enumerate(steps):
        # Windows start at 0, step, 2 * step, ..., counted from the padding on, and end within the padded input.
        last = shape[lead + i] + 2 * padding[i] - dilation[i] * (kernel_size[i] - 1) - 1
        if ceil_mode:
            # One more may reach beyond the end, unless it would start there, in the padding behind the input.
            last = torch.sym_min(last + step - 1, shape[lead + i] + padding[i] - 1)
        sizes.append(last // step + 1)
    return [*shape[:lead], *sizes]


def strides(shape: Sequence[Dim]) -> list[Dim]:
    """The strides of a dense tensor, counted in elements, the last dimension without gaps."""
    dense: list[Dim] = [1] * len(shape)
    for i in range(len(shape) - 1, 0, -1):
        dense[i - 1] = shape[i] * dense[i]
    return dense


def scaled(n: Dim, factor: float) -> Dim:
    """n times a factor, rounded down; the factor is the decimal number that Python prints, so 0.7 is exactly 7 / 10."""
    if factor != 0 and not 1e-9 <= factor <= 1e9:
        raise ValueError(f"a size cannot be scaled by {factor}; a factor is 0, or a number from 1e-9 to 1e9")
    p, q = Fraction(repr(float(factor))).as_integer_ratio()
    if p < 2**31:
        return n * p // q
    # A third, say, has 16 digits. In two parts, no product leaves 64 bits for an n below 2**31.
    part = math.gcd(q, 10**8)
    return (n * (p // part) + n * (p % part) // part) // (q // part)


def next_power_of_2(n: int) -> int:
    """The least power of two that is not below n; of a launch only, since a dimension expression has no such form."""
    return 1 << max(n - 1, 0).bit_length()


def _axis(dim: int, rank: int) -> int:
    """A dimension counted from the front; as in torch, a scalar is taken to have one."""
    count = max(rank, 1)
    if not -count <= dim < count:
        raise IndexError(f"dimension {dim} is out of range; there are {rank}")
    return dim % count


def _same_length(count: int, **lists: Sequence[int]) -> None:
    """Raises ValueError if a list does not have an item for each of `count` spatial dimensions."""
    for name, items in lists.items():
        if len(items) != count:
            raise ValueError(
                f"{name} {list(items)} has {len(items)} items, not one for each of {count} spatial dimensions"
            )
