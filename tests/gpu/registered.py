"""TensorRT's own ROIAlign_TRT in an engine, beside the plain PyTorch of specs/roi_align.py.

A process of its own; usage: ``python -m tests.gpu.registered``, with the generated package installed. TensorRT-RTX's
parser takes the package's node from 1.7 on. Before, ONNX's RoiAlign stands for it, which becomes the same plugin.
"""

from __future__ import annotations

import importlib
import itertools
from typing import Any

import torch
from onnx import TensorProto, helper

from tests.gpu.row import report

CLOSE = 1e-4
CHANNELS = 3
LEAST, USUAL, MOST = (8, 8, 1), (20, 24, 5), (64, 64, 32)  # height, width, boxes


def main() -> None:
    """Reports the rows."""
    importlib.import_module("trtplug_roi_align")
    plugin = importlib.import_module("trtplug_roi_align.plugin")
    trt = importlib.import_module("trtplug_roi_align._tensorrt").trt
    library = f"{trt.__name__} {trt.__version__}"
    report("ROIAlign_TRT is registered, with the fields of the spec", plugin.find() is not None, "", library)
    torch.manual_seed(0)
    for aligned, ratio in itertools.product((False, True), (2, -1)):
        worst = 0.0
        run = Engine(trt, aligned, ratio)
        for height, width, boxes in (LEAST, USUAL, MOST, (31, 17, 9)):
            x = torch.randn(2, CHANNELS, height, width, device="cuda")
            ends = torch.rand(boxes, 2, 2, device="cuda") * torch.tensor([2.2 * width, 2.2 * height], device="cuda")
            rois = torch.cat([ends.amin(1), ends.amax(1)], 1)
            indices = torch.randint(0, 2, (boxes,), dtype=torch.int32, device="cuda")
            expected = torch.ops.trtplug_ops.roi_align(x, rois, indices, 0.5, 7, 5, ratio, aligned)
            worst = max(worst, float((run(x, rois, indices) - expected).abs().max()))
        what = f"ROIAlign_TRT in an engine against plain PyTorch, aligned={aligned}, sampling_ratio={ratio}"
        report(what, worst <= CLOSE, f"largest difference {worst:.1e} over 4 sizes", library)


class Engine:
    """An engine of the one node, for 7 by 5 cells and the scale 0.5."""

    def __init__(self, trt: Any, aligned: bool, ratio: int) -> None:
        logger = trt.Logger(trt.Logger.ERROR)
        builder = trt.Builder(logger)
        network = builder.create_network(0)
        parser = trt.OnnxParser(network, logger)
        assert parser.parse(_model(aligned, ratio)), [parser.get_error(i).desc() for i in range(parser.num_errors)]
        config, profile = builder.create_builder_config(), builder.create_optimization_profile()
        ends = (LEAST, USUAL, MOST)
        profile.set_shape("input", *((2, CHANNELS, height, width) for height, width, _ in ends))
        profile.set_shape("rois", *((boxes, 4) for *_, boxes in ends))
        profile.set_shape("batch_indices", *((boxes,) for *_, boxes in ends))
        config.add_optimization_profile(profile)
        self._runtime = trt.Runtime(logger)
        self._engine = self._runtime.deserialize_cuda_engine(builder.build_serialized_network(network, config))
        self._context = self._engine.create_execution_context()

    def __call__(self, x: torch.Tensor, rois: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
        given = {"input": x, "rois": rois, "batch_indices": indices.long()}
        for name, tensor in given.items():
            self._context.set_input_shape(name, tuple(tensor.shape))
            self._context.set_tensor_address(name, tensor.data_ptr())
        output = torch.full((len(rois), CHANNELS, 7, 5), float("nan"), device="cuda")
        self._context.set_tensor_address("output", output.data_ptr())
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        assert self._context.execute_async_v3(stream.cuda_stream)
        stream.synchronize()
        return output


def _model(aligned: bool, ratio: int) -> bytes:
    """ONNX's own node, with the attributes that mean what specs/roi_align.yaml says of the plugin's fields."""
    node = helper.make_node(
        "RoiAlign",
        ["input", "rois", "batch_indices"],
        ["output"],
        coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel",
        mode="avg",
        output_height=7,
        output_width=5,
        sampling_ratio=max(ratio, 0),
        spatial_scale=0.5,
    )
    inputs = [
        helper.make_tensor_value_info("input", TensorProto.FLOAT, [2, CHANNELS, "height", "width"]),
        helper.make_tensor_value_info("rois", TensorProto.FLOAT, ["boxes", 4]),
        helper.make_tensor_value_info("batch_indices", TensorProto.INT64, ["boxes"]),
    ]
    outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, ["boxes", CHANNELS, 7, 5])]
    graph = helper.make_graph([node], "roi_align", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    blob: bytes = model.SerializeToString()
    return blob


if __name__ == "__main__":
    main()
