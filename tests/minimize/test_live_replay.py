"""Replays with a real process: what followed before is waited for, and few inputs are left in the end."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.minimize.minimize_lab import LIVE_INPUTS, app_in_a_process, performed, performed_live
from tests.required_tools import find_tool

from penstock._controllers.tcp.faketime import MOMENT
from penstock._minimize.ddmin import minimise
from penstock._replay.live import LiveReproducer
from penstock._replay.live_play import TimeScale, Waiting
from penstock._replay.recording import load_script
from penstock._replay.replaying import replay


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return performed_live(tmp_path_factory.mktemp("live"), *LIVE_INPUTS)


def test_the_violation_comes_again_after_the_same_events(run: Path) -> None:
    script = load_script(run)
    assert script.violation is not None and script.violation.invariant == "NoBlackHoles"
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
    assert reproducer.lessons.missed[99999] == (frozenset(c.line for c in script.inputs[: place + 1]),)


def test_the_clock_of_a_process_follows_the_record(run: Path, tmp_path: Path) -> None:
    find_tool("faketime")
    script = load_script(run)
    told = tmp_path / "told"
    clock = tmp_path / "clock.py"
    clock.write_text(
        "import os, runpy, sys, threading, time\n"
        f"def tell():\n    open({str(told)!r}, 'a').write(f'{{time.time()}}\\n')\n"
        "class Ticking(threading.Thread):\n"
        "    def run(self):\n        while True:\n            tell()\n            time.sleep(0.05)\n"
        "tell()\nTicking(daemon=True).start()\n"
        "sys.argv = sys.argv[1:]\nrunpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)\n"
    )
    controller = script.scenario.controller
    assert isinstance(controller, dict)
    words = [sys.executable, str(clock), *controller["cmd"][2:]]
    timed = replace(script.scenario, controller={**controller, "cmd": words})
    hour = 3_600_000
    later = tuple(replace(cue, at=cue.at + hour * (n > 1)) for n, cue in enumerate(script.inputs))
    faked = LiveReproducer(replace(script, scenario=timed, inputs=later), waiting=Waiting(faketime=True))
    assert faked.run(later, tries=2).reproduced
    shown = [float(line) for line in told.read_text().splitlines()]
    assert MOMENT <= shown[0] < MOMENT + 600
    assert max(shown) > MOMENT + hour / 1000


# Time that matters.

IMPATIENT = """
import time
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls


class Impatient(app_manager.OSKenApp):
    \"\"\"Drops for good what comes later than half a second after it was last asked.\"\"\"

    asked = None

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def joined(self, event):
        self.add(event.msg.datapath, 0, [event.msg.datapath.ofproto.OFPP_CONTROLLER])

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def asked_for(self, event):
        now, last, Impatient.asked = time.monotonic(), Impatient.asked, time.monotonic()
        if last is not None and now - last > 0.5:
            self.add(event.msg.datapath, 9, [7])

    def add(self, path, priority, ports):
        parser, ofproto = path.ofproto_parser, path.ofproto
        actions = [parser.OFPActionOutput(port, 128) for port in ports]
        apply = [parser.OFPInstructionActions(ofproto.OFPIT_APPLY_ACTIONS, actions)]
        path.send_msg(parser.OFPFlowMod(path, priority=priority, match=parser.OFPMatch(), instructions=apply))
"""


def test_where_time_matters_it_is_not_cut_short(tmp_path: Path) -> None:
    scenario = app_in_a_process(tmp_path, IMPATIENT, persistent_ms=100)
    texts = ("send h1 to h2 ping 1", "wait 900", "send h1 to h2 ping 2", "wait 200")
    script = load_script(performed(tmp_path / "runs", scenario, *texts))
    assert script.violation is not None
    reproducer = LiveReproducer(script)
    assert reproducer.run(script.inputs).reproduced
    assert reproducer.lessons.pace is TimeScale.RECORDED
    assert not reproducer.run([cue for cue in script.inputs if str(cue) != "wait 900"]).reproduced
