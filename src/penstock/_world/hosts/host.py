"""The host: an IP stack small enough to search, and the base of every host a user writes.

A host answers ARP and ping by itself.  What it does beyond that is for its subclass to say, in up
to four small methods that are handed the host's `memory`, an immutable value of the subclass's
choosing, and return a `Turn`: the new memory and the packets to send.

    @dataclass(eq=False, kw_only=True)
    class Announcer(Host):
        def start(self):
            return "quiet"

        def offers(self, memory):
            return ("announce",) if memory == "quiet" else ()

        def perform(self, memory, action):
            return Turn("done", (arp_request(eth_src=self.mac, ip_src=self.ip, ip_dst=self.ip),))

The host keeps no state in itself, names each frame it sends (`h1#1`), and emits the events `sent`,
`received` and `ignored`, each with the host's name and the frame.

A packet to the address `ASK` waits until ARP has told its receiver's (`Neighbours`); all hosts are on one
link, so there are no gateways.  A host that has nothing to ask (its ARP table is given, or its packets are
answers) never gets there.  A question that stays unanswered is asked again only as an action of the host, as
often as its `arp_retries` allow; real hosts would do so after a second.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from penstock._base.frozen import FrozenMap
from penstock._base.text import hint
from penstock._base.typed import Count, check_fields
from penstock._world.component import Event, Port, Send, Step
from penstock._world.fabric import Mobility
from penstock._world.frame import Frame
from penstock._world.signals import FABRIC, Carrier, Power
from penstock.addresses import BROADCAST_MAC, ipv4, ipv4_text, is_ipv4, mac_text
from penstock.errors import PenstockError
from penstock.packet import (
    ARP,
    ARP_REQUEST,
    ECHO_REQUEST,
    ICMP,
    Ethernet,
    IPv4,
    arp_reply,
    arp_request,
    parse,
    ping_reply,
)

ASK: Final = 0
"""The destination MAC address of a packet whose receiver's address must first be asked for."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What a host knows of the others: their MAC addresses by IP; and its packets that wait."""

    known: FrozenMap[int, int] = field(default_factory=FrozenMap)
    waiting: tuple[Ethernet, ...] = ()
    retries: int = 0

    def unanswered(self) -> tuple[int, ...]:
        """Return the IP addresses that packets wait for, in the order they were asked."""
        return tuple(dict.fromkeys(next_hop(packet) for packet in self.waiting))

    def learn(self, arp: ARP, asked_me: bool) -> tuple[Neighbours, tuple[Ethernet, ...]]:
        """Take in what an ARP packet says of its sender; return also the packets that can now go.

        As in RFC 826, a stranger is remembered only by the one whom it asked, or who waits for it.
        """
        ready = tuple(packet for packet in self.waiting if next_hop(packet) == arp.spa)
        if not (asked_me or ready or arp.spa in self.known):
            return self, ()
        kept = tuple(packet for packet in self.waiting if packet not in ready)
        known = replace(self, known=self.known.set(arp.spa, arp.sha), waiting=kept)
        return known, tuple(replace(packet, dst=arp.sha) for packet in ready)

    def resolve(self, packet: Ethernet) -> Ethernet | None:
        """Return a packet with its destination filled in, or None if that is not known."""
        found = self.known.get(next_hop(packet))
        return None if found is None else replace(packet, dst=found)

    def wait(self, packet: Ethernet) -> tuple[Neighbours, int | None]:
        """Keep a packet until its destination is known; return also the address to ask for, if any."""
        address = next_hop(packet)
        asked = address in self.unanswered()
        return replace(self, waiting=(*self.waiting, packet)), None if asked else address


def next_hop(packet: Ethernet) -> int:
    """Return the IP address whose owner is to get a packet."""
    return packet.payload.dst if isinstance(packet.payload, IPv4) else 0


_ASK_AGAIN = "ask again for "


class Address(NamedTuple):
    """Who a host is to the others."""

    name: str
    mac: int
    ip: int


GIVEN: Final = ("name", "mac", "ip", "directory", "port")
"""What the network gives every host, so no option of the user's."""

Directory = Mapping[str, Address]
"""The hosts of a network by name: what a host's user would know of them."""


class Turn(NamedTuple):
    """What a host's own code decided: what to remember, what to send, what to tell properties."""

    memory: Hashable
    packets: tuple[Ethernet, ...] = ()
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class HostState:
    """What every host remembers: how many frames it sent, its subclass's memory, its neighbours."""

    sent: int = 0
    memory: Any = None
    neighbours: Neighbours = field(default_factory=Neighbours)


