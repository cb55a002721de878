"""os-ken's packet library and ours agree on every protocol, field by field and byte by byte.

Each packet is put together a second time from os-ken's classes.  Its bytes must be ours (lengths
and checksums included), os-ken must read our bytes as those same fields, and we must read its
bytes as our packet.  The strategies leave out what os-ken cannot express: more than six TCP flags,
several neighbour options, a checksum of zero, a transport behind extension headers.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from os_ken.lib import addrconv
from os_ken.lib.packet import arp, ethernet, icmp, icmpv6, ipv4, ipv6, lldp, tcp, udp, vlan
from os_ken.lib.packet.packet import Packet
from tests import strategies_packets as drawn

from penstock.addresses import ipv4_text, mac_text
from penstock.openflow.fields import (
    ETH_IPV4,
    ETH_IPV6,
    ETH_QINQ,
    ETH_VLAN,
)
from penstock.packet import (
    ARP,
    ICMP,
    LLDP,
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
    parse,
)

_ETHERTYPES = drawn.ETHERTYPES | {bytes: 0x88B5}
_PROTOCOLS = drawn.PROTOCOLS | {bytes: 253}

# os-ken goes on to parse what it thinks is BGP, DHCP, VXLAN … by well-known ports.
plain_ports = st.integers(10_000, 60_000)
contents = st.binary(min_size=1, max_size=40)

tcp_options = st.lists(
    st.sampled_from(
        [b"\x02\x04\x05\xb4", b"\x01\x03\x03\x07", b"\x04\x02\x01\x01", b"\x08\x0a" + bytes(8) + b"\x01\x01"]
    ),
    max_size=3,
).map(b"".join)
tcps = st.builds(
    TCP,
    plain_ports,
    plain_ports,
    st.integers(0, 0xFFFFFFFF),
    st.integers(0, 0xFFFFFFFF),
    st.builds(TcpFlags, st.integers(0, 0x3F)),
    st.integers(0, 0xFFFF),
    contents,
    tcp_options,
    st.integers(0, 0xFFFF),
)
udps = st.builds(UDP, plain_ports, plain_ports, contents)
icmps = st.one_of(
    st.builds(ICMP, st.sampled_from([0, 8]), st.integers(0, 255), drawn.echoes),
    st.builds(ICMP, st.sampled_from([5, 13, 42]), st.integers(0, 255), contents),
)
link_layers = st.lists(drawn.link_layers, max_size=1).map(tuple)
icmpv6s = st.one_of(
    st.builds(ICMPv6, st.sampled_from([128, 129]), st.integers(0, 255), drawn.echoes),
    st.builds(ICMPv6, st.just(135), st.just(0), st.builds(NeighbourSolicitation, drawn.ipv6s, link_layers)),
    st.builds(
        ICMPv6,
        st.just(136),
        st.just(0),
        st.builds(
            NeighbourAdvertisement, drawn.ipv6s, st.builds(NeighbourFlags, st.integers(0, 7)), link_layers
        ),
    ),
    st.builds(ICMPv6, st.sampled_from([1, 2, 137]), st.integers(0, 255), contents),
)


@st.composite
def datagrams(draw: st.DrawFn) -> IPv4 | IPv6:
    if draw(st.booleans()):
        payload = draw(st.one_of(tcps, udps, icmps, contents))
        datagram = draw(drawn.ipv4_datagrams())
        return replace(datagram, protocol=_PROTOCOLS[type(payload)], payload=payload, offset=0)
    upper = draw(st.one_of(tcps, udps, icmpv6s, contents))
    datagram6 = draw(drawn.ipv6_datagrams())
    return replace(datagram6, protocol=_PROTOCOLS[type(upper)], payload=upper, extensions=())


lldp_ids = st.builds(LldpId, st.integers(0, 255), contents)
lldps = st.builds(
    LLDP,
    lldp_ids,
    lldp_ids,
    st.integers(0, 0xFFFF),
    st.lists(
        st.builds(Tlv, st.sampled_from([4, 5, 6, 127]), st.binary(min_size=4, max_size=20)), max_size=3
    ).map(tuple),
)
# Under a service tag os-ken knows nothing but a customer tag.
tag_types = st.sampled_from([(), (ETH_VLAN,), (ETH_VLAN, ETH_VLAN), (ETH_QINQ, ETH_VLAN)])


@st.composite
def packets(draw: st.DrawFn) -> Ethernet:
    payload = draw(st.one_of(drawn.arps, datagrams(), datagrams(), lldps, contents))
    tags = tuple(replace(draw(drawn.tags), tpid=tpid) for tpid in draw(tag_types))
    return Ethernet(draw(drawn.macs), draw(drawn.macs), _ETHERTYPES[type(payload)], payload, tags)


def osken_protocols(packet: Ethernet) -> list[Any]:
    """Return os-ken's objects for the layers of one of our packets."""
    types = [tag.tpid for tag in packet.tags] + [packet.ethertype]
    protocols = [ethernet.ethernet(mac_text(packet.dst), mac_text(packet.src), types[0])]
    for tag, following in zip(packet.tags, types[1:], strict=True):
        kind = vlan.vlan if tag.tpid == ETH_VLAN else vlan.svlan
        protocols.append(kind(tag.pcp, tag.dei, tag.vid, following))
    for layer in list(packet.layers())[1:]:
        if isinstance(layer, ICMP | ICMPv6):
            return [*protocols, osken_icmp(layer)]
        if layer != b"":
            protocols.append(osken_layer(layer))
    return protocols


