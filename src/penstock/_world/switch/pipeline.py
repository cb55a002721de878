"""The forwarding pipeline: what a switch does with one packet (specification 1.3 §5).

Tables are looked up from table 0 on; apply-actions act at once, write-actions gather in the
action set, which acts at the end in the order the specification gives.

Where the specification is silent this follows Open vSwitch.  Counters add the size a packet had
when it came in, unless it had to be looked at afresh on the way (below a popped MPLS label, or to
be spread over a select group); meters measure the bytes as they were last written, for a wire, a
controller or a bucket.  What the action set sends is ascribed to the entry of table 0.  A
packet that would need more MPLS labels than a switch can see is not forwarded at all, nor is one
that is over a budget (`budgets`), which is looked at where a table or a group is entered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from penstock._world.frame import Frame
from penstock._world.switch import budgets, drops, mac_learning
from penstock._world.switch.flow_table import FlowEntry
from penstock._world.switch.groups import choose_buckets, spreads
from penstock._world.switch.headers import NOT_ETHERNET_II, TRANSPORT_PORTS
from penstock._world.switch.labels import MOST_LABELS
from penstock._world.switch.mac_learning import Addresses
from penstock._world.switch.meters import BandType, Exceeded, measure, remark
from penstock._world.switch.packet_ins import send_packet_in
from penstock._world.switch.rewriting import Packet
from penstock._world.switch.state import Buffered, PortStatus, TableUsage, Usage
from penstock._world.switch.turn import Turn
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
from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.fields import ETH_VLAN
from penstock.openflow.messages import (
    NO_MAX_LEN,
    V10,
    Bucket,
    GroupType,
    PacketInReason,
    PortConfig,
    PortNo,
)

DROP_FRAGMENTS: Final = 1
MATCH_FRAGMENTS: Final = 3
SHORTEST_FRAME: Final = 14
SPANNING_TREE: Final = 0x0180C2000000
"""Where bridges send what they tell each other."""

_METERED: Final = ("meter_usage", "band_usage", "bucket_levels", "overrun")
_COUNTERS: Final = ("rule_usage", "table_usage", "group_usage", "bucket_usage", *_METERED)

_SET_ORDER: Final = (PopVlan, PopMpls, PushMpls, PushVlan, DecNwTtl, DecMplsTtl)
"""The order in which an action set acts, before what sets fields; group or else output come last."""

_SETTERS: Final = (SetField, SetNwTtl, SetMplsTtl, SetQueue, SetVlanVid, SetVlanPcp)
SENDERS: Final = (Output, Enqueue, Group, SetQueue)
"""The actions that leave a packet as it is."""

_LINK_FIELDS: Final = frozenset({"eth_src", "eth_dst", "vlan_vid", "vlan_pcp", "metadata", "tunnel_id"})


# As plain numbers, because they are looked at for every packet.
_NO_RECV: Final = int(PortConfig.NO_RECV)
_NO_RECV_STP: Final = int(PortConfig.NO_RECV_STP)
_NO_FLOOD: Final = int(PortConfig.NO_FLOOD)
_NO_FWD: Final = int(PortConfig.NO_FWD)
_ALL: Final = int(PortNo.ALL)

CHOSEN: Final = "chosen"
"""The kind of the event that a packet met one of several entries, the switch's own choice."""

SPREAD: Final = "spread"
"""The kind of the event that a packet went to one of a group's buckets, the switch's own choice."""

SHORTEST: Final = 14
"""The length of an Ethernet header, below which nothing is a frame."""


class _NotForwarded(Exception):
    """The packet cannot be processed, for a reason; nothing at all is sent."""


class _TooManyLabels(_NotForwarded):
    """The packet would get more MPLS labels than a switch sees; a group's other buckets still act."""

    def __init__(self) -> None:
        super().__init__(drops.TOO_MANY_LABELS)


class _Ended(Exception):
    """Nothing more is done for the packet, or for a group's copy; what was sent is sent."""


class _Lost(Exception):
    """The packet, or a group's copy, was to be looked at afresh, but is dropped or came from no port."""


class _Cut(Exception):
    """The rest of this list of actions, and of its rule, is not carried out."""


class _Spent:
    """What was spent on a packet and its copies together, to be held against `budgets`."""

    __slots__ = ("addresses", "buckets", "resubmits", "sent_before")

    def __init__(self) -> None:
        self.buckets = self.resubmits = self.sent_before = 0
        self.addresses: Addresses | None = None
        """Of a packet-out, what is known once it is sent: Open vSwitch learns from one when it is through."""


