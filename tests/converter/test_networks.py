"""Plugins in the networks of TensorRT-RTX, added by the module that a generated package has for that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.conftest import ROOT, Built
from trtplug.verify.environment import variables


@pytest.fixture(scope="module")
def results(built: Built, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of tests.converter.networks, in a process where freed memory is overwritten, so that its use shows."""
    packages = [built(ROOT / "specs" / f"{name}.yaml") for name in ("circ_pad", "rotary_embedding")]
    path = variables(tmp_path_factory.mktemp("library"))["LD_LIBRARY_PATH"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.converter.networks", *packages],
        cwd=ROOT,
        env={**os.environ, "LD_LIBRARY_PATH": path, "MALLOC_PERTURB_": "165"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.returncode}: {done.stdout}{done.stderr}"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_plugins_of_two_packages_stand_in_one_network(results: dict[str, Any]) -> None:
    assert results["mixed"] == {
        "shapes": [[1, -1, 2, 64], [1, -1, 2, 64]],
        "inputs": 4,
        "outputs": 2,
        "recorder": True,
        "named": [True, True],
        "made up": False,
    }


def test_engine_is_the_one_that_the_parser_alone_would_give(results: dict[str, Any]) -> None:
    assert results["twice"]["equal"]
    assert results["twice"]["bytes"] > 1000


def test_threads_do_not_mix_up_their_plugins(results: dict[str, Any]) -> None:
    assert results["threads"] == [[i] * 6 for i in (1, 2, 3, 4)]


def test_a_plugin_that_fails_leaves_nothing_behind(results: dict[str, Any]) -> None:
    failure = results["failure"]
    assert failure["shape"] == "Could not get tensor shape."
    assert failure["creators"]
    assert failure["bytes"] > 1000


def test_what_keeps_plugins_out_is_said_with_its_remedy(results: dict[str, Any]) -> None:
    nothing, release, onnx = results["obstacles"]
    assert nothing == ""
    assert release == "networks of tensorrt_rtx 1.6.1.120 take no plugin; use 1.7 or newer"
    assert onnx.startswith("networks of tensorrt_rtx 1.7.")
    assert onnx.endswith("take plugins by way of its ONNX parser alone; pip install onnx")
