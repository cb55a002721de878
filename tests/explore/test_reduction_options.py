"""Reductions are chosen by name; where one cannot be used, the result says so."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.check import Report, check
from penstock.cli.main import main
from penstock.errors import PenstockError
from penstock.scenario import Scenario, load_scenario

BUG = Path(__file__).parents[2] / "examples" / "nice" / "bug_07.toml"
ALL = ["sleep", "ample", "footprints"]


def checked(**search: object) -> Report:
    scenario = load_scenario(BUG)
    return check(replace(scenario, search={**scenario.search, "all_violations": True, **search}))


def test_sleep_sets_are_on_unless_they_are_switched_off() -> None:
    usual, sleeping, none = checked(), checked(reductions=["sleep"]), checked(reductions=[])
    assert usual.outcome.transitions == sleeping.outcome.transitions < none.outcome.transitions
    assert usual.outcome.states == none.outcome.states


def test_ample_sets_leave_states_out_and_the_result_says_so() -> None:
    report, none = checked(reductions=ALL), checked(reductions=[])
    assert report.outcome.states < none.outcome.states
    assert all(finding.confirmed for finding in report.findings)
    assert {f.property for f in report.findings} == {f.property for f in none.findings}
    assert any("left out where no order matters" in remark for remark in report.outcome.remarks)
    assert not any("no order matters" in remark for remark in none.outcome.remarks)


@pytest.mark.parametrize(
    ("search", "unused", "why"),
    [
        ({"depth": 30}, ["ample"], "a search without a bound on depth"),
        ({"compact": True}, ["footprints"], "states that are remembered whole, not by fingerprints"),
        (
            {"strategies": ["no-delay"]},
            ["ample", "footprints"],
            "a search without strategies that leave transitions out",
        ),
    ],
)
def test_what_cannot_be_used_is_said(search: dict[str, object], unused: list[str], why: str) -> None:
    remarks = checked(reductions=ALL, **search).outcome.remarks
    for name in ("ample", "footprints"):
        sentence = f"The reduction {name!r} was not used: that needs {why}."
        assert (sentence in remarks) == (name in unused)


def test_fingerprints_go_with_ample_sets() -> None:
    report, none = checked(reductions=["ample"], compact=True), checked(reductions=[], compact=True)
    assert report.outcome.states < none.outcome.states
    assert {f.property for f in report.findings} == {f.property for f in none.findings}


def test_an_unknown_reduction_is_refused() -> None:
    with pytest.raises(PenstockError, match="There is no reduction 'dpor': the reductions are sleep, ample"):
        Scenario(str(BUG), search={"reductions": ["dpor"]}).limits()
    with pytest.raises(PenstockError, match="is no list"):
        Scenario(str(BUG), search={"reductions": "sleep"}).limits()


def run(monkeypatch: pytest.MonkeyPatch, *options: str) -> int:
    """Run `penstock check` on the scenario; return its exit status."""
    monkeypatch.setattr("sys.argv", ["penstock", "check", str(BUG), *options])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_the_command_line_switches_reductions_on_and_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    every = [option for name in ALL for option in ("--reduction", name)]
    transitions = []
    for options in (every, [], ["--reduction", "none"]):
        assert run(monkeypatch, "--all", "--json", *options) == 1
        transitions.append(json.loads(capsys.readouterr().out)["transitions"])
    assert transitions == sorted(set(transitions))


def test_none_goes_with_no_other_reduction(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--reduction", "none", "--reduction", "sleep") == 2
    assert "--reduction none goes with no other reduction" in capsys.readouterr().err
