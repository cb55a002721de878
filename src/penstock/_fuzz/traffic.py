"""Traffic of fuzzing runs: hosts that send what they are told to, and frames that nobody expects.

Remembering what components did: the same state and message always give the same step.

Searches remember every step (see `explore`).  In a run only those of hosts and native controllers are
worth it: their states know no clock, so they come back.  A switch's hardly ever does, even without its
clock: of 3,100 frames that switches took in a run of 5,000 inputs, 250 met a state they had met before.
What is remembered is dropped when it becomes too much, and computed again.

Traffic: hosts that say what they are told to, what they are told, and frames that nobody expects.

A `FuzzHost` takes orders from the fuzzer over its port to the fabric, as a user at its keyboard would
give them.  It sends the packet as any host does: it asks for the receiver's address first, gives the
frame a name, emits `sent`.  Who gets it answers: pings and ARP like every host, UDP's echo service, the
segments of a TCP connection.  A talker keeps nothing of what it said, so it can go on for ever.

Odd frames are injected behind a host's back, because no host would send them.  All have an Ethernet
header, since no network card lets less through.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final, NamedTuple

from penstock._base.text import hint
from penstock._controllers.native import NativeController
from penstock._fuzz.inputs import EVERYBODY, SendPacket
from penstock._world.component import Port, Step
from penstock._world.hosts.host import ASK, Host, HostState, Turn, next_hop
from penstock._world.hosts.traffic import ECHO_PORT
from penstock.addresses import BROADCAST_MAC, ipv4, is_ipv4
from penstock.errors import PenstockError
from penstock.openflow.fields import ETH_ARP, ETH_IPV4, IP_ICMP, IP_TCP, IP_UDP
from penstock.packet import (
    ARP,
    ARP_REPLY,
    ECHO_REQUEST,
    ICMP,
    LLDP,
    MORE_FRAGMENTS,
    NEAREST_BRIDGE,
    TCP,
    UDP,
    Echo,
    Ethernet,
    IPv4,
    LldpId,
    TcpFlags,
    VlanTag,
    arp_request,
    describe,
    ethernet,
    ping_request,
    tcp_segment,
    udp_datagram,
)

MOST_STEPS_KEPT: Final = 20_000


class Steps:
    """Steps that a component took, by the identity of the state before and by what it was sent."""

    def __init__(self) -> None:
        self._steps: dict[tuple[int, Port, Hashable], tuple[object, Step]] = {}
        self._states: dict[Hashable, Hashable] = {}
        """The states by their value, so that equal ones are the same."""

    def take(self, state: Any, port: Port, message: Any, compute: Callable[[], Step]) -> Step:
        """Return what a component does with a message in a state, remembered or computed."""
        key = (id(state), port, message)
        kept = self._steps.get(key)
        if kept is not None and kept[0] is state:
            return kept[1]
        if len(self._steps) >= MOST_STEPS_KEPT:
            self._steps.clear()
            self._states.clear()
        step = compute()
        known = self._states.setdefault(step.state, step.state)
        if known is not step.state:
            step = step._replace(state=known)
        self._steps[key] = (state, step)
        return step


class RememberingController:
    """A native controller whose program runs only on a message that it has not yet met in the same state."""

    def __init__(self, controller: NativeController) -> None:
        self.name = controller.name
        self.controller = controller
        self._steps = Steps()

    def initial(self) -> Hashable:
        """Return the program as it was made."""
        return self.controller.initial()

    def actions(self, state: Any) -> tuple[str, ...]:
        """Return which switches may join now."""
        return self.controller.actions(state)

    def act(self, state: Any, action: str) -> Step:
        """Let a switch join."""
        return self.controller.act(state, action)

    def receive(self, state: Any, port: Port, message: Any) -> Step:
        """Have the program handle a message, or remember what it did."""
        return self._steps.take(state, port, message, lambda: self.controller.receive(state, port, message))


WEB_PORT: Final = 80
FIRST_CLIENT_PORT: Final = 1024
_PORTS: Final = 0xFFFF - FIRST_CLIENT_PORT
_SERVER_SEQ: Final = 5000
_ALL_HOSTS: Final = 0xFFFFFFFF
_ALL_ROUTERS_MAC: Final = 0x01005E000002
_GREETING: Final = TcpFlags.SYN | TcpFlags.ACK
_GREETINGS: Final = {TcpFlags.SYN: _GREETING, _GREETING: TcpFlags.ACK}
"""The answers that open a connection."""


class Station(NamedTuple):
    """A host as the fuzzer knows it."""

    name: str
    mac: int
    ip: int
    port: int


@dataclass(frozen=True, slots=True)
class Order:
    """Send this packet; a destination of `ASK` is to be asked for."""

    packet: Ethernet

    def __str__(self) -> str:
        return f"Order({describe(self.packet.to_bytes())})"


@dataclass(eq=False, kw_only=True)
class FuzzHost(Host):
    """A host that sends what it is ordered to, and answers pings, echo datagrams and TCP segments."""

    _steps: Steps = field(default_factory=Steps, init=False, repr=False)

    def receive(self, state: HostState, port: Port, message: Any) -> Step:
        """Take an order, a frame or a signal."""
        return self._steps.take(state, port, message, lambda: self._receive(state, port, message))

    def _receive(self, state: HostState, port: Port, message: Any) -> Step:
        if not isinstance(message, Order):
            return super().receive(state, port, message)
        packet = message.packet
        neighbours = state.neighbours
        if neighbours.waiting and packet.dst == ASK:
            # What waited in vain for the same address is given up, so that it is asked for again.
            kept = tuple(other for other in neighbours.waiting if next_hop(other) != next_hop(packet))
            state = replace(state, neighbours=replace(neighbours, waiting=kept))
        return self._finish(state, Turn(state.memory, (packet,)))

    def hear(self, memory: Any, packet: Ethernet, /) -> Turn:
        """Answer a datagram to the echo service, and the opening and closing of connections."""
        ip = packet.payload
        if not isinstance(ip, IPv4):
            return Turn(memory)
        if isinstance(ip.payload, UDP) and ip.payload.dst == ECHO_PORT != ip.payload.src:
            udp = ip.payload
            return Turn(memory, (self._answer(packet, ip, UDP(udp.dst, udp.src, udp.payload)),))
        if isinstance(ip.payload, TCP):
            answer = _segment_after(ip.payload)
            return Turn(memory, () if answer is None else (self._answer(packet, ip, answer),))
        return Turn(memory)

    def _answer(self, packet: Ethernet, ip: IPv4, payload: UDP | TCP) -> Ethernet:
        return ethernet(packet.src, self.mac, ETH_IPV4, IPv4(self.ip, ip.src, ip.protocol, payload))


def _segment_after(tcp: TCP) -> TCP | None:
    """Return the answer to a segment that can be given without a memory, if one is due."""
    flags = TcpFlags(tcp.flags)
    if flags & TcpFlags.RST:
        return None
    answer = _GREETINGS.get(flags & _GREETING)
    if answer is not None:
        return _segment(tcp, answer, 1, seq=_SERVER_SEQ if answer & TcpFlags.SYN else tcp.ack)
    if tcp.dst != WEB_PORT:
        return None
    if flags & TcpFlags.FIN:
        return _segment(tcp, TcpFlags.FIN | TcpFlags.ACK, 1, seq=tcp.ack)
    return _segment(tcp, TcpFlags.ACK, len(tcp.payload), seq=tcp.ack) if tcp.payload else None


def _segment(tcp: TCP, flags: TcpFlags, taken: int, *, seq: int) -> TCP:
    return TCP(tcp.dst, tcp.src, seq, tcp.seq + taken & 0xFFFFFFFF, flags)


def order_of(what: SendPacket, stations: Mapping[str, Station]) -> Order:
    """Return what a host is told to send."""
    known = list(stations)[:8]
    otherwise = f"choose {', '.join(known)}."
    if what.host not in stations:
        raise PenstockError(f"unknown host {what.host!r}: {hint(what.host, known, otherwise)}")
    sender = stations[what.host]
    if what.to == EVERYBODY:
        to_mac, to_ip = BROADCAST_MAC, _ALL_HOSTS
    elif what.to in stations:
        to_mac, to_ip = ASK, stations[what.to].ip
    elif is_ipv4(what.to):
        to_mac, to_ip = ASK, ipv4(what.to)
    else:
        raise PenstockError(f"unknown host {what.to!r}: {hint(what.to, known, otherwise)}")
    return Order(_PACKETS[what.protocol](sender, to_mac, to_ip, what.number))


def _arp(sender: Station, _mac: int, ip: int, _number: int) -> Ethernet:
    """Ask for an address; to everybody, announce one's own."""
    return arp_request(eth_src=sender.mac, ip_src=sender.ip, ip_dst=sender.ip if ip == _ALL_HOSTS else ip)


