"""Hypothesis strategies for packets, shared by all tests that need some.

`packets()` draws packets in the form that parsing gives them, so `parse(p.to_bytes()) == p`:
known protocol numbers have the layer they announce, lengths and checksums are right (or absent,
in UDP).  `frames()` draws bytes: valid packets, damaged ones, and noise under plausible headers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from hypothesis import strategies as st

from penstock.openflow.fields import (
    ETH_ARP,
    ETH_IPV4,
    ETH_IPV6,
    ETH_LLDP,
    ETH_QINQ,
    ETH_VLAN,
    IP_ICMP,
    IP_ICMPV6,
    IP_TCP,
    IP_UDP,
)
from penstock.packet import (
    ARP,
    ECHO_REPLY,
    ECHO_REPLY_V6,
    ECHO_REQUEST,
    ECHO_REQUEST_V6,
    ICMP,
    LLDP,
    NEIGHBOUR_ADVERTISEMENT,
    NEIGHBOUR_SOLICITATION,
    SOURCE_LINK_LAYER,
    TARGET_LINK_LAYER,
    TCP,
    UDP,
    Echo,
    Ethernet,
    ExtensionHeader,
    ICMPv6,
    IPv4,
    IPv6,
    LldpId,
    NeighbourAdvertisement,
    NeighbourFlags,
    NeighbourOption,
    NeighbourSolicitation,
    TcpFlags,
    Tlv,
    VlanTag,
)

KNOWN_ETHERTYPES = (ETH_ARP, ETH_IPV4, ETH_IPV6, ETH_LLDP, ETH_VLAN, ETH_QINQ)
EXTENSIONS = (0, 43, 44, 51, 60)


def _bits(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << count) - 1)


def _words(most: int) -> st.SearchStrategy[bytes]:
    """Draw bytes by fours, as header options are."""
    return st.integers(0, most).flatmap(lambda count: st.binary(min_size=4 * count, max_size=4 * count))


macs = st.one_of(st.sampled_from([1, 2, 0xFFFFFFFFFFFF]), _bits(48))
ipv4s = st.one_of(st.sampled_from([0x0A000001, 0x0A000002]), _bits(32))
ipv6s = st.one_of(st.sampled_from([0xFE80 << 112 | 1, 0xFE80 << 112 | 2]), _bits(128))
ports = _bits(16)
payloads = st.binary(max_size=40)

arps = st.builds(ARP, st.one_of(st.sampled_from([1, 2]), _bits(16)), macs, ipv4s, macs, ipv4s)
tags = st.builds(VlanTag, _bits(12), _bits(3), _bits(1), st.sampled_from([ETH_VLAN, ETH_QINQ]))
echoes = st.builds(Echo, _bits(16), _bits(16), payloads)
tcps = st.builds(
    TCP,
    ports,
    ports,
    _bits(32),
    _bits(32),
    st.builds(TcpFlags, _bits(12)),
    _bits(16),
    payloads,
    _words(10),
    _bits(16),
)
udps = st.builds(UDP, ports, ports, payloads, checksum=st.sampled_from([None, None, 0]))


_Message = TypeVar("_Message", ICMP, ICMPv6)


def _messages(layer: type[_Message], typed: tuple[int, ...]) -> st.SearchStrategy[_Message]:
    """Draw messages without a typed body: of other types, or cut short."""
    other = st.builds(layer, _bits(8).filter(lambda kind: kind not in typed), _bits(8), payloads)
    cut = st.builds(layer, st.sampled_from(typed), _bits(8), st.binary(max_size=3))
    return st.one_of(other, cut)


icmps = st.one_of(
    st.builds(ICMP, st.sampled_from([ECHO_REPLY, ECHO_REQUEST]), _bits(8), echoes),
    _messages(ICMP, (ECHO_REPLY, ECHO_REQUEST)),
)

link_layers = st.builds(
    NeighbourOption.link_layer, st.sampled_from([SOURCE_LINK_LAYER, TARGET_LINK_LAYER]), macs
)
neighbour_options = st.one_of(
    link_layers,
    st.builds(NeighbourOption, _bits(8), st.binary(min_size=6, max_size=6)),
    st.builds(NeighbourOption, _bits(8), st.binary(min_size=14, max_size=14)),
)
_options = st.lists(neighbour_options, max_size=3).map(tuple)
solicitations = st.builds(NeighbourSolicitation, ipv6s, _options, st.one_of(st.just(0), _bits(32)))
advertisements = st.builds(
    NeighbourAdvertisement,
    ipv6s,
    st.builds(NeighbourFlags, _bits(3)),
    _options,
    st.one_of(st.just(0), _bits(29)),
)
icmpv6s = st.one_of(
    st.builds(ICMPv6, st.sampled_from([ECHO_REQUEST_V6, ECHO_REPLY_V6]), _bits(8), echoes),
    st.builds(ICMPv6, st.just(NEIGHBOUR_SOLICITATION), _bits(8), solicitations),
    st.builds(ICMPv6, st.just(NEIGHBOUR_ADVERTISEMENT), _bits(8), advertisements),
    _messages(ICMPv6, (ECHO_REQUEST_V6, ECHO_REPLY_V6, NEIGHBOUR_SOLICITATION, NEIGHBOUR_ADVERTISEMENT)),
)

PROTOCOLS = {TCP: IP_TCP, UDP: IP_UDP, ICMP: IP_ICMP, ICMPv6: IP_ICMPV6}


@st.composite
def ipv4_datagrams(draw: st.DrawFn) -> IPv4:
    """Draw IPv4 datagrams of every payload; a later fragment's is opaque."""
    datagram = IPv4(
        draw(ipv4s),
        draw(ipv4s),
        0,
        b"",
        draw(_bits(8)),
        draw(_bits(8)),
        draw(_bits(16)),
        draw(_bits(3)),
        options=draw(_words(10)),
    )
    if draw(st.integers(0, 7)) == 0:
        return replace(
            datagram, protocol=draw(_bits(8)), offset=draw(st.integers(1, 0x1FFF)), payload=draw(payloads)
        )
    payload = draw(st.one_of(tcps, udps, icmps, payloads))
    if isinstance(payload, bytes):
        protocol = draw(_bits(8).filter(lambda number: number not in (IP_TCP, IP_UDP, IP_ICMP)))
    else:
        protocol = PROTOCOLS[type(payload)]
    return replace(datagram, protocol=protocol, payload=payload)


