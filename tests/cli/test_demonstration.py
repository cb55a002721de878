"""`penstock demo` finds its bugs, writes them down, and says where."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli.demonstration import EXAMPLES
from penstock.cli.main import commands
from penstock.controllers.osken.ryu import source_folders
from required_tools import do_without


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not source_folders():
        do_without("The sources of Ryu are missing: make setup fetches them.")
    return tmp_path_factory.mktemp("demo")


def test_each_bug_has_a_trace_and_a_report(folder: Path) -> None:
    done = CliRunner().invoke(commands, ["demo", "-o", str(folder)], standalone_mode=False)
    assert done.return_value == 0, done.output
    for example in EXAMPLES:
        trace, report = folder / f"{example.scenario}-1.jsonl", folder / f"{example.scenario}-1.html"
        assert f"Written to {trace}; penstock replay runs it again." in done.output
        assert f"The report is in {report}" in done.output
        assert trace.is_file() and report.read_text().rstrip().endswith("</html>")
    assert "3 of 3 bugs found." in done.output
    assert f"Open {folder / 'host-moved-1.html'} in a browser" in done.output
