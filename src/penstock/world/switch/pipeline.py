"""The forwarding pipeline: what a switch does with one packet (specification 1.3 §5).

Tables are looked up from table 0 on; apply-actions act at once, write-actions gather in the
action set, which acts at the end in the order the specification gives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from penstock.openflow.actions import (
    Action,
    ApplyActions,
    ClearActions,
    DecMplsTtl,
    DecNwTtl,
    Enqueue,
    GotoTable,
    Group,
    Instruction,
    Output,
    PopMpls,
    PopVlan,
    PushMpls,
    PushVlan,
    SetField,
    SetMplsTtl,
    SetNwTtl,
    SetQueue,
    SetTransportDst,
    SetTransportSrc,
    SetVlanPcp,
    SetVlanVid,
    UseMeter,
    WriteActions,
    WriteMetadata,
)
from penstock.openflow.fields import BY_NAME, ETH_VLAN, IP_SCTP, IP_TCP, IP_UDP
from penstock.openflow.match import Match, Term
from penstock.openflow.messages import (
    ANY_GROUP,
    NO_BUFFER,
    NO_MAX_LEN,
    V10,
    Bucket,
    GroupType,
    PacketIn,
    PacketInReason,
    PortConfig,
    PortNo,
)
from penstock.world.frame import Frame
from penstock.world.switch.flow_table import FlowEntry
from penstock.world.switch.headers import TRANSPORT_PORTS
from penstock.world.switch.rewriting import Packet
from penstock.world.switch.state import Buffered, GroupEntry, Session, TableUsage, Usage
from penstock.world.switch.turn import Turn

DROP_FRAGMENTS: Final = 1
DEEPEST: Final = 64
"""How many groups and tables deep one packet may go; beyond that it is dropped."""

_SET_ORDER: Final = (
    PopMpls,
    PopVlan,
    PushMpls,
    PushVlan,
    DecMplsTtl,
    DecNwTtl,
    SetMplsTtl,
    SetNwTtl,
    SetField,
    SetQueue,
)
"""The order of an action set (specification 1.3 §5.10); group or else output come last."""

_TRANSPORT: Final = {IP_TCP: "tcp", IP_UDP: "udp", IP_SCTP: "sctp"}


@dataclass(slots=True)
class _Journey:
    """Where a packet stands in the pipeline; `size` is what counters add, its size as it came in."""

    packet: Packet
    size: int
    entry: FlowEntry | None = None
    table: int = 0
    action_set: dict[object, Action] = field(default_factory=dict)
    depth: int = 0
    stopped: bool = False


def receive(turn: Turn, in_port: int, frame: Frame) -> None:
    """Handle a frame that arrived on a port."""
    status = turn.port_status(in_port)
    if not status.usable:
        turn.note("dropped", frame.tag, in_port, "the port is down")
        return
    turn.count_port(in_port, rx_packets=1, rx_bytes=len(frame.data))
    journey = _Journey(Packet(frame.data, in_port, frame.tag), len(frame.data))
    if status.config & PortConfig.NO_RECV:
        _count_lookup(turn, journey, 0)
        turn.note("dropped", frame.tag, in_port, "the port does not receive")
        return
    _finish(turn, journey, lambda: _enter_table(turn, journey, 0))


def send_out(turn: Turn, frame: Frame, in_port: int, actions: tuple[Action, ...]) -> None:
    """Handle a packet that a controller has the switch send."""
    journey = _Journey(Packet(frame.data, in_port, frame.tag), len(frame.data))
    _finish(turn, journey, lambda: _apply(turn, journey, actions))


def resend(turn: Turn, kept: Buffered) -> None:
    """Send a buffered packet through the tables again, as after a flow-mod that names it."""
    data = kept.frame.data
    journey = _Journey(Packet(data, kept.in_port, kept.frame.tag), len(data))
    _finish(turn, journey, lambda: _enter_table(turn, journey, 0))


def _finish(turn: Turn, journey: _Journey, work: Callable[[], None]) -> None:
    before = len(turn.sends)
    work()
    if not journey.stopped:
        _run_action_set(turn, journey)
    if len(turn.sends) == before:
        turn.note("dropped", journey.packet.tag, journey.packet.in_port, "nothing sends it on")


def _enter_table(turn: Turn, journey: _Journey, table: int) -> None:
    while table >= 0:
        table = _look_up(turn, journey, table)


def _look_up(turn: Turn, journey: _Journey, table: int) -> int:
    """Look a packet up in one table and follow its entry; return the next table, or -1."""
    packet = journey.packet
    journey.table = table
    if packet.fragment and turn.state.fragments == DROP_FRAGMENTS:
        _count_table(turn, table, matched=True)
        journey.stopped = True
        return -1
    entry = _count_lookup(turn, journey, table)
    if entry is None:
        _miss(turn, journey)
        return -1
    turn.note("matched", packet.tag, packet.in_port, table, entry)
    journey.entry = entry
    return _follow(turn, journey, entry.instructions)


def _count_lookup(turn: Turn, journey: _Journey, table: int) -> FlowEntry | None:
    """Return the entry a packet meets in a table, both having counted it."""
    fields = journey.packet.fields
    if journey.packet.fragment:
        fields = {name: value for name, value in fields.items() if name not in TRANSPORT_PORTS}
    entry = turn.table(table).lookup(fields)
    _count_table(turn, table, matched=entry is not None)
    if entry is not None:
        turn.count_rule(table, entry, journey.size)
    return entry


def _count_table(turn: Turn, table: int, *, matched: bool) -> None:
    if turn.options.counters:
        before = turn.state.table_usage.get(table) or TableUsage()
        after = TableUsage(before.lookups + 1, before.matches + matched)
        turn.change(table_usage=turn.state.table_usage.set(table, after))


def _miss(turn: Turn, journey: _Journey) -> None:
    """A packet met no entry: 1.0 sends it to the controller, 1.3 drops it."""
    turn.note("missed", journey.packet.tag, journey.packet.in_port, journey.table)
    journey.entry = None
    if turn.version == V10:
        _to_controllers(turn, journey, PacketInReason.NO_MATCH, None)


def _follow(turn: Turn, journey: _Journey, instructions: tuple[Instruction, ...]) -> int:
    """Carry out an entry's instructions in the specification's order; return the next table."""
    by_kind: dict[type, Instruction] = {type(i): i for i in instructions}
    meter = by_kind.get(UseMeter)
    if isinstance(meter, UseMeter):
        _count_meter(turn, meter.meter_id, journey.size)
    now = by_kind.get(ApplyActions)
    if isinstance(now, ApplyActions):
        _apply(turn, journey, now.actions)
        if journey.stopped:
            return -1
    if ClearActions in by_kind:
        journey.action_set.clear()
    later = by_kind.get(WriteActions)
    if isinstance(later, WriteActions):
        for action in later.actions:
            _write(journey.action_set, action)
    metadata = by_kind.get(WriteMetadata)
    if isinstance(metadata, WriteMetadata):
        old = journey.packet.fields.get("metadata", 0)
        journey.packet.fields["metadata"] = old & ~metadata.mask | metadata.value & metadata.mask
    goto = by_kind.get(GotoTable)
    return goto.table_id if isinstance(goto, GotoTable) else -1


def _count_meter(turn: Turn, meter: int, size: int) -> None:
    if turn.options.counters and meter in turn.state.meters:
        before = turn.state.meter_usage.get(meter) or Usage()
        turn.change(meter_usage=turn.state.meter_usage.set(meter, before.plus(size, turn.state.now)))


def _write(action_set: dict[object, Action], action: Action) -> None:
    """Put an action into an action set: one of each kind, the last written wins."""
    key = (SetField, action.field) if isinstance(action, SetField) else type(action)
    action_set.pop(key, None)
    action_set[key] = action


def _in_order(action_set: dict[object, Action]) -> list[Action]:
    """Return an action set as the list it acts as."""
    actions = list(action_set.values())
    ordered = [action for kind in _SET_ORDER for action in actions if isinstance(action, kind)]
    group = action_set.get(Group)
    output = action_set.get(Output) or action_set.get(Enqueue)
    last = group or output
    return [*ordered, last] if last is not None else []


def _run_action_set(turn: Turn, journey: _Journey) -> None:
    actions = tuple(_in_order(journey.action_set))
    journey.action_set = {}
    if actions:
        _apply(turn, journey, actions)


def _apply(turn: Turn, journey: _Journey, actions: tuple[Action, ...]) -> None:
    for action in actions:
        _act(turn, journey, action)
        if journey.stopped:
            return


def _act(turn: Turn, journey: _Journey, action: Action) -> None:
    packet = journey.packet
    match action:
        case Output(port, max_len):
            _output(turn, journey, port, max_len)
        case Group(group_id):
            _group(turn, journey, group_id)
        case SetField(name, value):
            packet.set(name, value)
        case Enqueue(port, _):
            _output(turn, journey, port, NO_MAX_LEN)
        case PushVlan(ethertype):
            packet.push_vlan(ethertype)
        case PopVlan():
            packet.pop_vlan()
        case SetVlanVid(vid):
            _ensure_tag(packet)
            packet.set("vlan_vid", 0x1000 | vid)
        case SetVlanPcp(pcp):
            _ensure_tag(packet)
            packet.set("vlan_pcp", pcp)
        case SetTransportSrc(port):
            _set_transport(packet, "src", port)
        case SetTransportDst(port):
            _set_transport(packet, "dst", port)
        case SetNwTtl(ttl):
            if packet.is_ip:
                packet.set("nw_ttl", ttl)
        case DecNwTtl():
            _count_down(turn, journey, "nw_ttl", present=packet.is_ip)
        case SetMplsTtl(ttl):
            packet.set("mpls_ttl", ttl)
        case DecMplsTtl():
            _count_down(turn, journey, "mpls_ttl", present=packet.ethertype in (0x8847, 0x8848))
        case PushMpls(ethertype):
            packet.push_mpls(ethertype)
        case PopMpls(ethertype):
            packet.pop_mpls(ethertype)
        case _:
            return


def _ensure_tag(packet: Packet) -> None:
    if not packet.is_tagged:
        packet.push_vlan(ETH_VLAN)


def _set_transport(packet: Packet, end: str, port: int) -> None:
    transport = _TRANSPORT.get(packet.fields.get("ip_proto", 0))
    if packet.is_ip and transport is not None:
        packet.set(f"{transport}_{end}", port)


def _count_down(turn: Turn, journey: _Journey, field: str, *, present: bool) -> None:
    if not present:
        return
    ttl = journey.packet.fields.get(field, 0)
    if ttl > 1:
        journey.packet.set(field, ttl - 1)
        return
    _to_controllers(turn, journey, PacketInReason.INVALID_TTL, NO_MAX_LEN)
    journey.stopped = True


def _output(turn: Turn, journey: _Journey, port: int, max_len: int) -> None:
    packet = journey.packet
    match port:
        case PortNo.CONTROLLER:
            entry = journey.entry
            missed = entry is not None and entry.is_table_miss and turn.version != V10
            reason = PacketInReason.NO_MATCH if missed else PacketInReason.ACTION
            _to_controllers(turn, journey, reason, max_len)
        case PortNo.IN_PORT:
            _emit(turn, packet, packet.in_port)
        case PortNo.FLOOD | PortNo.ALL:
            for number in turn.state.ports:
                flooded = port == PortNo.ALL or not turn.port_status(number).config & PortConfig.NO_FLOOD
                if number != packet.in_port and flooded:
                    _emit(turn, packet, number)
        case PortNo.TABLE:
            _resubmit(turn, journey)
        case _ if port != packet.in_port:
            _emit(turn, packet, port)


def _resubmit(turn: Turn, journey: _Journey) -> None:
    """Send a packet-out's packet through the tables, then go on with the packet-out."""
    if journey.depth >= DEEPEST:
        return
    journey.depth += 1
    _enter_table(turn, journey, 0)
    journey.depth -= 1
    journey.entry = None


