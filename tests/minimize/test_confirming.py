"""A result counts if a careful replay shows the violation; what was not found in haste counts as it is."""

from pathlib import Path

from minimize_lab import LIVE_INPUTS, moving_hosts, performed_live

from penstock.minimize.confirming import confirming_tries, is_confirmed
from penstock.minimize.ddmin import Minimal
from penstock.minimize.live_replay import LiveReproducer
from penstock.minimize.script import Cue, Script, load_script
from penstock.minimize.virtual_replay import VirtualReproducer
from penstock.minimize.waiting import Waiting


def result(script: Script, inputs: tuple[Cue, ...], tries: int = 1) -> Minimal:
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
