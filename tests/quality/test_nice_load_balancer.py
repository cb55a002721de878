"""What must be found in the load balancer of NICE's section 9.2, how soon, and that it is that bug.

Each bug is met with those before it mended.  A search of NICE's takes a number of transitions that
depends on its strategy (Table 4); the best of them is what the default search is measured by.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import pytest
from bench.nice_search import EXAMPLES
from bench.nice_table4 import BROKEN, best_of_nice

from penstock._check.check import Report, check
from penstock._engine.building import build
from penstock._replay.replaying import replay
from penstock._scenario.scenario import Scenario, load_scenario
from penstock._story.story import tell
from penstock._verdict.verdict import Why
from penstock._world.world import World


class Bug(NamedTuple):
    """A bug: its number, how short its story is, and what the story tells, in order."""

    file: str
    number: str
    steps: int
    told: tuple[str, ...]
    message: str


BUGS = [
    Bug(
        "bug_04",
        "IV",
        7,
        (
            "sends a packet-in to controller c0: h1#1",
            "sends to s1: PacketOut([ARP 10.0.0.100 is at",
            "h1 receives [ARP",
        ),
        "s1 still holds h1#1 (ARP who has 10.0.0.100",
    ),
    Bug(
        "bug_05",
        "V",
        8,
        (
            "h1#1 -> drop",
            "s1 gets h1#2",
            "no rule in table 0 matches",
            "c0 handles s1's packet-in of step 7: h1#2",
        ),
        "s1 still holds h1#2 (TCP SYN",
    ),
    Bug(
        "bug_06",
        "VI",
        7,
        (
            "s1 gets h1#1",
            "rule of step 2 -> output:controller",
            "sends a packet-in to controller c0: h1#1",
            "FlowMod(add priority=30",
        ),
        "s1 still holds h1#1 (TCP SYN",
    ),
    Bug(
        "bug_07",
        "VII",
        6,
        ("rule gone from table 0", "no rule in table 0 matches", "new rule in table 0"),
        "s1 still holds h1#1 (TCP SYN",
    ),
    Bug(
        "bug_08",
        "VIII",
        6,
        (
            "rule of step 2 -> output:controller",
            "sends a packet-in to controller c0: h1#1 [0 bytes, too short for a frame]",
        ),
        "s1 still holds h1#1 (TCP SYN",
    ),
    Bug(
        "bug_09",
        "IX",
        11,
        (
            "sends h1#1 [TCP SYN 10.0.0.1:40000 > 10.0.0.3:80] out of port 3",
            "h1 sends h1#2 [TCP SYN",
            "sends a packet-in to controller c0: h1#2",
            "sends h1#2 [TCP SYN 10.0.0.1:40000 > 10.0.0.2:80] out of port 2",
        ),
        "but earlier packets of that connection reached h",
    ),
]

ALL = [bug.number for bug in BUGS]

every_bug = pytest.mark.parametrize("bug", BUGS, ids=ALL)


def scenario_of(bug: Bug) -> Scenario:
    return load_scenario(EXAMPLES / f"{bug.file}.toml")


def mended() -> Scenario:
    return load_scenario(EXAMPLES / "load_balancer_mended.toml")


def with_fixes(scenario: Scenario, *fixes: str) -> Scenario:
    options = {**controller_of(scenario)["options"], "fixes": [*fixes]}
    return replace(scenario, controller={**controller_of(scenario), "options": options})


def controller_of(scenario: Scenario) -> dict[str, Any]:
    assert isinstance(scenario.controller, dict)
    return scenario.controller


def fixes_in(bug: Bug) -> list[str]:
    return list(controller_of(scenario_of(bug))["options"]["fixes"])


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Search each bug's scenario once for all tests."""
    folder = tmp_path_factory.mktemp("traces")

    @cache
    def search(bug: Bug) -> Report:
        return check(scenario_of(bug), output=folder)

    return search


@every_bug
def test_the_bug_breaks_its_property_in_the_fewest_steps(bug: Bug, searched: Any) -> None:
    (finding,) = searched(bug).findings
    assert (finding.property, len(finding.records), finding.confirmed) == (
        BROKEN[bug.number],
        bug.steps,
        True,
    )


@every_bug
def test_the_search_takes_no_more_transitions_than_the_best_of_nice(bug: Bug, searched: Any) -> None:
    assert searched(bug).outcome.transitions <= (best_of_nice(bug.number).transitions or 0)