@dataclass(slots=True)
class _Journey:
    """Where a packet stands in the pipeline; `size` is what counters add for it."""

    packet: Packet
    size: int
    entry: FlowEntry | None = None
    table: int = 0
    action_set: list[Action] = field(default_factory=list)
    by_rule: bool = True
    """Whether what is done now stands in the list of actions of a rule itself."""
    afresh: bool = False
    looks: int = 0
    spread: bool = False
    dropped: Exceeded | None = None
    """The band of a meter that dropped the packet; what follows counts it still, but sends nothing."""
    written: int = 0
    """The packet's size when its bytes were last written: what a meter measures."""
    depth: int = 0
    spent: _Spent = field(default_factory=_Spent)
    in_vain: list[str] = field(default_factory=list)
    """Why what was to send the packet on did not, for the packet and its copies together."""
    changed: bool = False
    """Whether an action of the last table's entry wrote to the packet."""

    def branch(self, packet: Packet) -> _Journey:
        """Return where a copy of the packet stands in a bucket; spelt out, since `replace` is slow."""
        return _Journey(
            packet,
            self.size,
            self.entry,
            self.table,
            self.action_set,
            by_rule=False,
            afresh=self.afresh,
            looks=self.looks,
            spread=self.spread,
            dropped=self.dropped,
            written=self.written,
            depth=self.depth + 1,
            spent=self.spent,
            in_vain=self.in_vain,
            changed=self.changed,
        )


def _look_afresh(turn: Turn, journey: _Journey) -> None:
    """Go on with the packet as it is now, as if it had just come in this way."""
    packet = journey.packet
    if journey.dropped is not None:
        raise _Lost
    if packet.in_port not in turn.state.ports and packet.in_port not in (PortNo.ANY, PortNo.CONTROLLER):
        raise _Lost
    packet.look_afresh()
    journey.size = journey.written = len(packet.data)
    journey.by_rule = journey.afresh = True
    journey.looks += 1


def receive(turn: Turn, in_port: int, frame: Frame) -> None:
    """Handle a frame that arrived on a port."""
    status = turn.port_status(in_port)
    if not status.usable:
        turn.note("dropped", frame.tag, in_port, "the port is down")
        return
    turn.count_received(in_port, len(frame.data))
    journey = _Journey(Packet.of(frame, in_port), len(frame.data), written=len(frame.data))
    if _does_not_receive(status, journey.packet):
        if _is_dropped_fragment(turn, journey.packet):
            _count_table(turn, 0, matched=True)
        else:
            _count_lookup(turn, journey, 0)
        turn.note("dropped", frame.tag, in_port, "the port does not receive")
        return
    try:
        _finish(turn, journey, lambda: _enter_tables(turn, journey))
    except _NotForwarded as reason:
        turn.note("dropped", frame.tag, in_port, str(reason))


def send_out(turn: Turn, frame: Frame, in_port: int, actions: tuple[Action, ...]) -> None:
    """Handle a packet that a controller has the switch send, or refuse to."""
    if len(frame.data) < SHORTEST and not actions:
        turn.note("dropped", frame.tag, in_port, drops.NO_OUTPUT)
        return
    if len(frame.data) < SHORTEST:
        empty = "the packet-out has neither data nor a buffer"
        turn.note("dropped", frame.tag, in_port, "it is too short for a frame" if frame.data else empty)
        return
    status = turn.state.ports.get(in_port)
    journey = _Journey(Packet.of(frame, in_port), len(frame.data), by_rule=False, written=len(frame.data))
    if status is not None and _does_not_receive(status, journey.packet):
        turn.note("dropped", frame.tag, in_port, "the port does not receive")
        return
    counted = {name: getattr(turn.state, name) for name in _COUNTERS}
    journey.spent.addresses = turn.state.addresses
    try:
        _finish(turn, journey, lambda: _perform(turn, journey, actions))
        if journey.spent.addresses is not turn.state.addresses:
            turn.change(addresses=journey.spent.addresses)
    except _NotForwarded as reason:
        turn.change(**counted)
        turn.note("dropped", frame.tag, in_port, str(reason))
        raise OpenFlowError(ErrorCode.FLOW_UNKNOWN, str(reason)) from None


