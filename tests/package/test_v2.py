"""Packages whose plugin is an IPluginV2DynamicExt: what verify says, their bytes, registries, and faults in them."""

from __future__ import annotations

import json
import math
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import ROOT, run_trtplug
from tests.field_reports.packages import imported
from tests.harness.forked import Forks
from tests.package.test_bites import Change, changed, passes
from trtplug import fileset, render, resolve, spec
from trtplug.plugin_api import PluginApi

SPECS = {
    "circ_pad": ROOT / "specs/circ_pad.yaml",
    "scatter_add": ROOT / "specs/scatter_add.yaml",  # a SymInt, which is open in an IPluginV3
    "everything": ROOT / "tests/specs/everything.yaml",
    "kinds": ROOT / "tests/specs/kinds.yaml",
    "pipeline": ROOT / "tests/specs/pipeline.yaml",
    "copy": ROOT / "tests/specs/copy.yaml",  # no attributes
    "center_rows": ROOT / "tests/specs/center_rows.yaml",  # no kernel
}
WITHOUT_GPU = ("spec", "package", "parity", "opcheck", "compile", "plugin", "onnx")
OF_THE_PLUGIN = ("plugin", "onnx")  # the stages that the interface makes a difference to


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The package of each spec."""
    folder = tmp_path_factory.mktemp("v2")
    for name, path in SPECS.items():
        op = resolve.resolve(spec.load(path), PluginApi.V2)
        fileset.apply(fileset.plan(render.render(op), folder / name))
    return {name: folder / name for name in SPECS}


@pytest.mark.parametrize("stage", OF_THE_PLUGIN)
@pytest.mark.parametrize("name", ["everything", "kinds", "pipeline", "center_rows"])
def test_stages_that_the_interface_matters_to_pass(
    packages: dict[str, Path], name: str, stage: str, forks: Forks
) -> None:
    assert passes(packages[name], stage, forks)


def test_stages_without_a_gpu_pass(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    required = [option for stage in WITHOUT_GPU for option in ("--stage", stage, "--require", stage)]
    done = run_trtplug("verify", SPECS["circ_pad"], "--plugin-api", "v2", "-j", "1", "--json", report, *required)
    assert done.returncode == 0, done.stdout + done.stderr
    (package,) = json.loads(report.read_text())["packages"]
    stages = {stage["name"]: stage for stage in package["stages"]}
    assert [stage for stage in WITHOUT_GPU if stages[stage]["status"] != "passed"] == []
    assert stages["onnx"]["figures"]["engine_bytes"] > 1000
    # What is not proven is said: TensorRT-RTX has built the plugin inside another one.
    assert stages["onnx"]["figures"]["carried"] == "inside an IPluginV3"
    assert "tensorrt_rtx 1.7.1.116 refused the node: its parser takes IPluginV3 alone" in stages["onnx"]["reason"]


@pytest.mark.parametrize("command", ["ruff check --no-cache", "ruff format --check --no-cache", "mypy"])
@pytest.mark.parametrize("name", SPECS)
def test_package_is_clean(packages: dict[str, Path], name: str, command: str) -> None:
    # What mypy remembers of torch is most of its work.
    options = ["--cache-dir", str(packages[name].with_name("mypy"))] if command == "mypy" else []
    done = subprocess.run(
        [sys.executable, "-m", *command.split(), *options],
        cwd=packages[name],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_ops_of_one_package_may_differ(tmp_path: Path) -> None:
    for file in (ROOT / "tests/specs/several").iterdir():
        text = file.read_text(encoding="utf-8")
        (tmp_path / file.name).write_text(text.replace("name: shift\n", "name: shift\nplugin_api: v2\n"))
    specs = (tmp_path / "scale.yaml", tmp_path / "shift.yaml")
    required = [option for stage in ("plugin", "onnx") for option in ("--stage", stage, "--require", stage)]
    done = run_trtplug("verify", *specs, "--package", "acme_ops", *required)
    assert done.returncode == 0, done.stdout + done.stderr
    done = run_trtplug("build", *specs, "--package", "acme_ops", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    source = tmp_path / "build/acme-ops/src/acme_ops"
    assert "trt.IPluginV3," in (source / "scale/plugin.py").read_text()
    assert "trt.IPluginV2DynamicExt)" in (source / "shift/plugin.py").read_text()
    assert (
        "# What on_shape_change, configure_plugin or enqueue of a plugin raised" in (source / "plugin.py").read_text()
    )
    # The option says it of all specs, and wins over what they say.
    for api, word in (("v3", "trt.IPluginV3,"), ("v2", "trt.IPluginV2DynamicExt)")):
        done = run_trtplug("build", *specs, "--package", "acme_ops", "--plugin-api", api, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert all(word in (source / op / "plugin.py").read_text() for op in ("scale", "shift"))


def test_a_package_is_verified_as_it_is(packages: dict[str, Path]) -> None:
    done = run_trtplug("verify", packages["copy"], "--plugin-api", "v3")
    assert done.returncode == 2
    assert "--plugin-api is about specs" in done.stderr


# --- bytes ----------------------------------------------------------------------------------------------------------

KINDS = {
    "n": "int?",
    "rows": "int",
    "dtype": "str",
    "eps": "float?",
    "flag": "bool?",
    "mode": "str?",
    "sizes": "int[]?",
    "pads": "int[]",
    "scales": "float[]",
    "other": "str?",
    "label": "str",
    "has_w": "bool",
    "has_mask": "bool",
}
INTS = st.one_of(st.sampled_from([2**40 + 3, -1, 0, -(2**63), 2**63 - 1]), st.integers(-(2**63), 2**63 - 1))
FLOATS = st.one_of(st.sampled_from([1e-12, math.inf, -0.0, 0.1]), st.floats(allow_nan=False))
TEXTS = st.one_of(
    st.sampled_from(["", "tanh", "two  words", "ü"]), st.text(st.characters(exclude_characters="\0", codec="utf-8"))
)
VALUES: dict[str, st.SearchStrategy[Any]] = {"int": INTS, "float": FLOATS, "bool": st.booleans(), "str": TEXTS}
DTYPES = st.sampled_from(["float32", "float16", "int8", "int32", "bool"])


def values_of(name: str) -> st.SearchStrategy[Any]:
    """What an attribute of the op may be; a dtype by its name."""
    kind = KINDS[name].removesuffix("?")
    one = DTYPES if name in ("dtype", "other") else VALUES[kind.removesuffix("[]")]
    value = one
    if kind.endswith("[]"):
        lists = st.lists(one, max_size=40)
        value = st.one_of(st.just(()), st.lists(one, min_size=33, max_size=33), lists).map(tuple)
    return st.none() | value if KINDS[name].endswith("?") else value


ATTRIBUTES = st.fixed_dictionaries({name: values_of(name) for name in KINDS})


def documented(values: dict[str, Any]) -> bytes:
    """The bytes of attributes, as docs/spec.md lays them out."""
    found = b""
    for name, kind in KINDS.items():
        value = values[name]
        if kind.endswith("?"):
            found += bytes([value is not None])
            if value is None:
                continue
        kind = kind.removesuffix("?")
        if kind == "str":
            value, kind = tuple(value.encode()), "byte[]"
        if kind.endswith("[]"):
            found += len(value).to_bytes(4, "little")
        for item in value if kind.endswith("[]") else (value,):
            match kind.removesuffix("[]"):
                case "int":
                    found += item.to_bytes(8, "little", signed=True)
                case "float":
                    found += struct.pack("<d", item)
                case _:
                    found += bytes([item])
    return b"TRTP\1\0" + len(found).to_bytes(4, "little") + found


@pytest.fixture(scope="module")
def kinds(packages: dict[str, Path]) -> Any:
    """The module of the plugin that has every kind of attribute."""
    return imported(packages["kinds"], "plugin").plugin


def plugin_of(kinds: Any, values: dict[str, Any]) -> Any:
    dtypes = {name: getattr(kinds.torch, values[name]) for name in ("dtype", "other") if values[name] is not None}
    return kinds.KindsPlugin(**{**values, **dtypes})


def kept(plugin: Any) -> str:
    """As text, which tells 1 from 1.0 and 0.0 from -0.0."""
    return str([getattr(plugin, name) for name in KINDS])


def test_bytes_are_the_documented_ones_and_make_the_same_plugin(kinds: Any) -> None:
    @settings(max_examples=150, deadline=None)
    @given(ATTRIBUTES)
    def check(values: dict[str, Any]) -> None:
        plugin = plugin_of(kinds, values)
        data = plugin.serialize()
        assert data == documented(values)
        assert kept(kinds.CREATOR.deserialize_plugin("again", data)) == kept(plugin)
        assert kept(plugin.clone()) == kept(plugin)

    check()


def test_no_bytes_do_worse_than_a_value_error(kinds: Any) -> None:
    @settings(max_examples=300, deadline=None)
    @given(ATTRIBUTES, st.data())
    def check(values: dict[str, Any], data: st.DataObject) -> None:
        good = plugin_of(kinds, values).serialize()
        bad = bytearray(good[: data.draw(st.integers(0, len(good)))])
        for _ in range(data.draw(st.integers(0, 3)) if bad else 0):
            bad[data.draw(st.integers(0, len(bad) - 1))] = data.draw(st.integers(0, 255))
        bad += data.draw(st.binary(max_size=8))
        if data.draw(st.booleans()) and len(bad) >= 10:  # as if the header were right
            bad[:10] = b"TRTP\1\0" + (len(bad) - 10).to_bytes(4, "little")
        try:
            plugin = kinds.CREATOR.deserialize_plugin("bad", bytes(bad))
        except ValueError as error:
            messages.add(str(error))
        else:
            assert plugin.serialize() == bytes(bad), "bytes that are taken mean what they say"

    messages: set[str] = set()
    check()
    assert len(messages) > 50
    assert all(message.startswith("kinds: ") for message in messages)


BAD = {
    "field 'mode' is no UTF-8": b"\1\1\0\0\0\xff",
    "field 'mode' takes 4294967295 bytes": b"\1\xff\xff\xff\xff",
    "a byte of field 'mode' is neither 0 nor 1": b"\2",
    "kinds: mode holds a NUL": b"\1\1\0\0\0\0",
}


@pytest.mark.parametrize("message", BAD)
def test_an_error_names_the_field(kinds: Any, message: str) -> None:
    values = dict.fromkeys(KINDS) | {"rows": 1, "dtype": "float32", "pads": (), "scales": (), "label": ""}
    data = documented({**values, "has_w": False, "has_mask": False})
    at = 10 + 1 + 8 + 4 + len("float32") + 1 + 1  # where mode stands, which is None
    bad = data[10:at] + BAD[message] + data[at + 1 :]
    with pytest.raises(ValueError, match=message):
        kinds.CREATOR.deserialize_plugin("bad", data[:6] + len(bad).to_bytes(4, "little") + bad)
    unknown = data.replace(b"float32", b"float31")
    with pytest.raises(ValueError, match=r"kinds: field 'dtype' is 'float31', not one of \['bfloat16'|'bool'"):
        kinds.CREATOR.deserialize_plugin("bad", unknown)


# --- registries -----------------------------------------------------------------------------------------------------

# A `tensorrt` with the classes of tensorrt_rtx and the registry of another release.
_OTHER_RELEASE = """
import tensorrt_rtx
from tensorrt_rtx import *
from tensorrt_rtx import {classes}
__version__ = "{version}"

