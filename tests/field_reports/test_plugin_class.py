"""Field reports on the plugin class and its creator, with TensorRT's own base classes; see docs/field-reports.md."""

from __future__ import annotations

import ast
import gc
import itertools
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import packaging.version
import pytest
import torch
from packaging.specifiers import SpecifierSet

from tests.field_reports.packages import SPECS, Built, imported, refusal, stage, variant
from trtplug.verify.stage import Status

# What no narrower number holds, and text that is not plain.
VALUES: dict[str, Any] = {
    "i": 2**40 + 3,
    "offsets": (-1, 2**40 + 3),
    "table": (0.1, 1e-300),
    "gain": 0.1,
    "bias": -1e-12,
    "negate": True,
    "keep": False,
    "mode": "twice",
    "side": "it's",
    "j": -1,
    "k": 0,
    "m": -(2**63),
    "floor": -1e30,
    "ceiling": float("inf"),
}


@pytest.fixture
def attributes(built: Built) -> Any:
    return imported(built(SPECS / "attributes.yaml"), "plugin")


def values(plugin: Any) -> dict[str, Any]:
    """All attributes of a plugin of attributes.yaml."""
    return {name: getattr(plugin, name) for name in VALUES}


def test_s03_scalars_survive_whatever_numpy_is_installed(attributes: Any) -> None:
    one = np.array([3])
    if packaging.version.parse(np.__version__) >= packaging.version.parse("2.4"):
        with pytest.raises(TypeError):
            int(one)  # the fault: what stock creators do to a field
    subject = attributes.plugin.AttributesPlugin(**VALUES)
    trt, fields = attributes._tensorrt.trt, subject.get_fields_to_serialize()
    again = attributes.plugin.CREATOR.create_plugin("again", fields, trt.TensorRTPhase.RUNTIME)
    assert values(again) == VALUES
    assert {name: type(value) for name, value in values(again).items()} == {k: type(v) for k, v in VALUES.items()}


def test_s03_package_states_the_versions_that_it_takes(built: Built) -> None:
    text = (built(SPECS / "attributes.yaml") / "pyproject.toml").read_text(encoding="utf-8")
    python = re.search(r'requires-python = "(.*)"', text)
    numpy = re.search(r'"numpy(>=[^"]*)"', text)
    assert python
    assert numpy
    assert SpecifierSet(python[1]) == SpecifierSet(">=3.10")
    assert np.__version__ in SpecifierSet(numpy[1])


def test_s07_torch_bools_are_bytes_of_0_and_1(built: Built) -> None:
    masked_copy = imported(built(SPECS / "masked_copy.yaml")).masked_copy
    mask = torch.tensor([0, 1, 2, 255, 0, 1, 255], dtype=torch.uint8).view(torch.bool)
    index = torch.tensor([-1, 2, 1, 0, 3, -1, 3], dtype=torch.int8)
    x = torch.randn(4)
    y, hit = masked_copy(x, mask, index)
    assert hit.dtype == torch.bool
    assert hit.view(torch.uint8).tolist() == [0, 1, 1, 1, 0, 0, 1]
    assert torch.equal(y, torch.where(hit, x[index.clamp(min=0).long()], 0.0))


def test_s07_types_that_tensorrt_does_not_take_are_refused(tmp_path: Path) -> None:
    unsigned = refusal(variant("masked_copy", tmp_path / "uint8", {"dtypes: [int8]": "dtypes: [uint8]"}))
    assert "unknown dtype 'uint8'; did you mean 'int8'?" in unsigned
    alike = refusal(variant("masked_copy", tmp_path / "alike", {"dtypes: [bool]": "dtypes: [bool, int8]"}))
    assert "bool is int8 inside TensorRT, behind a cast, and cannot stand beside other dtypes" in alike


def test_s14_clones_keep_what_lies_in_python_and_in_tensorrt(attributes: Any) -> None:
    own = ("plugin_name", "plugin_version", "plugin_namespace", "num_outputs", "timing_cache_id")
    subject = attributes.plugin.AttributesPlugin(**VALUES)
    expected = [getattr(subject, name) for name in own]
    assert expected[:4] == ["attributes", "2", "field_reports", 1]
    context = subject.clone().attach_to_context(None).clone()
    del subject
    gc.collect()
    assert [getattr(context, name) for name in own] == expected
    assert values(context) == VALUES
    other = attributes.plugin.AttributesPlugin(**{**VALUES, "offsets": (-1, 2**40 + 4)})
    assert other.timing_cache_id != context.timing_cache_id


