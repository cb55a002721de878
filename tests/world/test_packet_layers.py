"""What each layer keeps, computes, and refuses."""

from dataclasses import replace
from typing import Any

import pytest

from penstock.addresses import ipv4, ipv6, mac
from penstock.errors import PenstockError
from penstock.openflow.fields import ETH_ARP, ETH_IPV4, ETH_IPV6, ETH_LLDP, ETH_QINQ, IP_TCP, IP_UDP
from penstock.packet import (
    ARP,
    ICMP,
    LLDP,
    MORE_FRAGMENTS,
    NEAREST_BRIDGE,
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
    NeighbourOption,
    NeighbourSolicitation,
    TcpFlags,
    Tlv,
    VlanTag,
    checksum,
    parse,
    tcp_segment,
    udp_datagram,
)

H1, H2 = mac("00:00:00:00:00:01"), mac("00:00:00:00:00:02")
IP1, IP2 = ipv4("10.0.0.1"), ipv4("10.0.0.2")
IP6_1, IP6_2 = ipv6("fe80::1"), ipv6("fe80::2")
ENDS: dict[str, Any] = {"eth_src": H1, "eth_dst": H2, "ip_src": IP1, "ip_dst": IP2}
SYN = tcp_segment(**ENDS, tcp_src=1000, tcp_dst=80, flags=TcpFlags.SYN)
DATAGRAM = udp_datagram(**ENDS, udp_src=68, udp_dst=67, payload=b"hello")


def ipv4_layer(packet: Ethernet) -> IPv4:
    found = packet.find(IPv4)
    assert found is not None
    return found


def over_ipv6(protocol: int, payload: TCP | UDP | ICMPv6 | bytes, **fields: Any) -> Ethernet:
    return Ethernet(H2, H1, ETH_IPV6, replace(IPv6(IP6_1, IP6_2, protocol, payload), **fields))


class TestChecksum:
    def test_the_example_of_rfc_1071(self) -> None:
        assert checksum(bytes.fromhex("0001f203f4f5f6f7")) == 0x220D

    def test_an_odd_byte_counts_as_the_high_half_of_a_word(self) -> None:
        assert checksum(b"\x01\x02\x03") == checksum(b"\x01\x02\x03\x00")

    def test_words_outside_the_bytes_are_added_to_them(self) -> None:
        assert checksum(b"\x00\x01", 0x0A000002 + 6) == checksum(bytes.fromhex("00010a0000020006"))

    def test_zeros_and_only_zeros_have_the_checksum_of_all_ones(self) -> None:
        assert checksum(bytes(20)) == 0xFFFF
        assert checksum(b"\xff\xff") == 0

    def test_a_well_known_ipv4_header(self) -> None:
        header = bytes.fromhex("45000073000040004011b861c0a80001c0a800c7")
        found = ipv4_layer(parse(bytes(12) + b"\x08\x00" + header + bytes(0x73 - 20)))
        assert found.checksum is None
        assert found.to_bytes()[:20] == header


class TestEthernet:
    def test_addresses_type_and_payload(self) -> None:
        data = bytes.fromhex("000000000002 000000000001 1234") + b"payload"
        assert parse(data) == Ethernet(H2, H1, 0x1234, b"payload")

    def test_tags_are_listed_from_the_outermost_in(self) -> None:
        data = bytes(12) + bytes.fromhex("88a8 2064 8100 f005 1234")
        packet = parse(data)
        assert packet.tags == (VlanTag(100, 1, tpid=ETH_QINQ), VlanTag(5, 7, 1))
        assert packet.ethertype == 0x1234

    def test_a_tag_without_room_for_the_next_type_is_payload(self) -> None:
        packet = parse(bytes(12) + bytes.fromhex("8100 0005 08"))
        assert (packet.tags, packet.ethertype, packet.payload) == ((), 0x8100, b"\x00\x05\x08")

    def test_an_ieee_802_3_length_leaves_the_payload_opaque(self) -> None:
        packet = parse(bytes(12) + b"\x00\x03" + b"\x42\x42\x03" + bytes(43))
        assert (packet.ethertype, packet.payload) == (3, b"\x42\x42\x03" + bytes(43))

    def test_padding_after_the_datagram_is_the_frame_s(self) -> None:
        packet = parse(SYN.to_bytes() + b"\x01\x02")
        assert packet == replace(SYN, padding=b"\x01\x02")

    def test_a_layer_is_found_by_its_kind(self) -> None:
        assert SYN.find(TCP) == TCP(1000, 80, flags=TcpFlags.SYN)
        assert SYN.find(UDP) is None
        assert SYN.find(Ethernet) is SYN

    def test_layers_go_from_the_frame_inwards(self) -> None:
        assert [type(layer) for layer in DATAGRAM.layers()] == [Ethernet, IPv4, UDP, bytes]
        assert list(DATAGRAM.layers())[-1] == b"hello"