def osken_ipv6(address: int) -> str:
    """Return an IPv6 address as os-ken writes it, which is not always the shortest form."""
    return str(addrconv.ipv6.bin_to_text(address.to_bytes(16)))


def osken_layer(layer: object) -> Any:
    match layer:
        case ARP():
            addresses = (mac_text(layer.sha), ipv4_text(layer.spa), mac_text(layer.tha), ipv4_text(layer.tpa))
            return arp.arp(1, ETH_IPV4, 6, 4, layer.op, *addresses)
        case IPv4():
            return ipv4.ipv4(
                header_length=5 + len(layer.options) // 4,
                tos=layer.tos,
                identification=layer.identification,
                flags=layer.flags,
                offset=layer.offset,
                ttl=layer.ttl,
                proto=layer.protocol,
                src=ipv4_text(layer.src),
                dst=ipv4_text(layer.dst),
                option=layer.options or None,
            )
        case IPv6():
            return ipv6.ipv6(
                traffic_class=layer.traffic_class,
                flow_label=layer.flow_label,
                nxt=layer.protocol,
                hop_limit=layer.hop_limit,
                src=osken_ipv6(layer.src),
                dst=osken_ipv6(layer.dst),
            )
        case TCP():
            numbers = (layer.src, layer.dst, layer.seq, layer.ack, 0, int(layer.flags), layer.window, 0)
            return tcp.tcp(*numbers, layer.urgent, osken_tcp_options(layer.options))
        case UDP():
            return udp.udp(layer.src, layer.dst)
        case LLDP():
            return lldp.lldp(
                [
                    lldp.ChassisID(subtype=layer.chassis.subtype, chassis_id=layer.chassis.value),
                    lldp.PortID(subtype=layer.port.subtype, port_id=layer.port.value),
                    lldp.TTL(ttl=layer.ttl),
                    *map(osken_tlv, layer.tlvs),
                    lldp.End(),
                ]
            )
        case _:
            return layer


def osken_tcp_options(data: bytes) -> list[Any] | None:
    options = []
    while data:
        option, data = tcp.TCPOption.parser(data)
        options.append(option)
    return options or None


def osken_icmp(message: ICMP | ICMPv6) -> Any:
    kind = icmp if isinstance(message, ICMP) else icmpv6
    make = icmp.icmp if isinstance(message, ICMP) else icmpv6.icmpv6
    match message.payload:
        case Echo() as echo:
            body: Any = kind.echo(echo.id, echo.seq, echo.payload or None)
        case NeighbourSolicitation() as question:
            body = icmpv6.nd_neighbor(0, osken_ipv6(question.target), osken_link_layer(question.options))
        case NeighbourAdvertisement() as answer:
            target = osken_ipv6(answer.target)
            body = icmpv6.nd_neighbor(int(answer.flags), target, osken_link_layer(answer.options))
        case _:
            body = message.payload
    return make(message.type, message.code, data=body)


