"""What a run comes to, for programs, for people, and as a file in its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.fuzz.fuzz_lab import scenario

from penstock._fuzz.fuzzing import Found, Outcome, Report
from penstock._fuzz.judging import HEALED, REPEATED, Finding
from penstock._fuzz.summary import (
    finding_line,
    lasting,
    run_verdict,
    summary,
    summary_lines,
    write_summary,
)
from penstock._verdict.verdict import Bound, Why


def found(
    message: str,
    *,
    persistent: bool = False,
    verdict: str = "violated",
    inputs: int = 7,
    name: str = "Loops",
    **more: Any,
) -> Found:
    return Found(Finding(name, message, persistent, verdict, **more), step=40, at=1250, inputs=inputs)


PASSING = found("a > b: once.")
HEALED_SOON = found("a > b: once.", verdict=HEALED, since=1000)
LASTS = found("a > b: twice.", persistent=True)
SAME_AGAIN = found("a > b: in another way.", persistent=True, inputs=9)
OTHER = found("c > d: lost.", persistent=True, inputs=11)


def report(folder: Path, *findings: Found, unanswered: int = 0) -> Report:
    outcome = Outcome(1200, 34567, 2.0, [*findings], unanswered=unanswered, stopped_by="the number of events")
    outcome.by_verb.update({"send": 1000, "fail": 200})
    return Report(scenario(name="mine", fuzz={"seed": 4}), outcome, folder)


def test_only_violations_that_last_count(tmp_path: Path) -> None:
    healed = found("a > b: twice.", persistent=True, verdict=HEALED)
    assert lasting(report(tmp_path, PASSING, HEALED_SOON, LASTS, healed)) == [LASTS]


def test_the_object_for_programs_has_all_figures(tmp_path: Path) -> None:
    one = summary(report(tmp_path, PASSING, HEALED_SOON, LASTS, unanswered=2))
    assert one.pop("peak_rss_mb") > 0
    trace = str(tmp_path / "trace.jsonl")
    assert one == {
        "result": "violation",
        "verdict": {
            "result": "violated",
            "judged": True,
            "told": "A violation was found.",
            "reasons": [],
        },
        "scenario": "mine",
        "seed": 4,
        "inputs": 1200,
        "internal": 34567,
        "seconds": 2.0,
        "stopped_by": "the number of events",
        "next_steps": [],
        "by_kind": {"fail": 200, "send": 1000},
        "unanswered": 2,
        "remarks": [],
        "violations": [
            {
                "property": "Loops",
                "message": "a > b: twice.",
                "steps": 7,
                "line": 40,
                "at_ms": 1250,
                "times": 1,
                "trace": trace,
            }
        ],
        "passing": 1,
        "passing_violations": [
            {
                "property": "Loops",
                "message": "a > b: once.",
                "at_ms": 1000,
                "lasted_ms": 250,
                "is_over": True,
            }
        ],
        "folder": str(tmp_path),
        "trace": trace,
        "unwritten": None,
    }
    assert summary(report(tmp_path, PASSING))["result"] == "bounded"


def test_the_file_in_the_folder_is_the_same_object(tmp_path: Path) -> None:
    path = write_summary(report(tmp_path, LASTS))
    assert path == tmp_path / "summary.json"
    kept = json.loads(path.read_text())
    assert kept["violations"] == summary(report(tmp_path, LASTS))["violations"]
    assert [file.name for file in tmp_path.iterdir()] == ["summary.json"]


def test_people_are_told_each_violation_once_and_what_was_done(tmp_path: Path) -> None:
    assert list(summary_lines(report(tmp_path, LASTS, SAME_AGAIN, OTHER, HEALED_SOON, unanswered=1))) == [
        "  ✗  Loops is violated after 7 inputs, at 1.25 s: a > b: twice.",
        "     The same was found 1 time more.",
        "  ✗  Loops is violated after 11 inputs, at 1.25 s: c > d: lost.",
        "1,200 inputs (1000 send, 200 fail), 34,567 events that followed, 2.0 s (600 inputs/s); "
        "stopped by the number of events.",
        "1 input not answered in time.",
        "1 transient violation:",
        "  Loops for 0.25 s from 1 s on: a > b: once.",
        f"All of it is in {tmp_path}: the trace, the scenario, the summary, the logs.",
        "2 persistent violations found.",
    ]


def test_a_run_without_a_lasting_violation_does_not_claim_to_prove_anything(tmp_path: Path) -> None:
    *_, last = summary_lines(report(tmp_path, PASSING, HEALED_SOON))
    assert last == "No persistent violation was found, which proves nothing: another seed may find one."


def test_a_finding_is_one_line_that_says_whether_it_lasts() -> None:
    moment = "after 7 inputs, at 1.25 s"
    assert finding_line(PASSING) == f"  ✗  Loops is violated (not yet persistent) {moment}: a > b: once."
    assert finding_line(HEALED_SOON) == f"  ✓  Loops holds again {moment}; it was: a > b: once."


def test_what_is_wrong_when_the_run_ends_and_did_not_last_is_passing_too(tmp_path: Path) -> None:
    given = report(tmp_path, PASSING)
    given.outcome.undecided.append(found("e > f: lost.", since=1200))
    (told,) = summary(given)["passing_violations"]
    assert (told["at_ms"], told["lasted_ms"], told["is_over"]) == (1200, 50, False)
    lines = list(summary_lines(given))
    assert "  Loops for 0.05 s from 1.2 s on, until the run ended: e > f: lost." in lines


def test_of_many_passing_violations_the_longest_are_told_and_all_are_counted(tmp_path: Path) -> None:
    many = [found(f"a{n} > b: once.", verdict=HEALED, since=1250 - n) for n in range(8)]
    alike = found("c > d: once. (and 4 more)", verdict=HEALED, since=1250, times=5)
    lines = list(summary_lines(report(tmp_path, *many, alike)))
    begin = lines.index("13 transient violations:")
    assert lines[begin + 1] == "  Loops for 0.007 s from 1.243 s on: a7 > b: once."
    assert lines[begin + 6] == "  and 8 more, none of which lasted longer."


def test_how_often_an_error_came_is_told_with_it(tmp_path: Path) -> None:
    often = found("a > b: twice.", persistent=True, verdict=REPEATED, since=1250, last=9000, times=42)
    given = report(tmp_path, LASTS, often)
    assert lasting(given) == [LASTS] and summary(given)["violations"][0]["times"] == 42
    assert "     It came 42 times, first at 1.25 s, last at 9 s." in summary_lines(given)


def test_a_run_in_which_nothing_arrived_judges_nothing_and_says_why(tmp_path: Path) -> None:
    given = report(tmp_path)
    reason = Bound("no packet of any host arrived: nobody sent one", Why.UNSENT)
    given.outcome.reasons, given.outcome.judged = [reason], False
    verdict = run_verdict(given)
    assert (verdict.status, verdict.judged, verdict.reasons[0]) == (3, False, reason)
    lines = list(summary_lines(given))
    assert "  No packet of any host arrived: nobody sent one." in lines
    assert any("--profile traffic" in line for line in lines[lines.index("Next steps, in this order:") :])
