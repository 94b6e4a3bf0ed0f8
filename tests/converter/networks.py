"""Adds plugins of two generated packages to TensorRT-RTX networks by their own modules; prints as JSON what came of it.

Usage: ``python -m tests.converter.networks CIRC_PAD ROTARY_EMBEDDING``, the folders of the packages, whose ops have one
input and output, and four inputs and two outputs. The process ends as badly as TensorRT does when networks go.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import tensorrt_rtx as trt
from onnx import TensorProto, helper

from tests.converter.plan import fields

LOG = trt.Logger(trt.Logger.ERROR)
SIZES = (4, 8)


class Recorder(trt.IErrorRecorder):  # type: ignore[misc]
    """A user's own recorder of errors."""

    def __init__(self) -> None:
        trt.IErrorRecorder.__init__(self)
        self.errors: list[str] = []

    def num_errors(self) -> int:
        return len(self.errors)

    def report_error(self, code: Any, text: str) -> bool:
        self.errors.append(text)
        return False


class Network:
    """A network, and what it takes to build it."""

    def __init__(self) -> None:
        self.builder = trt.Builder(LOG)
        self.network = self.builder.create_network(0)

    def input(self, name: str, shape: tuple[int, ...], dtype: Any = trt.DataType.FLOAT) -> Any:
        """A layer's output, so that the network has layers before a plugin comes."""
        tensor = self.network.add_input(name, dtype, shape)
        return self.network.add_identity(tensor).get_output(0)

    def engine(self, *outputs: Any) -> bytes:
        for output in outputs:
            self.network.mark_output(output)
        config, profile = self.builder.create_builder_config(), self.builder.create_optimization_profile()
        for i in range(self.network.num_inputs):
            tensor = self.network.get_input(i)
            least, most = ([size if d < 0 else d for d in tensor.shape] for size in SIZES)
            profile.set_shape(tensor.name, least, most, most)
        config.add_optimization_profile(profile)
        plan = self.builder.build_serialized_network(self.network, config)
        assert plan is not None, "the builder refused the network"
        return bytes(plan)


def creators() -> list[str]:
    return sorted(creator.name for creator in trt.get_plugin_registry().all_creators)


class Packages:
    """The two packages."""

    def __init__(self, circ_pad: Path, rotary: Path) -> None:
        for folder in (circ_pad, rotary):
            sys.path.insert(0, str(folder / "src"))
        names = [path.parent.name for folder in (circ_pad, rotary) for path in folder.glob("src/*/plugin.py")]
        self.pad, self.rotary = (importlib.import_module(f"{name}.plugin") for name in names)
        self.of_pad, self.of_rotary = (importlib.import_module(f"{name}._network") for name in names)

    def padded(self, network: Network, name: str, tensor: Any, padding: tuple[int, ...]) -> Any:
        plugin = self.pad.CircularPadPlugin(padding=padding)
        return self.of_pad.add_layer(network.network, name, [tensor], plugin).get_output(0)

    def mixed(self) -> dict[str, Any]:
        """Both packages in one network, one of them twice; an error recorder stays the network's."""
        network = Network()
        network.network.error_recorder = recorder = Recorder()
        q, k = (self.padded(network, name, network.input(name, (1, -1, 2, 62)), (1, 1)) for name in "qk")
        positions = network.input("positions", (-1,), trt.DataType.INT64)
        table = network.input("table", (100, 64))
        plugin = self.rotary.RotaryEmbeddingPlugin(interleaved=False)
        layer = self.of_rotary.add_layer(network.network, "turned", [q, k, positions, table], plugin)
        outputs = [layer.get_output(i) for i in range(layer.num_outputs)]
        plan = network.engine(*outputs)
        return {
            "shapes": [list(output.shape) for output in outputs],
            "inputs": network.network.num_inputs,
            "outputs": network.network.num_outputs,
            "recorder": network.network.error_recorder is recorder,
            "named": [plugin.NAME.encode() in plan for plugin in (self.pad, self.rotary)],
            "made up": b"-input-" in plan,
        }

    def twice(self) -> dict[str, Any]:
        """The engine of a network that was given a plugin, and that of the same network parsed as a whole."""
        given, parsed = Network(), Network()
        x = given.network.add_input("x", trt.DataType.FLOAT, (1, -1))
        y = self.padded(given, "pad", x, (1, 2))
        y.name = "y"
        node = helper.make_node(
            self.pad.NAME,
            ["x"],
            ["y"],
            name="pad",
            domain=self.pad.NAMESPACE,
            padding="1 2",
            plugin_version=self.pad.VERSION,
            plugin_namespace=self.pad.NAMESPACE,
        )
        ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, name]) for name in "xy"]
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid(self.pad.NAMESPACE, 1)]
        model = helper.make_model(
            helper.make_graph([node], "pad", ends[:1], ends[1:]), opset_imports=opsets, ir_version=9
        )
        assert trt.OnnxParser(parsed.network, LOG).parse(model.SerializeToString())
        one, two = given.engine(y), parsed.engine()
        return {"bytes": len(one), "equal": one == two}

    def threads(self) -> list[list[int]]:
        """Each thread's engines hold its own padding."""
        found: list[list[int]] = [[] for _ in range(4)]

        def work(mine: list[int], padding: int) -> None:
            for _ in range(3):
                network = Network()
                tensor = self.padded(network, "one", network.input("x", (1, -1)), (padding, 0))
                plan = network.engine(self.padded(network, "two", tensor, (0, padding)))
                for (padded,) in fields(plan, first="padding"):
                    mine.append(sum(bytes.fromhex(padded.data)))

        running = [threading.Thread(target=work, args=(mine, i + 1)) for i, mine in enumerate(found)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        return found

    def obstacles(self) -> list[str]:
        """What keeps plugins out: nothing, a parser that takes no custom nodes, and no package onnx."""
        found = [self.of_pad.obstacle()]
        for patch in (
            mock.patch.object(trt, "__version__", "1.6.1.120"),
            mock.patch.object(self.of_pad, "find_spec", return_value=None),
        ):
            self.of_pad.obstacle.cache_clear()
            with patch:
                found.append(self.of_pad.obstacle())
        return found

    def failure(self) -> dict[str, Any]:
        """A plugin whose shapes cannot be computed, and another network after it."""

        def refused(*_: Any) -> Any:
            raise ValueError("no such shape")

        before, network = creators(), Network()
        shapes, self.pad.CircularPadPlugin.get_output_shapes = self.pad.CircularPadPlugin.get_output_shapes, refused
        try:
            shape = self.padded(network, "bad", network.input("x", (1, -1)), (1, 0)).shape
        except RuntimeError as error:
            shape = str(error)
        self.pad.CircularPadPlugin.get_output_shapes = shapes
        after = Network()
        plan = after.engine(self.padded(after, "good", after.input("x", (1, -1)), (1, 0)))
        return {"shape": str(shape), "creators": creators() == before, "bytes": len(plan)}


def main(circ_pad: str, rotary: str) -> None:
    packages = Packages(Path(circ_pad), Path(rotary))
    parts: tuple[Callable[[], Any], ...] = (
        packages.mixed,
        packages.twice,
        packages.threads,
        packages.failure,
        packages.obstacles,
    )
    results = {}
    for part in parts:
        results[part.__name__] = part()
        gc.collect()
    print(json.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
