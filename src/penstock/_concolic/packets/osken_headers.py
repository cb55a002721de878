"""A frame's headers as os-ken has them, followed: what `packet.Packet(msg.data)` is for a `SymFrame`.

The headers are what os-ken's own parser makes of the frame that happens to be there, with the
attributes that come from inputs replaced by values that are followed.  Which headers there are is
decided only as far as a program asks: `get_protocol(arp.arp)` decides whether the frame is ARP,
going through the packet decides its whole shape.

What a program does to its packet before it serialises it is kept.  Text and `serialize()` are those
of the frame that happens to be there.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from os_ken.lib.packet import (
    arp,
    ethernet,
    icmp,
    icmpv6,
    igmp,
    ipv4,
    ipv6,
    lldp,
    packet,
    packet_base,
    slow,
    tcp,
    udp,
    vlan,
)

from penstock._concolic.packets import layouts
from penstock._concolic.packets.frames import BLANK_PAYLOAD, NO_PAYLOAD, SymFrame
from penstock._concolic.packets.headers import input_term, is_value
from penstock._concolic.packets.lazy import Work, instance, stand_in
from penstock._concolic.run import lose, unnoticed
from penstock._concolic.terms import Term, bits, both, const, either, shl
from penstock._concolic.values.escapes import Symbolic
from penstock._concolic.values.parts import concrete

Attributes = Mapping[str, str | Term]

_NONE: Final[Attributes] = {}


class Kind:
    """A class of os-ken's, and where its attributes come from; some the shape decides (`work`)."""

    def __init__(
        self,
        made: type,
        numbers: Attributes = _NONE,
        *,
        macs: Attributes = _NONE,
        ipv4s: Attributes = _NONE,
        ipv6s: Attributes = _NONE,
        work: Mapping[str, Work] | None = None,
    ) -> None:
        self.made = made
        self._stand_in = stand_in(made, work or {})
        self._sources = (
            (SymFrame.number, numbers),
            (SymFrame.mac, macs),
            (SymFrame.ipv4, ipv4s),
            (SymFrame.ipv6, ipv6s),
        )

    def followed(self, frame: SymFrame, found: Any, **others: Any) -> Any:
        """Return the header that was found in a frame, with attributes that are followed."""
        values = {
            attribute: read(frame, what)
            for read, attributes in self._sources
            for attribute, what in attributes.items()
        }
        return instance(self._stand_in, frame, {**vars(found), **values, **others})


# What the shape decides.


def _rest(frame: SymFrame, _: object) -> bytes | None:
    return None if frame.decide(NO_PAYLOAD) else frame.payload


_ID, _SEQ = input_term("icmp_id"), input_term("icmp_seq")
_REST: Final = {"data": _rest}
_NUMBERED: Final = {"id": _ID, "seq": _SEQ}
_ICMP_DATA: Final = (
    (either(is_value("icmpv4_type", 8), is_value("icmpv4_type", 0)), Kind(icmp.echo, _NUMBERED, work=_REST)),
    (
        is_value("icmpv4_type", 3),
        Kind(icmp.dest_unreach, {"data_len": bits(_ID, 0, 8), "mtu": _SEQ}, work=_REST),
    ),
    (is_value("icmpv4_type", 11), Kind(icmp.TimeExceeded, {"data_len": bits(_ID, 0, 8)}, work=_REST)),
)
_ICMPV6_DATA: Final = (
    (
        either(is_value("icmpv6_type", 128), is_value("icmpv6_type", 129)),
        Kind(icmpv6.echo, _NUMBERED, work=_REST),
    ),
)
_TARGET: Final = {"dst": "ipv6_nd_target"}
_NEIGHBOURS: Final = {
    layouts.SOLICITATION: (
        Kind(icmpv6.nd_neighbor, ipv6s=_TARGET),
        Kind(icmpv6.nd_option_sla, macs={"hw_src": "ipv6_nd_sll"}),
    ),
    layouts.ADVERTISEMENT: (
        Kind(icmpv6.nd_neighbor, {"res": "nd_flags"}, ipv6s=_TARGET),
        Kind(icmpv6.nd_option_tla, macs={"hw_src": "ipv6_nd_tll"}),
    ),
}


def _icmp_data(frame: SymFrame, found: Any) -> Any:
    for condition, kind in _ICMP_DATA:
        if frame.decide(condition):
            return kind.followed(frame, found)
    return frame.after(layouts.ICMP, -4)


def _icmpv6_data(frame: SymFrame, found: Any) -> Any:
    inner = frame.inside(layouts.ANY_ICMPV6)
    if inner in _NEIGHBOURS:
        neighbour, option = _NEIGHBOURS[inner]
        return neighbour.followed(frame, found, option=option.followed(frame, found.option))
    for condition, kind in _ICMPV6_DATA:
        if frame.decide(condition):
            return kind.followed(frame, found)
    return frame.after(layouts.ICMPV6, -4)


