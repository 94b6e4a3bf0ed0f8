"""What every library calls a dtype: one row each, and adding a dtype is adding a row."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class Dtype(NamedTuple):
    """The names of one dtype."""

    name: str  # in a spec
    tensorrt: str  # member of trt.DataType
    onnx: str  # member of onnx.TensorProto
    onnx_type: str  # in an ONNX operator schema
    numpy: str | None  # NumPy has no bfloat16 and float8
    triton: str  # in a kernel signature; a pointer is "*" and this
    bytes: int

    @property
    def torch(self) -> str:
        """Python source of torch's dtype: a spec calls dtypes what torch calls them."""
        return f"torch.{self.name}"

    @property
    def is_float(self) -> bool:
        return "float" in self.name


_ROWS = (
    Dtype("float32", "FLOAT", "FLOAT", "tensor(float)", "np.float32", "fp32", 4),
    Dtype("float16", "HALF", "FLOAT16", "tensor(float16)", "np.float16", "fp16", 2),
    Dtype("bfloat16", "BF16", "BFLOAT16", "tensor(bfloat16)", None, "bf16", 2),
    Dtype("float8_e4m3fn", "FP8", "FLOAT8E4M3FN", "tensor(float8e4m3fn)", None, "fp8e4nv", 1),
    Dtype("int8", "INT8", "INT8", "tensor(int8)", "np.int8", "i8", 1),
    Dtype("int32", "INT32", "INT32", "tensor(int32)", "np.int32", "i32", 4),
    Dtype("int64", "INT64", "INT64", "tensor(int64)", "np.int64", "i64", 8),
    # TensorRT's plugins take no bool: it travels as int8, 0 or 1, between a cast before the plugin and one after it.
    Dtype("bool", "INT8", "INT8", "tensor(int8)", "np.bool_", "u1", 1),
)

TABLE: Mapping[str, Dtype] = MappingProxyType({row.name: row for row in _ROWS})


def problem_with_dtype(name: str) -> str | None:
    """What is wrong with `name` as a dtype of a spec, if anything."""
    if name in TABLE:
        return None
    close = difflib.get_close_matches(name, TABLE, n=1)
    remedy = f"did you mean '{close[0]}'?" if close else f"the dtypes are {', '.join(TABLE)}"
    return f"unknown dtype '{name}'; {remedy}"
