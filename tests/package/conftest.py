"""What the tests of generated packages share."""

from __future__ import annotations

import pytest

from tests.harness import forked
from trtplug.verify import environment


@pytest.fixture(scope="session")
def forks(tmp_path_factory: pytest.TempPathFactory) -> forked.Forks:
    """Runs the tests of packages as `trtplug verify` does, but not in a process that begins anew."""
    return forked.start(environment.variables(tmp_path_factory.mktemp("environment")))
