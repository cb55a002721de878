"""A packet inside a switch, as terms: what later tables see of it, and what its bytes say.

The two differ, as in `_world.switch.rewriting`: the fields were read when the packet came in and
are changed as actions change them, while some changes never reach the bytes (those of an IP packet
without a protocol, say).  Whoever gets the packet next reads the bytes.

Headers are thought to be complete, none cut short.  What happens to a packet below a second VLAN
tag or an MPLS label is not followed: its fields become unknown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NamedTuple

from penstock._concolic.terms import FALSE, Term, add, bits, const, eq, ite, lt, negation
from penstock._symbolic.forwarding.matching import (
    ALWAYS,
    IP,
    NEIGHBOUR_FIELDS,
    NEVER,
    UNKNOWN,
    Header,
    Verdict,
    exactly,
)
from penstock._world.switch.headers import TRANSPORT_PORTS, VLAN_TYPES
from penstock._world.switch.rewriting import MOST_TAGS
from penstock.openflow.actions import (
    Action,
    PopVlan,
    PushVlan,
    SetField,
    SetMplsTtl,
    SetNwTtl,
    SetTransportDst,
    SetTransportSrc,
    SetVlanPcp,
    SetVlanVid,
)
from penstock.openflow.fields import ETH_VLAN, VID_PRESENT

FRAGMENT: Final = "fragment"
"""The field, not OpenFlow's, that is other than 0 in fragments; where there is none, none are sent."""

_ADDRESSES: Final = ("eth_dst", "eth_src")
_ASIDE: Final = ("in_port", "metadata", "tunnel_id")
_LINK: Final = (*_ADDRESSES, "vlan_vid", "vlan_pcp")
_REACHES_BYTES_UNLESS_ZERO: Final = {
    **dict.fromkeys(("ipv4_src", "ipv4_dst", "ipv6_src", "ipv6_dst", "ipv6_flabel"), "ip_proto"),
    **dict.fromkeys(("ip_dscp", "ip_ecn", "ip_ttl"), "ip_proto"),
    **dict.fromkeys(("arp_op", "arp_spa", "arp_tpa", "arp_sha", "arp_tha"), "arp_op"),
}
"""Fields that are written into a packet's bytes only if another is not zero."""

_TRANSPORTS: Final = ("tcp", "udp", "sctp")
_OF_ICMP: Final = {"src": "type", "dst": "code"}
"""What a port becomes in ICMP."""

_HIGHEST_ARP_OP: Final = 0xFF
"""The highest ARP operation that a switch reads."""


class Tag(NamedTuple):
    """A VLAN tag: its type, the `vlan_vid` with its bit for presence, the priority; None is unknown."""

    tpid: Term | None
    vid: Term | None
    pcp: Term | None


class Reading(NamedTuple):
    """What somebody reads in a packet's bytes, and when that is what they are."""

    when: Verdict
    header: Header


