"""The wheel, built once for all processes of a run."""

from pathlib import Path

import pytest
from tests.packaging.wheel_lab import build_wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Give tests the wheel of these sources."""
    base = tmp_path_factory.getbasetemp()
    # Each of xdist's processes has a folder of its own beside the others'.
    return build_wheel((base if worker_id == "master" else base.parent) / "wheel")
