"""What must be found in Ryu's own `simple_switch_13`, and how short its story is.

The stories are the shortest there are: breadth-first search found them, and an unreduced search to
one step less finds nothing.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock._check.check import check
from penstock._cli.demonstration import EXAMPLES
from penstock._demo import RYU_APP, demo_scenario
from penstock._engine.building import build
from penstock._explore.breadth_first import breadth_first
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.search import Bounds, Search
from penstock._replay.replaying import replay
from penstock._scenario.scenario import Scenario

BUGS = [
    ("host-moved", "NoBlackHolesMobile", 22),
    ("delayed-path", "StrictDirectPaths", 13),
    ("loop", "NoForwardingLoops", 14),
]


@pytest.fixture(params=BUGS, ids=[name for name, _, _ in BUGS])
def bug(request: pytest.FixtureRequest, ryu_sources: Path) -> tuple[Scenario, str, int]:
    name, broken, steps = request.param
    return demo_scenario(name, RYU_APP), broken, steps


def test_the_demo_shows_these_bugs() -> None:
    assert [example.scenario for example in EXAMPLES] == [name for name, _, _ in BUGS]


def test_the_bug_is_found_confirmed_and_replayed(bug: tuple[Scenario, str, int], tmp_path: Path) -> None:
    scenario, broken, steps = bug
    report = check(scenario, output=tmp_path)
    (finding,) = report.findings
    assert (finding.property, len(finding.records), finding.confirmed) == (broken, steps, True)
    assert finding.trace is not None
    again = replay(finding.trace)
    assert again.reproduced
    assert again.message == finding.message


def test_no_shorter_story_exists(bug: tuple[Scenario, str, int]) -> None:
    scenario, _, steps = bug
    built = build(replace(scenario, search={"depth": steps - 1}))
    search = Search(CompiledNetwork(built.network, built.properties, built.start), Bounds(depth=steps - 1))
    outcome = breadth_first(search, sleep=False)
    assert outcome.result == "bounded"
    assert outcome.stopped_by == f"depth {steps - 1}"