def _emit(turn: Turn, packet: Packet, port: int) -> None:
    """Put a packet on a wire, if the port is there and forwards."""
    status = turn.state.ports.get(port)
    if status is None or status.config & PortConfig.NO_FWD:
        return
    if not status.usable:
        return
    turn.count_port(port, tx_packets=1, tx_bytes=len(packet.data))
    turn.send_frame(port, Frame(bytes(packet.data), packet.tag))


def _to_controllers(turn: Turn, journey: _Journey, reason: PacketInReason, max_len: int | None) -> None:
    """Hand a packet to the controllers that want it; `max_len` None means a plain miss."""
    packet = journey.packet
    data = bytes(packet.data)
    entry = journey.entry
    cookie = entry.cookie if entry is not None else 0xFFFFFFFFFFFFFFFF

    def wants(session: Session) -> bool:
        if reason == PacketInReason.INVALID_TTL and turn.version == V10:
            return False
        asked = session.wants(session.packet_in, reason)
        return asked or (reason == PacketInReason.INVALID_TTL and session.up and session.invalid_ttl)

    if not any(wants(session) for session in turn.state.sessions.values()):
        return
    buffer_id = _buffer(turn, Frame(data, packet.tag), packet.in_port) if max_len != NO_MAX_LEN else NO_BUFFER

    def message(session: Session) -> PacketIn:
        limit = session.miss_send_len if max_len is None else max_len
        return PacketIn(
            buffer_id=buffer_id,
            total_len=len(data),
            reason=reason,
            match=_pipeline_fields(packet),
            data=data if buffer_id == NO_BUFFER else data[:limit],
            table_id=journey.table,
            cookie=cookie,
            tag=packet.tag,
        )

    turn.tell(wants, message)


