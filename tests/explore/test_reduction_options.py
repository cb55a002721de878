"""Reductions are chosen by name; where one cannot be used, the result says so."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from penstock._check.check import Report, check
from penstock._cli.main import main
from penstock._scenario.options import REDUCTIONS
from penstock._scenario.scenario import Scenario, load_scenario
from penstock.errors import PenstockError

BUG = Path(__file__).parents[2] / "examples" / "nice" / "bug_07.toml"
ALL = list(REDUCTIONS)
NONE = ["none"]
LEFT_OUT = "States were left out where no order matters"
UNBOUNDED = "a search without a bound on depth"
IN_ORDER = "a search that goes breadth-first or depth-first"
WHOLE = "states that are remembered whole, not by fingerprints"
NOT_NARROWED = "a search without strategies that leave transitions out"


def checked(**search: object) -> Report:
    scenario = load_scenario(BUG)
    return check(replace(scenario, search={**scenario.search, "all_violations": True, **search}))


def transitions(*reductions: str) -> int:
    return checked(reductions=[*reductions]).outcome.transitions


def test_sleep_sets_are_on_unless_they_are_switched_off() -> None:
    usual, none = checked(), checked(reductions=NONE)
    assert usual.outcome.transitions == transitions() == transitions("sleep") < none.outcome.transitions
    assert usual.outcome.states == none.outcome.states


def test_what_is_named_comes_on_top_of_sleep_sets() -> None:
    assert transitions("ample") == transitions("sleep", "ample") < transitions()
    assert transitions("footprints") == transitions("sleep", "footprints") < transitions()
    assert transitions("ample", "footprints") == transitions(*ALL) < transitions("ample")


def test_ample_sets_leave_states_out_and_the_result_says_so() -> None:
    report, none = checked(reductions=ALL), checked(reductions=NONE)
    assert report.outcome.states < none.outcome.states
    assert all(finding.confirmed for finding in report.findings)
    assert {f.property for f in report.findings} == {f.property for f in none.findings}
    assert says_left_out(report) and not says_left_out(none)


def says_left_out(report: Report) -> bool:
    return any(remark.startswith(LEFT_OUT) for remark in report.outcome.remarks)


@pytest.mark.parametrize(
    ("search", "named", "unused"),
    [
        ({}, ALL, {}),
        ({"depth": 30}, ALL, {"ample": UNBOUNDED}),
        ({"compact": True}, ALL, {"sleep": WHOLE}),
        ({"compact": True}, ["footprints"], {"footprints": WHOLE}),
        ({"compact": True}, ["ample", "footprints"], {}),
        ({"compact": True, "depth": 30}, ["ample", "footprints"], {"ample": UNBOUNDED, "footprints": WHOLE}),
        ({"strategies": ["no-delay"]}, ALL, {"ample": NOT_NARROWED, "footprints": NOT_NARROWED}),
        ({"strategies": ["delay-bounded"]}, ALL, dict.fromkeys(ALL, IN_ORDER)),
        ({"strategies": ["random-walk:walks=2"]}, ALL, dict.fromkeys(ALL, IN_ORDER)),
        ({"strategies": ["races"]}, ALL, dict.fromkeys(ALL, IN_ORDER)),
        ({"strategies": ["races:transitions=5"]}, ALL, {}),
        ({"strategies": ["races"]}, [], {}),
    ],
    ids=str,
)
def test_what_cannot_be_used_is_said(
    search: dict[str, Any], named: list[str], unused: dict[str, str]
) -> None:
    report = checked(reductions=named, **search)
    said = [remark for remark in report.outcome.remarks if remark.startswith("The reduction ")]
    assert said == [f"The reduction {name!r} was not used: that needs {why}." for name, why in unused.items()]
    assert says_left_out(report) == ("ample" in named and "ample" not in unused)


def test_a_walk_is_the_same_walk_whatever_reductions_are_named() -> None:
    strategies = ["random-walk:walks=20"]
    plain, named = checked(strategies=strategies), checked(strategies=strategies, reductions=ALL)
    assert named.outcome.transitions == plain.outcome.transitions
    assert [finding.records for finding in named.findings] == [finding.records for finding in plain.findings]


def test_nothing_is_said_to_be_left_out_where_nothing_was() -> None:
    silent = replace(load_scenario(BUG), hosts={"h1": {"kind": "server"}}, properties=())
    assert isinstance(silent.controller, Mapping)
    silent = replace(silent, controller={**silent.controller, "timers": 0}, search={"reductions": ALL})
    assert check(silent).outcome.remarks == []


def test_fingerprints_go_with_ample_sets() -> None:
    report, none = checked(reductions=["ample"], compact=True), checked(reductions=NONE, compact=True)
    assert report.outcome.states < none.outcome.states
    assert {f.property for f in report.findings} == {f.property for f in none.findings}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["dpor"], "unknown reduction 'dpor': choose sleep, ample, footprints, none."),
        ([3], "invalid reductions[0] = 3 in [search]: must be a string."),
        ("ampel", "unknown reduction 'ampel': did you mean 'ample'?"),
        (["none", "ample"], "The reduction 'none' cannot be combined with others: give it alone."),
    ],
)
def test_reductions_that_cannot_be_meant_are_refused(given: object, sentence: str) -> None:
    with pytest.raises(PenstockError) as refused:
        Scenario(search={"reductions": given}).limits()
    assert str(refused.value) == sentence


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
    taken = []
    for options in (every, [], ["--reduction", "none"]):
        assert run(monkeypatch, "--all", "--json", *options) == 1
        taken.append(json.loads(capsys.readouterr().out)["transitions"])
    assert taken == [transitions(*ALL), transitions(), transitions("none")]


def test_none_goes_with_no_other_reduction(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "--reduction", "none", "--reduction", "sleep") == 2
    assert "The reduction 'none' cannot be combined with others" in capsys.readouterr().err
