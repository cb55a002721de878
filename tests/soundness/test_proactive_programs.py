"""Programs whose rules alone treat packets are exercised: losses are found, what arrives is cleared."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.soundness import proactive_programs
from tests.soundness.judging import by_check, by_verify, is_right
from tests.soundness.programs import Program

ALL = list(proactive_programs.programs())
BY_NAME = {each.name: each for each in ALL}
CHOSEN = (
    "osken_no_rules",
    "osken_ring_flood",
    "osken_handler_installs_a_wrong_rule",
    "osken_handler_forgets_a_pair",
)
SLICE = [
    each for place, each in enumerate(ALL) if place % 5 == 0 or each.name in CHOSEN or "drop" in each.name
]
COLD = ("osken_macs", "osken_macs_without_broadcast", "native_hub_behind_rules")
PROVED = [each for each in ALL if each.verify == "bug" or "line" in each.name or "goto" in each.name][::2]


def test_there_are_many_programs_with_and_without_a_bug() -> None:
    assert len(ALL) == len({each.name for each in ALL}) >= 150
    bugs = [each for each in ALL if each.check == "bug"]
    assert len(bugs) >= 80 and len(ALL) - len(bugs) >= 60
    assert not any(each.reason for each in bugs)


@pytest.mark.parametrize("program", SLICE, ids=lambda each: each.name)
def test_a_search_finds_what_gets_lost_and_clears_what_arrives(program: Program, tmp_path: Path) -> None:
    judged = by_check(program, tmp_path)
    assert is_right(judged, program.check, program.reason), judged


@pytest.mark.parametrize("name", COLD)
def test_packets_are_not_lost_only_because_switches_have_not_joined(name: str, tmp_path: Path) -> None:
    program = BY_NAME[name]
    cold = program._replace(scenario={**program.scenario, "search": {"start": "cold"}})
    judged = by_check(cold, tmp_path)
    assert is_right(judged, program.check, program.reason), judged


@pytest.mark.parametrize("program", PROVED, ids=lambda each: each.name)
def test_a_proof_finds_loops_and_nothing_else(program: Program, tmp_path: Path) -> None:
    judged = by_verify(program, tmp_path)
    assert judged.word in ({"bug": "found", "safe": "clear"}[program.verify], "bounded"), judged
    assert judged.word != "bounded" or (program.verify == "safe" and judged.reasons)
