"""What TensorRT calls the plugin; the plugin, its creator and the ONNX node all take it from here."""

NAME = "circular_pad"
VERSION = "1"
NAMESPACE = "trtplug_ops"
