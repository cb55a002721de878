"""The structures of 1.0, in terms of those of 1.3: the match, twelve fields of fixed size, and the actions.

Its setters are set-fields where 1.3 has the same, its lists of actions one `ApplyActions`.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from penstock.errors import PenstockError
from penstock.openflow.actions import (
    Action,
    ApplyActions,
    Enqueue,
    ExperimenterAction,
    Instruction,
    Output,
    PopVlan,
    SetField,
    SetTransportDst,
    SetTransportSrc,
    SetVlanPcp,
    SetVlanVid,
)
from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.fields import (
    BY_NAME,
    ETH_ARP,
    ETH_IPV4,
    ETH_IPV6,
    IP_ICMP,
    IP_ICMPV6,
    IP_SCTP,
    IP_TCP,
    IP_UDP,
    VID_PRESENT,
)
from penstock.openflow.match import Match, Term
from penstock.openflow.wire.ports import port_from10, port_to10
from penstock.openflow.wire.primitives import Form, Forms, plain, vendor

_MATCH: Final = Struct("!IH6s6sHBxHBB2xIIHH")
MATCH10_SIZE: Final = _MATCH.size

_IN_PORT, _VLAN, _SRC, _DST, _TYPE, _PROTO, _TP_SRC, _TP_DST = (1 << bit for bit in range(8))
_NW_SRC_SHIFT, _NW_DST_SHIFT = 8, 14
_NW_SRC, _NW_DST = 0x3F << _NW_SRC_SHIFT, 0x3F << _NW_DST_SHIFT
_PCP, _TOS_WILDCARD = 1 << 20, 1 << 21
_EVERY_BIT = (1 << 22) - 1
_NOTHING = _EVERY_BIT & ~(31 << _NW_SRC_SHIFT | 31 << _NW_DST_SHIFT)
"""The wildcards of a match that looks at nothing; 32 stands for all bits of an address."""

_NO_TAG = 0xFFFF
_VID = 0x0FFF
_FULL_VID = VID_PRESENT | _VID
_FULL_MAC = (1 << 48) - 1
_RARP = 0x8035

_TRANSPORT = {
    (ETH_IPV4, IP_ICMP): ("icmpv4_type", "icmpv4_code", 0xFF),
    (ETH_IPV6, IP_ICMPV6): ("icmpv6_type", "icmpv6_code", 0xFF),
} | {
    (eth_type, protocol): (f"{name}_src", f"{name}_dst", 0xFFFF)
    for eth_type in (ETH_IPV4, ETH_IPV6)
    for protocol, name in ((IP_TCP, "tcp"), (IP_UDP, "udp"), (IP_SCTP, "sctp"))
}
_NETWORK = {
    ETH_IPV4: ("ip_proto", 0xFF, "ipv4_src", "ipv4_dst"),
    ETH_ARP: ("arp_op", 0xFFFF, "arp_spa", "arp_tpa"),
    _RARP: ("arp_op", 0xFFFF, "arp_spa", "arp_tpa"),
    ETH_IPV6: ("ip_proto", 0xFF, "", ""),
}


def _prefix(wildcards: int, shift: int) -> int:
    """Return the mask of an address from the six bits that count what it ignores."""
    ignored = wildcards >> shift & 0x3F
    return 0xFFFFFFFF >> ignored << ignored


def read_match10(data: bytes, at: int) -> tuple[Match, bool]:
    """Return the match that starts here, and whether it wildcards nothing at all."""
    (
        wildcards, in_port, src, dst, vlan, pcp, eth_type, tos, proto, nw_src, nw_dst, tp_src, tp_dst,
    ) = _MATCH.unpack_from(data, at)  # fmt: skip
    terms: list[Term] = []
    if not wildcards & _IN_PORT:
        terms.append(Term("in_port", port_from10(in_port), 0xFFFFFFFF))
    if not wildcards & _DST:
        terms.append(Term("eth_dst", int.from_bytes(dst), _FULL_MAC))
    if not wildcards & _SRC:
        terms.append(Term("eth_src", int.from_bytes(src), _FULL_MAC))
    if not wildcards & _TYPE:
        terms.append(Term("eth_type", eth_type, 0xFFFF))
    if wildcards & (_VLAN | _PCP) != _VLAN | _PCP:
        terms += _read_vlan(wildcards, vlan, pcp)
    if not wildcards & _TYPE and eth_type in _NETWORK:
        terms += _read_network(wildcards, eth_type, tos, proto, nw_src, nw_dst)
        transport = _TRANSPORT.get((eth_type, proto)) if not wildcards & _PROTO else None
        if transport is not None:
            name_src, name_dst, full = transport
            if not wildcards & _TP_SRC:
                terms.append(Term(name_src, tp_src, full if tp_src <= full else 0xFFFF))
            if not wildcards & _TP_DST:
                terms.append(Term(name_dst, tp_dst, full if tp_dst <= full else 0xFFFF))
    return Match(tuple(terms)), not wildcards & _EVERY_BIT


def _read_vlan(wildcards: int, vlan: int, pcp: int) -> list[Term]:
    if not wildcards & _VLAN and vlan == _NO_TAG:
        return [Term("vlan_vid", 0, _FULL_VID)]
    if wildcards & _VLAN:
        terms = [Term("vlan_vid", VID_PRESENT, VID_PRESENT)]
    else:
        terms = [Term("vlan_vid", VID_PRESENT | vlan & _VID, _FULL_VID)]
    if not wildcards & _PCP:
        terms.append(Term("vlan_pcp", pcp & 7, 7))
    return terms


def _read_network(
    wildcards: int, eth_type: int, tos: int, proto: int, nw_src: int, nw_dst: int
) -> list[Term]:
    name_proto, full_proto, name_src, name_dst = _NETWORK[eth_type]
    terms: list[Term] = []
    if not wildcards & _TOS_WILDCARD and name_proto == "ip_proto":
        terms.append(Term("ip_dscp", tos >> 2, 0x3F))
    if not wildcards & _PROTO:
        terms.append(Term(name_proto, proto, full_proto))
    if name_src:
        mask = _prefix(wildcards, _NW_SRC_SHIFT)
        if mask:
            terms.append(Term(name_src, nw_src & mask, mask))
        mask = _prefix(wildcards, _NW_DST_SHIFT)
        if mask:
            terms.append(Term(name_dst, nw_dst & mask, mask))
    return terms


class _Slot(NamedTuple):
    """Which field of 1.0 a field of 1.3 is written in, and under which Ethernet types and protocol."""

    name: str
    wildcard: int
    types: tuple[int, ...] = ()
    protocol: int = 0


_IP = (ETH_IPV4, ETH_IPV6)
_ARP = (ETH_ARP, _RARP)

_SLOTS: Final = {
    "in_port": _Slot("in_port", _IN_PORT),
    "eth_dst": _Slot("dst", _DST),
    "eth_src": _Slot("src", _SRC),
    "eth_type": _Slot("type", _TYPE),
    "vlan_pcp": _Slot("pcp", _PCP),
    "ip_dscp": _Slot("tos", _TOS_WILDCARD, _IP),
    "ip_proto": _Slot("proto", _PROTO, _IP),
    "arp_op": _Slot("proto", _PROTO, _ARP),
    "icmpv4_type": _Slot("tp_src", _TP_SRC, (ETH_IPV4,), IP_ICMP),
    "icmpv4_code": _Slot("tp_dst", _TP_DST, (ETH_IPV4,), IP_ICMP),
    "icmpv6_type": _Slot("tp_src", _TP_SRC, (ETH_IPV6,), IP_ICMPV6),
    "icmpv6_code": _Slot("tp_dst", _TP_DST, (ETH_IPV6,), IP_ICMPV6),
    "tcp_src": _Slot("tp_src", _TP_SRC, _IP, IP_TCP),
    "tcp_dst": _Slot("tp_dst", _TP_DST, _IP, IP_TCP),
    "udp_src": _Slot("tp_src", _TP_SRC, _IP, IP_UDP),
    "udp_dst": _Slot("tp_dst", _TP_DST, _IP, IP_UDP),
    "sctp_src": _Slot("tp_src", _TP_SRC, _IP, IP_SCTP),
    "sctp_dst": _Slot("tp_dst", _TP_DST, _IP, IP_SCTP),
    "ipv4_src": _Slot("nw_src", _NW_SRC, (ETH_IPV4,)),
    "ipv4_dst": _Slot("nw_dst", _NW_DST, (ETH_IPV4,)),
    "arp_spa": _Slot("nw_src", _NW_SRC, _ARP),
    "arp_tpa": _Slot("nw_dst", _NW_DST, _ARP),
}
_SHIFTS: Final = {"nw_src": _NW_SRC_SHIFT, "nw_dst": _NW_DST_SHIFT}


def write_match10(match: Match) -> bytes:
    """Return the 40 bytes of a match."""
    wildcards = _NOTHING
    values: dict[str, int] = {}
    for term in match.terms:
        field, value, mask = term
        if field == "vlan_vid":
            wildcards &= ~_write_vlan(term, values)
            continue
        slot = _SLOTS.get(field)
        if slot is None:
            raise PenstockError(f"OpenFlow 1.0 cannot match on {field}: leave it out or speak 1.3.")
        name, wildcard, types, protocol = slot
        if (types and values.get("type") not in types) or (protocol and values.get("proto") != protocol):
            raise PenstockError(
                f"{term} means nothing in OpenFlow 1.0: match its Ethernet type and protocol too."
            )
        wildcards &= ~wildcard
        if name in _SHIFTS:
            wildcards |= _ignored(term) << _SHIFTS[name]
        elif mask != BY_NAME[field].full and not (name in ("tp_src", "tp_dst") and mask == 0xFFFF):
            raise PenstockError(f"OpenFlow 1.0 cannot match {term}: only addresses may be matched in part.")
        values[name] = value
    _check_priority(wildcards, values)
    get = values.get
    return _MATCH.pack(
        wildcards,
        port_to10(get("in_port", 0)),
        get("src", 0).to_bytes(6),
        get("dst", 0).to_bytes(6),
        get("vlan", 0),
        get("pcp", 0),
        get("type", 0),
        get("tos", 0) << 2,
        get("proto", 0),
        get("nw_src", 0),
        get("nw_dst", 0),
        get("tp_src", 0),
        get("tp_dst", 0),
    )


def _ignored(term: Term) -> int:
    """Return how many last bits of an address a prefix ignores."""
    ignored = ~term.mask & 0xFFFFFFFF
    if ignored & ignored + 1:
        raise PenstockError(f"OpenFlow 1.0 cannot match {term}: the mask must be a prefix.")
    return ignored.bit_length()


def _write_vlan(term: Term, values: dict[str, int]) -> int:
    """Put the VLAN id among the values; return the wildcards that are lifted."""
    _, value, mask = term
    if mask & VID_PRESENT and not value:
        values["vlan"] = _NO_TAG
        return _VLAN | _PCP
    if mask == _FULL_VID and value & VID_PRESENT:
        values["vlan"] = value & _VID
        return _VLAN
    if mask == value == VID_PRESENT:
        values["vlan"] = 0
        return 0
    raise PenstockError(f"OpenFlow 1.0 cannot match {term}: ask for one VLAN id or for no tag.")


def _check_priority(wildcards: int, values: dict[str, int]) -> None:
    """Refuse a VLAN priority without a tag and, what 1.0 has no word for, a tag without id or priority."""
    if "pcp" in values and values.get("vlan", _NO_TAG) == _NO_TAG:
        raise PenstockError(
            "A VLAN priority means nothing in OpenFlow 1.0 without a tag: match vlan_vid too."
        )
    if "vlan" in values and wildcards & _VLAN and wildcards & _PCP:
        raise PenstockError("OpenFlow 1.0 cannot ask for just any VLAN tag: give its id or its priority.")


_OUTPUT = Struct("!HHHH")
_ENQUEUE = Struct("!HHH6xI")
_MAC = Struct("!HH6s6x")
_ADDRESS = Struct("!HHI")
_TOS = Struct("!HHB3x")

_OUTPUT_TYPE, _TOS_TYPE, _ENQUEUE_TYPE = 0, 8, 11
_MAC_TYPES = {"eth_src": 4, "eth_dst": 5}
_ADDRESS_TYPES = {"ipv4_src": 6, "ipv4_dst": 7}


def _write_output(action: Output) -> bytes:
    return _OUTPUT.pack(_OUTPUT_TYPE, _OUTPUT.size, port_to10(action.port), action.max_len)


def _read_output(data: bytes, at: int, _end: int) -> Output:
    _, _, port, max_len = _OUTPUT.unpack_from(data, at)
    return Output(port_from10(port), max_len)


def _write_enqueue(action: Enqueue) -> bytes:
    return _ENQUEUE.pack(_ENQUEUE_TYPE, _ENQUEUE.size, port_to10(action.port), action.queue_id)


def _read_enqueue(data: bytes, at: int, _end: int) -> Enqueue:
    _, _, port, queue_id = _ENQUEUE.unpack_from(data, at)
    return Enqueue(port_from10(port), queue_id)


def _write_set_field(action: SetField) -> bytes:
    field, value = action.field, action.value
    if field in _MAC_TYPES:
        return _MAC.pack(_MAC_TYPES[field], _MAC.size, value.to_bytes(6))
    if field in _ADDRESS_TYPES:
        return _ADDRESS.pack(_ADDRESS_TYPES[field], _ADDRESS.size, value)
    if field == "ip_dscp":
        return _TOS.pack(_TOS_TYPE, _TOS.size, value << 2)
    raise PenstockError(f"OpenFlow 1.0 cannot set {field}: use another action or speak 1.3.")


def _setter(number: int, struct: Struct, field: str) -> Form:
    """Return the form of a setter whose value is a whole number of bytes."""
    size = 6 if struct is _MAC else 4

    def read(data: bytes, at: int, _end: int) -> SetField:
        return SetField(field, int.from_bytes(data[at + 4 : at + 4 + size]))

    return Form(number, struct.size, SetField, _write_set_field, read)


def _read_tos(data: bytes, at: int, _end: int) -> SetField:
    tos = data[at + 4]
    if tos & 3:
        # The two low bits belong to congestion notification; a set-field of DSCP has no place for them.
        raise OpenFlowError(
            ErrorCode.ACTION_BAD_ARGUMENT, f"An IP type of service cannot be set to {tos:#04x}."
        )
    return SetField("ip_dscp", tos >> 2)


ACTIONS10: Final = Forms[Action](
    "action of OpenFlow 1.0",
    ErrorCode.ACTION_BAD_TYPE,
    ErrorCode.ACTION_BAD_LEN,
    Form(_OUTPUT_TYPE, _OUTPUT.size, Output, _write_output, _read_output),
    plain(1, SetVlanVid, "H2x", "vid"),
    plain(2, SetVlanPcp, "B3x", "pcp"),
    plain(3, PopVlan),
    *(_setter(number, _MAC, field) for field, number in _MAC_TYPES.items()),
    *(_setter(number, _ADDRESS, field) for field, number in _ADDRESS_TYPES.items()),
    Form(_TOS_TYPE, _TOS.size, SetField, _write_set_field, _read_tos),
    plain(9, SetTransportSrc, "H2x", "port"),
    plain(10, SetTransportDst, "H2x", "port"),
    Form(_ENQUEUE_TYPE, _ENQUEUE.size, Enqueue, _write_enqueue, _read_enqueue),
    vendor(ExperimenterAction),
)


def write_instructions10(instructions: tuple[Instruction, ...]) -> bytes:
    """Return the actions of a flow, which are all the instructions 1.0 has."""
    if not instructions:
        return b""
    first, *more = instructions
    if more or not isinstance(first, ApplyActions):
        names = ", ".join(type(instruction).__name__ for instruction in instructions)
        raise PenstockError(f"OpenFlow 1.0 cannot be told {names}: give one ApplyActions.")
    return ACTIONS10.write(first.actions)


def read_instructions10(data: bytes, at: int, end: int) -> tuple[Instruction, ...]:
    """Return the actions that fill these bytes as instructions; no actions are no instructions."""
    actions = ACTIONS10.read(data, at, end)
    return (ApplyActions(actions),) if actions else ()
