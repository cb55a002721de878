"""Flow dumps are read line by line, as `ovs-ofctl` prints them; what cannot be read is named."""

from __future__ import annotations

import pytest

from penstock._audit.dumps import Dump, read_dump, read_match
from penstock._world.switch.flow_table import FlowEntry
from penstock.errors import PenstockError
from penstock.openflow.actions import (
    Action,
    ApplyActions,
    ClearActions,
    DecNwTtl,
    Enqueue,
    GotoTable,
    Group,
    Output,
    PopVlan,
    PushVlan,
    SetField,
    SetQueue,
    SetTransportDst,
    SetVlanVid,
    UnknownAction,
    UseMeter,
    WriteActions,
    WriteMetadata,
)
from penstock.openflow.match import Match, Term
from penstock.openflow.messages import GroupType, PortConfig, PortNo

PRINTED = """\
NXST_FLOW reply (xid=0x4):
 cookie=0x2b, duration=12.5s, table=3, n_packets=7, n_bytes=98, idle_timeout=60, idle_age=1, hard_age=9, \
send_flow_rem priority=7,tcp,in_port=4,nw_src=10.0.0.0/8,tp_dst=80 actions=output:2
"""


def entries(dump: Dump) -> list[tuple[int, FlowEntry]]:
    assert not dump.unread, dump.unread
    return [(table, entry) for table, some in dump.entries.items() for entry in some]


def matched(text: str) -> Match:
    ((_, entry),) = entries(read_dump([f"{text} actions=drop"]))
    return entry.match


def done(text: str) -> tuple[object, ...]:
    ((_, entry),) = entries(read_dump([f"priority=1 actions={text}"]))
    return entry.instructions


def test_a_line_has_a_table_a_priority_a_match_and_actions() -> None:
    dump = read_dump(PRINTED.splitlines())
    wanted = Match.of(in_port=4, eth_type=0x0800, ip_proto=6, ipv4_src="10.0.0.0/8", tcp_dst=80)
    assert entries(dump) == [(3, FlowEntry(7, wanted, (ApplyActions((Output(2),)),)))]
    assert list(dump.entries[3].values()) == [2], "the line it stands in"


def test_a_line_that_says_little_is_an_entry_of_table_0_and_the_usual_priority() -> None:
    assert entries(read_dump([" actions=NORMAL"])) == [
        (0, FlowEntry(32768, Match(), (ApplyActions((Output(PortNo.NORMAL),)),)))
    ]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("arp,arp_tpa=10.0.0.1,arp_op=1", Match.of(eth_type=0x0806, arp_tpa="10.0.0.1", arp_op=1)),
        ("arp,nw_dst=10.0.0.1", Match.of(eth_type=0x0806, arp_tpa="10.0.0.1")),
        ("icmp,icmp_type=8", Match.of(eth_type=0x0800, ip_proto=1, icmpv4_type=8)),
        ("icmp6,icmp_type=135", Match.of(eth_type=0x86DD, ip_proto=58, icmpv6_type=135)),
        ("udp6,ipv6_dst=2001:db8::/32", Match.of(eth_type=0x86DD, ip_proto=17, ipv6_dst="2001:db8::/32")),
        ("dl_vlan=5,dl_vlan_pcp=3", Match.of(vlan_vid=0x1005, vlan_pcp=3)),
        ("dl_vlan_pcp=0", Match.of(vlan_vid=(0x1000, 0x1000), vlan_pcp=0)),
        ("vlan_tci=0x0000", Match.of(vlan_vid=0)),
        ("vlan_tci=0x1000/0x1000", Match.of(vlan_vid=(0x1000, 0x1000))),
        ("vlan_tci=0x7005/0xffff", Match.of(vlan_vid=0x1005, vlan_pcp=3)),
        ("dl_dst=01:00:00:00:00:00/01:00:00:00:00:00", Match.of(eth_dst=(1 << 40, 1 << 40))),
        ("ip,nw_src=10.0.0.1/255.0.0.255", Match.of(eth_type=0x0800, ipv4_src=(0x0A000001, 0xFF0000FF))),
        ("ip,nw_tos=184", Match.of(eth_type=0x0800, ip_dscp=46)),
        ("tcp,tp_src=0x50/0xfff0", Match.of(eth_type=0x0800, ip_proto=6, tcp_src=(0x50, 0xFFF0))),
        ("metadata=0x5/0xff", Match.of(metadata=(5, 0xFF))),
        ("in_port=LOCAL", Match.of(in_port=int(PortNo.LOCAL))),
        ("mpls,mpls_label=16,mpls_bos=1", Match.of(eth_type=0x8847, mpls_label=16, mpls_bos=1)),
    ],
)
def test_matches(text: str, match: Match) -> None:
    assert matched(text) == match
    assert read_match(text) == match


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        ("2,output:3,IN_PORT", [Output(2), Output(3), Output(PortNo.IN_PORT)]),
        ("CONTROLLER:65535", [Output(PortNo.CONTROLLER)]),
        ("controller(max_len=128,reason=action)", [Output(PortNo.CONTROLLER)]),
        ("mod_vlan_vid:7,strip_vlan", [SetVlanVid(7), PopVlan()]),
        (
            "push_vlan:0x8100,set_field:4101->vlan_vid",
            [PushVlan(0x8100), SetField("vlan_vid", 5)],
        ),
        ("mod_dl_dst:00:00:00:00:00:05", [SetField("eth_dst", 5)]),
        ("set_field:10.0.0.9->ip_dst,dec_ttl", [SetField("ipv4_dst", 0x0A000009), DecNwTtl()]),
        ("mod_tp_dst:8080,group:4,enqueue:2:1", [SetTransportDst(8080), Group(4), Enqueue(2, 1)]),
        ("resubmit(,1),output:1", [UnknownAction("resubmit(,1)"), Output(1)]),
        ("set_queue:1,2,pop_queue", [SetQueue(1), Output(2)]),
        ("output:65533,output:4294967294", [Output(PortNo.CONTROLLER), Output(PortNo.LOCAL)]),
        ("set_field:0->in_port,1", [UnknownAction("set_field:0->in_port"), Output(1)]),
        ("load:0x5->NXM_NX_REG0[]", [UnknownAction("load:0x5->NXM_NX_REG0[]")]),
        ("ct(commit,zone=1,table=2)", [UnknownAction("ct(commit,zone=1,table=2)")]),
    ],
)
def test_actions(text: str, actions: list[Action]) -> None:
    assert done(text) == (ApplyActions(tuple(actions)),)


