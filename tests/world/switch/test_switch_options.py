"""What a switch does beyond Open vSwitch: buffers, reordering, expiry at will, limits, power."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from penstock._world.component import Send, Step
from penstock._world.frame import Frame
from penstock._world.signals import FABRIC, Carrier, Power
from penstock._world.switch import PortSpec, Switch, SwitchOptions
from penstock._world.switch.budgets import COPIES
from penstock.errors import PenstockError
from penstock.openflow.actions import Action, ApplyActions, Group, Output, PushMpls, PushVlan, SetTransportSrc
from penstock.openflow.match import Match
from penstock.openflow.messages import (
    NO_BUFFER,
    V10,
    V13,
    BarrierReply,
    BarrierRequest,
    Bucket,
    EchoReply,
    EchoRequest,
    Error,
    FlowCommand,
    FlowFlag,
    FlowMod,
    FlowRemoved,
    FlowRemovedReason,
    GroupCommand,
    GroupMod,
    GroupType,
    Hello,
    PacketIn,
    PacketOut,
    PortNo,
    PortStatus,
    Role,
    RoleReply,
    RoleRequest,
)
from penstock.openflow.stats import FlowRequest, StatsRequest

FRAME = bytes.fromhex("0000000000020000000000011234") + b"hello"


@dataclass
class Driver:
    """A switch with its state, spoken to step by step."""

    options: SwitchOptions = field(default_factory=SwitchOptions)
    controllers: tuple[str, ...] = ("c0",)

    def __post_init__(self) -> None:
        ports = tuple(PortSpec(n, f"s1-eth{n}", n) for n in (1, 2, 3))
        self.switch = Switch("s1", 1, ports, self.options, self.controllers)
        self.state = self.switch.initial()

    def _took(self, step: Step) -> tuple[Send, ...]:
        self.state = step.state
        return step.sends

    def tell(self, message: object, controller: str = "c0") -> tuple[Send, ...]:
        return self._took(self.switch.receive(self.state, controller, message))

    def frame(self, port: int, data: bytes = FRAME) -> tuple[Send, ...]:
        return self._took(self.switch.receive(self.state, port, Frame(data, "h1#1")))

    def signal(self, signal: Carrier | Power) -> tuple[Send, ...]:
        return self._took(self.switch.receive(self.state, FABRIC, signal))

    def act(self, action: str) -> tuple[Send, ...]:
        return self._took(self.switch.act(self.state, action))

    def actions(self) -> tuple[str, ...]:
        return self.switch.actions(self.state)

    def rules(self) -> list[str]:
        return [str(entry) for table in self.state.tables.values() for entry in table]


def add(priority: int, out: int, **more: Any) -> FlowMod:
    match = more.pop("match", Match.of(in_port=1))
    return FlowMod(FlowCommand.ADD, match, (ApplyActions((Output(out),)),), priority=priority, **more)


def messages(sends: tuple[Send, ...]) -> list[Any]:
    return [send.message for send in sends]


class TestBuffers:
    """A switch with buffers keeps packets for the controller, under the smallest free number."""

    def test_a_missed_packet_is_kept_and_only_its_start_is_sent(self) -> None:
        s1 = Driver(SwitchOptions(version=V10, buffers=2))
        sent = messages(s1.frame(1, FRAME + bytes(300)))
        assert isinstance(sent[0], PacketIn)
        assert (sent[0].buffer_id, len(sent[0].data), sent[0].total_len) == (0, 128, len(FRAME) + 300)

    def test_a_packet_out_releases_the_packet_once(self) -> None:
        s1 = Driver(SwitchOptions(version=V10, buffers=2))
        s1.frame(1)
        out = PacketOut(0, 1, (Output(2),))
        assert s1.tell(out) == (Send(2, Frame(FRAME, "h1#1")),)
        refused = messages(s1.tell(out))[0]
        assert isinstance(refused, Error)
        assert refused.name(V10) == "buffer-unknown"

    def test_a_flow_mod_that_names_the_packet_sends_it_through_the_new_rule(self) -> None:
        s1 = Driver(SwitchOptions(version=V10, buffers=2))
        s1.frame(1)
        assert s1.tell(add(5, 3, buffer_id=0)) == (Send(3, Frame(FRAME, "h1#1")),)
        assert not s1.state.buffers

    def test_full_buffers_mean_that_the_whole_packet_is_sent(self) -> None:
        s1 = Driver(SwitchOptions(version=V10, buffers=1))
        s1.frame(1)
        sent = messages(s1.frame(2, FRAME + bytes(300)))[0]
        assert isinstance(sent, PacketIn)
        assert sent.buffer_id == NO_BUFFER
        assert len(sent.data) == len(FRAME) + 300


class TestReordering:
    """Between barriers flow-mods and packet-outs may overtake each other."""

    OPTIONS = SwitchOptions(reorder="between-barriers")

    def test_nothing_is_applied_before_its_action(self) -> None:
        s1 = Driver(self.OPTIONS)
        s1.tell(add(1, 2))
        s1.tell(add(2, 3))
        assert s1.rules() == []
        assert len(s1.actions()) == 2

    def test_the_second_may_take_effect_first(self) -> None:
        s1 = Driver(self.OPTIONS)
        s1.tell(add(1, 2))
        s1.tell(add(2, 3))
        s1.act(s1.actions()[1])
        assert s1.rules() == ["priority=2 in_port=1 -> output:3"]

    def test_a_barrier_is_answered_when_all_before_it_are_applied(self) -> None:
        s1 = Driver(self.OPTIONS)
        s1.tell(add(1, 2))
        assert s1.tell(BarrierRequest(xid=9)) == ()
        assert s1.tell(add(2, 3)) == ()
        assert len(s1.actions()) == 1
        assert messages(s1.act(s1.actions()[0])) == [BarrierReply(xid=9)]
        assert len(s1.actions()) == 1
        s1.act(s1.actions()[0])
        assert len(s1.rules()) == 2

    def test_a_barrier_with_nothing_before_it_is_answered_at_once(self) -> None:
        s1 = Driver(self.OPTIONS)
        assert messages(s1.tell(BarrierRequest(xid=3))) == [BarrierReply(xid=3)]

    def test_what_cannot_be_overtaken_is_answered_at_once(self) -> None:
        s1 = Driver(self.OPTIONS)
        s1.tell(add(1, 2))
        assert messages(s1.tell(EchoRequest(b"x"))) == [EchoReply(b"x")]

    def test_by_default_messages_are_applied_in_order(self) -> None:
        s1 = Driver()
        s1.tell(add(1, 2))
        assert s1.rules() == ["priority=1 in_port=1 -> output:2"]
        assert s1.actions() == ()


class TestExpiry:
    """Entries with a timeout may vanish when the search says so, as often as allowed."""

    def test_an_entry_with_a_timeout_may_expire_and_the_controller_hears_of_it(self) -> None:
        s1 = Driver(SwitchOptions(expiries=1))
        s1.tell(add(1, 2, idle_timeout=5, flags=FlowFlag.SEND_FLOW_REM))
        s1.tell(add(2, 2))
        assert s1.actions() == ("expire 0 1 in_port=1",)
        removed = messages(s1.act("expire 0 1 in_port=1"))[0]
        assert isinstance(removed, FlowRemoved)
        assert removed.reason == FlowRemovedReason.IDLE_TIMEOUT

    def test_the_budget_ends_it(self) -> None:
        s1 = Driver(SwitchOptions(expiries=1))
        s1.tell(add(1, 2, hard_timeout=5))
        s1.tell(add(2, 2, hard_timeout=5))
        s1.act(s1.actions()[0])
        assert s1.actions() == ()

    def test_a_power_cycle_does_not_renew_the_budget(self) -> None:
        s1 = Driver(SwitchOptions(expiries=1))
        s1.tell(add(1, 2, hard_timeout=5))
        s1.act(s1.actions()[0])
        s1.signal(Power(on=False))
        s1.signal(Power(on=True))
        s1.signal(Carrier("c0", up=True))
        s1.tell(add(1, 2, hard_timeout=5))
        assert s1.rules()
        assert s1.actions() == ()

    def test_off_by_default(self) -> None:
        s1 = Driver()
        s1.tell(add(1, 2, hard_timeout=5))
        assert s1.actions() == ()

    def test_virtual_time_expires_entries_at_their_moments_in_order(self) -> None:
        s1 = Driver()
        s1.tell(add(1, 2, hard_timeout=5, flags=1))
        s1.tell(add(2, 2, hard_timeout=3, flags=1))
        assert s1.switch.deadline(s1.state) == 3000
        removed = messages(s1._took(s1.switch.advance(s1.state, 60_000)))
        assert [(m.priority, m.duration_sec) for m in removed] == [(2, 3), (1, 5)]
        assert s1.switch.deadline(s1.state) is None


class TestLimits:
    def test_a_full_table_refuses_another_entry_but_not_a_replacement(self) -> None:
        s1 = Driver(SwitchOptions(table_size=1))
        s1.tell(add(1, 2))
        refused = messages(s1.tell(add(2, 2)))[0]
        assert isinstance(refused, Error)
        assert refused.name(V13) == "flow-table-full"
        assert s1.tell(add(1, 3)) == ()
        assert s1.rules() == ["priority=1 in_port=1 -> output:3"]

    def test_uncounted_packets_leave_the_state_as_it_was(self) -> None:
        s1 = Driver(SwitchOptions(counters=False))
        s1.tell(add(1, 2))
        before = s1.state
        assert len(s1.frame(1)) == 1
        assert s1.state == before
        assert hash(s1.state) == hash(before)


class TestSeveralControllers:
    def test_every_controller_hears_of_a_miss_until_one_is_a_slave(self) -> None:
        s1 = Driver(SwitchOptions(), ("c0", "c1"))
        s1.tell(add(0, PortNo.CONTROLLER, match=Match()))
        assert [send.port for send in s1.frame(1)] == ["c0", "c1"]
        s1.tell(RoleRequest(Role.SLAVE, 1), "c1")
        assert [send.port for send in s1.frame(1)] == ["c0"]

    def test_a_new_master_makes_the_old_one_a_slave_that_may_not_write(self) -> None:
        s1 = Driver(SwitchOptions(), ("c0", "c1"))
        s1.tell(RoleRequest(Role.MASTER, 1), "c0")
        assert messages(s1.tell(RoleRequest(Role.MASTER, 2), "c1")) == [RoleReply(Role.MASTER, 2)]
        refused = messages(s1.tell(add(1, 2), "c0"))[0]
        assert isinstance(refused, Error)
        assert refused.name(V13) == "is-slave"

    def test_an_old_generation_is_refused(self) -> None:
        s1 = Driver(SwitchOptions(), ("c0", "c1"))
        s1.tell(RoleRequest(Role.MASTER, 5), "c0")
        refused = messages(s1.tell(RoleRequest(Role.MASTER, 4), "c1"))[0]
        assert isinstance(refused, Error)
        assert refused.name(V13) == "role-stale"


class TestPhysicalWorld:
    def test_a_cut_link_is_reported_and_nothing_is_sent_there(self) -> None:
        s1 = Driver()
        s1.tell(add(1, 2))
        told = messages(s1.signal(Carrier(2, up=False)))[0]
        assert isinstance(told, PortStatus)
        assert told.desc.port_no == 2
        assert told.desc.state & 1
        assert s1.frame(1) == ()

    def test_power_loss_empties_the_tables_and_ends_the_sessions(self) -> None:
        s1 = Driver()
        s1.tell(add(1, 2))
        s1.signal(Power(on=False))
        assert s1.frame(1) == ()
        s1.signal(Power(on=True))
        assert s1.rules() == []
        assert s1.tell(EchoRequest()) == ()
        assert messages(s1.signal(Carrier("c0", up=True))) == [Hello(frozenset({V13}))]
        assert messages(s1.tell(EchoRequest())) == [EchoReply()]

    def test_the_greeting_of_1_0_has_no_bitmap_of_versions(self) -> None:
        s1 = Driver(SwitchOptions(version=V10))
        s1.signal(Carrier("c0", up=False))
        assert messages(s1.signal(Carrier("c0", up=True))) == [Hello()]

    def test_rules_outlive_a_lost_session(self) -> None:
        s1 = Driver()
        s1.tell(add(1, 2))
        s1.signal(Carrier("c0", up=False))
        assert [send.port for send in s1.frame(1)] == [2]


class TestBadInput:
    @pytest.mark.parametrize(
        ("wrong", "sentence"),
        [
            ({"version": 2}, "OpenFlow version 2 is not modelled"),
            ({"tables": 0}, "invalid tables = 0 in .switches.: must be an integer from 1 to 254"),
            ({"table_size": -1}, "invalid table_size = -1 in .switches.: must be an integer of at least 0"),
            ({"reorder": "always"}, 'must be "none" or "between-barriers"'),
        ],
    )
    def test_impossible_options_are_named(self, wrong: dict[str, Any], sentence: str) -> None:
        with pytest.raises(PenstockError, match=sentence):
            SwitchOptions(**wrong)

    def test_a_port_number_twice_is_named(self) -> None:
        with pytest.raises(PenstockError, match="Port 1 of s1 is there twice"):
            Switch("s1", 1, (PortSpec(1, "a", 1), PortSpec(1, "b", 2)))

    def test_a_question_about_a_table_that_is_not_there_is_an_error_not_an_exception(self) -> None:
        s1 = Driver(SwitchOptions(tables=2))
        refused = messages(s1.tell(StatsRequest(FlowRequest(table_id=9))))[0]
        assert isinstance(refused, Error)
        assert refused.name(V13) == "bad-table-id"


class TestTwoControllersUnderReordering:
    """Barriers are between a switch and one controller; they do not hold up another's orders."""

    def driver(self) -> Driver:
        return Driver(SwitchOptions(reorder="between-barriers"), ("c0", "c1"))

    def test_a_barrier_waits_only_for_its_own_controller(self) -> None:
        s1 = self.driver()
        s1.tell(add(1, 2), "c0")
        assert messages(s1.tell(BarrierRequest(xid=5), "c1")) == [BarrierReply(xid=5)]
        assert len(s1.actions()) == 1

    def test_orders_that_read_alike_are_both_there(self) -> None:
        s1 = self.driver()
        s1.tell(add(1, 2, hard_timeout=1))
        s1.tell(add(1, 2, hard_timeout=2))
        assert len(s1.actions()) == 2
        s1.act(s1.actions()[1])
        assert len(s1.actions()) == 1

    def test_the_order_of_arrival_between_barriers_leaves_no_trace(self) -> None:
        one, other = self.driver(), self.driver()
        one.tell(add(1, 2))
        one.tell(add(2, 3))
        other.tell(add(2, 3))
        other.tell(add(1, 2))
        assert one.state == other.state

    def test_a_new_session_does_not_get_the_old_one_s_barrier_reply(self) -> None:
        s1 = self.driver()
        s1.tell(add(1, 2))
        s1.tell(BarrierRequest(xid=9))
        s1.signal(Carrier("c0", up=False))
        s1.signal(Carrier("c0", up=True))
        assert s1.act(s1.actions()[0]) == ()
        assert s1.rules() == ["priority=1 in_port=1 -> output:2"]


