"""Runs an engine in a fresh process that has imported nothing but the plugin: PLAN, INPUTS and OUTPUTS are files."""

import sys
from pathlib import Path

import torch

from trtplug_circular_pad import plugin
from trtplug_circular_pad._tensorrt import TORCH_DTYPES, trt

UNSUPPORTED = 3  # the exit code for a GPU that this TensorRT does not run on


class Log(trt.ILogger):  # type: ignore[misc]
    """TensorRT's log on stderr, and what it says of the GPU."""

    unsupported = False

    def log(self, severity: object, message: str) -> None:
        """Called by TensorRT."""
        self.unsupported |= "does not support" in message and "compute capability" in message
        print(severity, message, file=sys.stderr)


def main(plan: str, inputs: str, outputs: str) -> int:
    """The exit code; outputs are saved as a list of dicts, one for each dict of inputs."""
    log = Log()
    engine = trt.Runtime(log).deserialize_cuda_engine(Path(plan).read_bytes())
    context = engine.create_execution_context() if engine else None
    if context is None:
        return UNSUPPORTED if log.unsupported else 1
    names = [engine.get_tensor_name(i) for i in range(engine.num_io_tensors)]
    results = []
    stream = torch.cuda.Stream()
    for tensors in torch.load(inputs):
        buffers = {name: tensor.cuda() for name, tensor in tensors.items()}
        for name, tensor in buffers.items():
            context.set_input_shape(name, tuple(tensor.shape))
        for name in names:
            if name not in buffers:
                dtype = TORCH_DTYPES[engine.get_tensor_dtype(name)]
                value = float("nan") if dtype.is_floating_point else 85
                buffers[name] = torch.full(tuple(context.get_tensor_shape(name)), value, dtype=dtype, device="cuda")
            # An empty tensor has no address of its own, and TensorRT wants one.
            context.set_tensor_address(name, buffers[name].data_ptr() or torch.empty(256, device="cuda").data_ptr())
        torch.cuda.synchronize()
        if not context.execute_async_v3(stream.cuda_stream):
            return 1
        stream.synchronize()
        results.append({name: buffers[name].cpu() for name in names if name not in tensors})
    torch.save(results, outputs)
    for failure in plugin.FAILURES:
        print(repr(failure), file=sys.stderr)
    return 1 if plugin.FAILURES else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
