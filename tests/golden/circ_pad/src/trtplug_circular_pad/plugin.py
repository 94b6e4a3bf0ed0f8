"""The TensorRT plugin of circular_pad, an IPluginV3, and its creator; importing this module registers it."""

from collections import deque
from hashlib import sha256
from importlib.resources import files
from typing import Any

import numpy as np
import torch

from . import _launch, _shapes
from ._dims import read, write
from ._names import NAME, NAMESPACE, VERSION
from ._tensorrt import TENSORRT_DTYPES, TORCH_DTYPES, trt

# The attributes, and the types of the fields that carry them.
FIELDS = {
    "padding": trt.PluginFieldType.INT64,
}

# TensorRT prints an exception of on_shape_change or enqueue and goes on with unwritten outputs; here it can be found.
FAILURES: deque[Exception] = deque(maxlen=16)

# The accepted types of all inputs and outputs, a row for each combination.
_COMBINATIONS = [
    [TENSORRT_DTYPES[dtype] for dtype in (x_dtype, _shapes.y_dtype(x_dtype))] for (x_dtype,) in _shapes.DTYPES
]

# Shapes and formats are in TensorRT's own key for timed tactics; what the kernel does with them is not.
_CODE = sha256(
    b"".join(files(__package__).joinpath(name).read_bytes() for name in ("_kernel.py", "_launch.py", "_shapes.py"))
).hexdigest()


class CircularPadPlugin(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):  # type: ignore[misc]
    """Circular padding of the trailing dimensions; a negative padding crops first."""

    def __init__(self, padding: tuple[int, ...]) -> None:
        trt.IPluginV3.__init__(self)
        trt.IPluginV3OneCore.__init__(self)
        trt.IPluginV3OneBuild.__init__(self)
        trt.IPluginV3OneRuntime.__init__(self)
        self.plugin_name = NAME
        self.plugin_version = VERSION
        self.plugin_namespace = NAMESPACE
        self.num_outputs = 1
        self.timing_cache_id = f"{(padding,)!r} {_CODE}"
        self.padding = padding
        self._launch: _launch.Launch | None = None

    def get_capability_interface(self, kind: Any) -> "CircularPadPlugin":
        """This object is its own core, build and runtime part."""
        return self

    def clone(self) -> "CircularPadPlugin":
        """A plugin of the same attributes that has announced no shapes yet."""
        return CircularPadPlugin(padding=self.padding)

    def attach_to_context(self, context: Any) -> "CircularPadPlugin":
        """The plugin of one execution context, which keeps the shapes of that context."""
        return self.clone()

    def get_fields_to_serialize(self) -> Any:
        """The attributes, as TensorRT writes them into the engine."""
        arrays = {
            "padding": np.array(self.padding, dtype=np.int64),
        }
        # A field refers to the memory of its array and a collection to its fields; neither keeps them alive.
        self._arrays = arrays
        self._fields = trt.PluginFieldCollection(
            [trt.PluginField(name, array, FIELDS[name]) for name, array in arrays.items()]
        )
        return self._fields

    def get_output_data_types(self, input_types: Any) -> list[Any]:
        """The output types that follow from the input types, by the rules of _shapes.py."""
        (x_dtype,) = (TORCH_DTYPES[dtype] for dtype in input_types)
        return [TENSORRT_DTYPES[_shapes.y_dtype(x_dtype)]]

    def get_output_shapes(self, inputs: Any, shape_inputs: Any, builder: Any) -> list[Any]:
        """The output shapes as dimension expressions, by the rules of _shapes.py."""
        (x_shape,) = (read(dims, builder) for dims in inputs)
        return [write(_shapes.y_shape(x_shape, self.padding), builder)]

    def supports_format_combination(self, pos: int, in_out: Any, num_inputs: int) -> bool:
        """Whether tensor `pos` may be what it is, given the tensors before it: dense, and a known combination."""
        types = [tensor.desc.type for tensor in in_out[: pos + 1]]
        linear = in_out[pos].desc.format == trt.TensorFormat.LINEAR
        return linear and any(row[: pos + 1] == types for row in _COMBINATIONS)

    def configure_plugin(self, inputs: Any, outputs: Any) -> None:
        """Nothing to do: all that a launch needs is known when on_shape_change is called."""

    def on_shape_change(self, inputs: Any, outputs: Any) -> None:
        """Prepares the launch for new shapes, so that enqueue neither computes nor compiles."""
        (x,) = inputs
        self._launch = None
        try:
            _shapes.check(TORCH_DTYPES[x.type], tuple(x.dims), self.padding)
            launch = _launch.prepare(torch.cuda.current_device(), TORCH_DTYPES[x.type], tuple(x.dims), self.padding)
            launch.warm()
        except Exception as error:
            FAILURES.append(error)
            raise
        self._launch = launch

    def set_tactic(self, tactic: int) -> None:
        """There is one tactic."""

    def enqueue(
        self, input_desc: Any, output_desc: Any, inputs: Any, outputs: Any, workspace: int, stream: int
    ) -> None:
        """Starts the kernels on TensorRT's stream."""
        try:
            if self._launch is None:
                raise RuntimeError("circular_pad: on_shape_change failed, or was not called before enqueue")
            self._launch.start(*inputs, *outputs, stream=stream)
        except Exception as error:
            FAILURES.append(error)
            raise