_CHASSIS: Final = Kind(lldp.ChassisID, {"subtype": "lldp_chassis_subtype"})
_PORT: Final = Kind(lldp.PortID, {"subtype": "lldp_port_subtype"})
_TTL: Final = Kind(lldp.TTL, {"ttl": "lldp_ttl"})
_RECORD: Final = Kind(
    igmp.igmpv3_report_group, {"type_": "igmp_record_type"}, ipv4s={"address": "igmp_address"}
)


def _tlvs(frame: SymFrame, found: Any) -> list[Any]:
    chassis, port, ttl, end = found
    return [
        _CHASSIS.followed(frame, chassis, chassis_id=frame.chassis),
        _PORT.followed(frame, port, port_id=frame.bytes_of(input_term("lldp_port"), 4)),
        _TTL.followed(frame, ttl),
        end,
    ]


def _records(frame: SymFrame, found: Any) -> list[Any]:
    return [_RECORD.followed(frame, found[0])]


# The headers.


_STATES: Final = (
    *("activity", "timeout", "aggregation", "synchronization"),
    *("collecting", "distributing", "defaulted", "expired"),
)


def _lacp_numbers() -> dict[str, str | Term]:
    numbers: dict[str, str | Term] = {"collector_max_delay": "lacp_collector_max_delay"}
    for who in ("actor", "partner"):
        for what in ("system_priority", "key", "port_priority", "port"):
            numbers[f"{who}_{what}"] = f"lacp_{who}_{what}"
        state = input_term(f"lacp_{who}_state")
        numbers[f"_{who}_state"] = state
        numbers |= {f"{who}_state_{name}": bits(state, at, 1) for at, name in enumerate(_STATES)}
    return numbers


_IGMP_NUMBERS = {"msgtype": "igmp_type", "maxresp": "igmp_max_resp"}
_IGMP_ADDRESS = {"address": "igmp_address"}

KINDS: Final[Mapping[str, Kind]] = {
    "ethernet": Kind(
        ethernet.ethernet, {"ethertype": "first_type"}, macs={"dst": "eth_dst", "src": "eth_src"}
    ),
    "vlan": Kind(
        vlan.vlan,
        {
            "pcp": "vlan_pcp",
            "cfi": "vlan_dei",
            "vid": bits(input_term("vlan_vid"), 0, 12),
            "ethertype": "eth_type",
        },
    ),
    "arp": Kind(
        arp.arp,
        {"opcode": "arp_op"},
        macs={"src_mac": "arp_sha", "dst_mac": "arp_tha"},
        ipv4s={"src_ip": "arp_spa", "dst_ip": "arp_tpa"},
    ),
    "ipv4": Kind(
        ipv4.ipv4,
        {
            "tos": "ip_tos",
            "total_length": "ipv4_length",
            "identification": "ip_id",
            "flags": shl(input_term("ip_df"), const(1)),
            "ttl": "ip_ttl",
            "proto": "ip_proto",
        },
        ipv4s={"src": "ipv4_src", "dst": "ipv4_dst"},
    ),
    "ipv6": Kind(
        ipv6.ipv6,
        {
            "traffic_class": "ip_tos",
            "flow_label": "ipv6_flabel",
            "payload_length": "ipv6_length",
            "nxt": "ip_proto",
            "hop_limit": "ip_ttl",
        },
        ipv6s={"src": "ipv6_src", "dst": "ipv6_dst"},
    ),
    "icmp": Kind(icmp.icmp, {"type": "icmpv4_type", "code": "icmpv4_code"}, work={"data": _icmp_data}),
    "icmpv6": Kind(
        icmpv6.icmpv6,
        {"type_": "icmpv6_type", "code": "icmpv6_code"},
        work={"data": _icmpv6_data},
    ),
    "tcp": Kind(
        tcp.tcp,
        {
            "src_port": "tcp_src",
            "dst_port": "tcp_dst",
            "seq": "tcp_seq",
            "ack": "tcp_ack",
            "bits": bits(input_term("tcp_flags"), 0, 6),
            "window_size": "tcp_window",
        },
    ),
    "udp": Kind(udp.udp, {"src_port": "udp_src", "dst_port": "udp_dst", "total_length": "udp_length"}),
    "igmpv2": Kind(igmp.igmp, _IGMP_NUMBERS, ipv4s=_IGMP_ADDRESS),
    "igmpv3_query": Kind(
        igmp.igmpv3_query,
        {**_IGMP_NUMBERS, "s_flg": "igmp_s_flg", "qrv": "igmp_qrv", "qqic": "igmp_qqic"},
        ipv4s=_IGMP_ADDRESS,
    ),
    "igmpv3_report": Kind(
        igmp.igmpv3_report,
        {"msgtype": "igmp_type"},
        work={"records": _records},
    ),
    "lacp": Kind(
        slow.lacp,
        _lacp_numbers(),
        macs={"actor_system": "lacp_actor_system", "partner_system": "lacp_partner_system"},
    ),
    "lldp": Kind(lldp.lldp, work={"tlvs": _tlvs}),
}
"""os-ken's headers by the names that `layouts` has for them."""