def resend(turn: Turn, kept: Buffered) -> None:
    """Send a buffered packet through the tables again, as after a flow-mod that names it."""
    journey = _Journey(
        Packet.of(kept.frame, kept.in_port), len(kept.frame.data), written=len(kept.frame.data)
    )
    try:
        _finish(turn, journey, lambda: _enter_tables(turn, journey))
    except _NotForwarded as reason:
        turn.note("dropped", kept.frame.tag, kept.in_port, str(reason))


def _does_not_receive(status: PortStatus, packet: Packet) -> bool:
    """Tell whether a port is configured not to take a packet; the spanning tree's have their own bit."""
    if not status.config:
        return False
    to_bridges = packet.fields.get("eth_dst", 0) == SPANNING_TREE
    spanning_tree = to_bridges and packet.ethertype == NOT_ETHERNET_II
    return bool(status.config & (_NO_RECV_STP if spanning_tree else _NO_RECV))


def _finish(turn: Turn, journey: _Journey, work: Callable[[], None]) -> None:
    """Do a packet's work, then its action set; what fails half-way sends nothing."""
    before = journey.spent.sent_before = len(turn.sends)
    untouched = {name: getattr(turn.state, name) for name in ("port_usage", *_METERED)}
    try:
        work()
        _run_action_set(turn, journey)
    except _NotForwarded:
        del turn.sends[before:]
        turn.change(**untouched)
        raise
    except (_Lost, _Ended):
        pass
    why = drops.together(journey.in_vain) if journey.dropped is None else str(journey.dropped)
    if len(turn.sends) == before:
        why = why or (drops.ONLY_CHANGED if journey.changed else drops.NO_OUTPUT)
        turn.note("dropped", journey.packet.tag, journey.packet.in_port, why)
    elif why:
        turn.note("not-output", journey.packet.tag, journey.packet.in_port, why)


def _enter_tables(turn: Turn, journey: _Journey) -> None:
    """Follow a packet through the tables; afterwards it stands at table 0's entry again."""
    table = _look_up(turn, journey, 0)
    first = journey.entry
    while table >= 0:
        _spend_resubmit(turn, journey)
        table = _look_up(turn, journey, table)
    journey.table, journey.entry = 0, first


def _keep_to_budgets(turn: Turn, journey: _Journey) -> None:
    """Give a packet up that is over a budget, at the door of a table or group as Open vSwitch does."""
    if journey.depth >= budgets.DEPTH.most:
        raise _NotForwarded(budgets.DEPTH)
    if journey.spent.resubmits >= budgets.RESUBMITS.most:
        raise _NotForwarded(budgets.RESUBMITS)
    if len(turn.sends) - journey.spent.sent_before >= budgets.COPIES.most:
        journey.in_vain.append(str(budgets.COPIES))
        raise _Ended


def _spend_resubmit(turn: Turn, journey: _Journey) -> None:
    """Pay for one more look-up."""
    _keep_to_budgets(turn, journey)
    journey.spent.resubmits += 1


def _is_dropped_fragment(turn: Turn, packet: Packet) -> bool:
    return bool(packet.fragment) and turn.state.fragments == DROP_FRAGMENTS


def _look_up(turn: Turn, journey: _Journey, table: int) -> int:
    """Look a packet up in one table and follow its entry; return the next table, or -1."""
    packet = journey.packet
    if packet.label_popped:
        _look_afresh(turn, journey)
    journey.table, journey.entry, journey.afresh, journey.changed = table, None, False, False
    if _is_dropped_fragment(turn, packet):
        _count_table(turn, table, matched=True)
        return -1
    entry = _count_lookup(turn, journey, table)
    if entry is None:
        if journey.dropped is None:
            turn.note("missed", packet.tag, packet.in_port, table)
        if turn.version == V10:
            _hand_over(turn, journey, PacketInReason.NO_MATCH, None)
        else:
            journey.in_vain.append(drops.no_rule(table))
        return -1
    if journey.dropped is None:
        turn.note("matched", packet.tag, packet.in_port, table, entry)
    journey.entry = entry
    try:
        return _follow(turn, journey, entry.instructions)
    except _Cut:
        return -1