def test_s14_two_contexts_keep_their_shapes(attributes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    trt, ran = attributes._tensorrt.trt, list[int]()
    monkeypatch.setattr(
        attributes._launch.Launch, "_compile", lambda launch, step, address: lambda *v, stream: ran.append(v[2])
    )
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    attributes._launch.prepare.cache_clear()
    engine = attributes.plugin.AttributesPlugin(**{**VALUES, "side": "right", "m": 0})
    contexts = [engine.attach_to_context(None) for _ in range(2)]
    for _ in range(2):
        for context, rows in zip(contexts, (1, 8), strict=True):
            description = trt.PluginTensorDesc()
            description.dims, description.type = trt.Dims([rows, 5]), trt.DataType.FLOAT
            context.on_shape_change([description], [description])
        for context in contexts:
            context.enqueue([], [], [16], [16], 0, 7)
    assert ran == [5, 40, 5, 40]
    attributes._launch.prepare.cache_clear()


def test_s15_launch_that_silently_writes_nothing_fails_verify(built: Built, tmp_path: Path) -> None:
    shutil.copytree(built(SPECS / "scale.yaml"), tmp_path, dirs_exist_ok=True)
    (kernel,) = tmp_path.rglob("_kernel.py")
    text = kernel.read_text(encoding="utf-8")
    assert "to(Y.dtype.element_ty), mask=index < n)" in text
    # One shape stays unwritten, and no error tells.
    kernel.write_text(text.replace("element_ty), mask=index < n)", "element_ty), mask=(index < n) & (n != 7))"))
    result = stage(tmp_path, "plugin", tmp_path, "-k", "test_enqueue_fills")
    assert result.status is Status.FAILED
    failed = re.findall(r"^FAILED .*Case\(x=\((.*?)\),? w", result.output, re.MULTILINE)
    assert set(failed) == {"7,"}, result.output
    assert "difference: nan" in result.output, "what nothing wrote cannot be taken for zeros"


def test_s15_exceptions_of_a_running_engine_are_kept(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    plugin = imported(built(SPECS / "scale.yaml"), "plugin").plugin
    monkeypatch.setattr(plugin, "FAILURES", type(plugin.FAILURES)())
    subject = plugin.ScalePlugin(scale=0.5)
    subject._launch = None
    with pytest.raises(RuntimeError, match="scale: on_shape_change failed, or was not called"):
        subject.enqueue([], [], [], [], 0, 0)
    (failure,) = plugin.FAILURES
    assert failure.__traceback__ is not None


def test_s16_fields_own_their_memory(attributes: Any) -> None:
    trt, large = attributes._tensorrt.trt, tuple(float(value) for value in torch.randn(2**17).double())
    for i in range(4):
        given = {**VALUES, "i": 2**40 + i, "table": large}
        subject = attributes.plugin.AttributesPlugin(**given)
        fields = subject.get_fields_to_serialize()
        gc.collect()
        litter = [np.full(2**17, -1.0), *(np.full(1, -1) for _ in range(200))]  # over memory that has become free
        again = attributes.plugin.CREATOR.create_plugin("again", fields, trt.TensorRTPhase.RUNTIME)
        assert len(litter) == 201
        assert values(again) == given


def test_s18_formats_are_the_rows_of_the_spec_and_no_more(built: Built) -> None:
    package = imported(built(SPECS / "mixed.yaml"), "plugin")
    trt = package._tensorrt.trt
    plugin = package.plugin.MixedPlugin()
    kinds = [getattr(trt.DataType, name) for name in ("FLOAT", "HALF", "BF16", "INT8", "INT32", "INT64", "BOOL")]

    def described(kind: Any, format: Any = trt.TensorFormat.LINEAR) -> Any:
        description = trt.DynamicPluginTensorDesc()
        description.desc.type, description.desc.format = kind, format
        return description

    rows: list[list[Any]] = [[]]
    for position in range(11):  # as TensorRT asks: each tensor after those before it
        candidates = [[*row, kind] for row, kind in itertools.product(rows, kinds)]
        rows = [row for row in candidates if plugin.supports_format_combination(position, [*map(described, row)], 8)]
    f32, f16, i32, i64 = (getattr(trt.DataType, name) for name in ("FLOAT", "HALF", "INT32", "INT64"))
    expected = [[a, a, f16, d, d, i32, i64, f32, a, d, f32] for a in (f16, f32) for d in (i32, i64)]
    assert sorted(rows, key=str) == sorted(expected, key=str)
    packed = [*map(described, expected[0][:10]), described(f32, trt.TensorFormat.CHW32)]
    assert not plugin.supports_format_combination(10, packed, 8)


# Of old-style plugins and engines: gone in TensorRT 11, or deprecated.
REMOVED = {
    *("get_plugin_creator", "plugin_creator_list", "add_plugin_v2", "add_plugin", "IPluginV2", "IPluginV2DynamicExt"),
    *("IPluginCreator", "deserialize_plugin", "binding_is_input", "get_binding_shape", "build_engine", "BuilderFlag"),
}


def attributes_of_trt(package: Path) -> Iterator[str]:
    """What the source and the tests of a package ask of TensorRT, as A.B.C without the leading `trt`."""
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and re.fullmatch(r"trt(\.\w+)+", text := ast.unparse(node)):
                yield text.removeprefix("trt.")


def test_s20_only_what_every_tensorrt_with_v3_plugins_has(built: Built) -> None:
    package = built(SPECS / "attributes.yaml")
    trt = imported(package, "plugin")._tensorrt.trt
    asked = set(attributes_of_trt(package))
    assert {"IPluginV3", "IPluginCreatorV3One", "get_plugin_registry"} <= asked
    names = {name for text in asked for name in text.split(".")}
    text = "".join(file.read_text(encoding="utf-8") for file in (package / "src").rglob("*.py"))
    assert not names & REMOVED
    assert not [name for name in REMOVED if re.search(rf"\b{name}\b", text)]
    for name in asked - {"INetworkDefinition.add_plugin_v3"}:  # asked for by hasattr
        found = trt
        for part in name.split("."):
            found = getattr(found, part)


def test_s20_one_creator_of_the_third_version_under_one_name(attributes: Any) -> None:
    trt = attributes._tensorrt.trt
    registry = trt.get_plugin_registry()
    assert [creator for creator in registry.all_creators if creator.name == "attributes"] == [attributes.plugin.CREATOR]
    assert registry.get_creator("attributes", "2", "field_reports") is attributes.plugin.CREATOR
    assert registry.get_creator("attributes", "2", "") is None
    assert isinstance(attributes.plugin.CREATOR, trt.IPluginCreatorV3One)


def test_s21_creator_declares_every_attribute(attributes: Any) -> None:
    trt, types = attributes._tensorrt.trt, attributes._tensorrt.trt.PluginFieldType
    declared = {field.name: field.type for field in attributes.plugin.CREATOR.field_names}
    assert list(declared) == list(VALUES), "the parser passes on what the creator declares, and drops the rest"
    kinds = {int: types.INT64, float: types.FLOAT64, bool: types.INT8, str: types.CHAR}
    assert declared == {k: kinds[type(v[0] if isinstance(v, tuple) else v)] for k, v in VALUES.items()}
    subject = attributes.plugin.AttributesPlugin(**VALUES)  # whose memory the fields are in
    fields = {field.name: field for field in subject.get_fields_to_serialize()}

    def create(*given: Any) -> Any:
        return attributes.plugin.CREATOR.create_plugin(
            "x", trt.PluginFieldCollection(list(given)), trt.TensorRTPhase.BUILD
        )

    assert values(create(*map(fields.get, ("i", "offsets", "table")))) == {
        **VALUES,
        **{"gain": 0.1, "bias": 0.0, "negate": False, "keep": True, "mode": "plain", "side": "left"},
        **{"j": 1, "k": 2, "m": 3, "floor": -1e30, "ceiling": 1e30},
    }
    with pytest.raises(ValueError, match=r"attributes: expected the fields \['bias', .*\], not \['i', 'table'\]"):
        create(fields["i"], fields["table"])
    unknown = trt.PluginField("gian", np.zeros(1, dtype=np.float64), types.FLOAT64)
    with pytest.raises(ValueError, match=r"attributes: expected the fields .*, not \['gian', "):
        create(*map(fields.get, ("i", "offsets", "table")), unknown)
