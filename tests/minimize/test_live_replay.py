"""Replays with a real process: what followed before is waited for, and few inputs are left in the end."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from minimize_lab import EXAMPLES, performed

from penstock.controllers.osken.ryu import source_folders
from penstock.controllers.tcp import ports
from penstock.minimize.ddmin import minimise
from penstock.minimize.live_replay import LiveReproducer, Waiting
from penstock.minimize.script import load_script
from penstock.replay import replay
from penstock.scenario import Scenario
from required_tools import do_without, find_tool

INPUTS = (
    *("send h1 to h3 ping 1", "send h1 to h2 ping 1", "wait 300"),
    *("fail s2-s3", "recover s2-s3", "move h2 to {s1}"),
)


def run_live(folder: Path, *texts: str) -> Path:
    """Perform inputs on a network of a Ryu app in a process of its own; return the folder of the run."""
    if not source_folders():
        do_without("The sources of Ryu are missing: make setup fetches them.")
    words = [
        sys.executable,
        "-m",
        "penstock.controllers.launch",
        "ryu.app.simple_switch_13",
        "--port",
        "{port}",
    ]
    scenario = Scenario(
        controller={"cmd": words, "port": ports.free_port()},
        topology="linear,3",
        folder=EXAMPLES,
        fuzz={"persistent_ms": 300, "rates": {"migration": 1}, "invariants": ["BlackHoleFreedom"]},
    )
    return performed(folder, scenario, *texts)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_live(tmp_path_factory.mktemp("live"), *INPUTS)


def test_the_violation_comes_again_after_the_same_events(run: Path) -> None:
    script = load_script(run)
    assert script.violation is not None and script.violation.invariant == "BlackHoleFreedom"
    attempt = LiveReproducer(script).run(script.inputs, tries=3)
    assert attempt.reproduced
    assert attempt.followed > 5
    assert not attempt.skipped
    assert replay(run, tries=3).reproduced


def test_what_a_process_says_is_expected_and_not_part_of_inputs(run: Path) -> None:
    script = load_script(run)
    doing = {event.transition for events in script.doings.values() for event in events}
    assert not any(transition.startswith("inject c0:") for transition in doing)
    expected = [event.transition for events in script.expected for event in events]
    assert any(transition.startswith("inject c0:") for transition in expected)


def test_few_inputs_are_left(run: Path) -> None:
    script = load_script(run)
    minimal = minimise(script, LiveReproducer(script), simplify=False)
    assert [cue.what.verb for cue in minimal.inputs] == ["send", "move"]


def test_an_event_that_does_not_come_is_given_up_and_told(run: Path) -> None:
    script = load_script(run)
    place = next(n for n, events in enumerate(script.expected) if n and any(e.message for e in events))
    strange = replace(
        script.expected[place][0], transition="deliver s1:c0", message="Nonsense", line=99999, after=0
    )
    expected = (*script.expected[:place], (strange, *script.expected[place]), *script.expected[place + 1 :])
    reproducer = LiveReproducer(replace(script, expected=expected), waiting=Waiting(epsilon_ms=50))
    attempt = reproducer.run(script.inputs[: place + 1])
    assert attempt.divergence is not None
    assert (attempt.divergence.line, attempt.absent >= 1) == (99999, True)
    assert reproducer.missed[99999] == 1


def test_a_process_can_be_given_a_fixed_time(run: Path, tmp_path: Path) -> None:
    find_tool("faketime", package="faketime")
    script = load_script(run)
    clock = tmp_path / "clock.py"
    clock.write_text(
        "import datetime, runpy, sys\n"
        f"open({str(tmp_path / 'told')!r}, 'w').write(str(datetime.datetime.now().year))\n"
        "sys.argv = sys.argv[1:]\nrunpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)\n"
    )
    controller = script.scenario.controller
    assert isinstance(controller, dict)
    words = [sys.executable, str(clock), *controller["cmd"][2:]]
    timed = replace(script.scenario, controller={**controller, "cmd": words})
    fixed = LiveReproducer(replace(script, scenario=timed), waiting=Waiting(fixed_time=True))
    assert fixed.run(script.inputs, tries=2).reproduced
    assert (tmp_path / "told").read_text() == "2024"
