"""The one verdict: violated, proved, exhausted or bounded, each with its status and its reasons."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock._check.check import check
from penstock._cli.output import report_lines
from penstock._scenario.scenario import DEFAULT_PROPERTIES, Scenario, scenario_of
from penstock._verdict.verdict import Bound, Result, Why, judge, replayed, unconfirmed, unjudged

LIMIT = Bound("5 seconds", Why.SECONDS, 5)


@pytest.mark.parametrize("conclusive", [Result.PROVED, Result.EXHAUSTED])
def test_nothing_left_out_is_conclusive(conclusive: Result) -> None:
    verdict = judge(conclusive, violated=False, reasons=(), exercised={"P": 3})
    assert (verdict.result, verdict.status, verdict.is_conclusive) == (conclusive, 0, True)


def test_a_violation_is_a_violation_whatever_was_left_out() -> None:
    verdict = judge(Result.EXHAUSTED, violated=True, reasons=[LIMIT], exercised={"P": 0})
    assert (verdict.result, verdict.status, verdict.reasons) == (Result.VIOLATED, 1, ())


def test_each_reason_bounds_and_is_told_once() -> None:
    verdict = judge(Result.PROVED, violated=False, reasons=[LIMIT, LIMIT], exercised={"P": 3})
    assert (verdict.result, verdict.status, verdict.reasons) == (Result.BOUNDED, 3, (LIMIT,))
    assert verdict.as_json() == {
        "result": "bounded",
        "judged": True,
        "told": "No violation found, but the search stopped at 5 seconds: there is more to search.",
        "reasons": [{"reason": "5 seconds", "why": "seconds"}],
    }


def test_properties_without_anything_to_judge_are_reasons() -> None:
    assert unjudged({"P": 1, "Q": 0}, {"Q": "a packet"}) == ["Q was never exercised: it needs a packet"]
    assert unjudged({}, {}) == ["no property was given, so nothing was judged"]
    assert not judge(Result.EXHAUSTED, violated=False, reasons=(), exercised={"P": 0}).judged


def test_replays() -> None:
    assert [
        replayed(violated=True, exact=True).status,
        replayed(violated=False, exact=True).status,
        replayed(violated=False, exact=False).status,
    ] == [1, 0, 3]


def test_a_scenario_that_names_no_properties_has_the_usual_ones() -> None:
    assert scenario_of({}, Path()).properties is DEFAULT_PROPERTIES
    assert Scenario().properties is DEFAULT_PROPERTIES


FORGETFUL = """
from pathlib import Path
from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.match import Match
from penstock.openflow.messages import PortNo

MARKER = Path(__file__).with_suffix(".seen")


class App(Controller):
    def switch_join(self, switch):
        self.install(switch, Match(), (Output(PortNo.CONTROLLER, 65535),), priority=0)

    def packet_in(self, switch, message):
        if not MARKER.exists():
            MARKER.touch()
            raise RuntimeError("once, and never again")
        self.packet_out(switch, message, FLOOD)
"""


def test_a_violation_that_does_not_come_again_is_no_violation(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(FORGETFUL)
    report = check(
        Scenario(
            folder=tmp_path,
            controller={"native": "app.py:App"},
            hosts={"h1": {"kind": "client", "to": "h2"}, "h2": {"kind": "server"}},
            properties=["ControllerCrash"],
        ),
        output=tmp_path / "traces",
    )
    assert not report.findings and report.verdict.result is Result.BOUNDED
    assert unconfirmed("ControllerCrash") in report.verdict.reasons
    assert not list((tmp_path / "traces").glob("*-1.jsonl"))
    told = "\n".join(report_lines(report))
    assert "the program keeps state that Penstock does not see" in told