@every_bug
def test_the_story_shows_how_the_bug_comes_about(bug: Bug, searched: Any) -> None:
    (finding,) = searched(bug).findings
    rest = "\n".join(tell(finding.records))
    for phrase in bug.told:
        _, found, rest = rest.partition(phrase)
        assert found, phrase
    assert bug.message in finding.message


@every_bug
def test_the_trace_reproduces_the_bug(bug: Bug, searched: Any) -> None:
    (finding,) = searched(bug).findings
    again = replay(finding.trace)
    assert again.reproduced
    assert again.message == finding.message


@every_bug
def test_each_bug_is_met_with_those_before_it_mended(bug: Bug) -> None:
    earlier = [known.number for known in BUGS[: BUGS.index(bug)]]
    assert set(earlier) <= set(fixes_in(bug))
    assert bug.number not in fixes_in(bug)


def was_exhausted(report: Report) -> bool:
    """Tell whether nothing was found and nothing left out, but that some properties had nothing to judge."""
    return not report.findings and all(reason.why is Why.UNJUDGED for reason in report.verdict.reasons)


@every_bug
def test_with_its_fix_the_bug_is_gone(bug: Bug) -> None:
    """After bug IV comes bug V, in the same scenario; where it is mended too, nothing is left."""
    found = check(with_fixes(scenario_of(bug), *fixes_in(bug), bug.number)).findings
    assert [bug.message in finding.message for finding in found] == [False] * (bug.number == "IV")


@every_bug
def test_with_all_fixes_the_same_scenario_is_clean(bug: Bug) -> None:
    assert was_exhausted(check(with_fixes(scenario_of(bug), *ALL)))


@every_bug
def test_the_bug_is_also_met_in_the_whole_course_of_events(bug: Bug) -> None:
    """From the first ARP question on, over the first weights to the change, with a SYN sent twice."""
    (finding,) = check(with_fixes(mended(), *(number for number in ALL if number != bug.number))).findings
    assert (finding.property, finding.confirmed) == (BROKEN[bug.number], True)


def test_with_all_fixes_nothing_is_broken_in_any_order() -> None:
    report = check(mended())
    assert (report.outcome.result, report.findings, report.unexercised) == ("exhausted", [], [])


def test_a_connection_that_is_silent_all_through_the_change_may_be_split() -> None:
    """As the application takes it for dead; the bounds of the other scenarios end before that."""
    scenario = mended()
    longer = replace(scenario, controller={**controller_of(scenario), "timers": 3})
    (finding,) = check(longer).findings
    assert finding.property == "FlowAffinity"
    assert any("end_inspection" in str(record.transition) for record in finding.records)


def test_questions_of_replicas_are_forgotten_just_as_those_of_clients() -> None:
    asking = replace(scenario_of(BUGS[0]), hosts={"h2": {"kind": "ping", "to": "h3"}})
    (finding,) = check(asking).findings
    assert finding.message.startswith("s1 still holds h2#1 (ARP who has 10.0.0.3 tell 10.0.0.2)")
    assert was_exhausted(check(with_fixes(asking, "IV")))


MINUTE, HOUR = 60_000, 3_600_000


@pytest.mark.parametrize(
    ("moments", "fixes", "replica"),
    [
        ((MINUTE,), (), "h3"),
        ((MINUTE, HOUR), (), "h2"),
        ((MINUTE, HOUR), ("IX",), "h3"),
        ((MINUTE, HOUR, MINUTE), ("IX",), "h2"),
    ],
    ids=["first weights", "during the change", "during the change, mended", "after the change"],
)
def test_a_new_connection_goes_where_the_weights_want_it(
    moments: tuple[int, ...], fixes: tuple[str, ...], replica: str
) -> None:
    built = build(with_fixes(mended(), "IV", "V", "VI", "VII", "VIII", *fixes))
    world = World(built.network)
    world.restore(built.start)
    for milliseconds in moments:
        world.advance(milliseconds)
        settle(world)
    world.take("h1 connect web")
    assert settle(world) == {"h1", replica}


def settle(world: World) -> set[str]:
    """Deliver all there is to deliver, and return who says that a connection was made."""
    connected = set()
    while deliveries := world.deliveries():
        record = world.take(deliveries[0])
        connected |= {str(event.detail[0]) for event in record.events if event.kind == "connected"}
    return connected
