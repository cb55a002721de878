"""Packets that are late, dropped on purpose or answered are no black holes; those that are lost are."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.soundness import alarm_programs
from tests.soundness.judging import by_check, by_verify, is_right
from tests.soundness.programs import Program

ALL = list(alarm_programs.programs())
CHECKED = [each for each in ALL if each.name.startswith("osken") or "hub" not in each.name]
PROVED = [
    each
    for each in ALL
    if each.name in ("osken_hub_safe", "osken_acl_safe", "native_forgotten_bug", "osken_one_too_late_bug")
]


def names(programs: list[Program]) -> list[str]:
    """Return what the programs are called."""
    return [each.name for each in programs]


def test_there_are_many_programs_of_both_kinds_and_few_with_a_bug_may_be_bounded() -> None:
    bugs = [each for each in ALL if each.check == "bug"]
    assert len(ALL) >= 150
    assert len(bugs) >= 60
    assert sum(bool(each.reason) for each in bugs) <= 0.05 * len(bugs)
    assert len({each.name for each in ALL}) == len(ALL)


@pytest.mark.parametrize("program", CHECKED[::2], ids=names(CHECKED[::2]))
def test_a_search_finds_packets_that_are_lost_and_no_others(program: Program, tmp_path: Path) -> None:
    judged = by_check(program, tmp_path)
    assert is_right(judged, program.check, program.reason), judged


@pytest.mark.parametrize("program", PROVED, ids=names(PROVED))
def test_a_proof_has_no_complaints(program: Program, tmp_path: Path) -> None:
    assert by_verify(program, tmp_path).word != "found"
