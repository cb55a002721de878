"""Steps that a search remembers, made again: what was left out of a program's state comes to light."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from tests.soundness import state_places
from tests.soundness.judging import Judged, by_check, by_verify
from tests.soundness.programs import Program

from penstock._controllers.osken.determinism import Surroundings
from penstock._controllers.osken.loading import Loaded
from penstock._controllers.surface import Surface
from penstock._explore.reexecution import MOST_STEPS, SHARE, Remembered, made_again
from penstock._world.component import Send, Step

PROGRAMS = {each.name: each for each in state_places.programs()}


def steps(*outcomes: Step, again: Step | None = None) -> list[Remembered]:
    """Return remembered steps that come out as they did, or otherwise."""

    def makes(outcome: Step) -> Callable[[], Step]:
        return lambda: again or outcome

    return [Remembered("c0", f"step {n}", makes(outcome), outcome) for n, outcome in enumerate(outcomes)]


def test_steps_that_come_out_the_same_leave_no_reservation() -> None:
    assert made_again(steps(Step(1), Step(2, (Send("s1", "hello"),))), 1.0) == []


@pytest.mark.parametrize(
    ("again", "how"),
    [
        (Step(1, (Send("s1", "bye"),)), "sent [bye] instead of nothing"),
        (Step(2), "came to another state"),
    ],
)
def test_a_step_that_comes_out_otherwise_is_told_with_what_differs(again: Step, how: str) -> None:
    (reservation,) = made_again(steps(Step(1), again=again), 1.0)
    assert how in reservation.sentence
    assert "step 0" in reservation.sentence


def test_of_very_many_steps_some_are_made_again_evenly_spread() -> None:
    made: list[int] = []

    def make(number: int) -> Step:
        made.append(number)
        return Step(0)

    number = int(2 * MOST_STEPS / SHARE)
    many = [Remembered("c0", "", partial(make, n), Step(0)) for n in range(number)]
    assert made_again(many, 1000.0) == []
    assert len(set(made)) == MOST_STEPS
    assert max(made) - min(made) > 0.99 * number


MUTANTS: list[tuple[type, str, list[object], str]] = [
    (Loaded, "namespaces", [], "osken_global_bug"),
    (Loaded, "namespaces", [], "osken_other_class_safe"),
    (Loaded, "namespaces", [], "osken_counter_bug"),
    (Surroundings, "roots", [], "osken_environ_bug"),
    (Surroundings, "roots", [], "native_environ_safe"),
]


@pytest.mark.parametrize(("home", "name", "left", "program"), MUTANTS)
@pytest.mark.parametrize("judge", [by_check, by_verify])
def test_a_root_that_is_left_out_of_the_state_is_noticed(
    home: type,
    name: str,
    left: list[object],
    program: str,
    judge: Callable[[Program, Path], Judged],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(home, name, lambda _self: left)
    monkeypatch.setattr(Surface, "changed", lambda _self: ([], []))
    given: Program = PROGRAMS[program]
    judged = judge(given, tmp_path)
    assert judged.word == "bounded", judged
    assert any("Penstock does not see" in reason for reason in judged.reasons)