class Registry:
    def __init__(self):
        self.asked = []

    def register_creator(self, creator, namespace):
        return {registers} and tensorrt_rtx.get_plugin_registry().register_creator(creator, namespace)

    def {finds}(self, name, version, namespace):
        self.asked.append((name, version, namespace))
        return tensorrt_rtx.get_plugin_registry().get_creator(name, version, namespace)

registry = Registry()

def get_plugin_registry():
    return registry
"""
_IMPORT = """
import tensorrt
from trtplug_copy import plugin
assert plugin.trt is tensorrt
assert tensorrt.get_plugin_registry().asked == [("copy", "1", "test_ops")]
assert plugin._register() is plugin.CREATOR
made = plugin.CREATOR.create_plugin("copy", tensorrt.PluginFieldCollection([]))
assert isinstance(made, tensorrt.IPluginV2DynamicExt)
"""


def import_with(package: Path, folder: Path, **release: Any) -> subprocess.CompletedProcess[str]:
    given = {"version": "10.0", "classes": "IPluginV3", "registers": True, "finds": "get_plugin_creator", **release}
    (folder / "tensorrt.py").write_text(_OTHER_RELEASE.format(**given))
    return subprocess.run(
        [sys.executable, "-c", _IMPORT],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(package / "src")])},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("version", "finds"), [("10.9", "get_plugin_creator"), ("11.0", "get_creator")])
def test_creator_is_found_as_the_release_finds_it(
    packages: dict[str, Path], tmp_path: Path, version: str, finds: str
) -> None:
    done = import_with(packages["copy"], tmp_path, version=version, finds=finds)
    assert done.returncode == 0, done.stderr


def test_a_name_that_a_plugin_of_another_interface_has_is_refused(packages: dict[str, Path], tmp_path: Path) -> None:
    done = import_with(packages["copy"], tmp_path, registers=False)
    assert done.stderr.splitlines()[-1] == (
        "ImportError: trtplug_copy.plugin: a plugin of another interface is registered as 'copy', "
        "version '1', namespace 'test_ops' already; give one of the two another name, version or namespace"
    )


def test_a_release_without_the_class_is_named(packages: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "tensorrt.py").write_text('from tensorrt_rtx import DataType\n__version__ = "8.6.1"\n')
    done = subprocess.run(
        [sys.executable, "-c", "from trtplug_copy import plugin"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(packages["copy"] / "src")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1] == (
        "ImportError: trtplug_copy.plugin: tensorrt 8.6.1 lets nobody write an IPluginV2DynamicExt in Python"
    )


# --- faults ---------------------------------------------------------------------------------------------------------

FAULTS: dict[str, tuple[str, Change]] = {
    "order of the bytes": (
        "kinds",
        Change(
            "plugin.py",
            '_many("q", self.pads),\n                _many("d", self.scales),\n',
            '_many("d", self.scales),\n                _many("q", self.pads),\n',
            "plugin",
        ),
    ),
    "clone": ("circ_pad", Change("plugin.py", "padding=self.padding)", "padding=(0, 0))", "plugin")),
    "clone loses what C++ keeps": (
        "circ_pad",
        Change(
            "plugin.py",
            "return CircularPadPlugin(padding=self.padding)",
            "other = CircularPadPlugin(padding=self.padding)\n        other.plugin_type = ''\n        return other",
            "plugin",
        ),
    ),
    "creator under another name": (
        "circ_pad",
        Change("plugin.py", "self.name = NAME", "self.name = 'other'", "plugin"),
    ),
    "counts are believed": ("circ_pad", Change("plugin.py", "if size > len(self._rest):", "if False:", "plugin")),
    "length is not read": (
        "circ_pad",
        Change("plugin.py", "if length != len(data)", "if length > len(data)", "plugin"),
    ),
    "stale launch": ("circ_pad", Change("plugin.py", " or described != self._described", "", "plugin")),
    "nothing is prepared": (
        "circ_pad",
        Change("plugin.py", "self._prepared([tensor.desc for tensor in inputs])", "pass", "plugin"),
    ),
    "workspace": ("pipeline", Change("plugin.py", ".workspace_bytes", ".workspace_bytes // 2", "plugin")),
    "output by its index": ("everything", Change("plugin.py", "][index]", "][0]", "plugin")),
    "dimensions": ("circ_pad", Change("plugin.py", "x_shape, self.padding)", "x_shape, ())", "onnx")),
    "fields of the node": ("circ_pad", Change("plugin.py", "map(int, _text(field).split())", "()", "onnx")),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(packages: dict[str, Path], name: str, forks: Forks, tmp_path: Path) -> None:
    package, change = FAULTS[name]
    subprocess.run(["cp", "-r", str(packages[package]), str(tmp_path / "package")], check=True)
    changed(tmp_path / "package", change)
    assert not passes(tmp_path / "package", change.stage, forks)


@pytest.mark.parametrize(("package", "stage"), sorted({(package, change.stage) for package, change in FAULTS.values()}))
def test_no_fault_is_found_where_there_is_none(
    packages: dict[str, Path], package: str, stage: str, forks: Forks
) -> None:
    assert passes(packages[package], stage, forks)
