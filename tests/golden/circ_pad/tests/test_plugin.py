"""The TensorRT plugin, driven by hand: creator, fields, clones, formats, and enqueue into outputs full of a sentinel.

On a GPU the compiled kernel runs. Without one, StubKernel stands in for it; all other code is the plugin's own.
"""

import gc
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from trtplug_circular_pad import _launch, plugin
from trtplug_circular_pad._names import NAME, NAMESPACE, VERSION
from trtplug_circular_pad._tensorrt import TENSORRT_DTYPES, trt

from .calls import CASES, DTYPES, LEAST, MOST, OP, Case, arguments, assert_close, reference, tensors

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
STREAM = 0x5EED  # the handle that the stub must be given


@pytest.fixture(autouse=True)
def _library(record_property: Any) -> None:
    record_property("library", f"{trt.__name__} {trt.__version__}")


class StubKernel:
    """Stands in for compiled kernels: interprets them on the CPU tensors at the addresses, and notes the stream."""

    def __init__(self) -> None:
        self.tensors: dict[int, torch.Tensor] = {}
        self.streams: list[int] = []
        self.addresses: list[int] = []  # that the kernels which ran were compiled for

    def compile(self, launch: _launch.Launch, step: _launch.Step, address: int) -> Callable[..., None]:
        """Takes the place of Launch._compile."""

        def kernel(*values: Any, stream: int) -> None:
            self.streams.append(stream)
            self.addresses.append(address)
            values = tuple(self.tensors.get(value, value) if isinstance(value, int) else value for value in values)
            step.kernel[step.grid](*values, **step.options)

        return kernel


class Device:
    """Where enqueue runs: a GPU, or StubKernel; counts compilations."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stub = None if torch.cuda.is_available() else StubKernel()
        self.compilations = 0
        compile_ = self.stub.compile if self.stub else _launch.Launch._compile

        def counted(launch: _launch.Launch, step: _launch.Step, address: int) -> Callable[..., None]:
            self.compilations += 1
            return compile_(launch, step, address)

        monkeypatch.setattr(_launch.Launch, "_compile", counted)
        if self.stub:
            monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
        _launch.prepare.cache_clear()

    def enqueue(self, subject: Any, tensors: list[torch.Tensor], outputs: list[torch.Tensor], stream: int) -> None:
        """Calls enqueue as TensorRT does: descriptions, raw addresses, a stream."""
        described = [[describe(tensor) for tensor in group] for group in (tensors, outputs)]
        # An empty tensor has no address of its own.
        spare = [torch.empty(1, dtype=t.dtype, device=t.device) for t in (*tensors, *outputs)]
        places = [t.data_ptr() or other.data_ptr() for t, other in zip((*tensors, *outputs), spare, strict=True)]
        if self.stub:
            self.stub.tensors = dict(zip(places, (*tensors, *outputs), strict=True))
        subject.enqueue(*described, places[: len(tensors)], places[len(tensors) :], 0, stream)


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Device]:
    plugin.FAILURES.clear()
    yield Device(monkeypatch)
    _launch.prepare.cache_clear()


def describe(tensor: torch.Tensor) -> Any:
    """TensorRT's description of a tensor."""
    description = trt.PluginTensorDesc()
    description.dims = trt.Dims(list(tensor.shape))
    description.type = TENSORRT_DTYPES[tensor.dtype]
    description.format = trt.TensorFormat.LINEAR
    return description


def dynamic(dtype: Any, format: Any = trt.TensorFormat.LINEAR) -> Any:
    """TensorRT's description of a tensor of unknown shape."""
    description = trt.DynamicPluginTensorDesc()
    description.desc.type = dtype
    description.desc.format = format
    return description


def kept(case: Case) -> dict[str, Any]:
    """What the plugin of a case keeps."""
    return {"padding": case.padding}


def make(case: Case) -> Any:
    """The plugin of a case."""
    return plugin.CircularPadPlugin(**kept(case))


