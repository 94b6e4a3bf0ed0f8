"""Circular padding of the trailing dimensions; a negative padding crops first.

Importing this package registers ``torch.ops.trtplug_ops.circular_pad`` and imports nothing of TensorRT. What does:
``plugin`` registers the TensorRT plugin, ``converter`` tells Torch-TensorRT to use it, ``onnx`` exports it.
"""

from .op import circular_pad

__all__ = ["circular_pad"]