class TestArp:
    def test_fields(self) -> None:
        data = bytes(12) + bytes.fromhex(
            "0806 0001 0800 06 04 0002 000000000001 0a000001 000000000002 0a000002"
        )
        assert parse(data).payload == ARP(2, H1, IP1, H2, IP2)

    @pytest.mark.parametrize("at", [15, 17, 18, 19], ids=["hardware", "protocol", "length", "length"])
    def test_arp_for_other_addresses_stays_opaque(self, at: int) -> None:
        data = bytearray(Ethernet(H2, H1, ETH_ARP, ARP(1, H1, IP1, 0, IP2)).to_bytes())
        data[at] += 1
        assert parse(bytes(data)).payload == bytes(data[14:])


class TestIPv4:
    def test_a_wrong_checksum_is_kept(self) -> None:
        wrong = replace(SYN, payload=replace(ipv4_layer(SYN), checksum=0xBAD))
        assert wrong.to_bytes()[24:26] == b"\x0b\xad"
        assert parse(wrong.to_bytes()) == wrong

    def test_a_datagram_cut_short_keeps_the_length_it_claims(self) -> None:
        found = ipv4_layer(parse(DATAGRAM.to_bytes()[:-2]))
        assert found.length == 33
        assert isinstance(found.payload, UDP)
        assert found.payload == UDP(68, 67, b"hel", 13, found.payload.checksum)

    def test_options_are_kept(self) -> None:
        packet = replace(SYN, payload=replace(ipv4_layer(SYN), options=b"\x94\x04\x00\x00"))
        assert packet.to_bytes()[14] == 0x46
        assert parse(packet.to_bytes()) == packet

    def test_a_later_fragment_has_no_transport_header(self) -> None:
        fragment = replace(ipv4_layer(DATAGRAM), offset=1, payload=b"not a UDP header")
        assert parse(replace(DATAGRAM, payload=fragment).to_bytes()).payload == fragment

    def test_a_first_fragment_has_one(self) -> None:
        fragment = replace(ipv4_layer(DATAGRAM), flags=MORE_FRAGMENTS)
        assert parse(replace(DATAGRAM, payload=fragment).to_bytes()).payload == fragment

    @pytest.mark.parametrize(
        ("at", "value"),
        [(14, 0x55), (14, 0x44), (14, 0x4F), (17, 19)],
        ids=["version", "header below its least", "header beyond the end", "length below the header's"],
    )
    def test_an_impossible_header_stays_opaque(self, at: int, value: int) -> None:
        data = bytearray(SYN.to_bytes())
        data[at] = value
        assert parse(bytes(data)).payload == bytes(data[14:])


class TestIPv6:
    def test_fields(self) -> None:
        packet = over_ipv6(253, b"xyz", hop_limit=3, traffic_class=0xAB, flow_label=0xCDEF1)
        data = packet.to_bytes()
        assert data[14:22] == bytes.fromhex("6abcdef1 0003 fd 03")
        assert parse(data) == packet

    def test_the_transport_is_found_behind_extension_headers(self) -> None:
        extensions = (
            ExtensionHeader(0, b"\x00\x01\x04\x00\x00\x00\x00"),
            ExtensionHeader(43, b"\x02\x00\x01\x00\x00\x00\x00" + bytes(16)),
            ExtensionHeader(44, b"\x00\x00\x01\x00\x00\x00\x07"),
            ExtensionHeader(51, b"\x01" + bytes(10)),
            ExtensionHeader(60, b"\x00\x01\x04\x00\x00\x00\x00"),
        )
        packet = over_ipv6(IP_UDP, UDP(1, 2, b"x"), extensions=extensions)
        assert packet.to_bytes()[20] == 0
        assert parse(packet.to_bytes()) == packet

    def test_a_later_fragment_has_no_transport_header(self) -> None:
        fragment = ExtensionHeader(44, b"\x00\x00\x08\x00\x00\x00\x07")
        packet = over_ipv6(IP_UDP, b"not a UDP header", extensions=(fragment,))
        assert parse(packet.to_bytes()) == packet

    def test_an_extension_header_cut_short_is_payload(self) -> None:
        packet = over_ipv6(60, b"\x11\x01\x01\x04\x00\x00\x00\x00")
        assert parse(packet.to_bytes()) == packet

    def test_a_datagram_cut_short_keeps_the_length_it_claims(self) -> None:
        found = parse(over_ipv6(253, b"hello").to_bytes()[:-2]).payload
        assert found == IPv6(IP6_1, IP6_2, 253, b"hel", length=5)


