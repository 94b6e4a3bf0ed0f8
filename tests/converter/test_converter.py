"""Generated packages in the real Torch-TensorRT without a GPU: dispatched, converted, partitioned, and built."""

from __future__ import annotations

import importlib.metadata
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import TORCH_TENSORRT
from trtplug import resolve, spec
from trtplug.model import Op
from trtplug.plugin_api import PluginApi

ROOT = Path(__file__).parents[2]
SPECS = (
    (ROOT / "specs" / "circ_pad.yaml", PluginApi.V3),
    (ROOT / "tests" / "specs" / "kinds.yaml", PluginApi.V3),
    (ROOT / "tests" / "specs" / "kinds.yaml", PluginApi.V2),
    (ROOT / "tests" / "specs" / "accumulate.yaml", PluginApi.V3),
)

if not TORCH_TENSORRT:
    pytest.skip("needs torch-tensorrt-rtx", allow_module_level=True)

Built = Callable[..., Path]
Given = tuple[Path, PluginApi]
Results = dict[str, dict[str, Any]]


@pytest.fixture(scope="module", params=SPECS, ids=lambda given: f"{given[0].stem}-{given[1].value}")
def given(request: pytest.FixtureRequest) -> Given:
    """A spec, and the interface that its plugin has."""
    path, api = request.param
    return path, api


@pytest.fixture(scope="module")
def op(given: Given) -> Op:
    path, api = given
    return resolve.resolve(spec.load(path), api)


