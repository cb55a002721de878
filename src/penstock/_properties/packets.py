"""Packets and flows, followed through a network by the records of its steps.

Which packet answers which: what lets a controller speak in place of a host.

A controller that is handed an ARP request, a ping or a datagram may answer it by itself (an ARP proxy, a
gateway, a name server).  Then the packet need not reach its host; what has to arrive is the answer.  Answers
are told by what pairs them with their question: the addresses, and a ping's numbers or the ports.

Following packets through a network by the records of its steps.

A packet is known by the name its sender gave it (`h1#1`, the frame's tag); its copies share it, and packets
without one (made by a controller, or sent by a host whose frames are not `named`) cannot be followed.

A *copy* is a place from which the packet may go on: a frame on a wire, a packet-in or packet-out
that carries its bytes, a switch's buffer.  A message that only names a buffer is none.  How many
copies there are follows from the network's state, so a property that counts them makes no state of
a search two.  A packet in a controller's memory is not counted: nobody can see it there.

When a wire is cut or unplugged, what is on it is lost without a record; properties that count
copies say what they make of that.

Flows: packets that a rule as fine as OpenFlow 1.0 can tell would treat alike.

Two packets belong to one flow if their addresses, VLAN, protocol, ports and ICMP type are the same;
what differs from packet to packet (TCP flags, sequence numbers, TTL, DSCP) does not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from functools import lru_cache
from typing import Final, NamedTuple

from penstock._world.channels import CHANNEL_FAULTS
from penstock._world.component import Event
from penstock._world.frame import Frame
from penstock._world.hosts import Host
from penstock._world.network import Network
from penstock._world.signals import FABRIC
from penstock._world.switch import drops
from penstock._world.switch.drops import Ended
from penstock._world.switch.headers import read
from penstock._world.transition import Record
from penstock.addresses import BROADCAST_MAC, is_multicast_mac
from penstock.errors import PenstockError
from penstock.openflow.fields import ETH_ARP, ETH_LLDP, IP_ICMP, IP_ICMPV6
from penstock.openflow.messages import NO_BUFFER, OpenFlowMessage, PacketIn, PacketOut
from penstock.packet import (
    ARP,
    ARP_REPLY,
    ARP_REQUEST,
    ECHO_REPLY,
    ECHO_REPLY_V6,
    ECHO_REQUEST,
    ECHO_REQUEST_V6,
    ICMP,
    TCP,
    UDP,
    Echo,
    Ethernet,
    ICMPv6,
    IPv4,
    IPv6,
    describe,
    parse,
)

Key = tuple[Hashable, ...]
"""What a question and its answer have in common; empty if a packet is neither."""


def question(data: bytes) -> Key:
    """Return what an answer to a packet has to be about."""
    match _payload(data):
        case ARP(op, _, asker, _, asked) if op == ARP_REQUEST:
            return ("arp", asker, asked)
        case IPv4(a, b, _, ICMP(kind, _, Echo(number, seq))) if kind == ECHO_REQUEST:
            return ("ping", a, b, number, seq)
        case IPv6(a, b, _, ICMPv6(kind, _, Echo(number, seq))) if kind == ECHO_REQUEST_V6:
            return ("ping", a, b, number, seq)
        case IPv4(a, b, protocol, UDP(c, d) | TCP(c, d)) | IPv6(a, b, protocol, UDP(c, d) | TCP(c, d)):
            return (protocol, a, b, c, d)
    return ()


def answer(data: bytes) -> Key:
    """Return what a packet is an answer to."""
    match _payload(data):
        case ARP(op, _, asked, _, asker) if op == ARP_REPLY:
            return ("arp", asker, asked)
        case IPv4(b, a, _, ICMP(kind, _, Echo(number, seq))) if kind == ECHO_REPLY:
            return ("ping", a, b, number, seq)
        case IPv6(b, a, _, ICMPv6(kind, _, Echo(number, seq))) if kind == ECHO_REPLY_V6:
            return ("ping", a, b, number, seq)
        case IPv4(b, a, protocol, UDP(d, c) | TCP(d, c)) | IPv6(b, a, protocol, UDP(d, c) | TCP(d, c)):
            return (protocol, a, b, c, d)
    return ()


def _payload(data: bytes) -> object:
    packet = read_packet(data)
    return None if packet is None else packet.payload


def read_packet(data: bytes) -> Ethernet | None:
    """Return a frame's layers, or None if it is none."""
    try:
        return parse(data)
    except PenstockError:
        return None


