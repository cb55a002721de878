"""No program that keeps state in an unusual place, or goes by threads, chance or time, is judged wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.soundness import state_places, state_tasks
from tests.soundness.judging import by_check, by_verify, is_right
from tests.soundness.programs import Program

ALL = [*state_places.programs(), *state_tasks.programs()]
CHECKED = [each for each in ALL if each.check == "bug" or each.kind == state_tasks.KIND]
PROVED = [each for each in state_places.programs() if each.check == "bug"][::7]


def names(programs: list[Program]) -> list[str]:
    """Return what the programs are called."""
    return [each.name for each in programs]


def test_there_are_many_programs_and_few_of_those_with_a_bug_may_be_bounded() -> None:
    bugs = [each for each in ALL if each.check == "bug"]
    assert len(ALL) > 500
    assert sum(bool(each.reason) for each in bugs) <= 0.25 * len(bugs)
    assert len({each.name for each in ALL}) == len(ALL)


@pytest.mark.parametrize("program", CHECKED[::3], ids=names(CHECKED[::3]))
def test_a_search_finds_the_bug_or_says_what_it_does_not_see(program: Program, tmp_path: Path) -> None:
    judged = by_check(program, tmp_path)
    assert is_right(judged, program.check, program.reason), judged


SAFE = [each for each in state_places.programs() if each.check == "safe"][::9]


@pytest.mark.parametrize("program", SAFE, ids=names(SAFE))
def test_a_program_without_a_bug_is_cleared_or_it_is_said_what_is_not_seen(
    program: Program, tmp_path: Path
) -> None:
    judged = by_check(program, tmp_path)
    assert is_right(judged, program.check, program.reason), judged


@pytest.mark.parametrize("program", PROVED, ids=names(PROVED))
def test_nothing_is_proved_that_is_not_so(program: Program, tmp_path: Path) -> None:
    judged = by_verify(program, tmp_path)
    assert is_right(judged, program.verify, program.reason), judged


def test_tasks_that_pile_up_without_end_end_a_proof_with_that_as_the_reason(tmp_path: Path) -> None:
    (program,) = (each for each in state_tasks.programs() if each.name == "osken_thread_sleeps_bug")
    judged = by_verify(program, tmp_path)
    assert is_right(judged, "bug", "ever more tasks that wait for time to pass"), judged
