"""A program's sessions with switches, and the messages that go over them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.controllers.osken_lab import control, handle, joined, lines, network_of, packet, write_app

from penstock._world.component import Event, Step
from penstock._world.faults import Faults
from penstock._world.signals import FABRIC, Carrier, Power
from penstock._world.world import World
from penstock.errors import PenstockError
from penstock.openflow.messages import (
    V10,
    V13,
    BarrierRequest,
    EchoReply,
    EchoRequest,
    FeaturesReply,
    FeaturesRequest,
    Hello,
    PacketOut,
)
from penstock.openflow.stats import PortDescRequest, PortDescs, StatsReply, StatsRequest

NAMES = """
msg = ev.msg
datapath = msg.datapath
parser, ofproto = datapath.ofproto_parser, datapath.ofproto
"""


def messages(step: Step) -> list[Any]:
    return [send.message for send in step.sends]


def test_joining_opens_the_session_with_the_usual_exchange(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, "pass"))
    first = controller.initial()
    assert controller.actions(first) == ("join s1",)
    step = controller.act(first, "join s1")
    assert [type(message) for message in messages(step)] == [Hello, FeaturesRequest]
    step = controller.receive(step.state, "s1", FeaturesReply(1, 0, 1, 0))
    assert messages(step) == [StatsRequest(PortDescRequest(), xid=1)]
    step = controller.receive(step.state, "s1", StatsReply(PortDescs(())))
    assert controller.actions(step.state) == ()
    assert messages(controller.receive(step.state, "s1", EchoRequest(b"?", xid=9))) == [
        EchoReply(b"?", xid=9)
    ]


def test_a_switch_with_another_datapath_id_is_noticed(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, "pass"))
    state = controller.act(controller.initial(), "join s1").state
    with pytest.raises(PenstockError, match="s1 says that its datapath id is 7, but c0 was given 1"):
        controller.receive(state, "s1", FeaturesReply(7, 0, 1, 0))


def test_what_comes_before_joining_goes_unheard(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, "print('heard')"))
    first = controller.initial()
    unheard = Event("unheard", ("c0", "s1", packet().tag))
    assert controller.receive(first, "s1", packet()) == Step(first, (), (unheard,))


def test_the_apps_hear_of_sessions_that_come_and_go(tmp_path: Path) -> None:
    app = write_app(
        tmp_path,
        """
        @set_ev_cls(ofp_event.EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER])
        def change(self, ev):
            print(ev.datapath.id, ev.state, ev.datapath.is_active, ev.datapath.send_barrier())
        """,
    )
    controller = control(app)
    state = controller.act(controller.initial(), "join s1").state
    state = controller.receive(state, "s1", FeaturesReply(1, 0, 1, 0)).state
    alive = controller.receive(state, "s1", StatsReply(PortDescs(())))
    assert lines(alive.events) == ["1 main True True"]
    dead = controller.receive(alive.state, FABRIC, Carrier("s1", up=False))
    assert lines(dead.events) == ["1 dead False False"]
    assert dead.sends == ()
    assert controller.actions(dead.state) == ()
    back = controller.receive(dead.state, FABRIC, Carrier("s1", up=True)).state
    assert controller.actions(back) == ("join s1",)
    assert [type(m) for m in messages(controller.act(back, "join s1"))] == [Hello, FeaturesRequest]


def test_a_session_that_the_program_closes_is_an_event_and_may_be_opened_again(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, "ev.msg.datapath.close()"))
    step = handle(controller, b"x")
    assert [event.detail for event in step.events if event.kind == "closed"] == [("c0", "s1")]
    assert controller.receive(step.state, "s1", packet()).events == ()
    assert controller.actions(step.state) == ("join s1",)


def test_a_power_cut_begins_afresh(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, "self.seen = getattr(self, 'seen', 0) + 1; print(self.seen)"))
    used = handle(controller, b"a", b"b").state
    off = controller.receive(used, FABRIC, Power(on=False)).state
    assert off.snapshot == controller.initial().snapshot
    assert controller.actions(off) == ()
    again = controller.receive(off, FABRIC, Power(on=True)).state
    again = controller.receive(again, FABRIC, Carrier("s1", up=True)).state
    assert again == controller.initial()
    assert lines(handle(controller, b"a").events) == ["1"]


def test_sessions_are_lost_and_opened_again_in_a_world(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, "pass"), shape="linear,2")
    world = World(network_of(controller, "linear,2", faults=Faults(disconnects=1, controller_crashes=1)))
    world.run()
    assert world.state("c0").joined == {"s1", "s2"}
    for trouble, mending in [("disconnect s1-c0", "reconnect s1-c0"), ("crash c0", "restart c0")]:
        world.take(f"fabric {trouble}")
        world.run()
        assert "s1" not in world.state("c0").joined
        world.take(f"fabric {mending}")
        world.run()
        assert world.state("c0").joined == {"s1", "s2"}


# Messages.


def test_the_apps_version_is_spoken_and_a_wanted_one_if_they_know_it(tmp_path: Path) -> None:
    both = write_app(tmp_path, "OFP_VERSIONS = [1, 4]\ndef f(self): pass", "both")
    assert control(both).version == V13
    assert control(both, version=V10).version == V10
    old = write_app(tmp_path, "OFP_VERSIONS = [1]\ndef f(self): pass", "old")
    assert control(old).version == V10
    with pytest.raises(PenstockError, match=r"old\.py speaks OpenFlow 1\.0, not 1\.3"):
        control(old, version=V13)


def test_a_packet_sent_on_keeps_the_models_name_for_it(tmp_path: Path) -> None:
    app = write_app(
        tmp_path,
        NAMES
        + """