_BETWEEN_NEIGHBOURS: Final = (ETH_LLDP, 0x8809)


def packet_label(tag: str, data: bytes) -> str:
    """Return what a packet is called in a sentence: its tag and what it is."""
    return f"{tag} ({describe(data)})" if tag else describe(data)


class Packet(NamedTuple):
    """A packet between two hosts: its tag, what it is called, who sent it, and whom it is for.

    `asks` is what an answer to it is about; `ignorable` tells that its receiver would not take it in as it
    was sent (it has a VLAN tag, or another IP address), so that all the network can do is bring it there.
    """

    tag: str
    called: str
    sender: str
    receiver: str
    asks: Key = ()
    ignorable: bool = False

    def __str__(self) -> str:
        return self.called

    def concerns(self, host: str) -> bool:
        """Tell whether a host sent the packet or is to get it."""
        return host in (self.sender, self.receiver)


class Hosts:
    """The hosts of a network, by their addresses."""

    def __init__(self, network: Network) -> None:
        hosts = [component for component in network.components if isinstance(component, Host)]
        self._macs = {host.mac: host.name for host in hosts}
        self._ips = {host.ip: host.name for host in hosts if host.ip}
        self._by_name = {host.name: host for host in hosts}
        self.names = tuple(host.name for host in hosts)

    def receiver(self, data: bytes) -> str | None:
        """Return the host that a frame is for: by its MAC address, or the one an ARP question is about.

        LLDP and the slow protocols (LACP) are between neighbours on a link, and so for no host.
        """
        fields = read(data).fields
        if fields.get("eth_type") in _BETWEEN_NEIGHBOURS:
            return None
        if fields.get("eth_dst") != BROADCAST_MAC:
            return self._macs.get(fields.get("eth_dst", 0))
        if fields.get("arp_op") == ARP_REQUEST and fields.get("arp_spa") != fields.get("arp_tpa"):
            return self._ips.get(fields.get("arp_tpa", 0))
        return None

    def sent(self, record: Record) -> tuple[Packet, ...]:
        """Return the packets for existing hosts that a host sent in a step."""
        found = []
        for host, frame in frames_sent(record):
            receiver = self.receiver(frame.data)
            if receiver is not None and receiver != host:
                ignorable = not self._takes(receiver, frame.data)
                name, asks = packet_label(frame.tag, frame.data), question(frame.data)
                found.append(Packet(frame.tag, name, host, receiver, asks, ignorable))
        return tuple(found)

    def _takes(self, host: str, data: bytes) -> bool:
        """Tell whether a host takes in a frame as it is."""
        packet = read_packet(data)
        return packet is not None and self._by_name[host].accepts(packet)

    def concerned(self, data: bytes) -> tuple[str, ...]:
        """Return the hosts that a frame is for, by its MAC or its IP address."""
        fields = read(data).fields
        found = (self._macs.get(fields.get("eth_dst", 0)), self._ips.get(fields.get("ipv4_dst", 0)))
        return tuple(sorted({name for name in found if name}))

    def reached(self, record: Record) -> str:
        """Return the tag of the packet that got in a step to where it was sent, if one did.

        A packet that was rewritten on its way is where it should be if any host takes it.
        """
        for event in record.events:
            match event:
                case Event("received", (str(name), Frame(data, tag))):
                    if read(data).fields.get("eth_dst") != BROADCAST_MAC or self.receiver(data) == name:
                        return tag
        return ""

    def ignored(self, record: Record) -> str:
        """Return the tag of the packet that its receiver was handed in a step and did not take in, if so."""
        for event in record.events:
            match event:
                case Event("ignored", (str(name), Frame(data, tag))) if self.receiver(data) == name:
                    return tag
        return ""


