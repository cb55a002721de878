"""Which packets reach the controller, where and as what: small networks, worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from tests.symbolic.forwarding_lab import (
    FIELDS,
    WITH_FRAGMENTS,
    Lab,
    holding,
    unconfirmed,
    uncovered,
    values_of,
)

from penstock._concolic.terms import TRUE, Term, const, either, eq, evaluate, var
from penstock._symbolic.forwarding import arrivals as forwarding
from penstock._symbolic.forwarding.arrivals import Arrival, untouched
from penstock._world.signals import FABRIC, Carrier, Power
from penstock._world.switch.packet_ins import NO_COOKIE
from penstock.openflow.actions import (
    Action,
    ApplyActions,
    DecNwTtl,
    GotoTable,
    Group,
    Instruction,
    Output,
    PopVlan,
    PushMpls,
    PushVlan,
    SetField,
    SetTransportSrc,
    WriteActions,
    WriteMetadata,
)
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import (
    V10,
    V13,
    Bucket,
    FlowCommand,
    FlowMod,
    GroupCommand,
    GroupMod,
    GroupType,
    PacketInReason,
    PortConfig,
    PortMod,
    PortNo,
    SetAsync,
    SetConfig,
)
from penstock.packet import ARP, ICMP, UDP, Echo, Ethernet, ICMPv6, IPv4, IPv6, VlanTag, ethernet

TO_CONTROLLER = Output(PortNo.CONTROLLER)
FLOOD = Output(PortNo.FLOOD)
EVERYTHING = dict.fromkeys(WITH_FRAGMENTS, 0)


def rule(
    match: Match, *what: Action | Instruction, priority: int = 10, table: int = 0, cookie: int = 0
) -> FlowMod:
    actions = tuple(one for one in what if isinstance(one, Action))
    instructions = tuple(one for one in what if not isinstance(one, Action))
    if actions:
        instructions = (ApplyActions(actions), *instructions)
    return FlowMod(FlowCommand.ADD, match, instructions, priority=priority, table_id=table, cookie=cookie)


def miss(*actions: Action, table: int = 0) -> FlowMod:
    return rule(ANYTHING, *(actions or (TO_CONTROLLER,)), priority=0, table=table)


def lab(shape: str, *rules: FlowMod, version: int = V13, **more: FlowMod) -> Lab:
    """Return a network whose first switch has these rules, and others the one that bears their name."""
    made = Lab(shape, version)
    assert not made.tell("s1", *rules)
    for switch, one in more.items():
        assert not made.tell(switch, one)
    return made


def is_value(name: str, value: int) -> Term:
    return eq(FIELDS[name], const(value))


def only(found: tuple[Arrival, ...]) -> Arrival:
    assert len(found) == 1
    return found[0]


def accepts(arrival: Arrival, **values: int) -> bool:
    return bool(evaluate(arrival.condition, {**EVERYTHING, **values}))


def test_without_rules_a_1_0_switch_hands_every_packet_over_and_a_1_3_switch_none() -> None:
    arrival = only(lab("single,2", version=V10).arrivals("h1"))
    assert (arrival.condition, arrival.switch, arrival.port) == (TRUE, "s1", 1)
    assert (arrival.reason, arrival.cookie, arrival.exact) == (PacketInReason.NO_MATCH, NO_COOKIE, True)
    assert arrival.controllers == ("c0",)
    assert dict(arrival.fields) == FIELDS
    assert lab("single,2").arrivals("h1") == ()


def test_the_entry_for_misses_hands_over_what_no_other_entry_matches() -> None:
    network = lab("single,2", miss(), rule(Match.of(eth_dst=2), Output(2)))
    arrival = only(network.arrivals("h1"))
    assert arrival.reason == PacketInReason.NO_MATCH
    assert str(arrival.condition) == "not (eth_dst == 2)"
    assert str(untouched([arrival])) == "eth_dst == 2"


def test_of_overlapping_entries_the_one_of_higher_priority_is_met() -> None:
    network = lab(
        "single,2",
        rule(Match.of(eth_dst=2), TO_CONTROLLER, priority=1, cookie=7),
        rule(Match.of(eth_src=1), Output(2), priority=2),
    )
    arrival = only(network.arrivals("h1"))
    assert (arrival.reason, arrival.cookie) == (PacketInReason.ACTION, 7)
    assert accepts(arrival, eth_dst=2)
    assert not accepts(arrival, eth_dst=2, eth_src=1)


def test_entries_that_exclude_each_other_leave_no_trace_in_each_others_conditions() -> None:
    network = lab(
        "single,2",
        rule(Match.of(eth_dst=2), TO_CONTROLLER, cookie=2),
        rule(Match.of(eth_dst=3), TO_CONTROLLER, cookie=3),
    )
    conditions = {arrival.cookie: str(arrival.condition) for arrival in network.arrivals("h1")}
    assert conditions == {2: "eth_dst == 2", 3: "eth_dst == 3"}


def test_a_rule_on_a_port_matches_only_packets_that_have_one() -> None:
    match = Match.of(eth_type=0x0800, ip_proto=6, tcp_dst=80)
    arrival = only(lab("single,2", rule(match, TO_CONTROLLER)).arrivals("h1"))
    assert accepts(arrival, eth_type=0x0800, ip_proto=6, tcp_dst=80)
    assert not accepts(arrival, eth_type=0x0800, ip_proto=17, tcp_dst=80)


def test_a_1_0_rule_without_prerequisites_takes_what_was_not_read_for_zero() -> None:
    network = lab("single,2", rule(Match.of(tcp_dst=0), Output(2)), version=V10)
    arrival = only(network.arrivals("h1"))
    assert not accepts(arrival, eth_type=0x0806, tcp_dst=80)
    assert accepts(arrival, eth_type=0x0800, ip_proto=6, tcp_dst=80)


def test_packets_are_followed_to_the_next_switch() -> None:
    network = lab(
        "linear,2",
        rule(Match.of(eth_dst=2), Output(2)),
        s2=rule(Match.of(eth_src=1), TO_CONTROLLER),
    )
    arrival = only(network.arrivals("h1"))
    assert (arrival.switch, arrival.port) == ("s2", 2)
    assert arrival.match == Match.of(in_port=2)
    assert str(arrival.condition) == "(eth_dst == 2) and (eth_src == 1)"


def test_what_a_rule_rewrites_later_switches_and_the_controller_get_rewritten() -> None:
    network = lab(
        "linear,2",
        rule(ANYTHING, SetField("eth_dst", 9), Output(2)),
        s2=rule(Match.of(eth_dst=9), TO_CONTROLLER),
    )
    arrival = only(network.arrivals("h1"))
    assert arrival.condition == TRUE
    assert arrival.fields["eth_dst"] == const(9)
    assert arrival.fields["eth_src"] == FIELDS["eth_src"]


def test_a_change_that_never_reaches_the_bytes_is_not_told() -> None:
    network = lab("single,2", rule(Match.of(eth_type=0x0800), SetField("ipv4_dst", 9), TO_CONTROLLER))
    told = only(network.arrivals("h1")).fields["ipv4_dst"]
    packet = {**EVERYTHING, "eth_type": 0x0800, "ipv4_dst": 5}
    assert evaluate(told, {**packet, "ip_proto": 6}) == 9
    assert evaluate(told, {**packet, "ip_proto": 0}) == 5


def test_a_tag_put_on_is_seen_by_the_next_switch_and_hides_what_is_below_another() -> None:
    network = lab(
        "linear,2",
        rule(ANYTHING, PushVlan(0x8100), SetField("vlan_vid", 0x1005), Output(2)),
        s2=rule(Match.of(vlan_vid=0x1005, eth_type=0x0800), TO_CONTROLLER),
    )
    (arrival,) = holding(network.arrivals("h1"), {**EVERYTHING, "eth_type": 0x0800})
    assert arrival.exact and arrival.fields["vlan_vid"] == const(0x1005)
    (stacked,) = holding(network.arrivals("h1"), {**EVERYTHING, "eth_type": 0x0800, "vlan_vid": 0x1001})
    assert not stacked.exact and "ipv4_dst" not in stacked.fields


def test_what_comes_into_sight_below_a_popped_tag_is_unknown() -> None:
    network = lab(
        "linear,2",
        rule(Match.of(vlan_vid=(0x1000, 0x1000)), PopVlan(), Output(2)),
        s2=rule(Match.of(eth_type=0x0800), TO_CONTROLLER),
    )
    packet = {**EVERYTHING, "vlan_vid": 0x1001}
    (plain,) = holding(network.arrivals("h1"), {**packet, "eth_type": 0x0800})
    assert plain.exact and plain.fields["vlan_vid"] == const(0)
    (stacked,) = holding(network.arrivals("h1"), {**packet, "eth_type": 0x8100})
    assert not stacked.exact and "eth_type" not in stacked.fields


def test_tables_metadata_and_the_action_set() -> None:
    network = lab(
        "single,2",
        rule(Match.of(eth_dst=2), WriteMetadata(1), GotoTable(1), cookie=4),
        rule(Match.of(metadata=1, eth_src=1), WriteActions((TO_CONTROLLER,)), table=1),
        rule(Match.of(metadata=1, eth_src=3), TO_CONTROLLER, table=1, cookie=5),
    )
    at_the_end, at_once = sorted(network.arrivals("h1"), key=lambda arrival: arrival.table)
    assert (at_the_end.table, at_the_end.cookie) == (0, 4)
    assert accepts(at_the_end, eth_dst=2, eth_src=1)
    assert (at_once.table, at_once.cookie) == (1, 5)
    assert at_once.match == Match.of(in_port=1, metadata=1)
    assert accepts(at_once, eth_dst=2, eth_src=3) and not accepts(at_once, eth_dst=2, eth_src=1)


def test_a_time_to_live_that_ends_goes_to_controllers_that_want_to_know() -> None:
    network = lab("single,2", rule(Match.of(eth_type=0x0800), DecNwTtl(), Output(2)))
    assert network.arrivals("h1") == ()
    network.tell("s1", SetAsync((0b111, 0), (0, 0), (0, 0)))
    arrival = only(network.arrivals("h1"))
    assert arrival.reason == PacketInReason.INVALID_TTL
    assert accepts(arrival, eth_type=0x0800, ip_ttl=1)
    assert not accepts(arrival, eth_type=0x0800, ip_ttl=2)


def group(kind: GroupType, *buckets: Bucket) -> GroupMod:
    return GroupMod(GroupCommand.ADD, kind, 1, buckets)


def chained(*groups: tuple[Action, ...]) -> list[GroupMod]:
    return [
        GroupMod(GroupCommand.ADD, GroupType.ALL, number, tuple(Bucket((one,)) for one in actions))
        for number, actions in enumerate(groups, 1)
    ]


def test_packets_that_may_be_over_a_budget_of_the_switch_are_not_said_to_arrive_for_sure() -> None:
    deep = lab("single,2")
    deep.tell("s1", *chained((Output(2),), *((Group(number),) for number in range(1, 65))))
    deep.tell("s1", miss(TO_CONTROLLER, Group(65)))
    assert not only(deep.arrivals("h1")).exact
    often = (SetField("eth_src", 1), *(Output(PortNo.TABLE),) * 4097, TO_CONTROLLER)
    arrival = only(lab("single,2", rule(Match.of(eth_src=1)), miss(*often)).arrivals("h1"))
    assert not arrival.exact


def test_groups_with_more_buckets_than_are_worth_following_are_given_up_and_that_is_said() -> None:
    network = lab("single,2")
    network.tell("s1", *chained((TO_CONTROLLER,), *((Group(number),) * 2 for number in range(1, 31))))
    network.tell("s1", rule(ANYTHING, Group(31)))
    arrival = only(network.arrivals("h1"))
    assert (arrival.given_up, arrival.exact) == (True, False)


def test_a_select_group_may_choose_any_live_bucket() -> None:
    network = Lab("single,2")
    network.tell("s1", group(GroupType.SELECT, Bucket((TO_CONTROLLER,), 1), Bucket((Output(2),), 1)))
    network.tell("s1", rule(ANYTHING, Group(1)))
    arrival = only(network.arrivals("h1"))
    assert (arrival.condition, arrival.exact) == (TRUE, False)
    network.tell("s1", rule(ANYTHING, Group(1), TO_CONTROLLER))
    assert {arrival.exact for arrival in network.arrivals("h1")} == {True, False}


def test_a_failover_group_takes_its_first_live_bucket() -> None:
    first, second = Bucket((Output(2),), watch_port=2), Bucket((TO_CONTROLLER,), watch_port=1)
    network = Lab("single,2")
    network.tell("s1", group(GroupType.FAST_FAILOVER, first, second), rule(ANYTHING, Group(1)))
    assert network.arrivals("h1") == ()
    network.disturb("s1", FABRIC, Carrier(2, up=False))
    assert only(network.arrivals("h1")).exact


def test_a_flood_that_goes_round_in_a_ring_is_followed_once() -> None:
    network = lab("ring,3", rule(Match.of(eth_dst=2), FLOOD), s2=miss(FLOOD), s3=miss(FLOOD, TO_CONTROLLER))
    found = network.arrivals("h1")
    assert {(one.switch, one.exact) for one in found} == {("s3", True)}
    assert len({one.port for one in found}) == len(found) > 1
    assert all(str(one.condition) == "eth_dst == 2" for one in found)


def test_packets_that_are_still_changing_after_so_many_hops_are_given_up() -> None:
    match = Match.of(eth_type=0x0800)
    network = lab("linear,2", rule(match, DecNwTtl(), Output(PortNo.IN_PORT), Output(2)))
    network.tell("s2", rule(match, DecNwTtl(), Output(PortNo.IN_PORT)))
    arrival = only(network.arrivals("h1", hops=5))
    assert arrival.given_up and not arrival.exact
    assert accepts(arrival, eth_type=0x0800, ip_proto=6, ip_ttl=9)
    assert not accepts(arrival, eth_type=0x0800, ip_proto=6, ip_ttl=3)


def test_too_many_cases_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    network = lab("single,2", *(rule(Match.of(eth_dst=mac), Output(2)) for mac in range(1, 9)))
    assert network.arrivals("h1") == ()
    monkeypatch.setattr(forwarding, "MOST_STEPS", 5)
    arrival = only(network.arrivals("h1"))
    assert (arrival.condition, arrival.exact) == (TRUE, False)


def test_a_rule_on_an_unknown_field_may_match_or_not() -> None:
    network = lab("single,2", miss(), rule(Match.of(eth_type=0x0800, ipv4_dst=9), Output(2)))
    known = {name: term for name, term in FIELDS.items() if name != "ipv4_dst"}
    arrival = only(network.arrivals("h1", known))
    assert (arrival.condition, arrival.exact) == (TRUE, False)


def test_branches_on_which_no_packet_is_left_are_dropped() -> None:
    low, high = Match.of(eth_dst=(0, 1 << 40)), Match.of(eth_dst=0xFFFFFFFFFFFF)
    network = lab("linear,2", rule(low, Output(2)), s2=rule(high, TO_CONTROLLER))
    packets = [{**EVERYTHING, "eth_dst": value} for value in (0, 1, 0xFFFFFFFFFFFF)]

    def feasible(conditions: tuple[Term, ...]) -> bool:
        return any(all(evaluate(condition, packet) for condition in conditions) for packet in packets)

    assert len(network.arrivals("h1")) == 1
    assert network.arrivals("h1", feasible=feasible) == ()


def test_no_solver_is_asked_about_packets_that_meet_nothing_but_hosts() -> None:
    network = lab("single,3", *(rule(Match.of(eth_dst=mac), Output(mac)) for mac in (1, 2, 3)))
    asked: list[tuple[Term, ...]] = []

    def feasible(conditions: tuple[Term, ...]) -> bool:
        asked.append(conditions)
        return True

    assert network.arrivals("h1", feasible=feasible) == ()
    assert asked == []


def _cut_link(made: Lab) -> None:
    made.disturb("s1", FABRIC, Carrier(2, up=False))


def _switch_off(made: Lab) -> None:
    made.disturb("s2", FABRIC, Power(on=False))


def _close_session(made: Lab) -> None:
    made.disturb("s2", FABRIC, Carrier("c0", up=False))


def _block(switch: str, number: int, config: PortConfig) -> Callable[[Lab], None]:
    def block(made: Lab) -> None:
        component = made.network.components[made.network.places[switch]]
        port = component.chassis.spec(number)  # type: ignore[attr-defined]
        assert not made.tell(switch, PortMod(number, port.hw_addr, config, config))

    return block


@pytest.mark.parametrize(
    "obstacle",
    [
        _cut_link,
        _switch_off,
        _close_session,
        _block("s1", 1, PortConfig.NO_RECV),
        _block("s1", 2, PortConfig.NO_FLOOD),
        _block("s1", 2, PortConfig.NO_FWD),
        _block("s2", 2, PortConfig.DOWN),
    ],
)
def test_what_is_down_or_blocked_stops_packets(obstacle: Callable[[Lab], None]) -> None:
    network = lab("linear,2", rule(ANYTHING, FLOOD), version=V10)
    assert only(network.arrivals("h1")).condition == TRUE
    obstacle(network)
    assert holding(network.arrivals("h1"), {**EVERYTHING, "eth_type": 0x0800}) == []


def test_a_port_that_does_not_receive_still_takes_what_bridges_tell_each_other() -> None:
    network = lab("single,2", miss())
    _block("s1", 1, PortConfig.NO_RECV)(network)
    arrival = only(network.arrivals("h1"))
    assert accepts(arrival, eth_dst=0x0180C2000000, eth_type=38)
    assert not accepts(arrival, eth_dst=0x0180C2000000, eth_type=0x0800)


def test_fields_may_be_any_terms() -> None:
    one_of_two: Mapping[str, Term] = {**FIELDS, "eth_dst": var("which", 1)}
    network = lab("single,2", miss(), rule(Match.of(eth_dst=1), Output(2)))
    (arrival,) = network.arrivals("h1", one_of_two)
    assert evaluate(arrival.condition, {"which": 0}) and not evaluate(arrival.condition, {"which": 1})


def test_arrivals_that_differ_only_in_their_condition_are_one() -> None:
    network = lab(
        "single,2",
        rule(Match.of(eth_dst=1), TO_CONTROLLER),
        rule(Match.of(eth_dst=2), TO_CONTROLLER),
    )
    arrival = only(network.arrivals("h1"))
    assert arrival.condition == either(is_value("eth_dst", 1), is_value("eth_dst", 2))


def agrees(network: Lab, frame: Ethernet, absent: int = 0) -> bool:
    """Tell whether the analysis says of a packet just what really happens to it."""
    data = frame.to_bytes()
    observed, values = network.send("h1", data), values_of(data, absent)
    told = network.arrivals("h1", WITH_FRAGMENTS)
    return not uncovered(told, observed, values) and not unconfirmed(told, observed, values)


def plain(dst: int) -> Ethernet:
    return ethernet(dst, 1, 0x88B5, bytes(46))


def udp(*tags: VlanTag, ttl: int = 64, flags: int = 0, offset: int = 0) -> Ethernet:
    payload = UDP(7, 7) if not offset else bytes(24)
    datagram = IPv4(1, 2, 17, payload, ttl=ttl, flags=flags, offset=offset)
    return replace(ethernet(2, 1, 0x0800, datagram), tags=tags)


def test_after_the_tables_were_gone_through_again_the_first_entry_is_the_one_that_counts() -> None:
    again = rule(Match.of(eth_dst=1), SetField("eth_dst", 2), Output(PortNo.TABLE), TO_CONTROLLER, cookie=1)
    network = lab("single,2", again, rule(Match.of(eth_dst=2), Output(2), cookie=2))
    arrival = only(network.arrivals("h1"))
    assert arrival.cookie == 1
    assert agrees(network, plain(1)) and agrees(network, plain(2))


def test_packets_that_go_round_inside_a_switch_are_not_claimed_to_arrive() -> None:
    network = lab("single,2", rule(Match.of(eth_dst=1), TO_CONTROLLER, Output(PortNo.TABLE)))
    assert not any(arrival.exact for arrival in network.arrivals("h1"))
    assert agrees(network, plain(1))


def test_a_copy_that_was_looked_at_afresh_takes_the_action_set_along() -> None:
    network = Lab("single,2")
    chosen = GroupMod(GroupCommand.ADD, GroupType.SELECT, 1, (Bucket((Output(2),), weight=1),))
    outer = (Bucket((SetField("eth_dst", 9), Group(1))),)
    network.tell("s1", chosen, GroupMod(GroupCommand.ADD, GroupType.ALL, 2, outer))
    network.tell("s1", rule(ANYTHING, WriteActions((TO_CONTROLLER,)), GotoTable(1)))
    network.tell("s1", rule(ANYTHING, Group(2), table=1))
    told = {str(arrival.fields["eth_dst"]): arrival.exact for arrival in network.arrivals("h1")}
    assert told == {"eth_dst": True, "9": True}
    assert agrees(network, plain(1))


IS_IP = Match.of(eth_type=0x0800)
IS_UDP = Match.of(eth_type=0x0800, ip_proto=17)


@pytest.mark.parametrize("offset", [0, 5])
def test_a_port_written_to_a_fragment_may_never_be_seen(offset: int) -> None:
    network = lab("single,2", rule(IS_UDP, SetField("udp_dst", 9), GotoTable(1)))
    network.tell("s1", rule(Match.of(eth_type=0x0800, ip_proto=17, udp_dst=9), TO_CONTROLLER, table=1))
    assert agrees(network, udp(flags=1, offset=offset)) and agrees(network, udp())


@pytest.mark.parametrize("then", [GotoTable(1), WriteActions((TO_CONTROLLER,))])
def test_what_follows_the_end_of_a_time_to_live_is_not_carried_out(then: Instruction) -> None:
    network = lab("single,2", rule(IS_IP, DecNwTtl(), then), miss(table=1))
    arrival = only(network.arrivals("h1"))
    assert not accepts(arrival, eth_type=0x0800, ip_ttl=1) and accepts(arrival, eth_type=0x0800, ip_ttl=2)
    assert agrees(network, udp(ttl=1)) and agrees(network, udp(ttl=2))


def test_a_bucket_without_weight_is_never_selected() -> None:
    network = Lab("single,2")
    network.tell("s1", group(GroupType.SELECT, Bucket((TO_CONTROLLER,), 0), Bucket((Output(2),), 1)))
    network.tell("s1", rule(ANYTHING, Group(1)))
    assert network.arrivals("h1") == ()
    assert agrees(network, plain(1))


def test_metadata_is_written_bit_by_bit() -> None:
    network = lab("single,2", rule(ANYTHING, WriteMetadata(1, 1), GotoTable(1)))
    network.tell("s1", rule(ANYTHING, WriteMetadata(2, 2), GotoTable(2), table=1), miss(table=2))
    assert only(network.arrivals("h1")).match == Match.of(in_port=1, metadata=3)
    assert agrees(network, plain(1))


def test_metadata_outlives_a_look_afresh() -> None:
    network = Lab("single,2")
    network.tell("s1", group(GroupType.SELECT, Bucket((Output(2),), 1)))
    network.tell("s1", rule(ANYTHING, WriteMetadata(1), GotoTable(1)))
    network.tell("s1", rule(ANYTHING, Group(1), GotoTable(2), table=1))
    network.tell("s1", rule(Match.of(metadata=1), TO_CONTROLLER, table=2))
    assert only(network.arrivals("h1")).match == Match.of(in_port=1, metadata=1)
    assert agrees(network, plain(1))


def test_a_packet_with_too_many_labels_is_not_sent_at_all() -> None:
    network = lab("single,2", rule(ANYTHING, TO_CONTROLLER, *(PushMpls(0x8847),) * 4))
    assert not only(network.arrivals("h1")).exact
    assert agrees(network, plain(1))


def test_below_two_new_tags_the_next_switch_reads_nothing() -> None:
    network = lab("linear,2", rule(ANYTHING, PushVlan(0x8100), PushVlan(0x88A8), Output(2)))
    network.tell("s2", rule(Match.of(eth_type=0x8100), TO_CONTROLLER, cookie=1))
    network.tell("s2", rule(IS_IP, TO_CONTROLLER, cookie=2))
    (arrival,) = holding(network.arrivals("h1"), {**EVERYTHING, "eth_type": 0x0800})
    assert (arrival.cookie, arrival.exact) == (1, True)
    assert agrees(network, udp()) and agrees(network, udp(VlanTag(3)))


@pytest.mark.parametrize("in_a_group", [False, True])
def test_what_is_written_after_two_tags_were_in_sight_is_not_known(in_a_group: bool) -> None:
    tagged_ip = Match.of(vlan_vid=(0x1000, 0x1000), eth_type=0x0800)
    network = Lab("single,2")
    network.tell("s1", group(GroupType.ALL, Bucket((PushVlan(0x8100), TO_CONTROLLER))))
    stacking = (Group(1),) if in_a_group else (PushVlan(0x8100), TO_CONTROLLER, PopVlan())
    assert not network.tell("s1", rule(tagged_ip, *stacking, SetField("ipv4_dst", 9), TO_CONTROLLER))
    assert agrees(network, udp(VlanTag(3)))


def test_high_arp_operations_are_read_as_zero() -> None:
    network = lab("single,2", rule(Match.of(eth_type=0x0806, arp_op=0), TO_CONTROLLER))
    assert accepts(only(network.arrivals("h1")), eth_type=0x0806, arp_op=300)
    for op in (0, 1, 300):
        assert agrees(network, ethernet(2, 1, 0x0806, ARP(op, 1, 1, 0, 2)))


def test_what_becomes_neighbour_discovery_has_no_target() -> None:
    icmpv6 = {"eth_type": 0x86DD, "ip_proto": 58}
    network = lab("single,2", rule(Match.of(**icmpv6), SetField("icmpv6_type", 135), GotoTable(1)))
    target = Match.of(**icmpv6, icmpv6_type=135, ipv6_nd_target=0)
    assert not network.tell("s1", rule(target, TO_CONTROLLER, table=1))
    frame = ethernet(2, 1, 0x86DD, IPv6(1, 2, 58, ICMPv6(128, 0, Echo())))
    assert agrees(network, frame, absent=-1)


def test_a_port_written_to_icmp_is_its_type() -> None:
    network = lab("single,2", rule(ANYTHING, SetTransportSrc(0x105), TO_CONTROLLER), version=V10)
    ping = ethernet(2, 1, 0x0800, IPv4(1, 2, 1, ICMP(8, 0, Echo())))
    assert only(network.arrivals("h1")).fields["icmpv4_type"] == const(5)
    assert agrees(network, ping) and agrees(network, udp())


@pytest.mark.parametrize("mode", [0, 1, 3])
@pytest.mark.parametrize("offset", [0, 5])
def test_of_fragments_ports_are_not_known(mode: int, offset: int) -> None:
    match = Match.of(eth_type=0x0800, ip_proto=17, udp_dst=7)
    network = lab("single,2", miss(), rule(match, Output(2)))
    network.tell("s1", SetConfig(flags=mode))
    frame = udp(flags=1, offset=offset)
    assert agrees(network, frame)
    told = network.arrivals("h1", WITH_FRAGMENTS)
    assert bool(holding(told, values_of(frame.to_bytes()))) == (mode != 1)
    (whole,) = (arrival for arrival in told if arrival.exact)
    assert accepts(whole, udp_dst=7) and not accepts(whole, eth_type=0x0800, ip_proto=17, udp_dst=7)