@pytest.fixture(scope="module")
def models(given: Given, built: Built, tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What came of each model."""
    # The ONNX parser, which adds plugins to networks, opens the library by a name that its package does not ship.
    folder = tmp_path_factory.mktemp("library")
    (library,) = (
        file.locate()
        for file in importlib.metadata.files("tensorrt-rtx-cu13-libs") or []
        if file.name == "libtensorrt_rtx.so.1"
    )
    (folder / "libtensorrt_rtx.so").symlink_to(str(library))
    return worker(built(*given), "all", str(folder))


@pytest.fixture(scope="module")
def without_library(given: Given, built: Built) -> Results:
    """What came of the dry run where the parser would not find the library."""
    return worker(built(*given), "coverage", "")


def worker(package: Path, model: str, library_path: str) -> Results:
    """The results of tests.converter.worker, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.converter.worker", package, model],
        cwd=ROOT,
        env={**os.environ, "LD_LIBRARY_PATH": library_path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: Results = json.loads(done.stdout.splitlines()[-1])
    return found


def only(results: Results, model: str) -> Any:
    """The result of a model that was taken through with one combination of dtypes."""
    (result,) = results[model].values()
    assert not isinstance(result, dict) or "error" not in result, result["error"]
    return result


def all_of(results: Results, model: str) -> list[Any]:
    """The results of a model that has several, or none."""
    found = only(results, model)
    return found if isinstance(found, list) else [found] if found else []


def plugin_of(op: Op) -> list[str]:
    """Name, version and namespace of the plugin."""
    return [op.names.plugin, op.plugin_version, op.names.namespace]


def attributes(result: Any) -> list[str]:
    """The attributes of each plugin in a network."""
    return [plugin[3] for plugin in result["plugins"]]


def test_engine_holds_the_plugin_for_every_dtype(op: Op, models: Results) -> None:
    assert len(models["positional"]) >= 1
    for dtypes, result in models["positional"].items():
        assert "error" not in result, f"{dtypes}: {result['error']}"
        assert [plugin[:3] for plugin in result["plugins"]] == [plugin_of(op)], dtypes
        assert attributes(result) == result["given"], dtypes
        assert result["layers"].count("PLUGIN_V3") == 1, dtypes
        assert set(result["layers"]) - {"PLUGIN_V3", "CONSTANT"}, f"{dtypes}: the plugin stands alone"
        assert result["names_plugin"], f"{dtypes}: the engine does not name the plugin"
        assert any(-1 in shape for shape in result["inputs"]), f"{dtypes}: the sizes became static"


@pytest.mark.parametrize("model", ["keywords", "cases", "constants", "parameters", "writing"])
def test_arguments_are_bound_wherever_the_graph_has_them(op: Op, models: Results, model: str) -> None:
    for result in all_of(models, model):
        assert [plugin[:3] for plugin in result["plugins"]] == [plugin_of(op)]
        assert attributes(result) == result["given"]


def test_an_op_that_writes_is_its_functional_variant_in_an_engine(op: Op, models: Results) -> None:
    assert len(all_of(models, "writing")) == bool(op.written)


def test_every_case_is_taken_through(op: Op, models: Results) -> None:
    results = all_of(models, "cases")
    full = [case for case in op.cases if all(math.prod(shape) for shape in case.shapes.values())]
    assert len(results) == len(full) > 1
    optional = [tensor for tensor in op.tensors if tensor.optional]
    assert len({len(result["inputs"]) for result in results}) == len(optional) + 1


def test_values_are_unchanged_in_a_process_that_loads_the_engine(models: Results, built: Built, given: Given) -> None:
    results = [*all_of(models, "cases"), only(models, "two_calls")]
    assert all(result["fields"] for result in results), "no engine holds the plugin's fields where they are looked for"
    fields = json.dumps([fields for result in results for fields in result["fields"]])
    done = subprocess.run(
        [sys.executable, "-m", "tests.converter.reader", built(*given)],
        cwd=ROOT,
        input=fields,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    made = iter(json.loads(done.stdout))
    for result in results:
        assert {next(made) for _ in result["fields"]} == set(result["given"])


def test_two_calls_in_one_network_keep_their_attributes(op: Op, models: Results) -> None:
    result = only(models, "two_calls")
    assert [plugin[:3] for plugin in result["plugins"]] == [plugin_of(op)] * 2
    assert result["layers"].count("PLUGIN_V3") == 2
    first, second = attributes(result)
    assert first != second
    assert [first, second] == result["given"]


def test_converter_closes_the_graph_break(models: Results) -> None:
    before, after = only(models, "unregistered"), only(models, "coverage")
    assert float(before["percent"]) < 100
    assert [name.rsplit("_", 1)[0] for name in before["graphs"]] == ["_run_on_gpu", "_run_on_acc"]
    assert after["percent"] == "100.0"
    assert [name.rsplit("_", 1)[0] for name in after["graphs"]] == ["_run_on_acc"]


def test_an_excluded_op_is_as_one_without_a_converter(models: Results) -> None:
    without, excluded = only(models, "unregistered"), only(models, "excluded")
    assert {key: excluded[key] for key in ("percent", "graphs")} == {key: without[key] for key in ("percent", "graphs")}


def test_functions_of_the_generated_tests_find_coverage_and_graphs(models: Results) -> None:
    found = only(models, "demonstration")
    (percent, graphs), after = found["before"], found["after"]
    assert 0 < percent < 100
    assert graphs == 2
    assert after == [100.0, 1]


def test_functions_of_the_generated_tests_find_the_layers_of_an_engine(op: Op, models: Results) -> None:
    found = only(models, "demonstration")
    for name, calls in (("dynamic", 1), ("static", 1), ("twice", 2)):
        built = found[name]
        assert len(set(built["layers"])) == len(built["layers"]) == calls, name
        assert all(layer.startswith(f"{op.names.plugin}-") for layer in built["layers"]), name
        assert built["named"], f"{name}: the engine does not name the plugin"
        # By these names a fresh process hands an engine its inputs.
        assert list(built["inputs"]) == found["inputs"], name
        assert any(-1 in shape for shape in built["inputs"].values()) == (name == "dynamic"), name


def test_attributes_known_only_at_run_time_decline(op: Op, models: Results) -> None:
    answers = only(models, "declined")
    assert answers.pop("") == {"converter": True, "log": []}
    for name, answer in answers.items():
        assert not answer["converter"], name
        (line,) = set(answer["log"])
        assert op.names.op in line
        assert "run time" in line


def test_a_parser_that_would_end_the_process_declines(op: Op, without_library: Results) -> None:
    if op.plugin is PluginApi.V2:
        return  # which asks networks for add_plugin_v2, and no parser
    result = only(without_library, "coverage")
    assert float(result["percent"]) < 100
    (line,) = set(result["log"])  # once for each look that the partitioner takes
    assert op.names.op in line
    assert "tensorrt_rtx" in line
    assert "ln -s libtensorrt_rtx.so.1 " in line
