"""Bugs X to XIII of the NICE paper, found in energy-efficient traffic engineering for os-ken (section 9.3).

Each is met with the bugs before it fixed, as in the paper, and in no more transitions than NICE needed
in the best column of its Table 4.  With all of them fixed nothing is found.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from bench.nice_search import EXAMPLES
from bench.nice_table4 import BROKEN, best_of_nice

from penstock._check.check import check
from penstock._engine.building import build
from penstock._explore.breadth_first import breadth_first
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.search import Bounds, Search
from penstock._replay.replaying import replay
from penstock._scenario.scenario import Scenario, load_scenario
from penstock._story.story import tell
from penstock._verdict.verdict import Why

FIXES = ("X", "XI", "XII", "XIII")
ONE_CONNECTION = {"kind": "tcp-client", "to": "h2", "static_arp": True, "segments": 0}
TWO_CONNECTIONS = {"kind": "te_hosts.py:Caller", "to": ["h2", "h3"], "segments": 0}


@dataclass(frozen=True, slots=True)
class Bug:
    """What must be found: `turns` is what the story tells, in this order."""

    number: int
    steps: int
    turns: tuple[str, ...]
    verdict: str

    @property
    def numeral(self) -> str:
        return FIXES[self.number - 10]

    @property
    def scenario(self) -> Scenario:
        return load_scenario(EXAMPLES / f"bug_{self.number}.toml")


BUGS = [
    Bug(
        10,
        5,
        ("sends a packet-in to controller c0: h1#1", "sends to s2: FlowMod", "sends to s1: FlowMod"),
        "s1 still holds h1#1 (TCP SYN",
    ),
    Bug(
        11,
        8,
        (
            "sends to s2: FlowMod",
            "sends to s1: PacketOut(h1#1",
            "s2 gets h1#1 at port 3, from s1",
            "no rule in table 0 matches",
            "Controller c0 handles s2's packet-in",
            "s2 handles c0's FlowMod",
        ),
        "s2 still holds h1#1 (TCP SYN",
    ),
    Bug(
        12,
        4,
        ("tx_bytes=500000001", "log: the load is high", "> 10.0.0.2:80", "sends to s3: FlowMod"),
        "on s3, which is not on its path s1, s2.",
    ),
    Bug(
        13,
        14,
        (
            "log: the load is high",
            "sends to s3: FlowMod",
            "log: the load is low",
            "Controller c0 handles s3's packet-in",
            "s3 handles c0's FlowMod",
        ),
        "s3 still holds h1#1 (TCP SYN",
    ),
]

every_bug = pytest.mark.parametrize("bug", BUGS, ids=[bug.numeral for bug in BUGS])


def with_fixes(scenario: Scenario, *fixes: str) -> Scenario:
    """Return a scenario in which other bugs are fixed."""
    assert isinstance(scenario.controller, dict)
    return replace(scenario, controller={**scenario.controller, "options": {"fixes": list(fixes)}})


def assert_in_order(parts: tuple[str, ...], text: str) -> None:
    """Find each part of a story behind the one before."""
    at = 0
    for part in parts:
        at = text.find(part, at)
        assert at >= 0, part


@every_bug
def test_the_bug_is_found_confirmed_and_replayed(bug: Bug, tmp_path: Path) -> None:
    report = check(bug.scenario, output=tmp_path)
    (finding,) = report.findings
    assert (finding.property, len(finding.records), finding.confirmed) == (
        BROKEN[bug.numeral],
        bug.steps,
        True,
    )
    assert report.outcome.transitions <= (best_of_nice(bug.numeral).transitions or 0)
    assert_in_order((*bug.turns, bug.verdict), "\n".join([*tell(finding.records), finding.message]))
    assert finding.trace is not None
    again = replay(finding.trace)
    assert again.reproduced
    assert again.message == finding.message


@every_bug
def test_no_shorter_story_exists(bug: Bug) -> None:
    built = build(bug.scenario)
    depth = bug.steps - 1
    search = Search(CompiledNetwork(built.network, built.properties, built.start), Bounds(depth=depth))
    outcome = breadth_first(search, sleep=False)
    assert (outcome.result, outcome.stopped_by) == ("bounded", f"depth {depth}")


def test_with_bug_10_fixed_no_packet_is_forgotten_where_it_enters_the_network() -> None:
    scenario = replace(with_fixes(BUGS[0].scenario, "X"), search={"all_violations": True})
    findings = check(scenario).findings
    forgotten = [found.message for found in findings if found.property == "NoForgottenPackets"]
    assert forgotten
    for message in forgotten:
        assert not message.startswith(("s1 still holds h1#", "s2 still holds h2#"))


@every_bug
def test_the_bug_is_gone_once_it_is_fixed(bug: Bug) -> None:
    # What bug X leaves, bug XI takes in the same scenario.
    fixed = FIXES[: max(bug.number - 9, 2)]
    report = check(with_fixes(bug.scenario, *fixed))
    assert (report.outcome.result, report.findings) == ("exhausted", [])


def test_with_all_fixes_nothing_is_broken_in_any_order() -> None:
    report = check(load_scenario(EXAMPLES / "traffic_engineering_mended.toml"))
    assert (report.outcome.result, report.findings, report.unexercised) == ("exhausted", [], [])


@pytest.mark.parametrize(
    ("number", "changes"),
    [
        (13, {"controller": {"timers": 2}}),
        (13, {"switches": {"buffers": 0}}),
        (13, {"hosts": {"h1": TWO_CONNECTIONS}}),
        (11, {"switches": {"reorder": "between-barriers"}, "hosts": {"h1": ONE_CONNECTION}}),
    ],
    ids=["load-changes-twice", "no-buffers", "two-connections", "orders-overtake"],
)
def test_without_bugs_nothing_is_found_elsewhere_either(number: int, changes: dict[str, Any]) -> None:
    scenario = with_fixes(load_scenario(EXAMPLES / f"bug_{number}.toml"), *FIXES)
    tables: dict[str, Any] = {key: {**getattr(scenario, key), **change} for key, change in changes.items()}
    report = check(replace(scenario, **tables))
    assert not report.findings
    has_buffers = tables.get("switches", scenario.switches)["buffers"] > 0
    assert report.unexercised == ([] if has_buffers else ["NoForgottenPackets"])
    assert all(reason.why is Why.UNJUDGED for reason in report.verdict.reasons)
    assert report.verdict.is_conclusive is has_buffers


@pytest.mark.parametrize("forgotten", FIXES)
def test_each_fix_is_needed(forgotten: str) -> None:
    scenario = load_scenario(EXAMPLES / "bug_13.toml")
    if forgotten == "XII":
        # The flow that must not go on demand is the one to the even address.
        scenario = load_scenario(EXAMPLES / "bug_12.toml")
    report = check(with_fixes(scenario, *(fix for fix in FIXES if fix != forgotten)))
    assert report.findings