_CLOSED: Final = ("icmpv6", "lldp")
"""Headers after which os-ken sees nothing more, whatever is inside."""

_BLANK_SLOW: Final = both(BLANK_PAYLOAD, is_value("slow_subtype", 0))


class SymPacket(packet.Packet, Symbolic):  # type: ignore[misc]
    """A packet that finds out about its headers as it is asked for them."""

    def __init__(self, frame: SymFrame) -> None:
        self.data = frame
        self._frame = frame
        self._made: dict[str, Any] = {}
        self._all: list[Any] | None = None
        self._changed = False
        with unnoticed():
            self._found = packet.Packet(frame.whole).protocols

    @property
    def plain(self) -> packet.Packet:
        """The packet as it happens to be, and no more than that."""
        made = packet.Packet(protocols=[])
        with unnoticed():
            made.data = concrete(self.data)
            made.protocols = concrete(self.protocols)
        return made

    # Headers.

    def _header(self, name: str) -> Any:
        """Return a header that is in the frame."""
        made = self._made.get(name)
        if made is None:
            kind = KINDS[name]
            found = next(found for found in self._found if type(found) is kind.made)
            made = self._made[name] = kind.followed(self._frame, found)
        return made

    def _in_order(self) -> Iterator[Any]:
        """Go through the headers and what is after them; the shape is decided step by step."""
        frame = self._frame
        for layout in layouts.stack(frame.decide):
            if layout.name in KINDS:
                yield self._header(layout.name)
            if layout.name in _CLOSED:
                return
        # os-ken takes zeros for padding.
        if layout is layouts.SLOW:
            if not frame.decide(_BLANK_SLOW):
                yield frame.after(layout, -layout.size)
        elif layout.payload and layout is not layouts.ICMP and not frame.decide(BLANK_PAYLOAD):
            yield frame.payload

    @property
    def protocols(self) -> list[Any]:
        """All headers, and the payload; the whole shape is decided."""
        if self._changed and self._all is not None:
            return self._all
        found = list(self._in_order())
        if self._all is None:
            self._all = found
        return self._all

    @protocols.setter
    def protocols(self, protocols: list[Any]) -> None:
        self._all = protocols
        self._changed = True

    def get_protocols(self, protocol: Any) -> list[Any]:
        """Return the headers of a class; just whether there are any is decided."""
        if isinstance(protocol, packet_base.PacketBase):
            protocol = protocol.__class__
        assert issubclass(protocol, packet_base.PacketBase)
        names = [name for name, kind in KINDS.items() if issubclass(kind.made, protocol)]
        if not names:
            lose(f"packets with {protocol.__name__} are not made")
        if self._changed or (len(names) > 1 and protocol is not igmp.igmp):
            found: list[Any] = super().get_protocols(protocol)
            return found
        if protocol is igmp.igmp:
            if not self._frame.has("igmp"):
                return []
            inner = self._frame.inside(layouts.ANY_IGMP)
            assert inner is not None
            return [self._header(inner.name)]
        return [self._header(name) for name in names if self._frame.has(name)]

    def __contains__(self, protocol: Any) -> bool:
        if self._changed or not inspect.isclass(protocol):
            return bool(super().__contains__(protocol))
        if not any(kind.made is protocol for kind in KINDS.values()):
            lose(f"packets with {protocol.__name__} are not made")
        return any(kind.made is protocol and self._frame.has(name) for name, kind in KINDS.items())

    def __iter__(self) -> Iterator[Any]:
        return iter(self.protocols) if self._changed else self._in_order()

    def __getitem__(self, index: Any) -> Any:
        if self._changed or not isinstance(index, int) or index < 0:
            return self.protocols[index]
        for found in islice(self._in_order(), index, None):
            return found
        raise IndexError("list index out of range")

    def __bool__(self) -> bool:
        return bool(self._all) if self._changed else True

    # Changes.

    def add_protocol(self, proto: Any) -> None:
        """Put one more header behind the others."""
        self.protocols = [*self.protocols, proto]

    def __setitem__(self, index: Any, item: Any) -> None:
        self.protocols = list(self.protocols)
        self.protocols[index] = item

    def __delitem__(self, index: Any) -> None:
        self.protocols = list(self.protocols)
        del self.protocols[index]

    def serialize(self) -> None:
        """Put the packet's bytes in `data`, as they happen to be."""
        plain = self.plain
        plain.serialize()
        self.data = plain.data

    def __str__(self) -> str:
        lose("the text of a packet")
        return str(self.plain)

    __repr__ = __str__


def parse_osken(frame: SymFrame) -> packet.Packet:
    """Return the packet that os-ken would make of a frame, followed."""
    return SymPacket(frame)
