"""TCP client and server: as much of the protocol as a network in between can upset.

The client opens one connection, sends its segments one at a time, each acknowledged before the
next, and closes.  Answers are sent at once; what begins something is an action: `connect h2`,
`retransmit SYN`, `send data to h2`, `close h2`.  Only the SYN is ever sent again, at most
`syn_retries` times and only while it is unanswered; a lost later segment ends the story.  A server
answers a segment that belongs to no connection it knows with a reset, as real ones do, which is
how a connection shows that its packets went to two different servers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Final, NamedTuple

from msgspec import Meta

from penstock._base.frozen import FrozenMap
from penstock._base.typed import Count
from penstock._world.component import Event
from penstock._world.hosts.host import Host, Turn
from penstock._world.hosts.traffic import Caller
from penstock.addresses import ipv4_text
from penstock.packet import TCP, Ethernet, IPv4, TcpFlags, tcp_segment

PortNumber = Annotated[int, Meta(ge=0, le=65535)]

CLIENT_START: Final = 1000
SERVER_START: Final = 5000
"""The first sequence numbers, the same in every run and easily told apart."""

ACK, FIN, SYN, RST, PSH = TcpFlags.ACK, TcpFlags.FIN, TcpFlags.SYN, TcpFlags.RST, TcpFlags.PSH


@dataclass(frozen=True, slots=True)
class ClientConnection:
    """Where a client's connection stands.

    `stage` is one of closed, connecting, established, closing, done, reset.  `seq` is the next
    number to send, `acked` the number up to which the server has it all, `ack` the next number
    expected from the server.
    """

    stage: str = "closed"
    seq: int = CLIENT_START
    acked: int = CLIENT_START
    ack: int = 0
    segments: int = 0
    retries: int = 0


@dataclass(eq=False, kw_only=True)
class TcpClient(Caller):
    """Opens a connection to a server, sends `segments` of data, closes.

    It emits `connected`, `closed` and `reset`, each with its name and the server's.
    """

    server_port: PortNumber = 80
    """The port that it connects to."""
    client_port: PortNumber = 40000
    """The port that it connects from."""
    segments: Count = 1
    """How many segments of data it sends."""
    syn_retries: Count = 0
    """How often it may send an unanswered SYN again."""

    def start(self) -> ClientConnection:
        """Begin without a connection."""
        return ClientConnection(segments=self.segments, retries=self.syn_retries)

    def offers(self, memory: ClientConnection) -> tuple[str, ...]:
        """Offer the next step of the connection."""
        if memory.stage == "closed":
            return (f"connect {self.to}",)
        if memory.stage == "connecting":
            return ("retransmit SYN",) if memory.retries else ()
        if memory.stage != "established" or memory.acked != memory.seq:
            return ()
        return (f"send data to {self.to}",) if memory.segments else (f"close {self.to}",)

    def perform(self, memory: ClientConnection, action: str) -> Turn:
        """Take the next step of the connection."""
        if memory.stage == "closed":
            return Turn(replace(memory, stage="connecting", seq=CLIENT_START + 1), (self._syn(),))
        if memory.stage == "connecting":
            return Turn(replace(memory, retries=memory.retries - 1), (self._syn(),))
        if action.startswith("send"):
            data = b"data %d" % (self.segments - memory.segments + 1)
            after = replace(memory, seq=memory.seq + len(data), segments=memory.segments - 1)
            return Turn(after, (self._segment(memory, PSH | ACK, data),))
        after = replace(memory, stage="closing", seq=memory.seq + 1)
        return Turn(after, (self._segment(memory, FIN | ACK),))

    def hear(self, memory: ClientConnection, packet: Ethernet) -> Turn:
        """Take in a segment of the connection; others are left alone."""
        tcp, ip = packet.find(TCP), packet.payload
        if tcp is None or not isinstance(ip, IPv4) or not self._is_mine(ip, tcp):
            return Turn(memory)
        if memory.stage in ("closed", "reset"):
            return Turn(memory)
        if tcp.flags & RST:
            return Turn(replace(memory, stage="reset"), (), self._tell("reset"))
        if memory.stage == "connecting":
            if tcp.flags & (SYN | ACK) != SYN | ACK or tcp.ack != memory.seq:
                return Turn(memory)
            after = replace(memory, stage="established", acked=tcp.ack, ack=tcp.seq + 1)
            return Turn(after, (self._segment(after, ACK),), self._tell("connected"))
        if tcp.flags & SYN:
            # The server did not hear our acknowledgement, or answered a second SYN.
            return Turn(memory, (self._segment(memory, ACK),))
        after = replace(memory, acked=max(memory.acked, tcp.ack))
        if not tcp.flags & FIN or tcp.seq != memory.ack:
            return Turn(after)
        after = replace(after, stage="done", ack=tcp.seq + 1)
        return Turn(after, (self._segment(after, ACK),), self._tell("closed"))

    def _is_mine(self, ip: IPv4, tcp: TCP) -> bool:
        return (ip.src, tcp.src, tcp.dst) == (self.receiver.ip, self.server_port, self.client_port)

    def _tell(self, kind: str) -> tuple[Event, ...]:
        return (Event(kind, (self.name, self.to)),)

    def _syn(self) -> Ethernet:
        return self._segment(ClientConnection(), SYN)

    def _segment(self, memory: ClientConnection, flags: TcpFlags, data: bytes = b"") -> Ethernet:
        return tcp_segment(
            eth_src=self.mac,
            eth_dst=self.receiver.mac,
            ip_src=self.ip,
            ip_dst=self.receiver.ip,
            tcp_src=self.client_port,
            tcp_dst=self.server_port,
            flags=flags,
            seq=memory.seq,
            ack=memory.ack,
            payload=data,
        )


class Peer(NamedTuple):
    """Who a connection is with."""

    ip: int
    port: int


class ServerConnection(NamedTuple):
    """Where a server's connection stands: its stage, and the next numbers to send and to get.

    `stage` is one of greeted (SYN answered), established, closing.
    """

    stage: str
    seq: int
    ack: int


Connections = FrozenMap[Peer, ServerConnection]


@dataclass(eq=False, kw_only=True)
class TcpServer(Host):
    """Accepts connections on a port, acknowledges data, closes when the client does.

    It emits `connected`, `closed` and `reset`, each with its name and the client's address.
    """

    server_port: PortNumber = 80
    """The port that it accepts connections on."""

    def start(self) -> Connections:
        """Begin without connections."""
        return FrozenMap()

    def hear(self, memory: Connections, packet: Ethernet) -> Turn:
        """Answer a segment at once."""
        tcp, ip = packet.find(TCP), packet.payload
        if tcp is None or not isinstance(ip, IPv4) or tcp.dst != self.server_port or tcp.flags & RST:
            return Turn(memory)
        caller = Peer(ip.src, tcp.src)
        known = memory.get(caller)
        if tcp.flags & SYN:
            return self._greet(memory, caller, known, packet, tcp)
        if known is None:
            unknown = ServerConnection("none", tcp.ack, tcp.seq)
            return Turn(memory, (self._segment(packet, tcp, RST, unknown),), self._tell("reset", caller))
        if known.stage == "greeted" and tcp.ack == known.seq:
            known = known._replace(stage="established")
            turn = self._take_in(memory, caller, known, packet, tcp)
            return turn._replace(events=(*self._tell("connected", caller), *turn.events))
        if known.stage == "closing" and tcp.ack == known.seq:
            return Turn(memory.without(caller), (), self._tell("closed", caller))
        return self._take_in(memory, caller, known, packet, tcp)

    def _greet(
        self, memory: Connections, caller: Peer, known: ServerConnection | None, packet: Ethernet, tcp: TCP
    ) -> Turn:
        greeted = ServerConnection("greeted", SERVER_START + 1, tcp.seq + 1)
        if known is not None and known != greeted:
            # A late copy of the SYN: tell where the connection really stands.
            return Turn(memory, (self._segment(packet, tcp, ACK, known),))
        hello = greeted._replace(seq=SERVER_START)
        return Turn(memory.set(caller, greeted), (self._segment(packet, tcp, SYN | ACK, hello),))

    def _take_in(
        self, memory: Connections, caller: Peer, known: ServerConnection, packet: Ethernet, tcp: TCP
    ) -> Turn:
        if not tcp.payload and not tcp.flags & FIN:
            return Turn(memory.set(caller, known))
        if tcp.seq != known.ack:
            return Turn(memory.set(caller, known), (self._segment(packet, tcp, ACK, known),))
        if tcp.flags & FIN:
            ended = known._replace(ack=known.ack + len(tcp.payload) + 1)
            answer = self._segment(packet, tcp, FIN | ACK, ended)
            return Turn(memory.set(caller, ended._replace(stage="closing", seq=ended.seq + 1)), (answer,))
        after = known._replace(ack=known.ack + len(tcp.payload))
        return Turn(memory.set(caller, after), (self._segment(packet, tcp, ACK, after),))

    def _tell(self, kind: str, caller: Peer) -> tuple[Event, ...]:
        return (Event(kind, (self.name, f"{ipv4_text(caller.ip)}:{caller.port}")),)

    def _segment(self, packet: Ethernet, tcp: TCP, flags: TcpFlags, connection: ServerConnection) -> Ethernet:
        """Return a segment to where another came from."""
        ip = packet.payload
        assert isinstance(ip, IPv4)
        return tcp_segment(
            eth_src=self.mac,
            eth_dst=packet.src,
            ip_src=self.ip,
            ip_dst=ip.src,
            tcp_src=tcp.dst,
            tcp_dst=tcp.src,
            flags=flags,
            seq=connection.seq,
            ack=connection.ack,
        )
