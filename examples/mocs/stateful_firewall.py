"""A stateful firewall, controller program CP2 of the MOCS paper: who is called may answer.

A whitelist says who may open a connection to whom.  Any number of switches are replicas of the firewall.

1. A packet that opens an allowed connection is let through (lines 2-3 of CP2), and all replicas get rules
   for both of its directions, then a barrier (4-20).
2. Any other packet is dropped (22), and all replicas get a rule that drops such packets, of lower priority
   (23-31).
3. A barrier reply tells that the replica has the rules of the connection (35).

`OneRefusal` has one rule for all that is dropped, so that it has finitely many in all.  Each rule is sent
once.  The property: a replica that has confirmed a connection drops none of its packets.
"""

from penstock import Controller
from penstock.addresses import ipv4
from penstock.openflow.actions import Output
from penstock.openflow.fields import ETH_IPV4, IP_TCP
from penstock.openflow.match import Match
from penstock.openflow.messages import BarrierReply, BarrierRequest, OpenFlowMessage, PacketIn
from penstock.packet import TCP, IPv4, parse

Connection = tuple[int, int, int, int]
"""The address and TCP port of the client, then those of the server."""

NOBODYS: Connection = (0, 0, 0, 0)
WEB: Connection = (ipv4("10.0.0.1"), 1024, ipv4("10.0.0.2"), 80)


class StatefulFirewall(Controller):
    """Lets allowed connections through, in both directions, and nothing else."""

    def __init__(self, switches: tuple[str, ...] = ("s1",), allowed: tuple[Connection, ...] = (WEB,)) -> None:
        self.switches = switches
        self.allowed = allowed
        self.answered: set[Connection] = set()
        self.confirmed: set[tuple[int, str]] = set()

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Let a packet through or drop it, and see to all that are like it."""
        ip = parse(message.data).payload
        if not isinstance(ip, IPv4) or not isinstance(ip.payload, TCP):
            return
        there = _connection(ip, ip.payload)
        first = there not in self.answered
        self.answered.add(there)
        if there in self.allowed:  # 1
            self.packet_out(switch, message, (Output(2),))
            if first:
                self.open(there)
        elif first:  # 2
            self.refuse(there)

    def refuse(self, there: Connection) -> None:
        """Have all replicas drop the packets of a connection."""
        for replica in self.switches:
            self.install(replica, _match(there), priority=1)

    def open(self, there: Connection) -> None:
        """Have all replicas let a connection through."""
        back = (*there[2:], *there[:2])
        for replica in self.switches:
            self.install(replica, _match(there), (Output(2),), priority=2)
            self.install(replica, _match(back), (Output(1),), priority=2)
            self.send(replica, BarrierRequest(xid=self.allowed.index(there) + 1))

    def other(self, switch: str, message: OpenFlowMessage) -> None:
        """Note that a replica has the rules of a connection."""
        if isinstance(message, BarrierReply):  # 3
            self.confirmed.add((message.xid, switch))


class OneRefusal(StatefulFirewall):
    """Refuses all that is not allowed by one rule."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """Let a packet through or drop it, and see to all that are like it."""
        ip = parse(message.data).payload
        if not isinstance(ip, IPv4) or not isinstance(ip.payload, TCP):
            return
        known = next((each for each in self.allowed if each == _connection(ip, ip.payload)), NOBODYS)
        if known != NOBODYS:
            self.packet_out(switch, message, (Output(2),))
        if known not in self.answered:
            self.answered.add(known)
            self.refuse(known) if known == NOBODYS else self.open(known)

    def refuse(self, _there: Connection) -> None:
        """Have all replicas drop what no better rule lets through."""
        for replica in self.switches:
            self.install(replica, Match.of(eth_type=ETH_IPV4, ip_proto=IP_TCP), priority=1)


def _connection(ip: IPv4, segment: TCP) -> Connection:
    return ip.src, segment.src, ip.dst, segment.dst


def _match(connection: Connection) -> Match:
    src, tcp_src, dst, tcp_dst = connection
    return Match.of(
        eth_type=ETH_IPV4, ip_proto=IP_TCP, ipv4_src=src, ipv4_dst=dst, tcp_src=tcp_src, tcp_dst=tcp_dst
    )
