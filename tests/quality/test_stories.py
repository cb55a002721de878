"""Stories name the cause: the rule or the line of code that decided, and the events that it takes.

For NICE's thirteen bugs, STS's case studies and the tutorial's app it is known which code is behind the bug.
The code is given by the function and by what the line says, since the numbers of lines change.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from bench.nice_search import EXAMPLES
from bench.sts_cases import CASES
from click.testing import CliRunner
from tests.quality.sts_lab import Runs

from penstock._base.ryu_names import source_folders
from penstock._cli.main import commands
from penstock._fuzz.summary import lasting, summary_lines

MESSAGE = re.compile(r"\b(?:FlowMod|PacketOut|GroupMod|StatsRequest|PacketIn)\([^)]*\)")


class Cause(NamedTuple):
    """What a story must say: why, which line of which function, and what else it takes."""

    why: str
    function: str
    line: str
    others: str = ""


NICE = {
    "bug_01": Cause(
        r"s1's rule priority=1 in_port=1,.* -> output:2 \(added in step \d+\) sent h1#2 out of port 2 of s1, "
        r"which leads nowhere since step \d+ \(h2 moves to s1:3\)",
        "add_flow",
        "datapath.send_msg(mod)",
        r"Needed: .*h2 moves to s1:3",
    ),
    "bug_02": Cause(
        r"s1's rule priority=0 any -> .* handed h1#2 to the controller, since no other rule of s1 matches it",
        "add_flow",
        "datapath.send_msg(mod)",
    ),
    "bug_03": Cause(
        r"by the PacketOut sent in step \d+ \(output:flood\), sent h1#1 on; it went s1 > s2 > s3 > s1",
        "_packet_in_handler",
        "datapath.send_msg(out)",
        r"Needed: nothing but step 1 \(h1 sends h1#1\)",
    ),
    "bug_04": Cause(r"sent only a PacketOut to s1; none of that names buffer 0", "handle_arp", "send_msg"),
    "bug_05": Cause(r"handed h1#2 by s1 and sent nothing; nothing names buffer 0", "packet_in", '"V" in'),
    "bug_06": Cause(r"sent only a FlowMod to s1; none of that names buffer 0", "install", "send_msg"),
    "bug_07": Cause(
        r"handed h1#1 by s1 and sent nothing",
        "packet_in",
        '"V" in',
        r"Order: had step 2 \(s1 handles c0's FlowMod of step 1 \(1 of 2\)\) come after step 4",
    ),
    "bug_08": Cause(r"handed h1#1 by s1 and sent nothing", "packet_in", "return", r"Needed: without step 1"),
    "bug_09": Cause(
        r"rule priority=20 .*:3 \(added before step 1\) sent h1#1 on; .*rule priority=30 .* sent h1#2 to h2",
        "install",
        "send_msg",
        r"Order: had step 2 \(.*1 of 2\)\) come after step 7 \(s1 gets h1#2 at port 1, from h1\)",
    ),
    "bug_10": Cause(r"sent only a FlowMod to s2 and a FlowMod to s1", "_install", "send_msg"),
    "bug_11": Cause(
        r"handed h1#1 by s2 and sent nothing",
        "packet_in",
        "",
        r"Order: had step 6 \(s2 gets h1#1 .*\) come after step 8 \(s2 handles c0's FlowMod",
    ),
    "bug_12": Cause(r"handed h1#1 by s1 and sent a FlowMod to s3", "_install", "send_msg"),
    "bug_13": Cause(r"handed h1#1 by s3 and sent nothing", "packet_in", ""),
}

STS = {
    "loop_after_recovery": "by reroute at loop_after_recovery.py",
    "premature_packet_in": "premature_packet_in.py",
    "in_flight_black_hole": "by route at routing.py",
    "migration_black_hole": "by route at migration_black_hole.py",
    "discovery_loop": "by route at routing.py",
    "failover": "by route at routing.py",
    "master_election": "by route at routing.py",
    "balancer_errors": "balancer_errors.py",
    "rare_path": "rare_path.py",
    "overlapping_entries": "by packet_in at overlapping_entries.py",
    "timer_interleaving": "timer_interleaving.py",
    "wrong_algorithm": "by route at routing.py",
    "thread_race": "thread_race.py",
    "memory_leak": "memory_leak.py",
    "memory_corruption": "memory_corruption.py",
}
"""What the line about the code of each case names: where it failed, or which function set the rule."""


def run(*arguments: str, status: int) -> str:
    done = CliRunner().invoke(commands, arguments, standalone_mode=False, catch_exceptions=False)
    assert (done.return_value or 0) == status, done.output
    return done.output


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return what checks a bug of NICE's and returns its story and its explanation, each once."""

    @cache
    def check(bug: str, *options: str) -> tuple[str, dict[str, Any]]:
        folder = str(tmp_path_factory.mktemp(bug))
        scenario = str(EXAMPLES / f"{bug}.toml")
        printed = run("check", scenario, *options, "--output", folder, "--json", status=1)
        (violation,) = json.loads(printed)["violations"]
        return run("show", violation["trace"], status=0), violation["explanation"]

    return check


