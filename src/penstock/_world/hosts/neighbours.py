"""ARP: which MAC address an IP address is at, and the packets that wait to know.

A host that has nothing to ask (its ARP table is given, or its packets are answers) never gets
here.  A question that stays unanswered is asked again only as an action of the host, as often as
the host's `arp_retries` allow; real hosts would do so after a second.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from penstock._base.frozen import FrozenMap
from penstock.packet import ARP, Ethernet, IPv4

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
