"""A test that needs a missing program is skipped for people and fails in CI, with the package to install."""

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock import _doctor

MESSAGE = r"spin is missing: install the Debian package spin"


@pytest.fixture
def without_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Take all programs away, and return the one folder that is still looked into for daemons."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(_doctor, "SYSTEM_FOLDERS", (str(tmp_path),))
    return tmp_path


def test_a_missing_program_is_a_visible_skip(
    require_tool: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, without_programs: Path
) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=MESSAGE):
        require_tool("spin")


def test_a_missing_program_is_a_failure_in_ci(
    require_tool: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, without_programs: Path
) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=MESSAGE):
        require_tool("spin")


def test_a_program_is_found_among_the_daemons_too(
    require_tool: Callable[..., Path], without_programs: Path
) -> None:
    daemon = without_programs / "ovs-vswitchd"
    daemon.touch(mode=0o755)
    assert require_tool("ovs-vswitchd") == daemon