def _pipeline_fields(packet: Packet) -> Match:
    terms = [
        Term(name, packet.fields[name], BY_NAME[name].full)
        for name in ("in_port", "metadata", "tunnel_id")
        if packet.fields.get(name)
    ]
    return Match(tuple(terms))


def _buffer(turn: Turn, frame: Frame, in_port: int) -> int:
    """Keep a packet under the smallest free number, or say that it is not kept."""
    kept = turn.state.buffers
    for number in range(turn.options.buffers):
        if number not in kept:
            turn.change(buffers=kept.set(number, Buffered(frame, in_port)))
            return number
    return NO_BUFFER


def _group(turn: Turn, journey: _Journey, group_id: int) -> None:
    group = turn.state.groups.get(group_id)
    if group is None or journey.depth >= DEEPEST:
        return
    chosen = choose_buckets(turn, journey.packet, group)
    for index in chosen:
        _run_bucket(turn, journey, group.buckets[index])
    if chosen and turn.options.counters:
        _count_group(turn, group_id, chosen, journey.size)


def _run_bucket(turn: Turn, journey: _Journey, bucket: Bucket) -> None:
    """Run a bucket's actions, an action set, on a copy of the packet."""
    action_set: dict[object, Action] = {}
    for action in bucket.actions:
        _write(action_set, action)
    branch = replace(journey, packet=journey.packet.copy(), action_set={}, depth=journey.depth + 1)
    _apply(turn, branch, tuple(_in_order(action_set)))


