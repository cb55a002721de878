"""A result counts if a careful replay shows the violation; what was not found in haste counts as it is."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.minimize.minimize_lab import LIVE_INPUTS, moving_hosts, performed_live

from penstock._minimize.ddmin import (
    Minimal,
    conditions,
    confirming_tries,
    find_confirmed_minimum,
    is_confirmed,
)
from penstock._minimize.progress import Progress
from penstock._replay.in_process import VirtualReproducer
from penstock._replay.live import LiveReproducer
from penstock._replay.live_play import Waiting
from penstock._replay.recording import RecordedInput, Recording, load_script
from penstock._replay.replaying import Origin


def result(script: Recording, inputs: tuple[RecordedInput, ...], tries: int = 1) -> Minimal:
    """Return a result as a minimisation would have it."""
    return Minimal(script, inputs, "it is broken", len(script.inputs), 1, 0.0, (), tries=tries)


def test_a_result_of_real_processes_is_played_again(tmp_path: Path) -> None:
    script = load_script(performed_live(tmp_path, *LIVE_INPUTS))
    hasty = LiveReproducer(script)
    assert is_confirmed(result(script, script.inputs), hasty)
    assert not is_confirmed(result(script, script.inputs[:1]), hasty)


def test_what_was_exact_or_careful_is_not_played_again(tmp_path: Path) -> None:
    script = load_script(moving_hosts(tmp_path))
    assert is_confirmed(result(script, ()), VirtualReproducer(script))
    live = load_script(performed_live(tmp_path, *LIVE_INPUTS))
    assert is_confirmed(result(live, ()), LiveReproducer(live, waiting=Waiting(careful=True)))


def test_it_is_tried_as_often_as_the_minimisation_tried_and_three_times_at_least(tmp_path: Path) -> None:
    script = load_script(moving_hosts(tmp_path))
    assert [confirming_tries(result(script, (), tries)) for tries in (1, 3, 5)] == [3, 3, 5]


def test_a_search_with_care_that_was_broken_off_goes_on(tmp_path: Path) -> None:
    origin = Origin.of(performed_live(tmp_path / "run", *LIVE_INPUTS))
    asked: list[bool] = []

    def search(origin: Origin) -> Minimal:
        script = origin.script()
        asked.append(origin.waiting.careful)
        Progress(conditions(script, 1, origin.terms), tmp_path)
        if asked == [False, True]:
            raise KeyboardInterrupt
        return result(script, script.inputs[:1])  # which does not lead to the violation

    with pytest.raises(KeyboardInterrupt):
        find_confirmed_minimum(origin, search, tmp_path)
    _, used = find_confirmed_minimum(origin, search, tmp_path)
    assert asked == [False, True, True]
    assert used.waiting.careful


def test_a_search_that_was_careful_from_the_start_is_none_of_those(tmp_path: Path) -> None:
    origin = Origin.of(moving_hosts(tmp_path / "run"))
    careful = replace(origin, waiting=Waiting(careful=True))
    asked: list[Origin] = []

    def search(origin: Origin) -> Minimal:
        asked.append(origin)
        return result(origin.script(), ())

    Progress(conditions(careful.script(), 1, careful.terms), tmp_path)
    find_confirmed_minimum(origin, search, tmp_path)
    assert asked == [origin]
