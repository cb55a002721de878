"""What must be found in Ryu's `simple_switch_13` when nobody says what the hosts send.

The search is breadth-first, so the stories are the shortest that these hosts can tell: a ping finds
its own way back, and no other packet tells a shorter one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock._check.check import check
from penstock._replay.replaying import replay
from penstock._scenario.scenario import load_scenario

FOLDER = Path(__file__).parents[2] / "examples" / "scenarios"

BUGS = [
    ("host_moves", "NoBlackHolesMobile", 16),
    ("delayed_path", "StrictDirectPaths", 12),
    ("loop", "NoForwardingLoops", 14),
]


@pytest.mark.parametrize(("name", "broken", "steps"), BUGS, ids=[name for name, _, _ in BUGS])
def test_the_bug_is_found_confirmed_and_replayed(
    name: str, broken: str, steps: int, ryu_sources: Path, tmp_path: Path
) -> None:
    scenario = load_scenario(FOLDER / f"{name}.toml")
    assert not any(callable(given) or "kind" in given for given in scenario.hosts.values())
    report = check(scenario, output=tmp_path)
    (finding,) = report.findings
    assert (finding.property, len(finding.records), finding.confirmed) == (broken, steps, True)
    assert finding.trace is not None
    again = replay(finding.trace)
    assert again.reproduced
    assert again.message == finding.message