def split(call: tuple[Any, ...]) -> list[torch.Tensor]:
    """The tensors among the arguments of a call, dense and in the order in which TensorRT passes them."""
    return [tensor.contiguous() for tensor in tensors(call).values()]


def sentinels(expected: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    """Output buffers full of what no kernel writes by chance."""
    return [torch.full_like(t, float("nan") if t.is_floating_point() else 85) for t in expected]


def announce(subject: Any, tensors: list[torch.Tensor], outputs: list[torch.Tensor]) -> None:
    """Calls on_shape_change as TensorRT does."""
    subject.on_shape_change([describe(t) for t in tensors], [describe(t) for t in outputs])


def attributes(subject: Any) -> tuple[Any, ...]:
    """All that must survive cloning and serialisation."""
    names = ("padding", "plugin_name", "plugin_version", "plugin_namespace", "num_outputs", "timing_cache_id")
    return tuple(getattr(subject, name) for name in names)


def test_plugin_and_creator_have_the_names_of_the_op() -> None:
    for named in (make(CASES[0]), plugin.CREATOR):
        assert (named.plugin_version, named.plugin_namespace) == (VERSION, NAMESPACE)
    assert make(CASES[0]).plugin_name == plugin.CREATOR.name == NAME
    assert OP.default._schema.name.endswith(f"::{NAME}")


def test_registry_has_the_creator_once() -> None:
    registry = trt.get_plugin_registry()
    assert registry.get_creator(NAME, VERSION, NAMESPACE) is plugin.CREATOR
    assert plugin._register() is plugin.CREATOR
    other = types.FunctionType(plugin._register.__code__, {**vars(plugin), "__name__": "another_package.plugin"})
    with pytest.raises(ImportError, match=r"another_package\.plugin: trtplug_circular_pad\.plugin has registered"):
        other()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_fields_survive_a_round_trip(case: Case) -> None:
    subject = make(case)
    fields = subject.get_fields_to_serialize()
    gc.collect()
    again = plugin.CREATOR.create_plugin("again", fields, trt.TensorRTPhase.RUNTIME)
    assert attributes(again) == attributes(subject)
    declared = {field.name: field.type for field in plugin.CREATOR.field_names}
    assert {field.name: field.type for field in fields} == declared


def test_each_attribute_is_in_the_timing_cache_id() -> None:
    first = kept(CASES[0])
    for case in CASES:
        for name, value in kept(case).items():
            other = plugin.CircularPadPlugin(**{**first, name: value})
            same = str(value) == str(first[name])
            assert (other.timing_cache_id == make(CASES[0]).timing_cache_id) == same, name


@pytest.mark.parametrize("case", CASES, ids=str)
def test_creator_takes_the_narrow_numbers_of_the_onnx_parser(case: Case) -> None:
    narrow: dict[Any, tuple[Any, str]] = {
        np.dtype(np.int64): (np.int32, "INT32"),
        np.dtype(np.float64): (np.float32, "FLOAT32"),
    }
    arrays, fields = [], []
    subject = make(case)
    for field in subject.get_fields_to_serialize():
        data = np.array(field.data)
        dtype, name = narrow.get(data.dtype, (data.dtype, str(field.type).split(".")[-1]))
        if dtype == np.int32 and not np.array_equal(data, data.astype(dtype)):
            dtype, name = np.int64, "INT64"  # what no int32 holds, the parser cannot have made one
        arrays.append(data.astype(dtype))
        fields.append(trt.PluginField(field.name, arrays[-1], getattr(trt.PluginFieldType, name)))
    again = plugin.CREATOR.create_plugin("narrow", trt.PluginFieldCollection(fields), trt.TensorRTPhase.BUILD)
    for name in ("padding",):
        value = getattr(subject, name)
        assert getattr(again, name) == (value if value is None else pytest.approx(value, rel=1e-6))


def test_creator_names_the_fields_that_it_expects() -> None:
    subject = make(CASES[0])
    fields = list(subject.get_fields_to_serialize())
    unknown = trt.PluginField("unknown", np.zeros(1, dtype=np.int64), trt.PluginFieldType.INT64)
    wrong = trt.PluginField(fields[0].name, np.zeros(1, dtype=np.int16), trt.PluginFieldType.INT16)
    for given in ([*fields, unknown], [field for field in fields if field.name != "padding"]):
        with pytest.raises(ValueError, match="circular_pad: expected the fields"):
            plugin.CREATOR.create_plugin("bad", trt.PluginFieldCollection(given), trt.TensorRTPhase.BUILD)
    with pytest.raises(TypeError, match=f"circular_pad: field '{fields[0].name}'"):
        plugin.CREATOR.create_plugin("bad", trt.PluginFieldCollection([wrong, *fields[1:]]), trt.TensorRTPhase.BUILD)


def test_clones_keep_all_state() -> None:
    subject = make(CASES[0])
    for other in (subject.clone(), subject.attach_to_context(None)):
        assert other is not subject
        assert attributes(other) == attributes(subject)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_formats_are_dense_and_of_the_accepted_dtypes(case: Case) -> None:
    subject = make(case)
    types = list(trt.DataType.__members__.values())
    for dtypes in DTYPES:
        call = arguments(case, dtypes)
        outputs = [TENSORRT_DTYPES[t.dtype] for t in reference(call)]
        inputs = [TENSORRT_DTYPES[tensor.dtype] for tensor in tensors(call).values()]
        assert list(subject.get_output_data_types(inputs)) == outputs
        row = [dynamic(dtype) for dtype in (*inputs, *outputs)]
        for pos in range(len(row)):
            assert subject.supports_format_combination(pos, row, len(inputs))
            packed = [*row[:pos], dynamic(row[pos].desc.type, trt.TensorFormat.CHW32), *row[pos + 1 :]]
            assert not subject.supports_format_combination(pos, packed, len(inputs))
        for pos in range(len(inputs), len(row)):
            for dtype in types:
                other = [*row[:pos], dynamic(dtype), *row[pos + 1 :]]
                assert subject.supports_format_combination(pos, other, len(inputs)) == (dtype == row[pos].desc.type)
    accepted = {dtype for dtype in types if subject.supports_format_combination(0, [dynamic(dtype)], 1)}
    assert accepted == {TENSORRT_DTYPES[row[0]] for row in DTYPES}


@pytest.mark.parametrize("dtypes", DTYPES, ids=str)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_enqueue_fills_the_outputs_on_the_given_stream(
    case: Case, dtypes: tuple[torch.dtype, ...], device: Device
) -> None:
    call = arguments(case, dtypes)
    inputs, expected = split(call), reference(call)
    outputs = sentinels(expected)
    subject = make(case).attach_to_context(None)
    announce(subject, inputs, outputs)
    assert list(subject._launch.dtypes) == [t.dtype for t in (*inputs, *outputs)]
    compilations = device.compilations
    if device.stub:
        device.enqueue(subject, inputs, outputs, STREAM)
        assert set(device.stub.streams) <= {STREAM}
        assert device.stub.streams or not any(t.numel() for t in outputs)
    else:
        late = [torch.zeros_like(t) for t in inputs]
        stream = torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(50_000_000)  # the producer is slow: on any other stream the kernel reads zeros
            for buffer, tensor in zip(late, inputs, strict=True):
                buffer.copy_(tensor)
        device.enqueue(subject, late, outputs, stream.cuda_stream)
        stream.synchronize()
    assert device.compilations == compilations, "enqueue compiled a kernel"
    assert_close(outputs, expected, dtypes)
    assert not plugin.FAILURES


def test_contexts_and_instances_do_not_disturb_each_other(device: Device) -> None:
    prepared = []
    for case in (*CASES, LEAST, MOST):
        call = arguments(case, DTYPES[0])
        inputs, expected = split(call), reference(call)
        outputs = sentinels(expected)
        subject = make(case).attach_to_context(None)
        announce(subject, inputs, outputs)
        prepared.append((subject, inputs, outputs, expected))
    stream = STREAM if device.stub else torch.cuda.current_stream().cuda_stream
    for subject, inputs, outputs, expected in reversed(prepared):
        device.enqueue(subject, inputs, outputs, stream)
        assert_close(outputs, expected, DTYPES[0])


def test_a_failing_enqueue_is_found(device: Device) -> None:
    with pytest.raises(RuntimeError, match="circular_pad: on_shape_change"):
        make(CASES[0]).enqueue([], [], [], [], 0, 0)
    assert len(plugin.FAILURES) == 1


def test_a_refused_shape_is_found_and_not_run(device: Device) -> None:
    call = arguments(CASES[0], DTYPES[0])
    inputs, outputs = split(call), sentinels(reference(call))
    subject = make(CASES[0]).attach_to_context(None)
    announce(subject, inputs, outputs)
    with pytest.raises(RuntimeError, match="circular_pad: "):
        announce(subject, [t.new_zeros((1,) * 5) for t in inputs], outputs)
    with pytest.raises(RuntimeError, match="circular_pad: on_shape_change failed"):
        device.enqueue(subject, inputs, outputs, STREAM)
    assert len(plugin.FAILURES) == 2


@pytest.mark.parametrize("grid", [(2**31, 1, 1), (1, 65536, 1), (1, 1, 65536)])
def test_grids_that_cuda_refuses_are_refused(grid: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="circular_pad: a grid of"):
        _launch.Launch([_launch.Step(None, grid, lambda *buffers: buffers, {})], DTYPES[0])


@gpu
def test_enqueue_is_captured_in_a_cuda_graph(device: Device) -> None:
    call = arguments(MOST, DTYPES[0])
    inputs, outputs = split(call), sentinels(reference(call))
    subject = make(MOST).attach_to_context(None)
    announce(subject, inputs, outputs)
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.graph(graph, stream=stream):
        device.enqueue(subject, inputs, outputs, stream.cuda_stream)
    for _ in range(3):
        call = arguments(MOST, DTYPES[0])
        for buffer, tensor in zip(inputs, split(call), strict=True):
            buffer.copy_(tensor)
        for output in outputs:
            output.zero_()
        graph.replay()
        torch.cuda.synchronize()
        assert_close(outputs, reference(call), DTYPES[0])


@pytest.mark.parametrize("layout", ["dense", "offset"])
def test_addresses_may_have_any_alignment(layout: str, device: Device) -> None:
    call = arguments(MOST, DTYPES[0], layout)
    inputs = list(tensors(call).values())
    outputs = sentinels(reference(call))
    subject = make(MOST).attach_to_context(None)
    announce(subject, inputs, outputs)
    compilations = device.compilations
    stream = STREAM if device.stub else torch.cuda.current_stream().cuda_stream
    device.enqueue(subject, inputs, outputs, stream)
    assert device.compilations == compilations, "enqueue compiled a kernel"
    assert_close(outputs, reference(call), DTYPES[0])
    if device.stub:
        assert {address % 16 == 0 for address in device.stub.addresses} == {layout == "dense"}


@gpu
def test_two_threads_enqueue_at_once(device: Device) -> None:
    errors: list[BaseException] = []

    def work(case: Case) -> None:
        try:
            call = arguments(case, DTYPES[0])
            inputs, expected = split(call), reference(call)
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            subject = make(case).attach_to_context(None)
            for _ in range(20):
                outputs = sentinels(expected)
                torch.cuda.synchronize()
                announce(subject, inputs, outputs)
                device.enqueue(subject, inputs, outputs, stream.cuda_stream)
                stream.synchronize()
                assert_close(outputs, expected, DTYPES[0])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(case,)) for case in (LEAST, MOST)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