class TestTcpAndUdp:
    def test_flags_read_as_words(self) -> None:
        assert str(TcpFlags.SYN | TcpFlags.ACK) == "SYN+ACK"
        assert str(TcpFlags(0)) == ""

    def test_all_twelve_bits_beside_the_header_length_are_flags(self) -> None:
        segment = TCP(1, 2, flags=TcpFlags(0xFFF), options=b"\x01\x01\x01\x00")
        assert segment.to_bytes(0)[12:14] == b"\x6f\xff"
        packet = Ethernet(H2, H1, ETH_IPV4, IPv4(IP1, IP2, IP_TCP, segment))
        assert parse(packet.to_bytes()) == packet

    @pytest.mark.parametrize("offset", [0x40, 0x60], ids=["below its least", "beyond the end"])
    def test_an_impossible_header_length_leaves_tcp_opaque(self, offset: int) -> None:
        data = bytearray(SYN.to_bytes())
        data[46] = offset
        assert parse(bytes(data)).find(TCP) is None
        assert ipv4_layer(parse(bytes(data))).payload == bytes(data[34:])

    def test_a_wrong_checksum_is_kept(self) -> None:
        data = SYN.to_bytes()[:50] + b"\x0b\xad" + SYN.to_bytes()[52:]
        assert parse(data).find(TCP) == TCP(1000, 80, flags=TcpFlags.SYN, checksum=0xBAD)

    def test_udp_without_a_checksum_says_so(self) -> None:
        data = DATAGRAM.to_bytes()[:40] + b"\0\0" + DATAGRAM.to_bytes()[42:]
        assert parse(data).find(UDP) == UDP(68, 67, b"hello", checksum=0)

    def test_a_udp_checksum_that_comes_out_as_zero_is_sent_as_all_ones(self) -> None:
        blank = UDP(0, 0, checksum=0).to_bytes(0)
        port = checksum(blank, IP1 + IP2 + IP_UDP + len(blank))
        packet = Ethernet(H2, H1, ETH_IPV4, IPv4(IP1, IP2, IP_UDP, UDP(port, 0)))
        assert packet.to_bytes()[40:42] == b"\xff\xff"
        assert parse(packet.to_bytes()) == packet

    def test_a_wrong_udp_length_is_kept(self) -> None:
        data = DATAGRAM.to_bytes()[:38] + b"\x00\x09" + DATAGRAM.to_bytes()[40:]
        found = parse(data).find(UDP)
        assert found is not None
        assert (found.length, found.payload) == (9, b"hello")


class TestIcmp:
    def test_an_echo_has_an_id_and_a_sequence_number(self) -> None:
        data = ICMP(8, 0, Echo(0x1234, 7, b"abc")).to_bytes()
        assert data[:2] + data[4:] == bytes.fromhex("0800 1234 0007") + b"abc"
        assert checksum(data) == 0

    def test_other_messages_are_type_code_and_bytes(self) -> None:
        message = ICMP(3, 1, bytes(4) + b"the datagram")
        packet = Ethernet(H2, H1, ETH_IPV4, IPv4(IP1, IP2, 1, message))
        assert parse(packet.to_bytes()).find(ICMP) == message

    def test_a_neighbour_is_asked_for_and_answers_with_its_mac_address(self) -> None:
        asked = NeighbourSolicitation(IP6_2, (NeighbourOption.link_layer(SOURCE_LINK_LAYER, H1),))
        answer = NeighbourAdvertisement(IP6_2, options=(NeighbourOption.link_layer(TARGET_LINK_LAYER, H2),))
        assert parse(over_ipv6(58, ICMPv6(135, 0, asked)).to_bytes()).find(NeighbourSolicitation) == asked
        assert parse(over_ipv6(58, ICMPv6(136, 0, answer)).to_bytes()).find(NeighbourAdvertisement) == answer
        assert (asked.link_layer, answer.link_layer) == (H1, H2)

    def test_a_neighbour_may_leave_its_mac_address_out(self) -> None:
        foreign = NeighbourOption(14, b"nonce!")
        assert NeighbourSolicitation(IP6_2, (foreign,)).link_layer is None
        assert NeighbourAdvertisement(IP6_2).link_layer is None

    @pytest.mark.parametrize(
        "options",
        [b"\x01\x00" + bytes(6), b"\x01\x02" + bytes(6), b"\x01\x01" + bytes(6) + b"\x01"],
        ids=["of no length", "beyond the end", "an odd byte"],
    )
    def test_malformed_options_leave_the_body_opaque(self, options: bytes) -> None:
        body = NeighbourSolicitation(IP6_2).to_bytes() + options
        found = parse(over_ipv6(58, ICMPv6(135, 0, body)).to_bytes()).find(ICMPv6)
        assert found == ICMPv6(135, 0, body)


