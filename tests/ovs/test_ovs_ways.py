"""Ways of Open vSwitch that the specification leaves open or does not mention, one story each.

Random programs found them; here they are in words.  Each story is checked on the model, and with
Open vSwitch at hand the two are compared as well.
"""

from collections.abc import Callable

import pytest
from bench.ovs.difftest import DifferentialTest
from bench.ovs.instance import OpenVSwitch
from bench.ovs.observation import PROBE, Observation
from bench.ovs.on_model import run_on_model
from bench.ovs.programs import Arrive, Program, Step, Tell, Wait, port_hw_addr

from penstock.openflow.actions import (
    Action,
    ApplyActions,
    DecNwTtl,
    GotoTable,
    Group,
    Instruction,
    Output,
    PopMpls,
    PushMpls,
    PushVlan,
    SetField,
    SetTransportSrc,
    UseMeter,
    WriteActions,
)
from penstock.openflow.error_codes import ErrorCode
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import (
    NO_BUFFER,
    V10,
    V13,
    Band,
    Error,
    FlowCommand,
    FlowFlag,
    FlowMod,
    FlowRemoved,
    FlowRemovedReason,
    MeterCommand,
    MeterMod,
    OpenFlowMessage,
    PacketIn,
    PacketInReason,
    PacketOut,
    PortConfig,
    PortMod,
    PortNo,
    PortState,
    PortStatus,
    SetAsync,
)
from penstock.openflow.stats import Flows, FlowStats, StatsReply, StatsRequest, TableRequest, Tables
from penstock.packet import Ethernet, VlanTag, ping_request, udp_datagram

PEERS = {"eth_src": 1, "eth_dst": 2, "ip_src": "10.0.0.1", "ip_dst": "10.0.0.2"}
UDP = udp_datagram(**PEERS, udp_src=5000, udp_dst=80, payload=b"payload")  # type: ignore[arg-type]
PING = ping_request(**PEERS)  # type: ignore[arg-type]
FRAME = UDP.to_bytes()
IPV4 = Match.of(eth_type=0x0800)


def add(*instructions: Instruction, match: Match = ANYTHING, **more: int) -> FlowMod:
    return FlowMod(FlowCommand.ADD, match, instructions, **more)


def apply(*actions: Action) -> ApplyActions:
    return ApplyActions(actions)


def tell(message: OpenFlowMessage, controller: str = "c0") -> Tell:
    return Tell(controller, message)


Check = Callable[[list[Observation]], None]
STORIES: dict[str, tuple[Program, Check]] = {}


def story(version: int, *steps: Step, controllers: tuple[str, ...] = ("c0",)) -> Callable[[Check], Check]:
    """Put a program and what must be seen in it among the stories, under the function's name."""

    def enter(check: Check) -> Check:
        STORIES[check.__name__] = Program(0, version, controllers, steps), check
        return check

    return enter


def told(observation: Observation, controller: str = "c0") -> list[OpenFlowMessage]:
    return [m for m in observation.messages.get(controller, ()) if m.xid != PROBE.xid]


def flows(observation: Observation) -> tuple[FlowStats, ...]:
    (probe,) = [m for m in observation.messages["c0"] if m.xid == PROBE.xid]
    assert isinstance(probe, StatsReply)
    assert isinstance(probe.body, Flows)
    return probe.body.flows


def refused(observation: Observation, refusal: ErrorCode, version: int = V13) -> bool:
    return [(m.type, m.code) for m in told(observation) if isinstance(m, Error)] == [refusal.code(version)]


NO_FORWARDING = PortMod(2, port_hw_addr(2), PortConfig.NO_FWD, PortConfig.NO_FWD)
DOWN = PortMod(2, port_hw_addr(2), PortConfig.DOWN, PortConfig.DOWN)
NO_RECEIVING = PortMod(1, port_hw_addr(1), PortConfig.NO_RECV, PortConfig.NO_RECV)


@story(V13, tell(NO_FORWARDING), controllers=("c0", "c1"))
def a_port_mod_is_told_to_all_but_its_sender(seen: list[Observation]) -> None:
    assert told(seen[0], "c0") == []
    (status,) = told(seen[0], "c1")
    assert isinstance(status, PortStatus)
    assert status.desc.config == PortConfig.NO_FWD