def _ping(sender: Station, mac: int, ip: int, number: int) -> Ethernet:
    return ping_request(
        eth_src=sender.mac, eth_dst=mac, ip_src=sender.ip, ip_dst=ip, id=1, seq=number & 0xFFFF
    )


def _tcp(sender: Station, mac: int, ip: int, number: int) -> Ethernet:
    return tcp_segment(
        eth_src=sender.mac,
        eth_dst=mac,
        ip_src=sender.ip,
        ip_dst=ip,
        tcp_src=FIRST_CLIENT_PORT + number % _PORTS,
        tcp_dst=WEB_PORT,
        flags=TcpFlags.SYN,
        seq=1000,
    )


def _udp(sender: Station, mac: int, ip: int, number: int) -> Ethernet:
    return udp_datagram(
        eth_src=sender.mac,
        eth_dst=mac,
        ip_src=sender.ip,
        ip_dst=ip,
        udp_src=FIRST_CLIENT_PORT + number % _PORTS,
        udp_dst=ECHO_PORT,
        payload=b"%d" % number,
    )


_PACKETS: Final[dict[str, Callable[[Station, int, int, int], Ethernet]]] = {
    "ping": _ping,
    "arp": _arp,
    "tcp": _tcp,
    "udp": _udp,
}


# Frames that nobody expects.


