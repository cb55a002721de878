"""NICE's thirteen bugs by strategy: who finds which, and in how many transitions (Table 4 of the paper)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from bench.nice_search import EXAMPLES
from bench.nice_table4 import NICE, beside, best_of_nice

from penstock._check.check import Report, check
from penstock._scenario.scenario import load_scenario

BUGS = range(1, len(NICE) + 1)
NUMERALS = dict(zip(BUGS, NICE, strict=True))


@cache
def searched(bug: int, *strategies: str) -> Report:
    """Check the scenario of a bug by strategies."""
    scenario = load_scenario(EXAMPLES / f"bug_{bug:02}.toml")
    return check(replace(scenario, search={**scenario.search, "strategies": strategies}))


@pytest.mark.parametrize("bug", BUGS)
def test_races_need_no_more_transitions_than_the_best_strategy_of_the_paper(
    bug: int, ryu_sources: Path
) -> None:
    report = searched(bug, "races")
    assert [finding.confirmed for finding in report.findings] == [True]
    assert report.outcome.transitions <= (best_of_nice(NUMERALS[bug]).transitions or 0)
    assert report.outcome.remarks == []


@pytest.mark.parametrize("bug", BUGS)
def test_their_stories_are_at_most_half_as_long_again_as_the_shortest(bug: int, ryu_sources: Path) -> None:
    (found,), (shortest,) = searched(bug, "races").findings, searched(bug).findings
    assert found.property == shortest.property
    assert len(shortest.records) <= len(found.records) <= 1.5 * len(shortest.records)


@pytest.mark.parametrize("strategy", ["no-delay", "unusual", "flow-ir", "delay-bounded"])
@pytest.mark.parametrize("bug", BUGS)
def test_every_other_strategy_finds_what_it_finds_in_the_paper(
    bug: int, strategy: str, ryu_sources: Path
) -> None:
    report = searched(bug, strategy)
    # The bugs that do not show where control messages take no time are missed by NICE too.
    if strategy == "no-delay" and beside(NUMERALS[bug], "NO-DELAY", False).transitions is None:
        assert not report.findings
        assert (report.outcome.result, report.outcome.stopped_by) == ("bounded", "the limits of no-delay")
    else:
        assert [finding.property for finding in report.findings] == [searched(bug).findings[0].property]
        assert report.outcome.transitions < 2_000


def test_races_need_the_fewest_transitions_over_all_bugs(ryu_sources: Path) -> None:
    def total(*strategies: str) -> int:
        return sum(searched(bug, *strategies).outcome.transitions for bug in BUGS)

    others = [total(), total("unusual"), total("flow-ir"), total("delay-bounded"), total("random-walk")]
    assert total("races") < min(others)


@pytest.mark.parametrize("order", ["breadth-first", "depth-first"])
def test_the_first_three_are_found_in_every_order_of_search(order: str, ryu_sources: Path) -> None:
    for bug in (1, 2, 3):
        scenario = load_scenario(EXAMPLES / f"bug_{bug:02}.toml")
        for strategy in ("no-delay", "unusual", "flow-ir"):
            found = check(replace(scenario, search={"order": order, "strategies": [strategy]}))
            assert found.findings[0].confirmed