@dataclass(eq=False, kw_only=True)
class Host:
    """A host that answers ARP and ping and else keeps quiet.

    It asks by ARP for the MAC address of an IP address, those of a network's hosts being on one link.
    """

    name: str
    mac: int
    ip: int
    directory: Directory = field(default_factory=dict, repr=False)
    port: int = 0
    static_arp: bool = False
    """Whether it knows every host's MAC address from the start."""
    arp_retries: Count = 0
    """How often it may ask again for an address."""
    mobility: Mobility | None = None
    """Where the fabric may move it: a table with `places`, `moves` and `carrier`."""
    named: bool = True
    """Whether its frames have names (`h1#1`).  Nameless ones are uncounted too, so that packets with the same
    bytes are the same to a search, and properties cannot tell them apart either."""

    def __post_init__(self) -> None:
        check_fields(self, f"[hosts.{self.name}]", leave_out=GIVEN)

    # For subclasses to say.

    def start(self) -> Hashable:
        """Return the memory to begin with."""
        return None

    def offers(self, _memory: Any, /) -> tuple[str, ...]:
        """Return the names of what the host may do by itself now."""
        return ()

    def perform(self, _memory: Any, action: str, /) -> Turn:
        """Do one of the things offered."""
        raise NotImplementedError(f"{type(self).__name__} offers {action!r} but does not perform it")

    def hear(self, memory: Any, _packet: Ethernet, /) -> Turn:
        """Take in a packet for this host that is neither ARP nor a ping to answer."""
        return Turn(memory)

    def notice(self, memory: Any, _signal: Carrier | Power, /) -> Turn:
        """Take in that the host's link went down or came up."""
        return Turn(memory)

    def accepts(self, packet: Ethernet) -> bool:
        """Tell whether a frame is for this host: untagged, and to its own address or to everybody."""
        if packet.tags:
            return False
        if packet.dst != self.mac and packet.dst != BROADCAST_MAC:
            return False
        return not isinstance(packet.payload, IPv4) or packet.payload.dst == self.ip

    def find(self, name: str) -> Address:
        """Return the address of another host, or of whatever is at an IPv4 address or a host's MAC address.

        An IPv4 address need not be any host's: a load balancer's virtual one is none.  ARP is then to tell
        the MAC address.
        """
        found = self.directory.get(name)
        if found is not None:
            return found
        owners = {ipv4_text(each.ip): each for each in self.directory.values()}
        owners |= {mac_text(each.mac): each for each in self.directory.values()}
        if name.lower() in owners:
            return owners[name.lower()]
        if is_ipv4(name):
            return Address(name, ASK, ipv4(name))
        otherwise = f"the hosts are {', '.join(self.directory) or 'none'}; an IPv4 address will do too."
        raise PenstockError(f"unknown host {name!r} for {self.name}: {hint(name, self.directory, otherwise)}")

    def name_of(self, ip: int) -> str:
        """Return the name of the host that has an IP address, or the address as text."""
        named = (address.name for address in self.directory.values() if address.ip == ip)
        return next(named, None) or ipv4_text(ip)

    # The component.

    def initial(self) -> HostState:
        """Return the state the host starts in."""
        return HostState(0, self.start(), Neighbours(retries=self.arp_retries))

    def actions(self, state: HostState) -> tuple[str, ...]:
        """Return what the subclass offers, and questions that may be asked again."""
        offers = self.offers(state.memory)
        if not state.neighbours.retries:
            return offers
        return (*offers, *(_ASK_AGAIN + ipv4_text(ip) for ip in state.neighbours.unanswered()))

    def act(self, state: HostState, action: str) -> Step:
        """Perform one action."""
        if not action.startswith(_ASK_AGAIN):
            return self._finish(state, self.perform(state.memory, action))
        asked = ipv4(action.removeprefix(_ASK_AGAIN))
        neighbours = replace(state.neighbours, retries=state.neighbours.retries - 1)
        return self._finish(
            replace(state, neighbours=neighbours), Turn(state.memory, (self._question(asked),))
        )

    def receive(self, state: HostState, port: Port, message: Any) -> Step:
        """Take in a frame, or what the fabric tells."""
        if port == FABRIC:
            return self._finish(state, self.notice(state.memory, message))
        try:
            packet = parse(message.data)
        except PenstockError:
            packet = None
        if packet is None or not self.accepts(packet):
            return Step(state, (), (Event("ignored", (self.name, message)),))
        received = Event("received", (self.name, message))
        if isinstance(packet.payload, ARP):
            return self._hear_arp(state, packet.payload, received)
        icmp = packet.find(ICMP)
        if icmp is not None and icmp.type == ECHO_REQUEST:
            return self._finish(state, Turn(state.memory, (ping_reply(packet, eth_src=self.mac),)), received)
        return self._finish(state, self.hear(state.memory, packet), received)

    def _hear_arp(self, state: HostState, arp: ARP, received: Event) -> Step:
        asked_me = arp.tpa == self.ip
        neighbours, ready = state.neighbours.learn(arp, asked_me)
        if asked_me and arp.op == ARP_REQUEST:
            answer = arp_reply(eth_src=self.mac, eth_dst=arp.sha, ip_src=self.ip, ip_dst=arp.spa)
            ready = (answer, *ready)
        return self._finish(replace(state, neighbours=neighbours), Turn(state.memory, ready), received)

    def _question(self, ip: int) -> Ethernet:
        return arp_request(eth_src=self.mac, ip_src=self.ip, ip_dst=ip)

    def _finish(self, state: HostState, turn: Turn, *events: Event) -> Step:
        """Send what was decided, asking first for the addresses that are not known."""
        memory, packets, told = turn
        if not packets and memory is state.memory and not told:
            return Step(state, (), events)
        neighbours, leaving = state.neighbours, []
        for packet in packets:
            known = self._resolve(neighbours, packet)
            if known is None:
                neighbours, question = neighbours.wait(packet)
                known = None if question is None else self._question(question)
            if known is not None:
                leaving.append(known)
        frames = [
            Frame(packet.to_bytes(), f"{self.name}#{number}" if self.named else "")
            for number, packet in enumerate(leaving, state.sent + 1)
        ]
        sends = tuple(Send(self.port, frame) for frame in frames)
        sent = tuple(Event("sent", (self.name, frame)) for frame in frames)
        after = HostState(state.sent + len(frames) * self.named, memory, neighbours)
        return Step(after, sends, (*events, *told, *sent))

    def _resolve(self, neighbours: Neighbours, packet: Ethernet) -> Ethernet | None:
        if packet.dst != ASK:
            return packet
        if self.static_arp:
            owners = (a.mac for a in self.directory.values() if a.ip == next_hop(packet))
            owner = next(owners, None)
            if owner is not None:
                return replace(packet, dst=owner)
        return neighbours.resolve(packet)