def source_line(file: str, line: int) -> str:
    """Return a line of an example's code, or of Ryu's."""
    for folder in (EXAMPLES, *(folder.parent for folder in source_folders())):
        if (folder / file).is_file():
            return (folder / file).read_text().splitlines()[line - 1]
    raise AssertionError(f"there is no {file}")


@pytest.mark.parametrize("bug", NICE)
def test_the_cause_names_what_decided_and_the_code_behind_it(
    bug: str, checked: Any, ryu_sources: Path
) -> None:
    wanted = NICE[bug]
    story, explanation = checked(bug)
    assert re.search(rf"^     Why: .*{wanted.why}", story, re.MULTILINE), story
    places = [code["places"][0] for code in explanation["code"]]
    assert any(
        place["function"] == wanted.function and wanted.line in source_line(place["file"], place["line"])
        for place in places
    ), places
    assert re.search(rf"^     Code: .* in {wanted.function}\b", story, re.MULTILINE)
    assert re.search(rf"^     {wanted.others}", story, re.MULTILINE), story


def test_every_case_of_sts_has_a_cause() -> None:
    assert STS.keys() == CASES.keys()


@pytest.mark.parametrize("case", STS)
def test_the_cause_of_a_fuzzing_run_names_the_code(case: str, run_of: Runs) -> None:
    report = run_of(case)
    first = lasting(report)[0].finding
    lines = list(summary_lines(report))
    place = next(number for number, line in enumerate(lines) if first.message in line)
    ending = [line for line in lines[place + 1 : place + 5] if line.startswith("     ")]
    assert any(line.startswith("     Code: ") and STS[case] in line for line in ending), lines[:8]


@pytest.mark.parametrize("options", [(), ("--strategy", "races"), ("--order", "depth-first")], ids=str)
@pytest.mark.parametrize("bug", NICE)
def test_no_story_repeats_a_message(
    bug: str, options: tuple[str, ...], checked: Any, ryu_sources: Path
) -> None:
    story, _ = checked(bug, *options)
    told = Counter(line for line in story.splitlines() if MESSAGE.search(line))
    again = [line for line, times in told.items() if times > 1]
    assert not again, story
    handled = [line for line in story.splitlines() if " handles " in line and MESSAGE.search(line)]
    assert not handled, "what was sent is told where it is sent"


TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"


def test_the_tutorial_s_bug_is_explained_by_the_specification_and_the_line(tmp_path: Path) -> None:
    found = re.search(r"<!-- file: my_switch.py -->\n```python\n(.*?)```", TUTORIAL.read_text(), re.DOTALL)
    assert found is not None
    app = tmp_path / "my_switch.py"
    app.write_text(found[1])
    story = run("check", str(app), "--topo", "linear,2", "-o", str(tmp_path), status=1)
    assert "output:1 is the port that it came in by, which is ignored: OFPP_IN_PORT sends it back" in story
    line = next(number for number, text in enumerate(found[1].splitlines(), 1) if "switch.send_msg(" in text)
    assert f"     Code: my_switch.py:{line} in packet_comes sent that.\n" in story
    assert "     Needed: without step 1 (h1 sends h1#1), " in story