class CircularPadCreator(trt.IPluginCreatorV3One):  # type: ignore[misc]
    """Makes the plugin from fields: those of an ONNX node when a network is built, the serialised ones at run time."""

    def __init__(self) -> None:
        trt.IPluginCreatorV3One.__init__(self)
        self.name = NAME
        self.plugin_version = VERSION
        self.plugin_namespace = NAMESPACE
        self._nothing = np.empty(0, dtype=np.int8)
        self.field_names = trt.PluginFieldCollection(
            [trt.PluginField(name, self._nothing, kind) for name, kind in FIELDS.items()]
        )

    def create_plugin(self, name: str, fields: Any, phase: Any) -> CircularPadPlugin:
        """The plugin that the fields describe; ValueError names a field that is missing, unknown or of a wrong type."""
        given = {field.name: field for field in fields}
        expected = {"padding"}
        if given.keys() != expected:
            raise ValueError(f"circular_pad: expected the fields {sorted(expected)}, not {sorted(given)}")
        return CircularPadPlugin(padding=_ints(given["padding"]))


def _ints(field: Any) -> tuple[int, ...]:
    """The ints of a field, copied out of TensorRT's memory; exported nodes have them as text."""
    if field.type == trt.PluginFieldType.CHAR:
        return tuple(map(int, _text(field).split()))
    if field.type not in (trt.PluginFieldType.INT32, trt.PluginFieldType.INT64):
        raise TypeError(f"circular_pad: field {field.name!r} is {field.type}, not INT64, INT32 or text")
    return tuple(np.array(field.data).ravel().tolist())


def _text(field: Any) -> str:
    """The text of a field, copied out of TensorRT's memory; some senders end it in NUL."""
    if field.type != trt.PluginFieldType.CHAR:
        raise TypeError(f"circular_pad: field {field.name!r} is {field.type}, not CHAR")
    return np.array(field.data).astype(np.int8).tobytes().decode().removesuffix("\0")


def _register() -> Any:
    """Registers the creator once in a process, and refuses to share its name with another package."""
    registry = trt.get_plugin_registry()
    known = registry.get_creator(NAME, VERSION, NAMESPACE)
    if known is None:
        known = CircularPadCreator()
        registry.register_creator(known, NAMESPACE)
    elif type(known).__module__ != __name__:
        raise ImportError(
            f"{__name__}: {type(known).__module__} has registered plugin {NAME!r}, version {VERSION!r}, "
            f"namespace {NAMESPACE!r} already; give one of the two another name, version or namespace"
        )
    return known


CREATOR = _register()