@dataclass(frozen=True, slots=True)
class Packet:
    """A packet in a switch; `tags` are those in sight, or None while they are as they came.

    `stacked` tells that there were two tags in sight once: then a switch may take other bytes for
    the layers' when it writes to them.
    """

    seen: Header
    wire: Header
    tags: tuple[Tag, ...] | None = None
    stacked: bool = False
    fragment: bool = False

    def tags_known(self) -> tuple[tuple[Verdict, Packet], ...]:
        """Return this packet as it is with a tag and without, and when it is which."""
        if self.tags is not None:
            return ((ALWAYS, self),)
        tagged = self.seen.holds("vlan_vid", VID_PRESENT, VID_PRESENT)
        tag = Tag(None, self.seen.get("vlan_vid"), self.seen.get("vlan_pcp"))
        return (tagged, replace(self, tags=(tag,))), (tagged.negated, replace(self, tags=()))

    def pushed(self, tpid: int) -> Packet:
        """Return this packet, whose tags must be known, with a new tag outermost."""
        assert self.tags is not None
        new = Tag(const(tpid), const(VID_PRESENT), FALSE)
        return self._tagged((new, *self.tags)[:MOST_TAGS])

    def popped(self) -> Packet:
        """Return this packet, whose tags must be known, without its outermost."""
        assert self.tags is not None
        return self._tagged(self.tags[1:])

    def tag_set(self, field: str, value: int) -> Packet:
        """Return this packet, whose tags must be known, with `vlan_vid` or `vlan_pcp` written."""
        assert self.tags is not None
        if not self.tags:
            return self.pushed(ETH_VLAN).tag_set(field, value) if field == "vlan_vid" else self
        outer = self.tags[0]
        if field == "vlan_vid":
            outer = outer._replace(vid=const(VID_PRESENT | value & 0xFFF))
        else:
            outer = outer._replace(pcp=const(value))
        return self._tagged((outer, *self.tags[1:]))

    def _tagged(self, tags: tuple[Tag, ...]) -> Packet:
        _, vid, pcp = tags[0] if tags else Tag(None, FALSE, FALSE)
        seen = self.seen.changed({"vlan_vid": vid, "vlan_pcp": pcp})
        return replace(self, seen=seen, tags=tags, stacked=self.stacked or len(tags) == MOST_TAGS)

    def written(self, field: str, value: Term, in_bytes: Term | None = None) -> Packet:
        """Return this packet with a field other than a tag's written, as far as the packet has it."""
        if field in _ASIDE:
            return replace(self, seen=self.seen.changed({field: value}))
        unclear: dict[str, Term | None] = {}
        if field in NEIGHBOUR_FIELDS or field.startswith("icmpv6"):
            # What is read as neighbour discovery depends on the type and code that came.
            unclear = dict.fromkeys(NEIGHBOUR_FIELDS)
        if field in TRANSPORT_PORTS and self.fragment:
            # Only first fragments have ports that can be written.
            unclear = {**unclear, field: None}
        seen = self.seen.changed({field: value, **unclear})
        if field not in _ADDRESSES and self.stacked:
            return replace(self, seen=seen, wire=self.wire.only(*_LINK))
        in_bytes = self._in_bytes(field, value if in_bytes is None else in_bytes)
        return replace(self, seen=seen, wire=self.wire.changed({field: in_bytes, **unclear}))

    def _in_bytes(self, field: str, value: Term) -> Term | None:
        """Return what a field is in the bytes once a value is written to it."""
        unless_zero = _REACHES_BYTES_UNLESS_ZERO.get(field)
        if unless_zero is None:
            return value
        decisive, before = self.seen.get(unless_zero), self.wire.get(field)
        if decisive is None or before is None:
            return None
        stays = eq(decisive, FALSE)
        if before.op == "ite" and before.operands[0] == stays:
            before = before.operands[1]
        return ite(stays, before, value)

    def counted_down(self, field: str) -> Packet:
        """Return this packet with a time to live, which must be above zero, one lower."""
        ttl = self.seen.get(field)
        if ttl is None:
            return self
        return self.written(field, bits(add(ttl, const(0xFF)), 0, 8))

    def obscured(self) -> Packet:
        """Return this packet with nothing known but what stands before the Ethernet type."""
        return replace(self, seen=self.seen.only(*_LINK, *_ASIDE), wire=self.wire.only(*_LINK))

    def readings(self) -> tuple[Reading, ...]:
        """Return what is read in the packet's bytes, once its tags have been settled in them."""
        if self.tags is None:
            return (Reading(ALWAYS, self.wire),)
        if len(self.tags) == MOST_TAGS:
            (_, vid, pcp), (inner, _, _) = self.tags
            below = self.wire.only(*_ADDRESSES)
            return (Reading(ALWAYS, below.changed({"vlan_vid": vid, "vlan_pcp": pcp, "eth_type": inner})),)
        if self.tags:
            ((_, vid, pcp),) = self.tags
            return (Reading(ALWAYS, self.wire.changed({"vlan_vid": vid, "vlan_pcp": pcp})),)
        # Below the tag that is gone may have been another, which comes into sight.
        deeper = self.wire.is_one_of(("eth_type", VLAN_TYPES))
        bare = self.wire.changed({"vlan_vid": FALSE, "vlan_pcp": FALSE})
        return Reading(deeper.negated, bare), Reading(deeper, self.wire.only(*_ADDRESSES))

    def afresh(self) -> tuple[tuple[Verdict, Packet], ...]:
        """Return this packet read again from its bytes, and when it is read as what."""
        aside = {name: self.seen.get(name) for name in _ASIDE}
        read = [(when, Packet(_read(header).changed(aside), header)) for when, header in self.readings()]
        return tuple((when, packet.as_fragment() if self.fragment else packet) for when, packet in read)

    def as_fragment(self) -> Packet:
        """Return this packet as a fragment, whose ports switches trust or not."""
        unknown = dict.fromkeys(TRANSPORT_PORTS)
        return replace(self, seen=self.seen.changed(unknown), fragment=True)

    @property
    def is_fragment(self) -> Verdict:
        """When the packet is a fragment."""
        fragment = self.wire.get(FRAGMENT)
        if fragment is not None:
            return exactly(negation(eq(fragment, FALSE)))
        return NEVER if "eth_type" in self.wire else UNKNOWN

    @property
    def is_ip(self) -> Verdict:
        """When the packet is an IP packet, as far as tables see."""
        return self.seen.is_one_of(IP)