@story(V13, tell(DOWN))
def a_port_taken_down_loses_its_link_and_everyone_is_told(seen: list[Observation]) -> None:
    (status,) = told(seen[0])
    assert isinstance(status, PortStatus)
    assert (status.desc.config, status.desc.state) == (PortConfig.DOWN, PortState.LINK_DOWN)


@story(V13, tell(add(apply(Output(2)))), tell(NO_RECEIVING), Arrive(1, FRAME))
def a_port_that_does_not_receive_still_looks_packets_up(seen: list[Observation]) -> None:
    assert seen[2].frames == {}
    assert flows(seen[2])[0].packet_count == 1


NORMALLY = tell(add(apply(Output(PortNo.NORMAL))))
BACK = udp_datagram(**{**PEERS, "eth_src": 2, "eth_dst": 1}, udp_src=80, udp_dst=5000, payload=b"back")  # type: ignore[arg-type]
TO_BRIDGES = udp_datagram(**{**PEERS, "eth_dst": 0x0180C200000E}, udp_src=1, udp_dst=2, payload=b"")  # type: ignore[arg-type]


@story(
    V13, NORMALLY, Arrive(1, FRAME), Arrive(2, BACK.to_bytes()), Arrive(2, FRAME), Arrive(3, BACK.to_bytes())
)
def normal_floods_until_it_has_learned_where_a_receiver_is(seen: list[Observation]) -> None:
    assert sorted(seen[1].frames) == [2, 3, 4]
    assert sorted(seen[2].frames) == [1]
    # The second host now seems to be where the first was, which is no place to send its packets back to.
    assert seen[3].frames == {}
    assert sorted(seen[4].frames) == [2]


@story(
    V13,
    tell(PacketOut(NO_BUFFER, 4, (Output(PortNo.NORMAL),), FRAME)),
    tell(PacketOut(NO_BUFFER, PortNo.CONTROLLER, (Output(PortNo.NORMAL),), BACK.to_bytes())),
    tell(PacketOut(NO_BUFFER, PortNo.CONTROLLER, (Output(PortNo.NORMAL),), FRAME)),
)
def normal_learns_of_a_packet_out_unless_it_is_the_controllers_own(seen: list[Observation]) -> None:
    assert [sorted(each.frames) for each in seen] == [[1, 2, 3], [4], [1, 2, 3, 4]]


@story(
    V13,
    NORMALLY,
    Arrive(1, FRAME),
    Arrive(2, Ethernet(1, 2, 0x88B5, b"untagged" * 8, (VlanTag(5),)).to_bytes()),
)
def normal_learns_for_each_vlan(seen: list[Observation]) -> None:
    assert sorted(seen[2].frames) == [1, 3, 4]


@story(V13, NORMALLY, Arrive(1, TO_BRIDGES.to_bytes()))
def normal_keeps_to_itself_what_bridges_tell_each_other(seen: list[Observation]) -> None:
    assert seen[1].frames == {}


@story(
    V13, NORMALLY, Arrive(2, BACK.to_bytes()), Wait(299_000), Arrive(1, FRAME), Wait(2_000), Arrive(1, FRAME)
)
def normal_forgets_what_it_has_not_heard_of_for_five_minutes(seen: list[Observation]) -> None:
    assert sorted(seen[3].frames) == [2]
    assert sorted(seen[5].frames) == [2, 3, 4]


@story(
    V13,
    tell(add(apply(PushVlan(0x8100)), GotoTable(1))),
    tell(add(apply(Output(2)), table_id=1)),
    Arrive(1, FRAME),
)
def counters_add_the_size_a_packet_came_in_with(seen: list[Observation]) -> None:
    (sent,) = seen[2].frames[2]
    assert len(sent) == len(FRAME) + 4
    assert {flow.byte_count for flow in flows(seen[2])} == {len(FRAME)}


