"""`penstock demo` finds its bugs in either learning switch, says which it was, and where all is written."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from penstock._base import ryu_names
from penstock._cli.demonstration import EXAMPLES
from penstock._cli.main import commands
from penstock._replay.replaying import replay


def run_demo(folder: Path) -> Result:
    return CliRunner().invoke(commands, ["demo", "-o", str(folder)], standalone_mode=False)


def assert_all_found(done: Result, folder: Path) -> None:
    assert done.return_value == 0, done.output
    for example in EXAMPLES:
        trace, report = folder / f"{example.scenario}-1.jsonl", folder / f"{example.scenario}-1.html"
        assert f"Written to {trace}; penstock replay runs it again." in done.output
        assert f"The report is in {report}" in done.output
        assert report.read_text().rstrip().endswith("</html>")
        assert replay(trace).reproduced
    assert "3 of 3 bugs found." in done.output
    assert f"Open {folder / 'host-moved-1.html'} in a browser" in done.output


def test_the_bugs_are_found_in_ryus_learning_switch(tmp_path: Path, ryu_sources: Path) -> None:
    done = run_demo(tmp_path)
    assert done.output.startswith("Checking Ryu's simple_switch_13, as it was published, for three bugs")
    assert_all_found(done, tmp_path)


def test_without_the_sources_of_ryu_they_are_found_in_our_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ryu_names, "source_folders", tuple)
    done = run_demo(tmp_path)
    assert done.output.startswith("Checking Penstock's own little learning switch for three bugs")
    assert "penstock fetch-ryu fetches it" in done.output
    assert_all_found(done, tmp_path)


def test_a_folder_of_ryu_without_its_apps_will_not_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ryu_names, "source_folders", lambda: (tmp_path,))
    assert "Penstock's own" in run_demo(tmp_path).output