def test_instructions_stand_in_the_order_of_the_specification() -> None:
    text = "goto_table:2,write_metadata:0x5/0xff,write_actions(output:1,group:2),clear_actions,3,meter:4"
    assert done(text) == (
        UseMeter(4),
        ApplyActions((Output(3),)),
        ClearActions(),
        WriteActions((Output(1), Group(2))),
        WriteMetadata(5, 0xFF),
        GotoTable(2),
    )
    assert done("drop") == ()


def test_groups_and_ports_stand_in_the_same_text() -> None:
    dump = read_dump(
        [
            " group_id=1,type=ff,bucket=watch_port:2,actions=output:2,bucket=watch_port:3,actions=output:3",
            " group_id=2,type=select,bucket=bucket_id:0,weight:5,actions=dec_ttl,output:1",
            " 1(s1-eth1): addr:00:00:00:00:00:01",
            "     config:     PORT_DOWN",
            "     state:      LINK_DOWN",
            "     speed: 0 Mbps now, 0 Mbps max",
        ]
    )
    assert not dump.unread
    failover, select = dump.groups[1], dump.groups[2]
    assert failover.type == GroupType.FAST_FAILOVER
    assert [bucket.watch_port for bucket in failover.buckets] == [2, 3]
    assert (select.buckets[0].weight, select.buckets[0].actions[-1]) == (5, Output(1))
    assert not dump.ports[1].usable and not dump.ports[1].link


def test_what_a_port_is_configured_to_is_read() -> None:
    lines = [
        " 1(s1-eth1): addr:00:00:00:00:00:01",
        "     config:     NO_RECV NO_FLOOD NO_FWD",
        "     state: LIVE",
    ]
    (port,) = read_dump(lines).ports.values()
    assert port.config == PortConfig.NO_RECV | PortConfig.NO_FLOOD | PortConfig.NO_FWD and port.usable


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("what is this", "it is no flow, group or port"),
        ("priority=5,ct_state=+trk actions=drop", "the field 'ct_state' is not followed"),
        ("priority=5,ip,reg0=0x1 actions=drop", "the field 'reg0' is not followed"),
        ("priority=5,ipx actions=drop", "'ipx' is no field that is followed"),
        ("priority=high actions=drop", "'high' is no number"),
        ("priority=65536 actions=drop", "priority=65536 is not within 0 and 65535"),
        ("table=255 actions=drop", "table=255 is not within 0 and 254"),
        ("table=3,ip actions=goto_table:3", "goto_table:3 leads to no later table"),
        ("priority=1 actions=output:9", "line 1 has the same table, priority and match"),
        ("actions=fly:5", "the action 'fly:5' is unknown"),
        ("actions=output:nowhere", "there is no port 'nowhere'"),
        ("actions=write_actions(output:1", "a bracket is not closed"),
        ("ip,nw_dst=10.0.0.999 actions=drop", "10.0.0.999"),
        ("group_id=1,type=odd,bucket=actions=1", "the type 'odd' of the group is unknown"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_and_the_rest_is_read(text: str, why: str) -> None:
    dump = read_dump(["priority=1 actions=output:1", "", text, "priority=2 actions=output:2"])
    (unread,) = dump.unread
    assert (unread.number, unread.text) == (3, text)
    assert why in unread.why
    assert [entry.priority for entry in dump.entries[0]] == [1, 2]


def test_what_is_not_followed_is_named_with_its_line() -> None:
    dump = read_dump(["actions=drop", "actions=learn(table=1),output:2"])
    assert dump.unknown == [(2, "learn(table=1)")]


def test_ports_may_be_called_by_name() -> None:
    dump = read_dump(['in_port="s1-eth1" actions=output:"s1-eth2"'], {"s1-eth1": 1, "s1-eth2": 2}.get)
    assert entries(dump) == [
        (0, FlowEntry(32768, Match.normal([Term("in_port", 1, 0xFFFFFFFF)]), (ApplyActions((Output(2),)),)))
    ]


def test_what_the_switch_calls_its_ports_counts_wherever_it_stands() -> None:
    lines = ['in_port="s1-eth1" actions=output:uplink', " 4(s1-eth1): addr:00", " 5(uplink): addr:00"]
    ((_, entry),) = entries(read_dump(lines, {"s1-eth1": 1}.get))
    assert (entry.match, entry.instructions) == (Match.of(in_port=4), (ApplyActions((Output(5),)),))


def test_a_match_that_is_none_is_one_sentence() -> None:
    with pytest.raises(PenstockError, match=r"'ipx' is no match of ovs-ofctl: "):
        read_match("ipx")
