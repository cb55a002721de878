"""A shortest sequence is one than which every shorter one was tried."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.minimize.minimize_lab import long_walk, moving_hosts

from penstock._minimize.ddmin import Minimal, minimise, shortest
from penstock._replay.in_process import CheckReproducer, VirtualReproducer
from penstock._replay.live import LiveReproducer
from penstock._replay.recording import load_script
from penstock.errors import PenstockError


def test_a_sequence_of_two_is_proved_to_be_shortest(tmp_path: Path) -> None:
    script = load_script(moving_hosts(tmp_path))
    reproducer = VirtualReproducer(script)
    minimal = minimise(script, reproducer)
    proved = shortest(minimal, reproducer)
    assert proved.inputs == minimal.inputs
    assert "No sequence of fewer than 2 of the recorded inputs" in proved.proof
    assert proved.replays > minimal.replays


def test_a_longer_sequence_is_replaced_by_a_shortest(tmp_path: Path) -> None:
    script = load_script(long_walk(tmp_path))
    reproducer = CheckReproducer(script)
    whole = Minimal(script, script.inputs[:3], "", len(script.inputs), 0, 0.0, ())
    proved = shortest(whole, reproducer)
    assert proved.size == 1
    assert reproducer.with_script(proved.script).run(proved.inputs).reproduced


def test_what_could_not_all_be_tried_is_said(tmp_path: Path) -> None:
    script = load_script(moving_hosts(tmp_path))
    whole = Minimal(script, script.inputs[:5], "", len(script.inputs), 0, 0.0, ())
    tired = shortest(whole, VirtualReproducer(script), most=3)
    assert tired.inputs == whole.inputs
    assert "were too many to be tried (3 were)" in tired.proof


def test_nothing_is_proved_about_processes(tmp_path: Path) -> None:
    script = load_script(moving_hosts(tmp_path))
    process = replace(script, scenario=replace(script.scenario, controller={"cmd": "true {port}"}))
    whole = Minimal(process, script.inputs, "", 1, 0, 0.0, ())
    with pytest.raises(PenstockError, match="Replays of real processes prove nothing"):
        shortest(whole, LiveReproducer(process))