@lru_cache(maxsize=1024)
def arriving(header: Header, port: int) -> Packet:
    """Return a packet that came in by a port."""
    seen = _read(header).changed({"in_port": const(port), "metadata": FALSE, "tunnel_id": FALSE})
    return Packet(seen, header)


def _read(header: Header) -> Header:
    """Return a header as tables see it."""
    op = header.get("arp_op")
    if op is None or op.high <= _HIGHEST_ARP_OP:
        return header
    return header.changed({"arp_op": ite(lt(op, const(_HIGHEST_ARP_OP + 1)), op, FALSE)})


def rewritten(packet: Packet, action: Action) -> tuple[tuple[Verdict, Packet], ...]:
    """Return a packet after an action that changes nothing but its header."""
    match action:
        case SetField(("vlan_vid" | "vlan_pcp") as field, value):
            return _on_tags(packet, lambda one: one.tag_set(field, value))
        case SetVlanVid(vid):
            return _on_tags(packet, lambda one: one.tag_set("vlan_vid", vid))
        case SetVlanPcp(pcp):
            return _on_tags(packet, lambda one: _sure_tagged(one).tag_set("vlan_pcp", pcp))
        case PushVlan(ethertype):
            return _on_tags(packet, lambda one: one.pushed(ethertype))
        case PopVlan():
            return _on_tags(packet, Packet.popped)
        case SetField(field, value):
            return ((ALWAYS, packet.written(field, const(value))),)
        case SetNwTtl(ttl):
            return ((ALWAYS, packet.written("ip_ttl", const(ttl))),)
        case SetMplsTtl(ttl):
            return ((ALWAYS, packet.written("mpls_ttl", const(ttl))),)
        case SetTransportSrc(port):
            return ((ALWAYS, _with_port(packet, "src", port)),)
        case SetTransportDst(port):
            return ((ALWAYS, _with_port(packet, "dst", port)),)
        case _:
            return ((ALWAYS, packet),)


def _on_tags(packet: Packet, change: Callable[[Packet], Packet]) -> tuple[tuple[Verdict, Packet], ...]:
    return tuple((when, change(one)) for when, one in packet.tags_known())


def _sure_tagged(packet: Packet) -> Packet:
    return packet if packet.tags else packet.pushed(ETH_VLAN)


def _with_port(packet: Packet, end: str, port: int) -> Packet:
    """Return a packet with a port of whatever transport it has written; of ICMP, its type or code."""
    for transport in _TRANSPORTS:
        packet = packet.written(f"{transport}_{end}", const(port))
    for version in ("v4", "v6"):
        packet = packet.written(f"icmp{version}_{_OF_ICMP[end]}", const(port), const(port & 0xFF))
    return packet