def _count_lookup(turn: Turn, journey: _Journey, table: int) -> FlowEntry | None:
    """Return the entry a packet meets in a table, both having counted it."""
    fields = journey.packet.fields
    if journey.packet.fragment and turn.state.fragments != MATCH_FRAGMENTS:
        fields = {name: value for name, value in fields.items() if name not in TRANSPORT_PORTS}
    entry = turn.table(table).lookup(fields)
    _count_table(turn, table, matched=entry is not None)
    if entry is not None:
        turn.count_rule(table, entry, journey.size)
        rival = turn.table(table).rival(fields, entry) if not turn.options.overlaps else None
        if rival is not None:
            turn.note(CHOSEN, journey.packet.tag, journey.packet.in_port, table, entry, rival)
    return entry


def _count_table(turn: Turn, table: int, *, matched: bool) -> None:
    if turn.options.counters:
        before = turn.state.table_usage.get(table) or TableUsage()
        after = TableUsage(before.lookups + 1, before.matches + matched)
        turn.change(table_usage=turn.state.table_usage.set(table, after))


def _follow(turn: Turn, journey: _Journey, instructions: tuple[Instruction, ...]) -> int:
    """Carry out an entry's instructions, which are in order; return the next table, or -1."""
    for instruction in instructions:
        match instruction:
            case UseMeter(meter):
                _meter(turn, journey, meter)
            case ApplyActions(actions):
                _apply(turn, journey, actions)
            case ClearActions():
                journey.action_set = []
            case WriteActions(actions):
                journey.action_set = [*journey.action_set, *actions]
            case WriteMetadata(value, mask):
                old = journey.packet.fields.get("metadata", 0)
                journey.packet.fields["metadata"] = old & ~mask | value & mask
            case GotoTable(table):
                return table
            case _:
                pass
    return -1


def _meter(turn: Turn, journey: _Journey, meter: int) -> None:
    """Have a packet that is still there go through a meter."""
    if journey.dropped is not None:
        return
    exceeded = measure(turn, meter, journey.packet, journey.written)
    if exceeded is None:
        return
    kind = BandType(exceeded.band.type)
    turn.note("metered", journey.packet.tag, journey.packet.in_port, exceeded.meter, kind.name.lower())
    if kind == BandType.DROP:
        journey.dropped = exceeded
    else:
        remark(journey.packet, exceeded.band)


def in_order(action_set: list[Action]) -> list[Action]:
    """Return an action set as the list it acts as; without an output or group it does nothing."""
    if len(action_set) == 1:
        return action_set if isinstance(action_set[0], Group | Output) else []
    groups = [action for action in action_set if isinstance(action, Group)]
    outputs = [action for action in action_set if isinstance(action, Output)]
    if not groups and not outputs:
        return []
    last_of = {type(action): action for action in action_set}
    once = [last_of[kind] for kind in _SET_ORDER if kind in last_of]
    setters = [action for action in action_set if isinstance(action, _SETTERS)]
    return [*once, *setters, (groups or outputs)[-1]]


def _run_action_set(turn: Turn, journey: _Journey) -> None:
    actions = tuple(in_order(journey.action_set)) if journey.action_set else ()
    journey.action_set, journey.by_rule = [], False
    _perform(turn, journey, actions)


def _perform(turn: Turn, journey: _Journey, actions: tuple[Action, ...]) -> None:
    """Carry out a list of actions that nothing follows."""
    try:
        _apply(turn, journey, actions)
    except _Cut:
        return


def _apply(turn: Turn, journey: _Journey, actions: tuple[Action, ...]) -> None:
    for action in actions:
        if journey.packet.label_popped and _reads_below_label(action):
            _look_afresh(turn, journey)
        _act(turn, journey, action)


def _reads_below_label(action: Action) -> bool:
    """Tell whether an action makes the switch look at what a popped label had hidden."""
    match action:
        case Output(port, _):
            return port == PortNo.TABLE
        case SetField(name, _):
            return name not in _LINK_FIELDS
        case SetQueue() | Group():
            return False
        case _:
            return True


