"""What lies beside a trace is found and read, whoever wrote it; what is damaged is told and left out."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.report.report_lab import EXAMPLES

from penstock._check.check import walk
from penstock._cli.main import commands
from penstock._engine.conclusion import read_coverage
from penstock._report.document import report_on
from penstock._report.gathering import gather
from penstock._scenario.scenario import load_scenario
from penstock._trace.trace import FuzzTrace
from penstock.errors import PenstockError


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    """Give a copy of a run's folder that can be damaged."""
    folder = tmp_path / run.name
    shutil.copytree(run, folder)
    return folder


def test_a_run_comes_with_its_summary_and_its_minimisation(run: Path) -> None:
    found = gather(run)
    assert found.trace.engine == "fuzz" and found.source == "host_moves-1/trace.jsonl"
    assert found.summary is not None and found.summary["inputs"] == 35
    assert not {"folder", "trace"} & set(found.summary)
    assert found.minimised is not None and found.minimised.before is found.trace
    assert isinstance(found.minimised.after, FuzzTrace) and len(found.minimised.after.inputs) == 2
    assert found.remarks == ()


def test_what_is_left_of_a_run_comes_with_what_it_was(run: Path) -> None:
    found = gather(run / "minimal")
    assert found.source == "minimal/trace.jsonl" and found.summary is None
    assert found.minimised is not None and found.minimised.after is found.trace
    assert isinstance(found.minimised.before, FuzzTrace) and len(found.minimised.before.inputs) == 35


def test_the_minimisation_of_a_search_lies_in_a_folder_of_the_traces_name(tmp_path: Path) -> None:
    scenario = load_scenario(EXAMPLES / "scenarios" / "host_moves.toml")
    (finding, *_) = walk(scenario, 1, walks=50, longest=200, output=tmp_path).findings
    assert finding.trace is not None
    result = CliRunner().invoke(commands, ["minimize", str(finding.trace)], standalone_mode=False)
    assert result.return_value == 1, result.output
    for path in (finding.trace, finding.trace.with_suffix("")):
        found = json.loads(report_on(path, states=False).as_text())
        part, texts = found["minimised"], found["strings"]
        assert found["engine"] == ("walk" if path.suffix else "check")
        assert part["after"]["inputs"] == len(part["inputs_after"]) < part["before"]["inputs"]
        assert part["before"]["inputs"] == len(part["inputs_before"])
        assert {texts[text] for text in part["inputs_after"]} <= {
            texts[text] for text in part["inputs_before"]
        }


@pytest.mark.parametrize(
    ("file", "text", "remark"),
    [
        ("summary.json", "{", "summary.json is damaged"),
        ("summary.json", "[1]", "summary.json is damaged"),
        ("summary.json", "[" * 100_000, "summary.json is damaged"),
        ("progress.jsonl", "{}\n", "does not tell of a minimisation"),
        ("minimal/trace.jsonl", "nothing\n", "is not a trace, or was cut in its first line"),
        ("minimal/summary.json", "\xff", "summary.json is damaged"),
    ],
)
def test_what_is_damaged_is_told_and_left_out(copy: Path, file: str, text: str, remark: str) -> None:
    (copy / file).write_text(text, encoding="latin-1")
    found = report_on(copy, states=False)
    assert any(remark in told for told in found.remarks), found.remarks
    assert len(found.steps) == 215


def test_a_minimisation_that_is_not_over_has_no_result_yet(copy: Path) -> None:
    shutil.rmtree(copy / "minimal")
    part = report_on(copy, states=False).minimised
    assert part is not None and part["after"] is None
    assert isinstance(part["replays"], int) and part["replays"] > 0 and part["progress"]


def test_a_path_without_a_trace_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match=r"There is no trace\.jsonl in"):
        gather(tmp_path)
    with pytest.raises(PenstockError, match="cannot be read"):
        gather(tmp_path / "gone.jsonl")


@pytest.mark.parametrize(
    "given",
    [
        7,
        {},
        {
            "states": -1,
            "seconds": "long",
            "told": 4,
            "properties": "all",
            "strategies": [1, {}],
            "depth": True,
        },
        {"properties": [{"name": 3}, "x", {"name": "NoForwardingLoops", "exercised": "yes", "why": None}]},
    ],
)
def test_coverage_that_makes_no_sense_is_not_shown(given: object) -> None:
    found = read_coverage({"coverage": given})
    if found is None:
        assert given == 7
        return
    assert [found[key] for key in ("states", "transitions", "depth", "seconds")] == [None] * 4
    assert (found["told"], found["strategies"], found["not_covered"]) == ("", [], [])
    assert found["properties"] in ([], [{"name": "NoForwardingLoops", "exercised": None, "why": ""}])
