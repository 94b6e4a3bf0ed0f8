"""Field reports on nodes of ONNX models: their attributes, and whose names they may have; see docs/field-reports.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.field_reports.packages import SPECS, Built, imported, module, noted, refusal, variant

in_tensorrt = pytest.mark.in_tensorrt


@in_tensorrt
def test_s21_attributes_of_a_node(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    import onnx
    import torch

    from tests.field_reports.models import Network, exported

    package = imported(built(SPECS / "attributes.yaml"), "plugin", "onnx")
    model = exported(
        module(lambda x: package.attributes(x, 5, [7], [0.25], gain=0.1, mode="twice")),
        {"x": torch.randn(3, 5)},
        [package],
    )
    made = noted(monkeypatch, package.plugin.AttributesCreator)
    (node,) = model.graph.node
    written = {attribute.name for attribute in node.attribute}
    declared = {field.name for field in package.plugin.CREATOR.field_names}
    assert written == declared | {"plugin_version", "plugin_namespace"}, "an export leaves nothing to defaults"
    assert len(Network(model).plugins) == 1
    assert (made[-1].i, made[-1].offsets, made[-1].table, made[-1].mode, made[-1].m) == (5, (7,), (0.25,), "twice", 3)

    def remove(name: str) -> None:
        node.attribute.remove(next(attribute for attribute in node.attribute if attribute.name == name))

    remove("mode")
    remove("gain")
    assert len(Network(model).plugins) == 1
    assert (made[-1].mode, made[-1].gain) == ("plain", 0.1), "the schema's defaults"
    # TensorRT's parser drops what no field of the creator is called, so that ONNX's checker has to find it.
    node.attribute.append(onnx.helper.make_attribute("gian", "0.5"))
    with pytest.raises(onnx.checker.ValidationError, match="Unrecognized attribute: gian"):
        onnx.checker.check_model(model)
    remove("gian")
    remove("table")
    with pytest.raises(onnx.checker.ValidationError, match="Required attribute 'table' is missing"):
        onnx.checker.check_model(model)
    assert Network(model).errors, "a plugin without a required attribute"


@in_tensorrt
def test_s22_plugin_wins_over_native_op_and_local_function(built: Built, tmp_path: Path) -> None:
    import onnx
    import torch

    from tests.field_reports.models import Network, exported

    changes = {"name: scale\n": "name: gelu\n", "Scales by": "No Gelu, scales by"}
    package = imported(built(variant("scale", tmp_path, changes)), "plugin", "onnx")
    model = exported(module(lambda x: package.gelu(x, x[0])), {"x": torch.randn(3, 5)}, [package])
    assert not [f.name for f in model.functions if f.domain == "field_reports"], "a bare node without a function body"
    (node,) = (node for node in model.graph.node if node.op_type == "gelu")
    assert node.domain == "field_reports"
    assert len(Network(model).plugins) == 1
    opsets = [onnx.helper.make_opsetid("", 18)]
    body = [onnx.helper.make_node("Identity", ["x"], ["y"])]
    model.functions.append(onnx.helper.make_function("field_reports", "gelu", ["x", "w"], ["y"], body, opsets))
    network = Network(model)
    assert len(network.plugins) == 1, "a local function of the same name hides the plugin"


@pytest.mark.parametrize("name", ["Gelu", "Attention", "RMSNormalization"])
def test_s22_names_of_native_ops_are_refused(name: str, tmp_path: Path) -> None:
    text = refusal(variant("scale", tmp_path, {"name: scale\n": f"name: {name}\n"}))
    assert f"the name of an op is in snake_case (a-z, 0-9, single _ between), not '{name}'" in text


def test_s22_no_native_op_has_a_name_that_a_plugin_can_have() -> None:
    import onnx

    from trtplug.names import problem_with_op_name

    native = {schema.name for schema in onnx.defs.get_all_schemas_with_history() if schema.domain in ("", "ai.onnx.ml")}
    assert len(native) > 150
    assert not [name for name in native if problem_with_op_name(name) is None]


@in_tensorrt
def test_s23_same_name_in_two_namespaces_and_versions(
    built: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    from tests.field_reports.models import Network, exported

    changes = {
        "namespace: field_reports\n": 'namespace: acme\nversion: "2"\n',
        "cases:": "package: {name: acme-scale}\ncases:",
    }
    ours = imported(built(SPECS / "scale.yaml"), "plugin", "onnx")
    acme = imported(built(variant("scale", tmp_path, changes)), "plugin", "onnx")
    model = exported(
        module(lambda x: torch.ops.acme.scale(torch.ops.field_reports.scale(x, x[0], 2.0), x[0], 3.0)),
        {"x": torch.randn(3, 5)},
        [ours, acme],
    )
    assert {"field_reports", "acme"} <= {opset.domain for opset in model.opset_import}
    nodes = [node for node in model.graph.node if node.op_type == "scale"]
    given = [{a.name: a.s.decode() for a in node.attribute} for node in nodes]
    assert given == [
        {"scale": "2.0", "plugin_version": "1", "plugin_namespace": "field_reports"},
        {"scale": "3.0", "plugin_version": "2", "plugin_namespace": "acme"},
    ]
    made = [noted(monkeypatch, package.plugin.ScaleCreator) for package in (ours, acme)]
    network = Network(model)
    assert len(network.plugins) == 2
    assert [[plugin.scale for plugin in plugins] for plugins in made] == [[2.0], [3.0]]
    assert network.build(), network.log.lines
