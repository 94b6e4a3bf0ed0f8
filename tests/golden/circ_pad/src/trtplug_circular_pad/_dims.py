"""Python's operators for TensorRT's dimension expressions, so that _shapes.py serves TensorRT as it serves ints."""

from collections.abc import Sequence
from typing import Any

import torch

from ._tensorrt import trt


class Dim:
    """A dimension expression (IDimensionExpr) with the arithmetic of an int: operands are Dims and ints."""

    def __init__(self, expression: Any, builder: Any) -> None:
        self.expression = expression
        self._builder = builder

    def _operation(self, name: str, left: Any, right: Any) -> "Dim":
        operands = [expression(operand, self._builder) for operand in (left, right)]
        return Dim(self._builder.operation(getattr(trt.DimensionOperation, name), *operands), self._builder)

    def __add__(self, other: Any) -> "Dim":
        return self._operation("SUM", self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> "Dim":
        return self._operation("SUB", self, other)

    def __rsub__(self, other: Any) -> "Dim":
        return self._operation("SUB", other, self)

    def __mul__(self, other: Any) -> "Dim":
        return self._operation("PROD", self, other)

    __rmul__ = __mul__

    def __neg__(self) -> "Dim":
        return self._operation("SUB", 0, self)

    def __floordiv__(self, other: Any) -> "Dim":
        return self._operation("FLOOR_DIV", self, other)

    def __rfloordiv__(self, other: Any) -> "Dim":
        return self._operation("FLOOR_DIV", other, self)

    def __mod__(self, other: Any) -> "Dim":
        return self._operation("SUB", self, self // other * other)  # TensorRT has no modulo

    def __rmod__(self, other: Any) -> "Dim":
        return self._operation("SUB", other, other // self * self)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Makes torch.sym_min and torch.sym_max take a Dim."""
        name = {torch.sym_min: "MIN", torch.sym_max: "MAX"}.get(function)
        if name is None:
            return NotImplemented
        dim: Dim = next(argument for argument in args if isinstance(argument, cls))
        return dim._operation(name, *args)


def read(dims: Any, builder: Any) -> list[Dim]:
    """TensorRT's DimsExprs as Dims."""
    return [Dim(dims[i], builder) for i in range(len(dims))]


def write(shape: Sequence[Any], builder: Any) -> Any:
    """Dims and ints as TensorRT's DimsExprs."""
    dims = trt.DimsExprs(len(shape))
    for i, size in enumerate(shape):
        dims[i] = expression(size, builder)
    return dims


def expression(size: Any, builder: Any) -> Any:
    """A Dim or an int as TensorRT's IDimensionExpr."""
    return size.expression if isinstance(size, Dim) else builder.constant(size)
