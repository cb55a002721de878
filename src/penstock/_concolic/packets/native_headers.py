"""A frame's headers as `packet` has them, followed: what `parse` returns for a `SymFrame`.

Numbers in the layers are followed.  Which layer is inside another is decided when somebody asks for
its `payload`, and whether there is a tag when somebody asks for `tags`; `find(TCP)` decides whether
there is one, and nothing else.  Bytes inside a layer are a `SymFrame`, whose length is open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntFlag
from typing import Any, Final, TypeVar

from penstock._concolic.code.summaries import UNFOLLOWED, Functions
from penstock._concolic.packets import layouts
from penstock._concolic.packets.frames import SymFrame
from penstock._concolic.packets.headers import Header, input_term, is_value
from penstock._concolic.packets.layouts import PRESENT
from penstock._concolic.packets.lazy import frame_of, instance, stand_in
from penstock._concolic.terms import Term, bits, both, const, either, shl
from penstock._concolic.values.integers import SymInt, term_of
from penstock.packet import (
    ARP,
    ECHO_REPLY,
    ECHO_REPLY_V6,
    ECHO_REQUEST,
    ECHO_REQUEST_V6,
    ICMP,
    LLDP,
    SOURCE_LINK_LAYER,
    TARGET_LINK_LAYER,
    TCP,
    UDP,
    Echo,
    Ethernet,
    ICMPv6,
    IPv4,
    IPv6,
    LldpId,
    NeighbourAdvertisement,
    NeighbourFlags,
    NeighbourOption,
    NeighbourSolicitation,
    TcpFlags,
    VlanTag,
)

Layer = TypeVar("Layer")

_ECHO = either(is_value("icmpv4_type", ECHO_REQUEST), is_value("icmpv4_type", ECHO_REPLY))
_ECHO_V6 = either(is_value("icmpv6_type", ECHO_REQUEST_V6), is_value("icmpv6_type", ECHO_REPLY_V6))


class SymFlags(SymInt):
    """Flags that are followed: they can be asked for members, as an `IntFlag` can."""

    kind: type[IntFlag]

    @property
    def plain(self) -> IntFlag:
        """The flags that happen to be set."""
        return self.kind(super().plain)

    def __contains__(self, flag: int) -> bool:
        return bool((self & flag) == int(flag))


def _flags(frame: SymFrame, kind: type[IntFlag], name: str) -> Any:
    number = frame.number(name)
    flags = SymFlags(number, term_of(number))
    flags.kind = kind
    return flags


def parse_native(frame: SymFrame) -> Ethernet:
    """Return the layers of a frame, followed."""
    numbers = _numbers(frame, {"dst": "eth_dst", "src": "eth_src", "ethertype": "eth_type"})
    found: Ethernet = instance(_ETHERNET, frame, {**numbers, "payload": None, "tags": None, "padding": b""})
    return found


def _numbers(frame: SymFrame, names: Mapping[str, str | Term]) -> dict[str, int]:
    return {attribute: frame.number(what) for attribute, what in names.items()}


# From a header to a layer.


def _arp(frame: SymFrame) -> ARP:
    return ARP(**_numbers(frame, {name: f"arp_{name}" for name in ("op", "sha", "spa", "tha", "tpa")}))


def _ipv4(frame: SymFrame) -> IPv4:
    names: dict[str, str | Term] = {
        "src": "ipv4_src",
        "dst": "ipv4_dst",
        "protocol": "ip_proto",
        "ttl": "ip_ttl",
        "tos": "ip_tos",
        "identification": "ip_id",
        "flags": shl(input_term("ip_df"), const(1)),
    }
    right = {"offset": 0, "options": b"", "length": None, "checksum": None, "payload": None}
    found: IPv4 = instance(_IPV4, frame, {**_numbers(frame, names), **right})
    return found


def _ipv6(frame: SymFrame) -> IPv6:
    names = {
        "src": "ipv6_src",
        "dst": "ipv6_dst",
        "protocol": "ip_proto",
        "hop_limit": "ip_ttl",
        "traffic_class": "ip_tos",
        "flow_label": "ipv6_flabel",
    }
    right = {"extensions": (), "length": None, "payload": None}
    found: IPv6 = instance(_IPV6, frame, {**_numbers(frame, names), **right})
    return found


def _tcp(frame: SymFrame) -> TCP:
    names = {"src": "tcp_src", "dst": "tcp_dst", "seq": "tcp_seq", "ack": "tcp_ack", "window": "tcp_window"}
    right = {"options": b"", "urgent": 0, "checksum": None, "payload": None}
    flags = _flags(frame, TcpFlags, "tcp_flags")
    found: TCP = instance(_TCP, frame, {**_numbers(frame, names), **right, "flags": flags})
    return found


def _udp(frame: SymFrame) -> UDP:
    right = {"length": None, "checksum": None, "payload": None}
    found: UDP = instance(_UDP, frame, {**_numbers(frame, {"src": "udp_src", "dst": "udp_dst"}), **right})
    return found


def _icmp(frame: SymFrame) -> ICMP:
    numbers = _numbers(frame, {"type": "icmpv4_type", "code": "icmpv4_code"})
    found: ICMP = instance(_ICMP, frame, {**numbers, "checksum": None, "payload": None})
    return found


def _icmpv6(frame: SymFrame) -> ICMPv6:
    numbers = _numbers(frame, {"type": "icmpv6_type", "code": "icmpv6_code"})
    found: ICMPv6 = instance(_ICMPV6, frame, {**numbers, "checksum": None, "payload": None})
    return found


def _echo(frame: SymFrame) -> Echo:
    numbers = _numbers(frame, {"id": "icmp_id", "seq": "icmp_seq"})
    found: Echo = instance(_LAZY_ECHO, frame, {**numbers, "payload": None})
    return found


def _solicitation(frame: SymFrame) -> NeighbourSolicitation:
    option = _option(frame, SOURCE_LINK_LAYER, "ipv6_nd_sll")
    return NeighbourSolicitation(frame.number("ipv6_nd_target"), (option,))


def _advertisement(frame: SymFrame) -> NeighbourAdvertisement:
    option = _option(frame, TARGET_LINK_LAYER, "ipv6_nd_tll")
    flags = _flags(frame, NeighbourFlags, "nd_flags")
    return NeighbourAdvertisement(frame.number("ipv6_nd_target"), flags, (option,))


def _option(frame: SymFrame, kind: int, name: str) -> NeighbourOption:
    return NeighbourOption(kind, frame.bytes_of(input_term(name), 6))


def _lldp(frame: SymFrame) -> LLDP:
    port = LldpId(frame.number("lldp_port_subtype"), frame.bytes_of(input_term("lldp_port"), 4))
    ttl = frame.number("lldp_ttl")
    found: LLDP = instance(_LLDP, frame, {"chassis": None, "port": port, "ttl": ttl, "tlvs": ()})
    return found


# From a layer to what is inside.


def _payload(frame: SymFrame, _: object) -> bytes:
    return frame.payload


def _tags(frame: SymFrame, _: object) -> tuple[VlanTag, ...]:
    if not frame.decide(layouts.TAGGED):
        return ()
    vid = bits(input_term("vlan_vid"), 0, 12)
    return (VlanTag(**_numbers(frame, {"vid": vid, "pcp": "vlan_pcp", "dei": "vlan_dei"})),)


_Layers = Mapping[Header, Callable[[SymFrame], Any]]

_IN_ETHERNET: Final[_Layers] = {
    layouts.IPV4: _ipv4,
    layouts.ARP: _arp,
    layouts.IPV6: _ipv6,
    layouts.ANY_LLDP: _lldp,
}
_IN_IPV4: Final[_Layers] = {layouts.ICMP: _icmp, layouts.TCP: _tcp, layouts.UDP: _udp}
_IN_IPV6: Final[_Layers] = {layouts.ANY_ICMPV6: _icmpv6, layouts.TCP: _tcp, layouts.UDP: _udp}


def _inside(outer: Header, known: _Layers) -> Callable[[SymFrame, Any], Any]:
    """Return how to work out what is inside a layer: the layers known, else bytes."""
    choices = [alternative for alternative in outer.inside if alternative.header in known]

    def payload(frame: SymFrame, _: object) -> Any:
        for alternative in choices:
            if frame.decide(alternative.condition):
                return known[alternative.header](frame)
        return frame.after(outer)

    return payload


def _icmp_payload(frame: SymFrame, _: object) -> Echo | bytes:
    return _echo(frame) if frame.decide(_ECHO) else frame.after(layouts.ICMP, -4)


def _icmpv6_payload(frame: SymFrame, _: object) -> Any:
    inner = frame.inside(layouts.ANY_ICMPV6)
    if inner is layouts.SOLICITATION:
        return _solicitation(frame)
    if inner is layouts.ADVERTISEMENT:
        return _advertisement(frame)
    return _echo(frame) if frame.decide(_ECHO_V6) else frame.after(layouts.ICMPV6, -4)


def _chassis(frame: SymFrame, _: object) -> LldpId:
    return LldpId(frame.number("lldp_chassis_subtype"), frame.chassis)


_FOUND: Final[Mapping[type, tuple[Term, Callable[[SymFrame], Any]]]] = {
    ARP: (PRESENT["arp"], _arp),
    IPv4: (PRESENT["ipv4"], _ipv4),
    IPv6: (PRESENT["ipv6"], _ipv6),
    TCP: (PRESENT["tcp"], _tcp),
    UDP: (PRESENT["udp"], _udp),
    ICMP: (PRESENT["icmp"], _icmp),
    ICMPv6: (PRESENT["icmpv6"], _icmpv6),
    LLDP: (PRESENT["lldp"], _lldp),
    Echo: (
        either(both(PRESENT["icmp"], _ECHO), both(PRESENT["icmpv6"], _ECHO_V6)),
        _echo,
    ),
    NeighbourSolicitation: (PRESENT["neighbour_solicitation"], _solicitation),
    NeighbourAdvertisement: (PRESENT["neighbour_advertisement"], _advertisement),
}


def _find(self: Any, kind: type[Layer]) -> Layer | None:
    """Return the layer of a kind, or None if there is none."""
    if kind in _FOUND:
        condition, make = _FOUND[kind]
        frame = frame_of(self)
        return make(frame) if frame.decide(condition) else None
    return Ethernet.find(self, kind)


def _to_bytes(self: Any) -> bytes:
    """Return the frame as it is on the wire."""
    return frame_of(self)


_OPAQUE: Final = {"payload": _payload}

_ETHERNET = stand_in(
    Ethernet,
    {"payload": _inside(layouts.TYPE, _IN_ETHERNET), "tags": _tags},
    {"find": _find, "to_bytes": _to_bytes},
)
_IPV4 = stand_in(IPv4, {"payload": _inside(layouts.IPV4, _IN_IPV4)})
_IPV6 = stand_in(IPv6, {"payload": _inside(layouts.IPV6, _IN_IPV6)})
_TCP = stand_in(TCP, _OPAQUE)
_UDP = stand_in(UDP, _OPAQUE)
_ICMP = stand_in(ICMP, {"payload": _icmp_payload})
_ICMPV6 = stand_in(ICMPv6, {"payload": _icmpv6_payload})
_LAZY_ECHO = stand_in(Echo, _OPAQUE)
_LLDP = stand_in(LLDP, {"chassis": _chassis})


def _parse(data: bytes) -> Any:
    return parse_native(data) if isinstance(data, SymFrame) and not data.start else UNFOLLOWED


FUNCTIONS: Final[Functions] = {("penstock.packet.link", "parse"): _parse}
"""What to call in place of a function where an argument is followed."""
