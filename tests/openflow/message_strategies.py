"""Hypothesis strategies for every OpenFlow message, one set per version.

Each draws only values that the version can say, so that a round trip through the wire loses
nothing: in 1.0 ports of 16 bits, matches on its twelve fields, what it lacks left at its default.
`MESSAGES` holds them by version and class, `REQUESTS` and `REPLIES` the bodies of statistics.
"""

from __future__ import annotations

from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy, composite

from penstock.openflow import actions as act
from penstock.openflow import messages as msg
from penstock.openflow import stats
from penstock.openflow.fields import FIELDS, Field
from penstock.openflow.match import Match, Term
from penstock.openflow.messages import V10, V13

T = TypeVar("T")
Strategies = dict[type, SearchStrategy[Any]]

u8 = st.integers(0, 0xFF)
u16 = st.integers(0, 0xFFFF)
u32 = st.integers(0, 0xFFFFFFFF)
u64 = st.integers(0, 0xFFFFFFFFFFFFFFFF)
macs = st.integers(0, 0xFFFFFFFFFFFF)
octets = st.binary(max_size=40)
words = st.integers(0, 3).flatmap(lambda n: st.binary(min_size=8 * n, max_size=8 * n))
ports10 = st.integers(0, 0xFEFF) | st.integers(0xFFFFFF00, 0xFFFFFFFF)
in_port10 = ports10.map(lambda port: Match.of(in_port=port))


def names(size: int) -> SearchStrategy[str]:
    """Names of at most so many bytes, any bytes but zero."""
    return st.text(st.characters(min_codepoint=1, max_codepoint=0xFF), max_size=size)


def few(strategy: SearchStrategy[T], most: int = 3) -> SearchStrategy[tuple[T, ...]]:
    """Tuples of a few values."""
    return st.lists(strategy, max_size=most).map(tuple)


@composite
def terms13(draw: DrawFn, field: Field) -> Term:
    mask = draw(st.integers(1, field.full)) if field.maskable and draw(st.booleans()) else field.full
    return Term(field.name, draw(st.integers(0, field.full)) & mask, mask)


matches13 = st.lists(st.sampled_from(FIELDS), unique=True, max_size=6).flatmap(
    lambda fields: st.tuples(*map(terms13, fields)).map(lambda terms: Match.normal(list(terms)))
)

_IP_PORTS = {6: "tcp", 17: "udp", 132: "sctp"}


@composite
def prefixes(draw: DrawFn) -> tuple[int, int]:
    mask = 0xFFFFFFFF << draw(st.integers(0, 31)) & 0xFFFFFFFF
    return draw(u32) & mask, mask


@composite
def vlans10(draw: DrawFn) -> dict[str, Any]:
    shape = draw(st.sampled_from(["none", "untagged", "id", "id and priority", "priority"]))
    vid = 0x1000 | draw(st.integers(0, 0xFFF))
    pcp = draw(st.integers(0, 7))
    shapes: dict[str, dict[str, Any]] = {
        "none": {},
        "untagged": {"vlan_vid": 0},
        "id": {"vlan_vid": vid},
        "id and priority": {"vlan_vid": vid, "vlan_pcp": pcp},
        "priority": {"vlan_vid": (0x1000, 0x1000), "vlan_pcp": pcp},
    }
    return shapes[shape]


