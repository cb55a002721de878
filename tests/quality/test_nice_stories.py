"""The stories of NICE's thirteen bugs, as `penstock show` prints them, for somebody who never saw the tool.

A story may be half as long again as the shortest one there is, which a breadth-first search without any
reduction finds.  It must name, in this order, what somebody needs who wants to mend the bug, and it ends with
the property's own sentence.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from bench.nice_search import EXAMPLES
from click.testing import CliRunner

from bench import nice_table4
from penstock._check.check import check
from penstock._cli.main import commands
from penstock._scenario.scenario import load_scenario

ASKED = "buffers it (buffer 0) and sends a packet-in to controller c0: h1#1 from port 1"

NEEDED = {
    "bug_01": (
        "sends to s1: FlowMod(add priority=1 in_port=1",
        "new rule in table 0",
        "h2 moves to s1:3.",
        "Controller c0 handles s1's packet-in of step STEP: h2#2.",
        "rule of step STEP -> output:2",
        "lost: h1#2, sent out of port 2, which leads nowhere",
    ),
    "bug_02": (
        "h2 receives h1#1.",
        "sends to s1: FlowMod(add priority=1 in_port=2",
        "new rule in table 0",
        "h1 receives h2#1.",
        "sends a packet-in to controller c0: h1#2 from port 1",
    ),
    "bug_03": (
        "sends to s1: PacketOut(h1#1 -> output:flood)",
        "s2 gets h1#1 at port 2, from s1.",
        "sends to s2: PacketOut(h1#1 -> output:flood)",
        "sends to s3: PacketOut(h1#1 -> output:flood)",
        "s1 gets h1#1 at port 3, from s3.",
        "s2 gets h1#1 at port 2, from s1.",
    ),
    "bug_04": (
        "h1 sends h1#1 [ARP who has 10.0.0.100 tell 10.0.0.1].",
        ASKED,
        "sends to s1: PacketOut([ARP 10.0.0.100 is at 02:00:00:00:00:64] -> output:1)",
        "h1 receives [ARP 10.0.0.100 is at 02:00:00:00:00:64].",
    ),
    "bug_05": (
        "sends to s1: PacketOut(h1#1 -> drop)",
        "sends h1#2 [TCP SYN 10.0.0.1:40000 > 10.0.0.100:80]",
        "no rule in table 0 matches",
        "Controller c0 handles s1's packet-in of step STEP: h1#2.\n     sends nothing",
    ),
    "bug_06": (
        "A timer of controller c0 goes off after 3600 s: load_balancer.reweigh.",
        "rule gone from table 0 (delete): priority=20",
        ASKED,
        "sends to s1: FlowMod(add priority=30",
        "new rule in table 0",
    ),
    "bug_07": (
        "A timer of controller c0 goes off after 3600 s: load_balancer.reweigh.",
        "rule gone from table 0 (delete): priority=20",
        "no rule in table 0 matches",
        ASKED,
        "sends nothing",
        "new rule in table 0",
    ),
    "bug_08": (
        "A timer of controller c0 goes off after 3600 s: load_balancer.reweigh.",
        "rule of step STEP -> output:controller",
        "from port 1, cut to 0 of its 54 bytes",
        "sends nothing",
    ),
    "bug_09": (
        "A timer of controller c0 goes off after 3600 s: load_balancer.reweigh.",
        "sends h1#1 [TCP SYN 10.0.0.1:40000 > 10.0.0.3:80] out of port 3",
        "h1 sends h1#2 [TCP SYN 10.0.0.1:40000 > 10.0.0.100:80], a retransmission.",
        "sends to s1: FlowMod(add priority=30",
        "output:2), also for the packet in buffer 0",
        "sends h1#2 [TCP SYN 10.0.0.1:40000 > 10.0.0.2:80] out of port 2",
        "h2 receives h1#2.",
    ),
    "bug_10": (
        "no rule in table 0 matches",
        ASKED,
        "sends to s2: FlowMod(add",
        "sends to s1: FlowMod(add",
        "new rule in table 0",
    ),
    "bug_11": (
        "sends to s2: FlowMod(add",
        "sends to s1: PacketOut(h1#1 -> output:2)",
        "s2 gets h1#1 at port 3, from s1.",
        "no rule in table 0 matches",
        "Controller c0 handles s2's packet-in of step STEP: h1#1.\n     sends nothing",
        "s2 handles c0's FlowMod of step STEP",
    ),
    "bug_12": (
        "Controller c0 receives from s1: StatsReply(Ports) with port 2 tx_bytes=500000001.",
        "log: the load is high",
        "Controller c0 handles s1's packet-in of step STEP: h1#1",
        "sends to s3: FlowMod(add",
    ),
    "bug_13": (
        "log: the load is high",
        "sends to s3: FlowMod(add",
        "Controller c0 receives from s1: StatsReply of step STEP, as it was sent.",
        "log: the load is low",
        "s3 gets h1#1 at port 1, from s1.",
        "Controller c0 handles s3's packet-in of step STEP: h1#1.\n     sends nothing",
        "s3 handles c0's FlowMod of step STEP",
    ),
}
"""What each story names."""

BROKEN = dict(zip(NEEDED, (nice_table4.BROKEN[bug] for bug in nice_table4.NICE), strict=True))
"""What each breaks, by the name of its scenario."""


@cache
def shortest(bug: str) -> int:
    """Return how many steps the shortest story of a bug has."""
    scenario = load_scenario(EXAMPLES / f"{bug}.toml")
    whole = replace(scenario, search={"order": "breadth-first", "reductions": ["none"]})
    (finding,) = check(whole).findings
    assert finding.property == BROKEN[bug]
    return len(finding.records)


def run(*arguments: str, status: int) -> str:
    done = CliRunner().invoke(commands, arguments, standalone_mode=False, catch_exceptions=False)
    assert (done.return_value or 0) == status, done.output
    return done.output


@pytest.mark.parametrize("options", [(), ("--strategy", "races")], ids=["default", "races"])
@pytest.mark.parametrize("bug", NEEDED)
def test_the_story_is_short_and_names_what_is_needed_to_mend_the_bug(
    bug: str, options: tuple[str, ...], tmp_path: Path, ryu_sources: Path
) -> None:
    scenario = str(EXAMPLES / f"{bug}.toml")
    report = run("check", scenario, *options, "--output", str(tmp_path), "--json", status=1)
    (violation,) = json.loads(report)["violations"]
    assert (violation["property"], violation["confirmed"]) == (BROKEN[bug], True)

    story = run("show", violation["trace"], status=0)

    numbers = [int(number) for number in re.findall(r"^ *(\d+)\. ", story, re.MULTILINE)]
    assert numbers == list(range(1, violation["steps"] + 1))
    assert len(numbers) <= 1.5 * shortest(bug)
    rest = story
    for text in NEEDED[bug]:
        found = re.search(re.escape(text).replace("STEP", r"\d+"), rest)
        assert found, f"{text!r} is not told, or too early:\n{story}"
        rest = rest[found.end() :]
    assert f"\n  ✗  {BROKEN[bug]} is violated: {violation['message']}\n     Why: " in rest
