"""Each row of the dtype table against the libraries that it names."""

import numpy as np
import onnx
import pytest
import tensorrt_rtx as trt
import torch
from triton._utils import canonicalize_dtype

from trtplug.dtypes import TABLE, Dtype, problem_with_dtype


@pytest.mark.parametrize("row", TABLE.values(), ids=lambda row: row.name)
def test_every_library_knows_the_dtype_by_its_name(row: Dtype) -> None:
    dtype = eval(row.torch, {"torch": torch})
    assert dtype == getattr(torch, row.name)
    assert dtype.itemsize == row.bytes == getattr(trt.DataType, row.tensorrt).itemsize
    onnx_dtype = onnx.TensorProto.DataType.Value(row.onnx)
    assert canonicalize_dtype(dtype) == row.triton
    assert row.onnx_type in onnx.defs.get_schema("Identity").type_constraints[0].allowed_type_strs
    in_onnx = "int8" if row.name == "bool" else row.name  # what a bool is between the casts around a plugin
    assert onnx.helper.tensor_dtype_to_np_dtype(onnx_dtype).name == in_onnx
    assert onnx.helper.make_tensor_value_info("x", onnx_dtype, []).type.tensor_type.elem_type == onnx_dtype
    if row.numpy:
        assert np.dtype(eval(row.numpy, {"np": np})) == torch.empty(0, dtype=dtype).numpy().dtype


def test_a_misspelt_dtype_gets_a_suggestion() -> None:
    assert problem_with_dtype("float16") is None
    assert problem_with_dtype("flaot16") == "unknown dtype 'flaot16'; did you mean 'float16'?"
    assert problem_with_dtype("?") == f"unknown dtype '?'; the dtypes are {', '.join(TABLE)}"