def some(**fields: SearchStrategy[Any]) -> SearchStrategy[dict[str, Any]]:
    """Any choice of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


@composite
def ip10(draw: DrawFn, icmp: int, icmp_name: str) -> dict[str, Any]:
    fields = draw(some(ip_dscp=st.integers(0, 63), ip_proto=st.sampled_from([icmp, 6, 17, 132, 47])))
    protocol = fields.get("ip_proto")
    if protocol == icmp:
        return fields | draw(some(**{f"{icmp_name}_type": u8, f"{icmp_name}_code": u8}))
    if protocol in _IP_PORTS:
        name = _IP_PORTS[protocol]
        return fields | draw(some(**{f"{name}_src": u16, f"{name}_dst": u16}))
    return fields


@composite
def matches10(draw: DrawFn) -> Match:
    fields = draw(some(in_port=ports10, eth_dst=macs, eth_src=macs)) | draw(vlans10())
    eth_type = draw(st.sampled_from([None, 0x0800, 0x0806, 0x8035, 0x86DD, 0x88CC, 0x05FF]))
    if eth_type is not None:
        fields["eth_type"] = eth_type
    if eth_type == 0x0800:
        fields |= draw(ip10(1, "icmpv4")) | draw(some(ipv4_src=prefixes(), ipv4_dst=prefixes()))
    elif eth_type == 0x86DD:
        fields |= draw(ip10(58, "icmpv6"))
    elif eth_type in (0x0806, 0x8035):
        fields |= draw(some(arp_op=u8, arp_spa=prefixes(), arp_tpa=prefixes()))
    return Match.of(**fields)


def wildcards_nothing(match: Match) -> bool:
    """Tell whether a match of 1.0 uses all its twelve fields in full."""
    full = {term.field for term in match.terms if term.mask == {f.name: f.full for f in FIELDS}[term.field]}
    tagged = {"vlan_vid", "vlan_pcp"} <= full or match.value("vlan_vid") == 0
    base = {"in_port", "eth_dst", "eth_src", "eth_type", "ip_dscp", "ip_proto", "ipv4_src", "ipv4_dst"}
    ends = [{f"{name}_src", f"{name}_dst"} for name in _IP_PORTS.values()] + [{"icmpv4_type", "icmpv4_code"}]
    return tagged and base <= full and any(end <= full for end in ends)


set_fields13 = st.sampled_from(FIELDS).flatmap(
    lambda field: st.integers(0, field.full).map(lambda value: act.SetField(field.name, value))
)
set_fields10 = (
    st.builds(act.SetField, st.sampled_from(["eth_src", "eth_dst"]), macs)
    | st.builds(act.SetField, st.sampled_from(["ipv4_src", "ipv4_dst"]), u32)
    | st.builds(act.SetField, st.just("ip_dscp"), st.integers(0, 63))
)

ACTIONS10: Strategies = {
    act.Output: st.builds(act.Output, ports10, u16),
    act.Enqueue: st.builds(act.Enqueue, ports10, u32),
    act.SetField: set_fields10,
    act.SetVlanVid: st.builds(act.SetVlanVid, u16),
    act.SetVlanPcp: st.builds(act.SetVlanPcp, u8),
    act.SetTransportSrc: st.builds(act.SetTransportSrc, u16),
    act.SetTransportDst: st.builds(act.SetTransportDst, u16),
    act.PopVlan: st.just(act.PopVlan()),
    act.ExperimenterAction: st.builds(act.ExperimenterAction, u32, words),
}
ACTIONS13: Strategies = {
    act.Output: st.builds(act.Output, u32, u16),
    act.Group: st.builds(act.Group, u32),
    act.SetQueue: st.builds(act.SetQueue, u32),
    act.SetField: set_fields13,
    act.PushVlan: st.builds(act.PushVlan, u16),
    act.PopVlan: st.just(act.PopVlan()),
    act.PushMpls: st.builds(act.PushMpls, u16),
    act.PopMpls: st.builds(act.PopMpls, u16),
    act.PushPbb: st.builds(act.PushPbb, u16),
    act.PopPbb: st.just(act.PopPbb()),
    act.SetNwTtl: st.builds(act.SetNwTtl, u8),
    act.DecNwTtl: st.just(act.DecNwTtl()),
    act.SetMplsTtl: st.builds(act.SetMplsTtl, u8),
    act.DecMplsTtl: st.just(act.DecMplsTtl()),
    act.CopyTtlOut: st.just(act.CopyTtlOut()),
    act.CopyTtlIn: st.just(act.CopyTtlIn()),
    act.ExperimenterAction: st.builds(act.ExperimenterAction, u32, words),
}
actions10 = few(st.one_of(*ACTIONS10.values()), 4)
actions13 = few(st.one_of(*ACTIONS13.values()), 4)

INSTRUCTIONS: Strategies = {
    act.GotoTable: st.builds(act.GotoTable, u8),
    act.WriteMetadata: st.builds(act.WriteMetadata, u64, u64),
    act.WriteActions: st.builds(act.WriteActions, actions13),
    act.ApplyActions: st.builds(act.ApplyActions, actions13),
    act.ClearActions: st.just(act.ClearActions()),
    act.UseMeter: st.builds(act.UseMeter, u32),
    act.ExperimenterInstruction: st.builds(act.ExperimenterInstruction, u32, words),
}
instructions13 = few(st.one_of(*INSTRUCTIONS.values()), 4)
instructions10 = actions10.map(lambda actions: (act.ApplyActions(actions),) if actions else ())

port_descs10 = st.builds(msg.Port, ports10, macs, names(16), u32, u32, u32, u32, u32, u32)
port_descs13 = st.builds(msg.Port, u32, macs, names(16), u32, u32, u32, u32, u32, u32, u32, u32)
buckets = st.builds(msg.Bucket, actions13, u16, u32, u32)
bands = st.builds(
    msg.Band, u16, u32, u32, st.binary(min_size=4, max_size=4) | st.binary(min_size=12, max_size=12)
)
queue_properties = few(st.builds(msg.QueueProperty, u16, words))
queues10 = few(st.builds(msg.PacketQueue, u32, st.just(0), queue_properties))
queues13 = few(st.builds(msg.PacketQueue, u32, u32, queue_properties))
masks = st.tuples(u32, u32)


@composite
def flow_mods10(draw: DrawFn) -> msg.FlowMod:
    command = draw(st.integers(0, 4) | u16)
    match = draw(matches10())
    return msg.FlowMod(
        command,
        match,
        draw(instructions10),
        priority=0xFFFF if wildcards_nothing(match) else draw(u16),
        table_id=0 if command == msg.FlowCommand.ADD else msg.ALL_TABLES,
        idle_timeout=draw(u16),
        hard_timeout=draw(u16),
        cookie=draw(u64),
        buffer_id=draw(u32),
        out_port=draw(ports10),
        flags=draw(u16),
        xid=draw(u32),
    )


def _with_xid(kind: type, *fields: SearchStrategy[Any], **more: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return st.builds(kind, *fields, **more, xid=u32)


_SHARED: Strategies = {
    msg.Error: _with_xid(msg.Error, u16, u16, octets),
    msg.EchoRequest: _with_xid(msg.EchoRequest, octets),
    msg.EchoReply: _with_xid(msg.EchoReply, octets),
    msg.FeaturesRequest: _with_xid(msg.FeaturesRequest),
    msg.GetConfigRequest: _with_xid(msg.GetConfigRequest),
    msg.GetConfigReply: _with_xid(msg.GetConfigReply, u16, u16),
    msg.SetConfig: _with_xid(msg.SetConfig, u16, u16),
    msg.BarrierRequest: _with_xid(msg.BarrierRequest),
    msg.BarrierReply: _with_xid(msg.BarrierReply),
}


def hellos(version: int) -> SearchStrategy[msg.Hello]:
    bitmap = st.none() | st.frozensets(u8, max_size=5)
    return _with_xid(msg.Hello, bitmap, st.just(version))


_flow_requests10 = (matches10(), u8, ports10)
_flow_requests13 = (matches13, u8, u32, u32, u64, u64)
_table_features = few(
    st.builds(
        stats.TableFeatures,
        u8,
        names(32),
        u64,
        u64,
        u32,
        u32,
        few(st.builds(stats.TableFeature, u16, octets)),
    )
)
_counters = few(st.builds(stats.BucketCounter, u64, u64))
_fours = st.tuples(u32, u32, u32, u32)
_descs = st.builds(stats.Desc, names(256), names(256), names(256), names(32), names(256))
_aggregates = st.builds(stats.Aggregate, u64, u64, u32)

REQUESTS: dict[int, Strategies] = {
    V10: {
        stats.DescRequest: st.just(stats.DescRequest()),
        stats.FlowRequest: st.builds(stats.FlowRequest, *_flow_requests10),
        stats.AggregateRequest: st.builds(stats.AggregateRequest, *_flow_requests10),
        stats.TableRequest: st.just(stats.TableRequest()),
        stats.PortStatsRequest: st.builds(stats.PortStatsRequest, ports10),
        # All queues' ports are ALL on 1.0's wire and ANY in values, so no value is ALL.
        stats.QueueRequest: st.builds(
            stats.QueueRequest, ports10.filter(lambda port: port != msg.PortNo.ALL), u32
        ),
        stats.PortDescRequest: st.just(stats.PortDescRequest()),
        stats.ExperimenterStats: st.builds(stats.ExperimenterStats, u32, st.just(0), octets),
    },
    V13: {
        stats.DescRequest: st.just(stats.DescRequest()),
        stats.FlowRequest: st.builds(stats.FlowRequest, *_flow_requests13),
        stats.AggregateRequest: st.builds(stats.AggregateRequest, *_flow_requests13),
        stats.TableRequest: st.just(stats.TableRequest()),
        stats.PortStatsRequest: st.builds(stats.PortStatsRequest, u32),
        stats.QueueRequest: st.builds(stats.QueueRequest, u32, u32),
        stats.GroupStatsRequest: st.builds(stats.GroupStatsRequest, u32),
        stats.GroupDescRequest: st.just(stats.GroupDescRequest()),
        stats.GroupFeaturesRequest: st.just(stats.GroupFeaturesRequest()),
        stats.MeterRequest: st.builds(stats.MeterRequest, u32),
        stats.MeterConfigRequest: st.builds(stats.MeterConfigRequest, u32),
        stats.MeterFeaturesRequest: st.just(stats.MeterFeaturesRequest()),
        stats.TableFeaturesRequest: st.builds(stats.TableFeaturesRequest, _table_features),
        stats.PortDescRequest: st.just(stats.PortDescRequest()),
        stats.ExperimenterStats: st.builds(stats.ExperimenterStats, u32, u32, octets),
    },
}
REPLIES: dict[int, Strategies] = {
    V10: {
        stats.Desc: _descs,
        stats.Flows: st.builds(
            stats.Flows,
            few(
                st.builds(
                    stats.FlowStats,
                    u8,
                    matches10(),
                    instructions10,
                    u16,
                    u64,
                    u16,
                    u16,
                    st.just(0),
                    u32,
                    u32,
                    u64,
                    u64,
                )
            ),
        ),
        stats.Aggregate: _aggregates,
        stats.Tables: st.builds(
            stats.Tables, few(st.builds(stats.TableStats, u8, u32, u64, u64, names(32), u32, u32))
        ),
        stats.Ports: st.builds(stats.Ports, few(st.builds(stats.PortStats, ports10, *[u64] * 12))),
        stats.Queues: st.builds(stats.Queues, few(st.builds(stats.QueueStats, ports10, u32, u64, u64, u64))),
        stats.PortDescs: st.builds(stats.PortDescs, few(port_descs10)),
        stats.ExperimenterStats: st.builds(stats.ExperimenterStats, u32, st.just(0), octets),
    },
    V13: {
        stats.Desc: _descs,
        stats.Flows: st.builds(
            stats.Flows,
            few(
                st.builds(
                    stats.FlowStats,
                    u8,
                    matches13,
                    instructions13,
                    u16,
                    u64,
                    u16,
                    u16,
                    u16,
                    u32,
                    u32,
                    u64,
                    u64,
                )
            ),
        ),
        stats.Aggregate: _aggregates,
        stats.Tables: st.builds(stats.Tables, few(st.builds(stats.TableStats, u8, u32, u64, u64))),
        stats.Ports: st.builds(stats.Ports, few(st.builds(stats.PortStats, u32, *[u64] * 12, u32, u32))),
        stats.Queues: st.builds(
            stats.Queues, few(st.builds(stats.QueueStats, u32, u32, u64, u64, u64, u32, u32))
        ),
        stats.GroupCounters: st.builds(
            stats.GroupCounters, few(st.builds(stats.GroupStats, u32, u32, u64, u64, u32, u32, _counters))
        ),
        stats.GroupDescs: st.builds(stats.GroupDescs, few(st.builds(stats.GroupDesc, u8, u32, few(buckets)))),
        stats.GroupFeatures: st.builds(stats.GroupFeatures, u32, u32, _fours, _fours),
        stats.Meters: st.builds(
            stats.Meters, few(st.builds(stats.MeterStats, u32, u32, u64, u64, u32, u32, _counters))
        ),
        stats.MeterConfigs: st.builds(
            stats.MeterConfigs, few(st.builds(stats.MeterConfig, u32, u16, few(bands)))
        ),
        stats.MeterFeatures: st.builds(stats.MeterFeatures, u32, u32, u32, u8, u8),
        stats.TableFeaturesReply: st.builds(stats.TableFeaturesReply, _table_features),
        stats.PortDescs: st.builds(stats.PortDescs, few(port_descs13)),
        stats.ExperimenterStats: st.builds(stats.ExperimenterStats, u32, u32, octets),
    },
}


def _statistics(kind: type, bodies: Strategies) -> SearchStrategy[Any]:
    return _with_xid(kind, st.one_of(*bodies.values()), st.booleans())


MESSAGES: dict[int, Strategies] = {
    V10: {
        **_SHARED,
        msg.Hello: hellos(V10),
        msg.Experimenter: _with_xid(msg.Experimenter, u32, st.just(0), octets),
        msg.FeaturesReply: _with_xid(msg.FeaturesReply, u64, u32, u8, u32, u32, few(port_descs10)),
        msg.PacketIn: _with_xid(msg.PacketIn, u32, u16, u8, in_port10, octets),
        msg.FlowRemoved: _with_xid(
            msg.FlowRemoved, matches10(), u64, u16, u8, st.just(0), u32, u32, u16, st.just(0), u64, u64
        ),
        msg.PortStatus: _with_xid(msg.PortStatus, u8, port_descs10),
        msg.PacketOut: _with_xid(msg.PacketOut, u32, ports10, actions10, octets),
        msg.FlowMod: flow_mods10(),
        msg.PortMod: _with_xid(msg.PortMod, ports10, macs, u32, u32, u32),
        msg.QueueGetConfigRequest: _with_xid(msg.QueueGetConfigRequest, ports10),
        msg.QueueGetConfigReply: _with_xid(msg.QueueGetConfigReply, ports10, queues10),
        stats.StatsRequest: _statistics(stats.StatsRequest, REQUESTS[V10]),
        stats.StatsReply: _statistics(stats.StatsReply, REPLIES[V10]),
    },
    V13: {
        **_SHARED,
        msg.Hello: hellos(V13),
        msg.Experimenter: _with_xid(msg.Experimenter, u32, u32, octets),
        msg.FeaturesReply: _with_xid(msg.FeaturesReply, u64, u32, u8, u32, auxiliary_id=u8),
        msg.PacketIn: _with_xid(msg.PacketIn, u32, u16, u8, matches13, octets, u8, u64),
        msg.FlowRemoved: _with_xid(
            msg.FlowRemoved, matches13, u64, u16, u8, u8, u32, u32, u16, u16, u64, u64
        ),
        msg.PortStatus: _with_xid(msg.PortStatus, u8, port_descs13),
        msg.PacketOut: _with_xid(msg.PacketOut, u32, u32, actions13, octets),
        msg.FlowMod: _with_xid(
            msg.FlowMod, u8, matches13, instructions13, u16, u8, u16, u16, u64, u64, u32, u32, u32, u16
        ),
        msg.GroupMod: _with_xid(msg.GroupMod, u16, u8, u32, few(buckets)),
        msg.PortMod: _with_xid(msg.PortMod, u32, macs, u32, u32, u32),
        msg.TableMod: _with_xid(msg.TableMod, u8, u32),
        msg.QueueGetConfigRequest: _with_xid(msg.QueueGetConfigRequest, u32),
        msg.QueueGetConfigReply: _with_xid(msg.QueueGetConfigReply, u32, queues13),
        msg.RoleRequest: _with_xid(msg.RoleRequest, u32, u64),
        msg.RoleReply: _with_xid(msg.RoleReply, u32, u64),
        msg.GetAsyncRequest: _with_xid(msg.GetAsyncRequest),
        msg.GetAsyncReply: _with_xid(msg.GetAsyncReply, masks, masks, masks),
        msg.SetAsync: _with_xid(msg.SetAsync, masks, masks, masks),
        msg.MeterMod: _with_xid(msg.MeterMod, u16, u16, u32, few(bands)),
        stats.StatsRequest: _statistics(stats.StatsRequest, REQUESTS[V13]),
        stats.StatsReply: _statistics(stats.StatsReply, REPLIES[V13]),
    },
}
