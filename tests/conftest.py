"""Every test is repeatable, and a test that needs a real program says so.

Hypothesis draws the same examples in each run, on any machine.  A program that is missing is a
visible skip for people and a failure in CI, where a skipped test would pass for a proof.
What tests share is imported by its full name, as in `from tests.fuzz.fuzz_lab import run`.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests.quick import marks_of
from tests.required_tools import do_without, find_tool

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None)
settings.load_profile("repeatable")


@pytest.fixture(scope="session", autouse=True)
def own_key(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have traces sealed with a key of the tests', and nothing written into anybody's home."""
    before = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
    yield
    if before is None:
        del os.environ["XDG_STATE_HOME"]
    else:
        os.environ["XDG_STATE_HOME"] = before


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by where they are, so that `-m "not slow and not measuring"` is quick."""
    for item in items:
        for mark in marks_of(item.path):
            item.add_marker(mark)


_AT_END = "told at the end"


@pytest.fixture
def tell_at_end(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Give tests `tell_at_end("…")`: a line that pytest prints when all tests are done."""
    return lambda line: record_property(_AT_END, line)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests had to tell."""
    reports = [report for group in terminalreporter.stats.values() for report in group]
    properties = [each for report in reports for each in getattr(report, "user_properties", ())]
    for line in sorted({str(value) for name, value in properties if name == _AT_END}):
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def require_tool() -> Callable[..., Path]:
    """Give tests `require_tool("ovs-vswitchd")`, which returns the path."""
    return find_tool


@pytest.fixture(scope="session")
def ryu_sources() -> Path:
    """Give tests the folder of Ryu's own apps, which set-up fetches."""
    from penstock._base.ryu_names import source_folders

    folders = source_folders()
    if not folders:
        do_without("The sources of Ryu are missing: make setup fetches them.")
    return folders[0]
