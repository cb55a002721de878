"""A long run keeps of what it found what is told of it, and counts the rest."""

from __future__ import annotations

from pathlib import Path

from penstock._fuzz.fuzzing import Found, Outcome, Report
from penstock._fuzz.judging import HEALED, Finding
from penstock._fuzz.summary import number_passed, passing, summary
from penstock._scenario.scenario import Scenario


def lasting(number: int, pair: str = "h1 to h2") -> Found:
    finding = Finding("NoBlackHoles", f"{pair}: lost {number}", persistent=True)
    return Found(finding, number, number, number)


def passed(number: int, lasted: int) -> Found:
    finding = Finding("NoForwardingLoops", f"a loop {number}", verdict=HEALED, since=number)
    return Found(finding, number, number + lasted, number)


def test_what_a_short_run_finds_is_kept() -> None:
    outcome = Outcome()
    found = [*(lasting(number) for number in range(50)), *(passed(number, 5) for number in range(50))]
    outcome.add(found)
    assert (outcome.findings, outcome.passed_besides, outcome.repeated_besides.total()) == (found, 0, 0)


def test_of_what_lasts_the_first_of_a_kind_are_kept_and_all_are_counted(tmp_path: Path) -> None:
    outcome = Outcome()
    for number in range(10_000):
        outcome.add([lasting(number, f"h{number % 2} to h9")])
    assert len(outcome.findings) < 5_000
    assert outcome.has_lasting
    assert len(outcome.violations) + outcome.repeated_besides.total() == 10_000
    scenario = Scenario(controller={"native": "app.py:App"}, topology="single,2", folder=tmp_path)
    told = summary(Report(scenario, outcome, tmp_path))
    assert sum(each["times"] for each in told["violations"]) == 10_000


def test_of_what_passed_the_longest_are_kept_and_all_are_counted() -> None:
    outcome = Outcome()
    for number in range(10_000):
        outcome.add([passed(number, lasted=number % 7_000)])
    kept = passing(outcome)
    assert number_passed(outcome, kept) == 10_000
    assert len(outcome.findings) < 5_000
    assert max(each.lasted for each in kept) == 6_999


def test_many_kinds_do_not_have_it_forget_again_and_again() -> None:
    outcome = Outcome()
    for number in range(30_000):
        outcome.add([lasting(number, f"h{number % 300} to h0")])
    before = list(outcome.findings)
    outcome.add([])
    assert outcome.findings == before
    assert len(outcome.violations) + outcome.repeated_besides.total() == 30_000
