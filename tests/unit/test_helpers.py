"""Files beside the kernel's travel into the package, and decide its timing cache as the kernel does."""

from __future__ import annotations

from tests.conftest import ROOT
from trtplug import render, resolve, spec


def test_a_helper_is_in_the_package_and_in_the_timing_cache() -> None:
    files = render.render(resolve.resolve(spec.load(ROOT / "tests/specs/pipeline.yaml")))
    text = {path.name: content.decode() for path, content in files.items() if path.parts[0] == "src"}
    for helper in ("pipeline_math.py", "pipeline_base.py"):
        assert helper in text
        assert f'"{helper}"' in text["plugin.py"]
    assert "from .pipeline_math import centred, total" in text["_kernel.py"]
    assert "from . import pipeline_base" in text["pipeline_math.py"]