def frames_sent(record: Record) -> list[tuple[str, Frame]]:
    """Return the tagged frames that a host sent in a step, each with the host."""
    found = []
    for event in record.events:
        match event:
            case Event("sent", (str(host), Frame(_, tag) as frame)) if tag:
                found.append((host, frame))
    return found


def accepting_host(record: Record) -> tuple[str, Frame] | None:
    """Return the host that took in a tagged frame in a step, and the frame."""
    for event in record.events:
        match event:
            case Event("received", (str(host), Frame(_, tag) as frame)) if tag:
                return host, frame
    return None


def handed_over(record: Record) -> tuple[tuple[str, str], ...]:
    """Return the tagged packets that a switch handed to controllers in a step, and what they are called."""
    found = {
        message.tag: packet_label(message.tag, message.data)
        for _, message in record.sends
        if isinstance(message, PacketIn) and message.tag
    }
    return tuple(found.items())


def handled_message(record: Record) -> tuple[str, OpenFlowMessage] | None:
    """Return what a controller took in in a step, after it was kept for a while or at once, and from whom."""
    for event in record.events:
        match event:
            case Event("heard", (_, str(switch), OpenFlowMessage() as message)):
                return switch, message
            case Event("kept"):
                return None
    if record.at is not None and isinstance(record.message, OpenFlowMessage):
        return str(record.at.port), record.message
    return None


def fabric_action(record: Record) -> str:
    """Return what the fabric did in a step (`move h2 to s2:3`, `fail s1-s2`), or nothing."""
    for event in record.events:
        match event:
            case Event("fabric", (str(action),)):
                return action
    return ""


def is_move(action: str) -> bool:
    """Tell whether the fabric moved a host."""
    return action.startswith("move ")


def affected_tag(record: Record, fault: str) -> str:
    """Return the tag of the frame that a channel lost or doubled in a step, if one did."""
    for event in record.events:
        match event:
            case Event(kind, (_, Frame(_, tag))) if kind == fault:
                return tag
    return ""


def unheard(record: Record) -> str:
    """Return the tag of the packet that came to a controller before its switch had joined, if one did."""
    for event in record.events:
        match event:
            case Event("unheard", (_, _, str(tag))):
                return tag
    return ""


def metered_out(record: Record) -> str:
    """Return the tag of the packet that a meter dropped in a step, if one did, as it is meant to."""
    for event in record.events:
        match event:
            case Event("metered", (str(tag), _, _, "drop")):
                return tag
    return ""


def changes(record: Record) -> dict[str, int]:
    """Return by how much a step changed the number of copies of each packet."""
    count: Counter[str] = Counter()
    if record.transition.verb in CHANNEL_FAULTS:
        count[affected_tag(record, "duplicate")] += 1
        count[affected_tag(record, "drop")] -= 1
    elif record.node != FABRIC:
        count[_consumed_tag(record)] -= 1
        buffers = set()
        for _, message in record.sends:
            match message:
                case Frame(_, tag):
                    count[tag] += 1
                case PacketIn(tag=tag, buffer_id=buffer) | PacketOut(tag=tag, buffer_id=buffer):
                    if buffer == NO_BUFFER:
                        count[tag] += 1
                    elif isinstance(message, PacketIn):
                        buffers.add(tag)
        count.update(buffers)
    return {tag: number for tag, number in count.items() if tag and number}


def _consumed_tag(record: Record) -> str:
    """Return the tag of the packet of which a step used up a copy, if it did."""
    match record.message:
        case Frame(_, tag):
            return tag
        case PacketIn(tag=tag, buffer_id=buffer):
            return tag if buffer == NO_BUFFER else ""
    # A switch may let go a packet from a buffer, or one that a controller gave it, at once or later.
    new = {frame.tag for _, frame in frames_sent(record)}
    for _, message in (*record.sends, *record.lost):
        if isinstance(message, Frame | PacketIn) and message.tag not in new:
            return message.tag
    return next((tag for tag, _, _ in _drops(record)), "")