@story(
    V10,
    tell(add(match=IPV4, flags=FlowFlag.SEND_FLOW_REM)),
    Wait(1013),
    tell(add(match=IPV4, idle_timeout=3, flags=FlowFlag.SEND_FLOW_REM)),
    Wait(2013),
)
def a_replaced_entry_leaves_behind_when_it_was_last_used(seen: list[Observation]) -> None:
    (removed,) = told(seen[3])
    assert isinstance(removed, FlowRemoved)
    assert (removed.duration_sec, removed.duration_nsec // 1_000_000) == (1, 987)


@story(V13, tell(add(WriteActions(()), apply(), GotoTable(2))))
def instructions_that_do_nothing_are_not_kept(seen: list[Observation]) -> None:
    assert flows(seen[0])[0].instructions == (GotoTable(2),)


@story(V13, tell(add(GotoTable(2), apply(Output(2)))))
def instructions_are_kept_in_the_order_they_act(seen: list[Observation]) -> None:
    assert flows(seen[0])[0].instructions == (apply(Output(2)), GotoTable(2))


@story(V10, tell(add(apply(Output(2)), buffer_id=7)))
def a_flow_mod_for_an_unknown_buffer_does_nothing(seen: list[Observation]) -> None:
    assert refused(seen[0], ErrorCode.BUFFER_UNKNOWN, V10)
    assert flows(seen[0]) == ()


@story(V10, tell(PacketOut(NO_BUFFER, 1, (Output(PortNo.TABLE),), FRAME)))
def a_packet_out_that_meets_no_entry_comes_back(seen: list[Observation]) -> None:
    (packet_in,) = told(seen[0])
    assert isinstance(packet_in, PacketIn)
    assert (packet_in.reason, packet_in.data) == (PacketInReason.NO_MATCH, FRAME)


@story(V13, tell(add(apply(Output(PortNo.CONTROLLER, 20)), cookie=5)), Arrive(1, FRAME))
def without_buffers_a_packet_in_is_never_cut(seen: list[Observation]) -> None:
    (packet_in,) = told(seen[1])
    assert isinstance(packet_in, PacketIn)
    assert packet_in.data == FRAME


@story(
    V13,
    tell(add(WriteActions((Output(PortNo.CONTROLLER),)), GotoTable(1), cookie=5)),
    tell(add(cookie=6, table_id=1)),
    Arrive(1, FRAME),
)
def what_the_action_set_sends_belongs_to_table_0(seen: list[Observation]) -> None:
    (packet_in,) = told(seen[2])
    assert isinstance(packet_in, PacketIn)
    assert (packet_in.table_id, packet_in.cookie) == (0, 5)


LAST_HOP = FRAME[:22] + b"\1" + FRAME[23:]


@story(
    V13,
    tell(add(apply(DecNwTtl(), Output(2)), match=IPV4, priority=9)),
    tell(
        add(
            apply(DecNwTtl()),
            WriteActions((Output(3),)),
            match=Match.of(eth_type=0x0800, in_port=3),
            priority=10,
        )
    ),
    tell(add(WriteActions((Output(4),)), GotoTable(1), match=Match.of(in_port=2), priority=11)),
    tell(add(apply(DecNwTtl(), Output(2)), match=IPV4, table_id=1)),
    Arrive(1, LAST_HOP),
    Arrive(3, LAST_HOP),
    Arrive(2, LAST_HOP),
)
def a_packet_at_its_last_hop_leaves_its_rule_but_keeps_its_action_set(seen: list[Observation]) -> None:
    assert (seen[4].frames, seen[5].frames) == ({}, {})
    assert seen[6].frames == {4: (LAST_HOP,)}


TAGGED = Ethernet(UDP.dst, UDP.src, UDP.ethertype, UDP.payload, (VlanTag(7),)).to_bytes()


@story(
    V13,
    tell(add(apply(PushVlan(0x8100)), GotoTable(1))),
    tell(add(apply(PushVlan(0x88A8), Output(2)), table_id=1)),
    Arrive(1, TAGGED),
)
def of_three_tags_the_innermost_is_lost(seen: list[Observation]) -> None:
    assert seen[2].frames == {2: (FRAME[:12] + bytes.fromhex("88a80000 81000000") + FRAME[12:],)}


@story(
    V13,
    tell(add(apply(PushMpls(0x8847), PopMpls(0x86DD), Output(2), PushMpls(0x8847), Output(3)))),
    Arrive(1, FRAME),
)
def a_label_put_on_and_taken_off_again_was_never_there(seen: list[Observation]) -> None:
    assert seen[1].frames[2] == (FRAME,)


LABELLED = FRAME[:12] + bytes.fromhex("8847 00001040 00002140") + FRAME[14:]


@story(
    V13,
    tell(add(apply(PopMpls(0x0800), Output(2)), match=Match.of(eth_type=0x8847))),
    Arrive(1, LABELLED),
)
def taking_a_label_off_what_is_then_no_label_takes_all_off(seen: list[Observation]) -> None:
    assert seen[1].frames == {2: (FRAME,)}


@story(V13, tell(add(apply(Output(2), Output(PortNo.TABLE)))), Arrive(1, FRAME))
def a_packet_that_goes_round_in_circles_is_counted_but_not_sent(seen: list[Observation]) -> None:
    assert seen[1].frames == {}
    assert flows(seen[1])[0].packet_count == 65


ADD_METER = MeterMod(MeterCommand.ADD, 1, 1, (Band(1, 10**6, 0),))
METERED = add(UseMeter(1), flags=FlowFlag.SEND_FLOW_REM)
DELETE_METER = MeterMod(MeterCommand.DELETE, 1, 1)


@story(V13, tell(ADD_METER), tell(METERED), tell(DELETE_METER))
def a_meter_takes_the_entries_that_use_it_along_in_silence(seen: list[Observation]) -> None:
    assert told(seen[2]) == []
    assert flows(seen[2]) == ()


@story(
    V13,
    tell(SetAsync((0, 0), (0, 0), (0b10000, 0))),
    tell(ADD_METER),
    tell(METERED),
    tell(DELETE_METER),
)
def whoever_asks_for_the_reason_of_a_later_version_is_told_of_a_deletion(seen: list[Observation]) -> None:
    (removed,) = told(seen[3])
    assert isinstance(removed, FlowRemoved)
    assert removed.reason == FlowRemovedReason.DELETE


@story(V13, tell(FlowMod(FlowCommand.MODIFY, ANYTHING, (apply(Group(9)), UseMeter(9)))))
def changing_no_entry_is_no_mistake_whatever_it_refers_to(seen: list[Observation]) -> None:
    assert told(seen[0]) == []


@story(V13, tell(add(apply(DecNwTtl(), Output(PortNo.MAX)))))
def an_impossible_port_is_worse_than_an_action_that_does_not_fit(seen: list[Observation]) -> None:
    assert refused(seen[0], ErrorCode.ACTION_BAD_OUT_PORT)


@story(V13, tell(add(apply(SetField("eth_dst", 9)), table_id=254)))
def the_last_table_is_the_switchs_own(seen: list[Observation]) -> None:
    assert refused(seen[0], ErrorCode.EPERM)


@story(V10, tell(PacketOut(NO_BUFFER, 1, (SetTransportSrc(3), Output(2)), PING.to_bytes())))
def a_port_of_icmp_is_its_type(seen: list[Observation]) -> None:
    (sent,) = seen[0].frames[2]
    assert sent[34] == 3


@story(V13, Arrive(1, FRAME), tell(StatsRequest(TableRequest(), xid=1)))
def a_packet_that_meets_no_entry_is_dropped_and_counted(seen: list[Observation]) -> None:
    assert told(seen[0]) == []
    (tables,) = told(seen[1])
    assert isinstance(tables, StatsReply)
    assert isinstance(tables.body, Tables)
    assert [(t.lookup_count, t.matched_count) for t in tables.body.tables[:2]] == [(1, 0), (0, 0)]


@pytest.mark.parametrize("name", STORIES)
def test_the_model_has_this_way(name: str) -> None:
    program, check = STORIES[name]
    check(list(run_on_model(program)))


@pytest.mark.ovs
@pytest.mark.parametrize("name", STORIES)
def test_open_vswitch_has_it_too(ovs: OpenVSwitch, name: str) -> None:
    program, _ = STORIES[name]
    found = DifferentialTest(ovs).run(program)
    assert found is None, str(found)