@st.composite
def extension_headers(draw: st.DrawFn) -> ExtensionHeader:
    """Draw extension headers of every kind; a fragment's is that of a first one."""
    protocol = draw(st.sampled_from(EXTENSIONS))
    if protocol == 44:
        return ExtensionHeader(
            44, bytes((draw(_bits(8)), 0, draw(_bits(3)))) + draw(st.binary(min_size=4, max_size=4))
        )
    units = draw(st.integers(0, 2))
    size = units * 4 + 6 if protocol == 51 else units * 8 + 6
    return ExtensionHeader(protocol, bytes((units,)) + draw(st.binary(min_size=size, max_size=size)))


@st.composite
def ipv6_datagrams(draw: st.DrawFn) -> IPv6:
    """Draw IPv6 datagrams of every payload, some behind extension headers."""
    payload = draw(st.one_of(tcps, udps, icmpv6s, payloads))
    if isinstance(payload, bytes):
        known = (IP_TCP, IP_UDP, IP_ICMPV6, *EXTENSIONS)
        protocol = draw(_bits(8).filter(lambda number: number not in known))
    else:
        protocol = PROTOCOLS[type(payload)]
    return IPv6(
        draw(ipv6s),
        draw(ipv6s),
        protocol,
        payload,
        draw(_bits(8)),
        draw(_bits(8)),
        draw(_bits(20)),
        tuple(draw(st.lists(extension_headers(), max_size=2))),
    )


lldp_ids = st.builds(LldpId, _bits(8), st.binary(max_size=20))
lldps = st.builds(
    LLDP,
    lldp_ids,
    lldp_ids,
    _bits(16),
    st.lists(st.builds(Tlv, st.integers(1, 127), st.binary(max_size=20)), max_size=4).map(tuple),
)

ETHERTYPES = {ARP: ETH_ARP, IPv4: ETH_IPV4, IPv6: ETH_IPV6, LLDP: ETH_LLDP}


@st.composite
def packets(draw: st.DrawFn) -> Ethernet:
    """Draw packets of every protocol, tagged or not, padded or not."""
    payload = draw(st.one_of(arps, ipv4_datagrams(), ipv6_datagrams(), lldps, payloads))
    padding = b""
    if isinstance(payload, bytes):
        ethertype = draw(_bits(16).filter(lambda number: number not in KNOWN_ETHERTYPES))
    else:
        ethertype = ETHERTYPES[type(payload)]
        padding = draw(st.one_of(st.just(b""), st.binary(max_size=18)))
    return Ethernet(
        draw(macs), draw(macs), ethertype, payload, tuple(draw(st.lists(tags, max_size=3))), padding
    )


@st.composite
def damaged_frames(draw: st.DrawFn) -> bytes:
    """Draw packets that a few edits have damaged: bytes changed, cut out, put in, cut off."""
    data = bytearray(draw(packets()).to_bytes())
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(12, len(data)))
        match draw(st.sampled_from(["change", "cut", "insert", "truncate"])):
            case "change":
                data[at : at + 1] = draw(st.binary(min_size=1, max_size=1))
            case "cut":
                del data[at : at + draw(st.integers(1, 8))]
            case "insert":
                data[at:at] = draw(st.binary(min_size=1, max_size=8))
            case _:
                del data[max(at, 14) :]
    return bytes(data).ljust(14, b"\0")


@st.composite
def noise_frames(draw: st.DrawFn) -> bytes:
    """Draw random bytes behind a plausible start, so that each parser gets its share of them."""
    head = draw(st.binary(min_size=12, max_size=12))
    start = draw(
        st.sampled_from(
            [
                b"",
                b"\x08\x06",
                b"\x08\x06\x00\x01\x08\x00\x06\x04",
                b"\x08\x00\x45",
                b"\x08\x00\x46\x00\x00\x30\x00\x00\x00\x00\x40\x06",
                b"\x08\x00\x45\x00\x00\x30\x00\x00\x00\x00\x40\x01",
                b"\x08\x00\x45\x00\x00\x30\x00\x00\x00\x00\x40\x11",
                b"\x86\xdd\x60",
                b"\x86\xdd\x60\x00\x00\x00\x00\x20\x3a\x40",
                b"\x86\xdd\x60\x00\x00\x00\x00\x20\x00\x40",
                b"\x86\xdd\x60\x00\x00\x00\x00\x20\x2c\x40",
                b"\x88\xcc\x02\x02",
                b"\x81\x00",
                b"\x88\xa8\x00\x01\x81\x00",
            ]
        )
    )
    return head + start + draw(st.binary(min_size=2 - min(len(start), 2), max_size=100))


def frames() -> st.SearchStrategy[bytes]:
    """Draw frames of every sort: valid, damaged, noise."""
    return st.one_of(packets().map(Ethernet.to_bytes), damaged_frames(), noise_frames())