class TestLldp:
    PACKET = LLDP(LldpId(7, b"dpid:1"), LldpId(2, b"\0\0\0\x03"), 120, (Tlv(5, b"s1"),))

    def test_the_bytes_begin_with_three_tlvs_and_end_with_an_empty_one(self) -> None:
        assert self.PACKET.to_bytes() == (
            b"\x02\x07\x07dpid:1" + b"\x04\x05\x02\0\0\0\x03" + b"\x06\x02\0\x78" + b"\x0a\x02s1" + b"\0\0"
        )

    def test_what_follows_the_end_is_padding(self) -> None:
        packet = Ethernet(NEAREST_BRIDGE, H1, ETH_LLDP, self.PACKET, padding=bytes(10))
        assert parse(packet.to_bytes()) == packet

    @pytest.mark.parametrize(
        "data",
        [
            b"\x02\x02\x07a" + b"\x04\x02\x07b" + b"\x06\x02\0\x78",
            b"\x04\x02\x07b" + b"\x02\x02\x07a" + b"\x06\x02\0\x78" + b"\0\0",
            b"\x02\x02\x07a" + b"\x04\x02\x07b" + b"\x06\x01\x78" + b"\0\0",
            b"\x02\x00" + b"\x04\x02\x07b" + b"\x06\x02\0\x78" + b"\0\0",
            b"\x02\x02\x07a" + b"\x04\x02\x07b" + b"\x06\x02\0\x78" + b"\0\x01x" + b"\0\0",
            b"\x02\x02\x07a" + b"\x04\x02\x07b" + b"\x06\x02\0\x78" + b"\x0a\x09x",
        ],
        ids=["no end", "order", "one-byte ttl", "no subtype", "end with a value", "beyond the end"],
    )
    def test_a_packet_that_breaks_the_standard_stays_opaque(self, data: bytes) -> None:
        assert parse(bytes(12) + b"\x88\xcc" + data).payload == data


class TestWhatDoesNotFit:
    @pytest.mark.parametrize(
        ("packet", "sentence"),
        [
            (replace(SYN, tags=(VlanTag(4096),)), "4096 does not fit the VLAN id: it has 12 bits"),
            (replace(SYN, tags=(VlanTag(1, 8),)), "8 does not fit the VLAN priority: it has 3 bits"),
            (replace(SYN, dst=1 << 48), r"\(Ethernet, IPv4, TCP\) has a number that its header"),
            (replace(SYN, payload=replace(ipv4_layer(SYN), ttl=256)), "has a number that its header field"),
            (
                replace(SYN, payload=replace(ipv4_layer(SYN), offset=-1)),
                "-1 does not fit the fragment offset",
            ),
            (replace(SYN, payload=replace(ipv4_layer(SYN), options=b"abc")), "IPv4 options of 3 bytes: pad"),
            (replace(SYN, payload=replace(ipv4_layer(SYN), payload=TCP(1, 65536))), "cannot hold"),
            (
                replace(SYN, payload=replace(ipv4_layer(SYN), payload=TCP(1, 2, options=bytes(44)))),
                "TCP options of 44 bytes: pad them to a multiple of 4, at most 40 bytes",
            ),
            (over_ipv6(6, TCP(1, 2), flow_label=1 << 20), "1048576 does not fit the flow label"),
            (over_ipv6(256, b"", extensions=(ExtensionHeader(0, bytes(7)),)), "cannot hold"),
            (
                over_ipv6(58, ICMPv6(135, 0, NeighbourSolicitation(1, (NeighbourOption(1, b"12345"),)))),
                "A neighbour option of 5 bytes: pad it",
            ),
            (
                Ethernet(1, 2, ETH_LLDP, LLDP(LldpId(7, bytes(511)), LldpId(7, b"1"))),
                "512 does not fit the LLDP length: it has 9 bits",
            ),
            (Ethernet(1, 2, ETH_LLDP, LLDP(LldpId(7, b"1"), LldpId(7, b"1"), 65536)), "cannot hold"),
        ],
    )
    def test_building_says_what_does_not_fit(self, packet: Ethernet, sentence: str) -> None:
        with pytest.raises(PenstockError, match=sentence):
            packet.to_bytes()
