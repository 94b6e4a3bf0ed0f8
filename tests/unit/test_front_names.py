"""Derived names, and the reserved ones against the real TensorRT classes."""

import pytest
import tensorrt_rtx as trt

from trtplug import names


def test_all_names_of_an_op() -> None:
    assert names.derive("circular_pad", "trtplug_ops") == names.Names(
        op="circular_pad",
        namespace="trtplug_ops",
        plugin="circular_pad",
        plugin_class="CircularPadPlugin",
        creator_class="CircularPadCreator",
        distribution="trtplug-circular-pad",
        import_name="trtplug_circular_pad",
    )
    assert names.derive("circular_pad", "trtplug_ops").qualified == "trtplug_ops::circular_pad"


def test_import_name_follows_the_distribution() -> None:
    assert names.derive("a", "b", "My.Own-Pad").import_name == "my_own_pad"
    assert names.derive("a", "b", "my-pad", "pad").import_name == "pad"


@pytest.mark.parametrize("text", ["circular_pad", "a", "pad2d", "x_1"])
def test_good_op_names(text: str) -> None:
    assert names.problem_with_op_name(text) is None
    assert names.problem_with_namespace(text) is None


@pytest.mark.parametrize("text", ["", "Pad", "2d", "a__b", "_a", "a_", "a-b", "lambda", "é", "a\n", "a.b"])
def test_bad_op_names(text: str) -> None:
    assert names.problem_with_op_name(text)
    assert names.problem_with_namespace(text)


def test_messages_say_what_to_do() -> None:
    assert names.problem_with_op_name("Pad") == (
        "the name of an op is in snake_case (a-z, 0-9, single _ between), not 'Pad'; write it as in 'circular_pad'"
    )
    assert names.problem_with_namespace("my.ops") == (
        "a namespace has no dots: torch would read 'my.ops' as nested; write 'my_ops'"
    )
    assert names.problem_with_argument_name("enqueue") == (
        "'enqueue' is reserved: an attribute of TensorRT's plugin classes; rename it, for instance to 'enqueue_'"
    )


@pytest.mark.parametrize("text", ["self", "stream", "lambda", "clone", "np", "_x", "a b", "", "é", "cdiv"])
def test_reserved_argument_names(text: str) -> None:
    assert names.problem_with_argument_name(text, functions={"cdiv"})


@pytest.mark.parametrize("text", ["x", "padding", "cdiv", "X", "enqueue_", "names"])
def test_free_argument_names(text: str) -> None:
    assert names.problem_with_argument_name(text) is None


def test_reserved_attributes_are_those_of_the_real_classes() -> None:
    classes = [
        trt.IPluginV3,
        trt.IPluginV3OneCore,
        trt.IPluginV3OneBuild,
        trt.IPluginV3OneBuildV2,
        trt.IPluginV3OneRuntime,
        trt.IPluginCreatorV3One,
        trt.IPluginV2DynamicExt,
        trt.IPluginCreator,
    ]
    real = {name for cls in classes for name in dir(cls) if not name.startswith("_")}
    assert real == set(names.PLUGIN_ATTRIBUTES)


@pytest.mark.parametrize(
    ("problem_with", "good", "bad"),
    [
        (names.problem_with_distribution, ["a", "trtplug-pad", "A.b_c"], ["", "-a", "a-", "a b", "a/b"]),
        (names.problem_with_import_name, ["pad", "my_pad2"], ["torch", "json", "tensorrt", "my-pad", "class", ""]),
        (names.problem_with_package_version, ["1", "0.1.0", "1.0rc1", "1.0.dev2"], ["", "v1", "1.0-", "one", "1..2"]),
    ],
)
def test_package_names(problem_with: object, good: list[str], bad: list[str]) -> None:
    assert callable(problem_with)
    assert [text for text in good if problem_with(text)] == []
    assert [text for text in bad if not problem_with(text)] == []
