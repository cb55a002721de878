"""The sender of NICE's traffic engineering with a connection to each of its receivers (section 9.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock import ClientConnection, Event, Host, TcpClient, Turn
from penstock.packet import Ethernet

FIRST_PORT = 40000

Connections = tuple[ClientConnection, ...]


@dataclass(eq=False, kw_only=True)
class Caller(Host):
    """Opens a connection to each of `to`, sends `segments` on it and closes it, all of them side by side."""

    to: Sequence[str]
    segments: int = 1
    static_arp: bool = True

    _clients: tuple[TcpClient, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._clients = tuple(
            TcpClient(
                name=self.name,
                mac=self.mac,
                ip=self.ip,
                directory=self.directory,
                to=server,
                client_port=port,
                segments=self.segments,
            )
            for port, server in enumerate(self.to, FIRST_PORT)
        )

    def start(self) -> Connections:
        """Begin without connections."""
        return tuple(client.start() for client in self._clients)

    def offers(self, memory: Connections) -> tuple[str, ...]:
        """Offer the next step of each connection."""
        pairs = zip(self._clients, memory, strict=True)
        return tuple(action for client, connection in pairs for action in client.offers(connection))

    def perform(self, memory: Connections, action: str) -> Turn:
        """Take the next step of the connection that an action is about."""
        at = next(
            index for index, client in enumerate(self._clients) if action in client.offers(memory[index])
        )
        turn = self._clients[at].perform(memory[at], action)
        return turn._replace(memory=(*memory[:at], turn.memory, *memory[at + 1 :]))

    def hear(self, memory: Connections, packet: Ethernet) -> Turn:
        """Take in a segment of one of the connections."""
        turns = [client.hear(known, packet) for client, known in zip(self._clients, memory, strict=True)]
        packets: tuple[Ethernet, ...] = sum((turn.packets for turn in turns), ())
        events: tuple[Event, ...] = sum((turn.events for turn in turns), ())
        return Turn(tuple(turn.memory for turn in turns), packets, events)
