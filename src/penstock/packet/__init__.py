"""Packets as values: from bytes to layers and back, without losing a bit.

>>> ping = ping_request(
...     eth_src="00:00:00:00:00:01", eth_dst="00:00:00:00:00:02", ip_src="10.0.0.1", ip_dst="10.0.0.2"
... )
>>> data = ping.to_bytes()
>>> parse(data) == ping
True
>>> ping.find(Echo)
Echo(id=0, seq=1, payload=b'')
>>> describe(data)
'ICMP echo request 10.0.0.1 > 10.0.0.2 seq 1'

Layers are nested: the `payload` of an `Ethernet` frame is an `IPv4`, whose `payload` is a `TCP`,
whose `payload` is bytes.  Addresses are whole numbers (see `penstock.addresses`).  Lengths and
checksums are computed by `to_bytes`; a layer that was parsed with a wrong one keeps it, and one
can be given a wrong one on purpose.
"""

from __future__ import annotations

from penstock.packet.build import (
    arp_reply,
    arp_request,
    ethernet,
    ping_reply,
    ping_request,
    tcp_segment,
    udp_datagram,
)
from penstock.packet.ip import DONT_FRAGMENT, MORE_FRAGMENTS, ExtensionHeader, IPv4, IPv6
from penstock.packet.link import (
    ARP,
    ARP_REPLY,
    ARP_REQUEST,
    LLDP,
    NEAREST_BRIDGE,
    Ethernet,
    LldpId,
    Tlv,
    VlanTag,
    parse,
)
from penstock.packet.phrase import describe
from penstock.packet.transport import (
    ECHO_REPLY,
    ECHO_REPLY_V6,
    ECHO_REQUEST,
    ECHO_REQUEST_V6,
    ICMP,
    NEIGHBOUR_ADVERTISEMENT,
    NEIGHBOUR_SOLICITATION,
    SOURCE_LINK_LAYER,
    TARGET_LINK_LAYER,
    TCP,
    UDP,
    Echo,
    ICMPv6,
    NeighbourAdvertisement,
    NeighbourFlags,
    NeighbourOption,
    NeighbourSolicitation,
    TcpFlags,
    checksum,
)

__all__ = [
    "ARP",
    "ARP_REPLY",
    "ARP_REQUEST",
    "DONT_FRAGMENT",
    "ECHO_REPLY",
    "ECHO_REPLY_V6",
    "ECHO_REQUEST",
    "ECHO_REQUEST_V6",
    "ICMP",
    "LLDP",
    "MORE_FRAGMENTS",
    "NEAREST_BRIDGE",
    "NEIGHBOUR_ADVERTISEMENT",
    "NEIGHBOUR_SOLICITATION",
    "SOURCE_LINK_LAYER",
    "TARGET_LINK_LAYER",
    "TCP",
    "UDP",
    "Echo",
    "Ethernet",
    "ExtensionHeader",
    "ICMPv6",
    "IPv4",
    "IPv6",
    "LldpId",
    "NeighbourAdvertisement",
    "NeighbourFlags",
    "NeighbourOption",
    "NeighbourSolicitation",
    "TcpFlags",
    "Tlv",
    "VlanTag",
    "arp_reply",
    "arp_request",
    "checksum",
    "describe",
    "ethernet",
    "parse",
    "ping_reply",
    "ping_request",
    "tcp_segment",
    "udp_datagram",
]