def _plain(sender: Station, to: Station) -> Ethernet:
    return ping_request(eth_src=sender.mac, eth_dst=to.mac, ip_src=sender.ip, ip_dst=to.ip)


def _stranger(random: Random) -> int:
    """Return a MAC address that nobody here has."""
    return 0x0A0000000000 | random.getrandbits(24)


def _with_ip(sender: Station, to: Station, **changes: Any) -> Ethernet:
    """Return a ping with something else in its IP header."""
    echo = ICMP(ECHO_REQUEST, 0, Echo(1, 1, b""))
    return ethernet(to.mac, sender.mac, ETH_IPV4, replace(IPv4(sender.ip, to.ip, IP_ICMP, echo), **changes))


def _discovery(sender: Station, to: Station) -> Ethernet:
    """Return an LLDP frame that claims to come from a switch."""
    named = f"dpid:{to.mac & 0xFFFF:016x}".encode()
    lldp = LLDP(LldpId(7, named), LldpId(2, (1).to_bytes(4)), 120)
    return ethernet(NEAREST_BRIDGE, sender.mac, 0x88CC, lldp)


_ODD: Final[dict[str, Callable[[Random, Station, Station], bytes]]] = {
    "from everybody": lambda _, a, b: replace(_plain(a, b), src=BROADCAST_MAC).to_bytes(),
    "from a group": lambda _, a, b: replace(_plain(a, b), src=_ALL_ROUTERS_MAC).to_bytes(),
    "from nobody": lambda _, a, b: replace(_plain(a, b), src=0).to_bytes(),
    "from the receiver": lambda _, a, b: replace(_plain(a, b), src=b.mac).to_bytes(),
    "from a stranger": lambda r, a, b: replace(_plain(a, b), src=_stranger(r)).to_bytes(),
    "to itself": lambda _, a, __: _plain(a, a).to_bytes(),
    "to a stranger": lambda r, a, b: replace(_plain(a, b), dst=_stranger(r)).to_bytes(),
    "to nobody": lambda _, a, b: replace(_plain(a, b), dst=0).to_bytes(),
    "to a group": lambda _, a, b: replace(_plain(a, b), dst=_ALL_ROUTERS_MAC).to_bytes(),
    "with a VLAN tag": lambda r, a, b: replace(_plain(a, b), tags=(VlanTag(r.randrange(4096)),)).to_bytes(),
    "with two VLAN tags": lambda _, a, b: replace(_plain(a, b), tags=(VlanTag(1), VlanTag(2))).to_bytes(),
    "of an unknown type": lambda r, a, b: ethernet(
        b.mac, a.mac, 0x9000 + r.randrange(256), r.randbytes(8)
    ).to_bytes(),
    "of IEEE 802.3": lambda _, a, b: ethernet(b.mac, a.mac, 8, b"\xaa\xaa\3\0\0\0\0\0").to_bytes(),
    "link discovery": lambda _, a, b: _discovery(a, b).to_bytes(),
    "an unwanted ARP reply": lambda _, a, b: ethernet(
        b.mac, a.mac, ETH_ARP, ARP(ARP_REPLY, a.mac, b.ip, b.mac, b.ip)
    ).to_bytes(),
    "at the end of its life": lambda _, a, b: _with_ip(a, b, ttl=0).to_bytes(),
    "a fragment": lambda _, a, b: _with_ip(a, b, flags=MORE_FRAGMENTS, offset=3).to_bytes(),
    "a wrong checksum": lambda _, a, b: _with_ip(a, b, checksum=0xDEAD).to_bytes(),
    "an unknown protocol": lambda r, a, b: _with_ip(
        a, b, protocol=200 + r.randrange(50), payload=b"?"
    ).to_bytes(),
    "an unusual TCP segment": lambda r, a, b: _with_ip(
        a, b, protocol=IP_TCP, payload=TCP(0, 0, 0, 0, TcpFlags(r.randrange(64)))
    ).to_bytes(),
    "port 0": lambda _, a, b: _with_ip(a, b, protocol=IP_UDP, payload=UDP(0, 0, b"")).to_bytes(),
    "cut short": lambda r, a, b: _plain(a, b).to_bytes()[: r.randrange(14, 40)],
    "noise": lambda r, _, __: r.randbytes(r.randrange(14, 80)),
}

ODD_FRAMES: Final = tuple(_ODD)
"""What is odd about the frames that are injected."""


def odd_frame(random: Random, stations: Sequence[Station]) -> tuple[Station, bytes]:
    """Return a frame that no host would send, and the host behind whose back it is sent."""
    sender, to = random.choice(stations), random.choice(stations)
    return sender, _ODD[random.choice(ODD_FRAMES)](random, sender, to)
