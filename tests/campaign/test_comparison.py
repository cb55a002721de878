"""Whether a bug is new, known, fixed or not seen is told from what shows it, and from nothing less."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock._campaign.comparison import (
    FIXED,
    KNOWN,
    NEW,
    UNSEEN,
    Standing,
    of_found,
    of_missed,
    of_retried,
    open_bugs,
    ordered,
)
from penstock._campaign.job import FAILED, Found, Outcome
from penstock._campaign.plan import Job, Plan
from penstock._campaign.store import Bug, opened

JOB = Job("a.py", "check", "", "", None, "key", "program")


def bug(number: int, *, program: str = "program", minimised: bool = True, trace: Path | None = None) -> Bug:
    return Bug(number, program, f"Loops-{number}", "Loops", "it loops", (), minimised, trace, 1)


def standings(found: list[Standing]) -> list[tuple[int, str]]:
    return [(each.bug.id, each.standing) for each in found]


def test_a_bug_that_was_not_open_is_new() -> None:
    found = of_found([(bug(1), [0]), (bug(2), [1, 2])], {2: bug(2)})
    assert standings(found) == [(1, NEW), (2, KNOWN)]
    assert found[1].jobs == (1, 2)


@pytest.mark.parametrize(("other", "standing"), [("program", KNOWN), ("another", NEW)])
def test_one_that_was_not_minimised_may_be_any_of_its_program(other: str, standing: str) -> None:
    assert standings(of_found([(bug(1, minimised=False), [0])], {2: bug(2, program=other)})) == [
        (1, standing)
    ]


def test_open_is_what_was_not_fixed(tmp_path: Path) -> None:
    with opened(tmp_path) as store:
        campaign = store.begin(Plan("apps", "/apps", (JOB,), ()), fresh=False)
        found = tuple(Found("Loops", "it loops", "", name) for name in ("a", "b", "c", "d"))
        store.record(campaign, 0, JOB, Outcome("violated", found=found))
        numbers = list(store.bugs_of(campaign))
        store.settle(
            campaign,
            [(number, word, "") for number, word in zip(numbers, (NEW, KNOWN, FIXED, UNSEEN), strict=True)],
        )
        assert list(open_bugs(store, campaign)) == [numbers[0], numbers[1], numbers[3]]
        assert open_bugs(store, None) == {}


def missed(tmp_path: Path, *outcomes: Outcome | None) -> Standing | None:
    """Return how a bug stands that breaks Loops and was missed, after some jobs of its program."""
    trace = tmp_path / "trace.jsonl"
    trace.touch()
    return of_missed(
        bug(1, trace=trace), {f"job {number}": (JOB, each) for number, each in enumerate(outcomes)}
    )


@pytest.mark.parametrize("result", ["exhausted", "proved", "bounded"])
def test_a_run_is_taken_again_before_a_bug_is_fixed(tmp_path: Path, result: str) -> None:
    assert missed(tmp_path, Outcome(result, watched=("Crash", "Loops"))) is None
    assert missed(tmp_path, Outcome(FAILED, ("No app.",)), Outcome(result, watched=("Loops",))) is None


@pytest.mark.parametrize(
    ("outcomes", "why"),
    [
        (
            (Outcome("exhausted", watched=("Crash",)),),
            "no job of this campaign has judged Loops of its program",
        ),
        ((Outcome("proved", watched=()), None), "no job of this campaign has judged Loops of its program"),
        ((Outcome(FAILED, ("rules.py cannot be read.",)),), "rules.py cannot be read"),
        (
            (Outcome(FAILED, ("No app.",)), Outcome("exhausted", watched=("Crash",))),
            "no job of this campaign has judged Loops of its program",
        ),
    ],
)
def test_of_what_is_not_judged_any_more_nothing_is_said(
    tmp_path: Path, outcomes: tuple[Outcome | None, ...], why: str
) -> None:
    standing = missed(tmp_path, *outcomes)
    assert standing is not None
    assert (standing.standing, standing.why) == (UNSEEN, f"not judged any more: {why}")


def test_nor_of_a_program_that_is_not_run() -> None:
    judged = Outcome("exhausted", watched=("Loops",))
    standing = of_missed(bug(1, program="another"), {"job": (JOB, judged)})
    assert standing is not None
    why = "not judged any more: no job of this campaign runs its program"
    assert (standing.standing, standing.why) == (UNSEEN, why)


def test_nor_if_its_run_is_gone(tmp_path: Path) -> None:
    judged = Outcome("exhausted", watched=("Loops",))
    standing = of_missed(bug(1, trace=tmp_path / "gone"), {"job": (JOB, judged)})
    assert standing is not None
    assert (standing.standing, standing.why) == (
        UNSEEN,
        "nothing shows that it is fixed, and its run is gone",
    )


@pytest.mark.parametrize(
    ("outcome", "standing", "why"),
    [
        (Outcome("violated"), KNOWN, "its run, taken again, still violates the property"),
        (Outcome("exhausted"), FIXED, "its run no longer violates the property"),
        (Outcome("bounded", ("it differs",)), UNSEEN, "its run shows nothing: it differs"),
        (Outcome(FAILED, ("No app.",)), UNSEEN, "its run could not be taken again: No app"),
    ],
)
def test_a_run_that_is_taken_again_tells(outcome: Outcome, standing: str, why: str) -> None:
    told = of_retried(bug(1), outcome)
    assert (told.standing, told.why) == (standing, why)


def test_standings_come_in_an_order_that_chance_does_not_decide() -> None:
    given = [Standing(bug(2), UNSEEN), Standing(bug(3), NEW), Standing(bug(1), NEW), Standing(bug(4), FIXED)]
    assert standings(list(ordered(given))) == [(1, NEW), (3, NEW), (4, FIXED), (2, UNSEEN)]
    assert ordered(given) == ordered(reversed(given))