def out(data, buffer_id=ofproto.OFP_NO_BUFFER):
    datapath.send_msg(parser.OFPPacketOut(datapath, buffer_id, 1, [parser.OFPActionOutput(2)], data))
out(msg.data)
out(msg.data + b'!')
out(None, 5)
out(None, 6)
""",
    )
    controller = control(app)
    step = controller.receive(joined(controller), "s1", packet(b"data", buffer_id=5, tag="h1#1"))
    outs = messages(step)
    assert all(isinstance(out, PacketOut) for out in outs)
    assert [out.tag for out in outs] == ["h1#1", "", "h1#1", ""]


def test_transaction_numbers_begin_anew_in_each_step(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, "for _ in 'ab': ev.msg.datapath.send_barrier()"))
    for step in (handle(controller, b"x"), handle(controller, b"x", b"y")):
        assert messages(step) == [BarrierRequest(xid=1), BarrierRequest(xid=2)]
    assert handle(controller, b"x").state == handle(controller, b"x", b"y").state


def test_a_transaction_number_that_the_program_remembers_is_not_given_out_again(tmp_path: Path) -> None:
    app = write_app(
        tmp_path,
        NAMES
        + """
if not hasattr(self, 'waiting'):
    self.waiting = {}
request = parser.OFPBarrierRequest(datapath)
datapath.send_msg(request)
if msg.data == b'remember':
    self.waiting[request.xid] = True
elif msg.data == b'forget':
    self.waiting.clear()
""",
    )
    controller = control(app)

    def xids(*packets: bytes) -> list[int]:
        return [message.xid for message in messages(handle(controller, *packets))]

    assert xids(b"remember") == [1]
    assert xids(b"remember", b"once") == xids(b"remember", b"once", b"once") == [2]
    assert xids(b"remember", b"remember", b"once") == [3]
    assert xids(b"remember", b"forget", b"once") == [1]


def test_bytes_that_make_no_message_are_an_event(tmp_path: Path) -> None:
    controller = control(write_app(tmp_path, "ev.msg.datapath.send(bytes([4, 99, 0, 8, 0, 0, 0, 1]))"))
    step = handle(controller, b"x")
    assert step.sends == ()
    assert [event.detail[:2] for event in step.events if event.kind == "malformed"] == [("c0", "s1")]