def _count_group(turn: Turn, group_id: int, chosen: list[int], size: int) -> None:
    now = turn.state.now
    groups, buckets = turn.state.group_usage, turn.state.bucket_usage
    groups = groups.set(group_id, (groups.get(group_id) or Usage()).plus(size, now))
    for index in chosen:
        key = (group_id, index)
        buckets = buckets.set(key, (buckets.get(key) or Usage()).plus(size, now))
    turn.change(group_usage=groups, bucket_usage=buckets)


def choose_buckets(turn: Turn, packet: Packet, group: GroupEntry) -> list[int]:
    """Return which of a group's buckets a packet goes to.

    A select group's choice is the switch's own; here it is by weight, by a fixed hash of the
    packet's addresses and ports, so that a flow stays on its bucket.
    """
    if group.type in (GroupType.ALL, GroupType.INDIRECT):
        return list(range(len(group.buckets)))
    live = [i for i, bucket in enumerate(group.buckets) if _is_live(turn, group, bucket, 0)]
    if group.type == GroupType.FAST_FAILOVER or not live:
        return live[:1]
    point = _flow_hash(packet) % sum(group.buckets[index].weight for index in live)
    for index in live:
        point -= group.buckets[index].weight
        if point < 0:
            return [index]
    return []


def _flow_hash(packet: Packet) -> int:
    total = 0
    for name in (
        *("eth_src", "eth_dst", "eth_type", "ip_proto", "ipv4_src", "ipv4_dst", "ipv6_src", "ipv6_dst"),
        *("tcp_src", "tcp_dst", "udp_src", "udp_dst", "sctp_src", "sctp_dst"),
    ):
        total = (total * 0x01000193 ^ packet.fields.get(name, 0)) % 0xFFFFFFFFFFFFFFC5
    return total


def _is_live(turn: Turn, group: GroupEntry, bucket: Bucket, depth: int) -> bool:
    """Tell whether a bucket may be used: what it watches is alive."""
    if depth > DEEPEST or (group.type == GroupType.SELECT and bucket.weight == 0):
        return False
    if bucket.watch_port == PortNo.ANY and bucket.watch_group == ANY_GROUP:
        return True
    status = turn.state.ports.get(bucket.watch_port)
    if status is not None and status.usable:
        return True
    watched = turn.state.groups.get(bucket.watch_group)
    return watched is not None and any(_is_live(turn, watched, inner, depth + 1) for inner in watched.buckets)