def _act(turn: Turn, journey: _Journey, action: Action) -> None:
    packet = journey.packet
    journey.changed = journey.changed or not isinstance(action, SENDERS)
    match action:
        case Output(port, max_len):
            _output(turn, journey, port, max_len)
        case Enqueue(port, _):
            _output(turn, journey, port, NO_MAX_LEN)
        case Group(group_id):
            _group(turn, journey, group_id)
        case SetField(name, value):
            packet.set(name, value)
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
            packet.set_transport("src", port)
        case SetTransportDst(port):
            packet.set_transport("dst", port)
        case SetNwTtl(ttl):
            if packet.is_ip:
                packet.set("nw_ttl", ttl)
        case DecNwTtl():
            if packet.is_ip:
                _count_down(turn, journey, "nw_ttl")
        case SetMplsTtl(ttl):
            packet.set("mpls_ttl", ttl)
        case DecMplsTtl():
            if not packet.is_mpls:
                raise _Cut
            _count_down(turn, journey, "mpls_ttl")
        case PushMpls(ethertype):
            if packet.labels >= MOST_LABELS:
                raise _TooManyLabels
            journey.spread = journey.spread and packet.labels > 0
            packet.push_mpls(ethertype)
        case PopMpls(ethertype):
            if not packet.pop_mpls(ethertype):
                raise _TooManyLabels
        case _:
            return


def _ensure_tag(packet: Packet) -> None:
    if not packet.is_tagged:
        packet.push_vlan(ETH_VLAN)


def _count_down(turn: Turn, journey: _Journey, field: str) -> None:
    ttl = journey.packet.fields.get(field, 0)
    if ttl > 1:
        journey.packet.set(field, ttl - 1)
        return
    _hand_over(turn, journey, PacketInReason.INVALID_TTL, NO_MAX_LEN)
    raise _Cut


def _output(turn: Turn, journey: _Journey, port: int, max_len: int) -> None:
    packet = journey.packet
    match port:
        case PortNo.CONTROLLER:
            _hand_over(turn, journey, _reason_to_send(turn, journey), max_len)
        case PortNo.IN_PORT:
            _emit_by_action(turn, journey, packet.in_port)
        case PortNo.FLOOD | PortNo.ALL:
            _flood(turn, journey, every=port == _ALL)
        case PortNo.TABLE:
            _start_over(turn, journey)
        case PortNo.NORMAL:
            _forward_normally(turn, journey)
        case _ if port == packet.in_port:
            journey.in_vain.append(drops.ingress_port(port))
        case _:
            _emit_by_action(turn, journey, port)


def _flood(turn: Turn, journey: _Journey, *, every: bool) -> None:
    """Put a packet on the wires of all ports but its own, or of those that take part in flooding."""
    before = len(turn.sends)
    for number in turn.state.ports:
        flooded = every or not turn.port_status(number).config & _NO_FLOOD
        if number != journey.packet.in_port and flooded:
            _emit(turn, journey, number)
    if len(turn.sends) == before:
        journey.in_vain.append(drops.NO_OTHER_PORT)


def _forward_normally(turn: Turn, journey: _Journey) -> None:
    """Learn where a packet's sender is, and send it to where its receiver was learned to be, or flood it."""
    packet, now = journey.packet, turn.state.now
    fields, in_port = packet.fields, packet.in_port
    if in_port not in turn.state.ports and in_port not in (PortNo.ANY, PortNo.CONTROLLER):
        journey.in_vain.append(drops.FROM_NOWHERE)
        return
    sender, receiver = fields.get("eth_src", 0), fields.get("eth_dst", 0)
    if in_port in turn.state.ports and mac_learning.is_reserved(receiver):
        journey.in_vain.append(drops.BETWEEN_BRIDGES)
        return
    vlan = mac_learning.vlan_of(fields.get("vlan_vid", 0))
    if journey.spent.addresses is not None:
        later = journey.spent.addresses
        journey.spent.addresses = mac_learning.with_sender(later, vlan, sender, in_port, now)
    else:
        known = mac_learning.with_sender(turn.state.addresses, vlan, sender, in_port, now)
        if known is not turn.state.addresses:
            turn.change(addresses=known)
    if packet.is_tagged and not vlan and not fields.get("vlan_pcp", 0):
        # A tag that says nothing is not sent on.
        journey.packet = packet.copy()
        journey.packet.pop_vlan()
    port = mac_learning.port_of(turn.state.addresses, vlan, receiver, now)
    if port is None:
        _flood(turn, journey, every=False)
    elif port == in_port:
        journey.in_vain.append(drops.learned_there(port))
    else:
        _emit_by_action(turn, journey, port)
    journey.packet = packet


def _emit_by_action(turn: Turn, journey: _Journey, port: int) -> None:
    """Put a packet on the wire that an action names, or note why that is in vain."""
    if why := _emit(turn, journey, port):
        journey.in_vain.append(why)