def osken_link_layer(options: tuple[NeighbourOption, ...]) -> Any:
    for option in options:
        make = icmpv6.nd_option_sla if option.kind == 1 else icmpv6.nd_option_tla
        return make(hw_src=option.value.hex(":"))
    return None


def osken_tlv(tlv: Tlv) -> Any:
    match tlv.kind:
        case 4:
            return lldp.PortDescription(port_description=tlv.value)
        case 5:
            return lldp.SystemName(system_name=tlv.value)
        case 6:
            return lldp.SystemDescription(system_description=tlv.value)
        case _:
            return lldp.OrganizationallySpecific(oui=tlv.value[:3], subtype=tlv.value[3], info=tlv.value[4:])


def fields_of(thing: Any, like: Any) -> Any:
    """Return the attributes of an os-ken object that another one has too, all the way down."""
    if isinstance(thing, list):
        return [fields_of(one, other) for one, other in zip(thing, like, strict=True)]
    if isinstance(thing, bytes | bytearray):
        return bytes(thing)
    if not hasattr(thing, "__dict__"):
        return thing
    names = sorted(name for name in vars(like) if name in vars(thing))
    fields = [(name, fields_of(getattr(thing, name), getattr(like, name))) for name in names]
    return type(thing).__name__, fields


def serialised(protocols: list[Any]) -> bytes:
    packet = Packet(protocols=protocols)
    packet.serialize()
    return bytes(packet.data)


@settings(max_examples=400)
@given(packets())
def test_both_write_the_same_bytes(packet: Ethernet) -> None:
    data = packet.to_bytes()
    # os-ken pads a frame to Ethernet's least size; we leave that to whoever wants it.
    assert serialised(osken_protocols(packet)) == data.ljust(60, b"\0")


@settings(max_examples=400)
@given(packets())
def test_os_ken_reads_the_fields_that_we_wrote(packet: Ethernet) -> None:
    expected = osken_protocols(packet)
    serialised(expected)  # fills in the lengths and checksums
    found = Packet(packet.to_bytes()).protocols
    if isinstance(expected[-1], bytes) and not expected[-1].strip(b"\0"):
        expected = expected[:-1]  # os-ken takes zeros at the end for padding
    assert fields_of(found, expected) == fields_of(expected, found)


@settings(max_examples=400)
@given(packets())
def test_we_read_the_fields_that_os_ken_wrote(packet: Ethernet) -> None:
    found = parse(serialised(osken_protocols(packet)))
    padding = bytes(max(0, 60 - len(packet.to_bytes())))
    if isinstance(packet.payload, bytes):
        assert found == replace(packet, payload=packet.payload + padding)
    else:
        assert found == replace(packet, padding=padding)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (ExtensionHeader(0, b"\x00\x05\x02\x00\x00\x01\x00"), ipv6.hop_opts),
        (ExtensionHeader(60, b"\x00\x05\x02\x00\x00\x01\x00"), ipv6.dst_opts),
        (ExtensionHeader(44, b"\x00\x00\x01\x00\x00\x00\x09"), ipv6.fragment),
        (ExtensionHeader(51, b"\x03\x00\x00" + bytes(range(16))), ipv6.auth),
    ],
    ids=["hop-by-hop", "destination options", "first fragment", "authentication"],
)
def test_os_ken_finds_the_same_end_of_an_extension_header(ours: ExtensionHeader, theirs: Any) -> None:
    packet = Ethernet(1, 2, ETH_IPV6, IPv6(1, 2, 253, b"payload", extensions=(ours,)))
    header = Packet(packet.to_bytes()).get_protocol(ipv6.ipv6).ext_hdrs[0]
    assert type(header) is theirs
    assert header.nxt == 253
    assert len(header) == 1 + len(ours.body)
    assert bytes(header.serialize()) == b"\xfd" + ours.body
    assert parse(packet.to_bytes()) == packet
