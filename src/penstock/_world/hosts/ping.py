"""A host that pings others and counts the answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from penstock._world.component import Event
from penstock._world.hosts.host import Turn
from penstock._world.hosts.traffic import Sender
from penstock.packet import ECHO_REPLY, ICMP, Echo, Ethernet, ping_request


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