def _start_over(turn: Turn, journey: _Journey) -> None:
    """Send a packet through the tables from the first, and go on where it was."""
    _spend_resubmit(turn, journey)
    here = journey.table, journey.entry, journey.afresh
    journey.depth += 1
    _enter_tables(turn, journey)
    journey.depth -= 1
    journey.table, journey.entry, journey.afresh = here


def _hand_over(turn: Turn, journey: _Journey, reason: PacketInReason, max_len: int | None) -> None:
    if journey.dropped is not None:
        return
    before = len(turn.sends)
    send_packet_in(turn, journey.packet, journey.table, journey.entry, reason, max_len)
    if len(turn.sends) == before:
        journey.in_vain.append(_untaken(journey, reason))
    journey.written = len(journey.packet.data)


def _untaken(journey: _Journey, reason: PacketInReason) -> str:
    """Return why a packet ends that was to be handed over, and no controller takes it."""
    if reason == PacketInReason.INVALID_TTL:
        return drops.NO_TIME_TO_LIVE
    return drops.NO_CONTROLLER if journey.entry else drops.no_rule(journey.table, handed_over=True)


def _reason_to_send(turn: Turn, journey: _Journey) -> PacketInReason:
    """Return why an action sends a packet to the controller: a table-miss entry's is no match."""
    entry = journey.entry
    missed = entry is not None and entry.is_table_miss and journey.by_rule and not journey.afresh
    return PacketInReason.NO_MATCH if missed and turn.version != V10 else PacketInReason.ACTION


def _emit(turn: Turn, journey: _Journey, port: int) -> str:
    """Put a packet on a wire, if the port is there and forwards; return why it did not, if so."""
    packet, status = journey.packet, turn.state.ports.get(port)
    if journey.dropped is not None:
        return str(journey.dropped)
    if status is None:
        return drops.no_port(port)
    if status.config & _NO_FWD:
        return drops.not_forwarding(port)
    packet.settle()
    journey.written = len(packet.data)
    if not status.usable:
        return drops.port_down(port)
    if len(packet.data) < SHORTEST_FRAME:
        return "it is too short for a frame"
    turn.count_sent(port, len(packet.data))
    turn.send_frame(port, packet.frame())
    return ""


def _group(turn: Turn, journey: _Journey, group_id: int) -> None:
    _keep_to_budgets(turn, journey)
    group = turn.state.groups.get(group_id)
    if group is None:
        journey.in_vain.append(drops.no_group(group_id))
        raise _Cut
    if group.type == GroupType.SELECT and group.buckets and not journey.spread:
        _look_afresh(turn, journey)
        journey.spread = True
    chosen = choose_buckets(turn, journey.packet, group)
    if spreads(turn, group):
        turn.note(SPREAD, journey.packet.tag, group_id)
    if not chosen:
        journey.in_vain.append(drops.no_bucket(group_id, live=bool(group.buckets)))
    for index in chosen:
        _run_bucket(turn, journey, group.buckets[index])
    if (chosen or group.type in (GroupType.ALL, GroupType.INDIRECT)) and turn.options.counters:
        _count_group(turn, group_id, chosen, journey.size)


def _run_bucket(turn: Turn, journey: _Journey, bucket: Bucket) -> None:
    """Run a bucket's actions, an action set, on a copy of the packet.

    A copy that is looked at afresh takes the packet's own action set along.
    """
    journey.spent.buckets += 1
    if journey.spent.buckets > budgets.BUCKETS.most:
        raise _NotForwarded(budgets.BUCKETS)
    packet = journey.packet.copy()
    branch = journey.branch(packet)
    before, ports = len(turn.sends), turn.state.port_usage
    try:
        _perform(turn, branch, tuple(in_order(list(bucket.actions))))
        if branch.looks > journey.looks:
            _run_action_set(turn, branch)
    except _TooManyLabels:
        del turn.sends[before:]
        turn.change(port_usage=ports)
    except (_Lost, _Ended):
        pass
    if branch.looks == journey.looks:
        journey.packet.resume_after(packet)
        journey.written = branch.written


def _count_group(turn: Turn, group_id: int, chosen: list[int], size: int) -> None:
    now = turn.state.now
    groups, buckets = turn.state.group_usage, turn.state.bucket_usage
    groups = groups.set(group_id, (groups.get(group_id) or Usage()).plus(size, now))
    for index in chosen:
        key = (group_id, index)
        buckets = buckets.set(key, (buckets.get(key) or Usage()).plus(size, now))
    turn.change(group_usage=groups, bucket_usage=buckets)
