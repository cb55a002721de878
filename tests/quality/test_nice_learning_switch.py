"""NICE's bugs I to III in Ryu's `simple_switch_13`, as `examples/nice` has them."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench.nice_search import EXAMPLES
from bench.nice_table4 import BROKEN

from penstock._check.check import check
from penstock._scenario.scenario import load_scenario
from penstock._story.story import tell

BUGS = {
    "bug_01": (BROKEN["I"], 20, "h2 moves to s1:3.", "lost: h1#2"),
    "bug_02": (BROKEN["II"], 13, "h1 receives h2#1", "sends a packet-in to controller c0: h1#2"),
    "bug_03": (BROKEN["III"], 14, "h1#1 -> output:flood", "s2 gets h1#1 at port 2"),
}


@pytest.mark.parametrize("name", BUGS)
def test_the_bug_is_told_in_the_fewest_steps(name: str, ryu_sources: Path) -> None:
    broken, steps, early, late = BUGS[name]
    (finding,) = check(load_scenario(EXAMPLES / f"{name}.toml")).findings
    assert (finding.property, len(finding.records), finding.confirmed) == (broken, steps, True)
    assert late in "\n".join(tell(finding.records)).partition(early)[2]


def test_what_h1_sends_after_the_move_is_lost_by_a_rule_from_before(ryu_sources: Path) -> None:
    (finding,) = check(load_scenario(EXAMPLES / "bug_01.toml")).findings
    last = list(tell(finding.records[-1:]))
    assert "rule: priority=1 in_port=1,eth_dst=00:00:00:00:00:02" in last[1]
    assert finding.message.endswith("s1 sent it out of port 2, which leads nowhere.")
