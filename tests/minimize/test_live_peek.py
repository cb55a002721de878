"""A look ahead with real processes: what will not come is not waited for, and looking changes nothing."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.minimize.minimize_lab import LIVE_INPUTS, app_in_a_process, performed, performed_live

from penstock._minimize.ddmin import minimise
from penstock._replay.live import LivePeekingReproducer, LiveReproducer
from penstock._replay.live_play import USUAL, Waiting
from penstock._replay.recording import RecordedInput, Recording, load_script
from penstock._replay.replaying import reproducer_of

PEEKING = Waiting(peek=True)


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return load_script(performed_live(tmp_path_factory.mktemp("peek"), *LIVE_INPUTS))


def without(script: Recording, *verbs: str) -> list[RecordedInput]:
    return [cue for cue in script.inputs if cue.what.verb not in verbs]


def test_what_will_not_come_is_not_expected(script: Recording) -> None:
    kept = without(script, "fail", "recover", "move")
    inferred, found = LivePeekingReproducer(script, waiting=PEEKING).infer(kept)
    assert found is None
    assert inferred.inputs == tuple(kept)
    merged = script.only(kept)
    gone = {event.line for events in merged.expected for event in events} - {
        event.line for events in inferred.expected for event in events
    }
    # All of it counts, and among it is what the failure of the link led to.
    every = [event for events in script.expected for event in events]
    assert any("PortStatus" in event.message for event in every if event.line in gone)
    assert all(USUAL.counts(event) for event in every if event.line in gone)
    attempt = LiveReproducer(inferred, part=True).run(inferred.inputs)
    assert attempt.absent == 0
    assert attempt.followed > 5


def test_few_inputs_are_left(script: Recording) -> None:
    reproducer = reproducer_of(script, waiting=PEEKING)
    assert isinstance(reproducer, LivePeekingReproducer)
    minimal = minimise(script, reproducer, simplify=False)
    assert [cue.what.verb for cue in minimal.inputs] == ["send", "move"]


def test_inputs_that_mean_nothing_any_more_are_told(script: Recording) -> None:
    move = next(cue for cue in script.inputs if cue.what.verb == "move")
    again = replace(move, line=move.line + 1000)
    longer = replace(script, inputs=(*script.inputs, again), expected=(*script.expected, ()))
    attempt = LivePeekingReproducer(longer, waiting=PEEKING).run([*without(script, "fail", "recover"), again])
    assert again.line in attempt.skipped


# Looks that change something.

TARDY = """
import pathlib, threading
from os_ken.base import app_manager
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls

with (pathlib.Path(__file__).parent / "starts").open("a") as file:
    file.write("x")


class Tardy(app_manager.OSKenApp):
    \"\"\"Asks for the features of whoever has asked it, a while later.\"\"\"

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def joined(self, event):
        path = event.msg.datapath
        output = path.ofproto_parser.OFPActionOutput(path.ofproto.OFPP_CONTROLLER, 65535)
        apply = path.ofproto_parser.OFPInstructionActions(path.ofproto.OFPIT_APPLY_ACTIONS, [output])
        path.send_msg(path.ofproto_parser.OFPFlowMod(path, priority=0, instructions=[apply]))

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def asked(self, event):
        path = event.msg.datapath
        threading.Timer(0.3, lambda: path.send_msg(path.ofproto_parser.OFPBarrierRequest(path))).start()
"""


def test_a_look_that_changed_something_is_undone_by_playing_the_prefix_again(tmp_path: Path) -> None:
    scenario = app_in_a_process(tmp_path, TARDY, persistent_ms=300)
    sent = "send h1 to h2 ping 1", "wait 100", "send h2 to h1 ping 1", "wait 1000"
    script = load_script(performed(tmp_path / "run", scenario, *sent))
    starts = tmp_path / "starts"

    def scouts(script: Recording) -> int:
        starts.write_text("")
        LivePeekingReproducer(script, waiting=PEEKING).infer(script.inputs)
        return len(starts.read_text())

    assert scouts(script) == 1
    # Whoever waits for what never comes sees what he did not expect so soon.
    first = script.expected[1]
    strange = replace(first[-1], transition="deliver s1:c0", message="Nonsense", line=99999, after=2500)
    expected = (script.expected[0], (*first, strange), *script.expected[2:])
    assert scouts(replace(script, expected=expected)) > 1
