"""Hosts that send packets: NICE's client and server (section 2.2.3), over UDP, and one that pings.

The client sends a packet a given number of times.  Its burst limit is the counter of section 5.1:
each packet sent takes one from it, each packet received gives one back, and at zero the client
waits.  The server's reply is an action of its own, enabled by what it received, so that packets may
arrive between request and reply.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from penstock._base.typed import Count, Positive
from penstock._world.component import Event
from penstock._world.hosts.host import ASK, Address, Host, Turn
from penstock.addresses import mac
from penstock.packet import ECHO_REPLY, ICMP, UDP, Echo, Ethernet, IPv4, ping_request, udp_datagram

ECHO_PORT: Final = 7
"""UDP's echo service, which sends back what it gets (RFC 862)."""


class ClientMemory(NamedTuple):
    """How many packets went out and came back, and how many may go out before one comes back."""

    sent: int
    received: int
    credit: int | None


@dataclass(eq=False, kw_only=True)
class Caller(Host):
    """A host that sends to one other."""

    to: str
    """Whom to send to: a host's name, or an IPv4 address, which need not be any host's (a load balancer's
    virtual one is none) and is then asked for by ARP, even with `static_arp`."""
    to_mac: str | None = None
    """The MAC address to send to, in place of the one that ARP or `static_arp` would tell."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.find(self.to)
        if self.to_mac is not None:
            mac(self.to_mac)

    @property
    def receiver(self) -> Address:
        """Who is sent to; its MAC address is `ASK` where that has to be found out."""
        return self.find(self.to)._replace(mac=ASK if self.to_mac is None else mac(self.to_mac))


@dataclass(eq=False, kw_only=True)
class Sender(Caller):
    """A host that sends `count` packets to another, at most `burst` of them unanswered."""

    count: Count = 1
    """How many packets it sends."""
    burst: Positive | None = None
    """How many of them may be unanswered at a time; without it, all."""


@dataclass(eq=False, kw_only=True)
class Client(Sender):
    """Sends datagrams to another host's echo service, or to whatever answers there."""

    static_arp: bool = True

    def start(self) -> ClientMemory:
        """Begin with nothing sent."""
        return ClientMemory(0, 0, self.burst)

    def offers(self, memory: ClientMemory) -> tuple[str, ...]:
        """Offer to send while there are packets left and the burst limit allows."""
        return (f"send to {self.to}",) if memory.sent < self.count and memory.credit != 0 else ()

    def perform(self, memory: ClientMemory, _action: str) -> Turn:
        """Send the next packet; its number is its payload."""
        credit = None if memory.credit is None else memory.credit - 1
        packet = udp_datagram(
            eth_src=self.mac,
            eth_dst=self.receiver.mac,
            ip_src=self.ip,
            ip_dst=self.receiver.ip,
            udp_src=ECHO_PORT,
            udp_dst=ECHO_PORT,
            payload=b"%d" % (memory.sent + 1),
        )
        return Turn(ClientMemory(memory.sent + 1, memory.received, credit), (packet,))

    def hear(self, memory: ClientMemory, _packet: Ethernet) -> Turn:
        """Count what comes back, and let another packet out for it."""
        credit = None if memory.credit is None else memory.credit + 1
        return Turn(ClientMemory(memory.sent, memory.received + 1, credit))


@dataclass(eq=False, kw_only=True)
class Server(Host):
    """Sends back every datagram it gets, each when it chooses to; its memory is the requests to answer."""

    static_arp: bool = True

    def start(self) -> tuple[Ethernet, ...]:
        """Begin with nothing to answer."""
        return ()

    def offers(self, memory: tuple[Ethernet, ...]) -> tuple[str, ...]:
        """Offer to answer the oldest request."""
        if not memory:
            return ()
        ip = memory[0].payload
        assert isinstance(ip, IPv4)
        return (f"reply to {self.name_of(ip.src)}",)

    def perform(self, memory: tuple[Ethernet, ...], _action: str) -> Turn:
        """Answer the oldest request to where it came from."""
        request, *rest = memory
        return Turn(tuple(rest), (_turned_round(request, self.mac),))

    def hear(self, memory: tuple[Ethernet, ...], packet: Ethernet) -> Turn:
        """Keep a request for later."""
        asked = isinstance(packet.payload, IPv4) and packet.find(UDP) is not None
        return Turn((*memory, packet)) if asked else Turn(memory)


def _turned_round(request: Ethernet, mac: int) -> Ethernet:
    """Return a datagram with its sender and receiver exchanged."""
    ip, udp = request.payload, request.find(UDP)
    assert isinstance(ip, IPv4) and udp is not None
    answer = UDP(udp.dst, udp.src, udp.payload)
    return replace(
        request, dst=request.src, src=mac, payload=IPv4(ip.dst, ip.src, ip.protocol, answer), padding=b""
    )


class PingMemory(NamedTuple):
    """How many requests went out, which of them wait for an answer, and how many were answered."""

    sent: int = 0
    waiting: tuple[int, ...] = ()
    answered: int = 0


@dataclass(eq=False, kw_only=True)
class Ping(Sender):
    """Sends echo requests to another host.

    An answer emits the event `answered` with the host's name and the sequence number; an answer
    that comes twice counts once.
    """

    def start(self) -> PingMemory:
        """Begin with nothing sent."""
        return PingMemory()

    def offers(self, memory: PingMemory) -> tuple[str, ...]:
        """Offer to send while there are requests left and the burst limit allows."""
        if memory.sent == self.count or len(memory.waiting) == self.burst:
            return ()
        return (f"send ping {self.to}",)

    def perform(self, memory: PingMemory, _action: str) -> Turn:
        """Send the next request."""
        number = memory.sent + 1
        packet = ping_request(
            eth_src=self.mac,
            eth_dst=self.receiver.mac,
            ip_src=self.ip,
            ip_dst=self.receiver.ip,
            id=1,
            seq=number,
        )
        return Turn(PingMemory(number, (*memory.waiting, number), memory.answered), (packet,))

    def hear(self, memory: PingMemory, packet: Ethernet) -> Turn:
        """Count an answer to a request that waits for it."""
        icmp = packet.find(ICMP)
        if icmp is None or icmp.type != ECHO_REPLY or not isinstance(icmp.payload, Echo):
            return Turn(memory)
        number = icmp.payload.seq
        if number not in memory.waiting:
            return Turn(memory)
        waiting = tuple(other for other in memory.waiting if other != number)
        answered = Event("answered", (self.name, number))
        return Turn(PingMemory(memory.sent, waiting, memory.answered + 1), (), (answered,))