def _drops(record: Record) -> list[tuple[str, int, str]]:
    found = []
    for event in record.events:
        match event:
            case Event("dropped", (str(tag), int(port), str(why))):
                found.append((tag, port, why))
    return found


class Fate(NamedTuple):
    """How a copy of a packet ended: in words, and what that says of the packet."""

    kind: Ended = Ended.KEPT
    why: str = ""


def fate(record: Record, tag: str) -> Fate:
    """Return how a copy of a packet ended in a step."""
    node = record.node
    if isinstance(record.message, PacketIn):
        return Fate()
    for channel, message in record.lost:
        if isinstance(message, Frame) and message.tag == tag:
            return Fate(Ended.ASTRAY, f"{node} sent it out of port {channel.port}, which leads nowhere")
    for dropped, port, why in _drops(record):
        if dropped == tag:
            told = f"{node} dropped it when it came in on port {port}, because {_reason(record, why)}"
            return Fate(drops.kind_of(why), told)
    for event in record.events:
        match event:
            case Event("ignored", (_, Frame(data))):
                return Fate(Ended.ASTRAY, f"it ended at {node}, which ignored {_ignored_text(data)}")
    return Fate(Ended.ASTRAY, f"it ended at {node}")


def _ignored_text(data: bytes) -> str:
    """Return what a host ignored, with its VLAN tags if that is why."""
    packet = read_packet(data)
    return "it" if packet is None or not packet.tags else f"it, as it came in VLAN {packet.tags[0].vid}"


def _reason(record: Record, why: str) -> str:
    """Return why a switch dropped a packet, with the rule that it met."""
    for event in record.events:
        match event:
            case Event("missed"):
                return why
            case Event("matched", (_, _, _, rule)):
                return f"{why} (it met the rule {rule})"
    return why


_ANSWERS: Final = {
    (IP_ICMP, ECHO_REQUEST): ECHO_REPLY,
    (IP_ICMP, ECHO_REPLY): ECHO_REQUEST,
    (IP_ICMPV6, ECHO_REQUEST_V6): ECHO_REPLY_V6,
    (IP_ICMPV6, ECHO_REPLY_V6): ECHO_REQUEST_V6,
}


class FlowEnd(NamedTuple):
    """One side of a flow; what a packet does not have is 0."""

    mac: int
    ip: int
    port: int


class Flow(NamedTuple):
    """What the packets of a flow have in common."""

    source: FlowEnd
    destination: FlowEnd
    ethertype: int
    vlan: int = 0
    protocol: int = 0
    icmp: tuple[int, int] = (0, 0)

    def reverse(self) -> Flow:
        """Return the flow of the answers: ends exchanged, and echo reply for echo request."""
        kind, code = self.icmp
        answer = _ANSWERS.get((self.protocol, kind), kind)
        return self._replace(source=self.destination, destination=self.source, icmp=(answer, code))


@lru_cache(maxsize=4096)
def flow_of(data: bytes) -> Flow | None:
    """Return the flow of a frame from one host to another; None for ARP, LLDP and what goes to many."""
    fields = read(data).fields
    ethertype = fields.get("eth_type", 0)
    if not fields or is_multicast_mac(fields.get("eth_dst", 0)) or ethertype in (ETH_ARP, ETH_LLDP):
        return None

    def either(*names: str) -> int:
        return next((fields[name] for name in names if name in fields), 0)

    def end(side: str) -> FlowEnd:
        return FlowEnd(
            either(f"eth_{side}"),
            either(f"ipv4_{side}", f"ipv6_{side}"),
            either(f"tcp_{side}", f"udp_{side}", f"sctp_{side}"),
        )

    return Flow(
        end("src"),
        end("dst"),
        ethertype,
        either("vlan_vid"),
        either("ip_proto"),
        (either("icmpv4_type", "icmpv6_type"), either("icmpv4_code", "icmpv6_code")),
    )
