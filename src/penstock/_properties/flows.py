"""Flows: packets that a rule as fine as OpenFlow 1.0 can tell would treat alike.

Two packets belong to one flow if their addresses, VLAN, protocol, ports and ICMP type are the same;
what differs from packet to packet (TCP flags, sequence numbers, TTL, DSCP) does not count.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from penstock._world.switch.headers import read
from penstock.addresses import is_multicast_mac
from penstock.openflow.fields import ETH_ARP, ETH_LLDP, IP_ICMP, IP_ICMPV6
from penstock.packet import ECHO_REPLY, ECHO_REPLY_V6, ECHO_REQUEST, ECHO_REQUEST_V6

_ANSWERS: Final = {
    (IP_ICMP, ECHO_REQUEST): ECHO_REPLY,
    (IP_ICMP, ECHO_REPLY): ECHO_REQUEST,
    (IP_ICMPV6, ECHO_REQUEST_V6): ECHO_REPLY_V6,
    (IP_ICMPV6, ECHO_REPLY_V6): ECHO_REQUEST_V6,
}


class End(NamedTuple):
    """One side of a flow; what a packet does not have is 0."""

    mac: int
    ip: int
    port: int


class Flow(NamedTuple):
    """What the packets of a flow have in common."""

    source: End
    destination: End
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

    def end(side: str) -> End:
        return End(
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
