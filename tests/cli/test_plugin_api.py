"""--plugin-api: what the commands make of it, and that it wins over the spec."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
PLUGIN = Path("build/trtplug-an-op/src/trtplug_an_op/plugin.py")


@pytest.fixture
def spec(trtplug: Run) -> Path:
    trtplug("new", "an_op")
    return Path("specs/an_op.yaml")


def test_build_and_diff_agree_on_the_interface(trtplug: Run, spec: Path) -> None:
    assert trtplug("build", str(spec), "--plugin-api", "v2").code == 0
    assert "trt.IPluginV2DynamicExt" in PLUGIN.read_text()
    assert trtplug("diff", str(spec), "--plugin-api", "v2").code == 0
    patch = trtplug("diff", str(spec))
    assert patch.code == 1
    assert "+class AnOpPlugin(trt.IPluginV3" in patch.out
    spec.write_text(f"{spec.read_text()}plugin_api: v2\n")
    # But for the copy of the spec, the package is the one that the option made.
    assert "IPluginV3" not in trtplug("diff", str(spec)).out
    assert trtplug("build", str(spec), "--plugin-api", "v3").code == 0
    assert "trt.IPluginV3" in PLUGIN.read_text()
    assert not Path("build/trtplug-an-op/tests/carrier.py").exists()


def test_check_refuses_what_the_interface_cannot_be(trtplug: Run, spec: Path) -> None:
    spec.write_text(f"{spec.read_text()}sizes: {{count: {{most: numel(x)}}}}\n")
    line = len(spec.read_text().splitlines())
    said = f"{spec}:{line}:1: an IPluginV2DynamicExt cannot declare sizes that the kernels find out; "
    assert said in trtplug("check", str(spec), "--plugin-api", "v2").err
    assert said not in trtplug("check", str(spec)).err


def test_an_unknown_interface_is_refused(trtplug: Run, spec: Path) -> None:
    done = trtplug("check", str(spec), "--plugin-api", "v1")
    assert done.code == 2
    assert "--plugin-api" in done.err