class TestHostileOrders:
    """Nothing a controller or a frame says makes the switch raise or go on for ever."""

    def test_a_group_that_watches_itself_is_dead(self) -> None:
        s1 = Driver()
        watching = Bucket((Output(2),), watch_group=7)
        s1.tell(GroupMod(GroupCommand.ADD, GroupType.FAST_FAILOVER, 7, (watching, watching)))
        s1.tell(FlowMod(FlowCommand.ADD, instructions=(ApplyActions((Group(7),)),)))
        assert s1.frame(1) == ()

    def test_groups_that_multiply_a_packet_end(self) -> None:
        s1 = Driver()
        for number in range(30, 0, -1):
            inner = Group(number + 1) if number < 30 else Output(2)
            buckets = (Bucket((inner,)), Bucket((inner,)))
            s1.tell(GroupMod(GroupCommand.ADD, GroupType.ALL, number, buckets))
        s1.tell(FlowMod(FlowCommand.ADD, instructions=(ApplyActions((Group(1),)),)))
        assert len(s1.frame(1)) == COPIES.most

    def test_a_packet_too_short_for_a_frame_is_not_sent(self) -> None:
        s1 = Driver()
        orders: list[tuple[Action, ...]] = [
            (PushMpls(0x8847), Output(1)),
            (PushVlan(0x8100), Output(1)),
            (Output(1),),
        ]
        for actions in orders:
            assert [type(m) for m in messages(s1.tell(PacketOut(NO_BUFFER, 2, actions, b"x" * 13)))] == []

    def test_a_buffered_packet_that_would_go_round_in_circles_is_dropped(self) -> None:
        s1 = Driver(SwitchOptions(version=V10, buffers=1))
        s1.frame(1)
        sent = messages(s1.tell(add(5, PortNo.TABLE, buffer_id=0)))
        assert all(isinstance(message, Error) for message in sent)

    def test_a_transport_header_cut_short_is_left_alone(self) -> None:
        s1 = Driver(SwitchOptions(version=V10))
        s1.tell(
            FlowMod(
                FlowCommand.ADD, instructions=(ApplyActions((SetTransportSrc(9), Output(2))),), priority=1
            )
        )
        ip = bytes.fromhex("4500001800000000400600000102030405060708")
        for protocol in (6, 17, 132):
            header = ip[:9] + bytes([protocol]) + ip[10:]
            frame = bytes.fromhex("0000000000020000000000010800") + header + b"\0\1\0\2"
            assert [len(message.data) for message in messages(s1.frame(1, frame))] == [len(frame)]

    def test_a_refused_packet_out_leaves_its_packet_in_the_buffer(self) -> None:
        s1 = Driver(SwitchOptions(version=V10, buffers=1))
        s1.frame(1)
        refused = messages(s1.tell(PacketOut(0, 1, (Output(PortNo.ANY),))))[0]
        assert isinstance(refused, Error)
        assert s1.tell(PacketOut(0, 1, (Output(2),))) == (Send(2, Frame(FRAME, "h1#1")),)

    def test_two_instructions_of_one_kind_are_refused(self) -> None:
        s1 = Driver()
        twice = (ApplyActions((Output(1),)), ApplyActions((Output(2),)))
        refused = messages(s1.tell(FlowMod(FlowCommand.ADD, instructions=twice)))[0]
        assert isinstance(refused, Error)
        assert s1.rules() == []


def test_an_idle_timeout_counts_from_the_last_use_also_where_packets_are_not_counted() -> None:
    s1 = Driver(SwitchOptions(counters=False))
    s1.tell(add(1, 2, idle_timeout=5))
    s1._took(s1.switch.advance(s1.state, 4000))
    s1.frame(1)
    assert s1.switch.deadline(s1.state) == 9000
