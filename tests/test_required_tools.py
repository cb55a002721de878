"""A test that needs a missing program is skipped for people and fails in CI, with the package to install."""

from collections.abc import Callable
from pathlib import Path

import pytest

MESSAGE = r"no-such-program is missing: install the Debian package nothing"


def test_a_missing_program_is_a_visible_skip(
    require_tool: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=MESSAGE):
        require_tool("no-such-program", package="nothing")


def test_a_missing_program_is_a_failure_in_ci(
    require_tool: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=MESSAGE):
        require_tool("no-such-program", package="nothing")


def test_a_program_is_found_among_the_daemons_too(
    require_tool: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    daemon = tmp_path / "penstock-daemon"
    daemon.touch(mode=0o755)
    monkeypatch.setitem(require_tool.__globals__, "SYSTEM_FOLDERS", (str(tmp_path),))
    assert require_tool("penstock-daemon", package="nothing") == daemon
