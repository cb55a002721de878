"""Drawing matches, actions and instructions for rules that packets of the pool meet.

Most of what is drawn is right; a small part is refused by a real switch (an action that needs a
header the match does not promise, a port that cannot be), because refusals are compared too.
"""

from __future__ import annotations

from random import Random
from typing import Final

from bench.ovs.pool import DSCPS, ETH_RARP, IP6S, IPS, LABELS, MACS, TRANSPORT_PORTS, VLANS, Sample
from bench.ovs.programs import PORTS
from penstock.openflow.actions import (
    Action,
    ApplyActions,
    ClearActions,
    CopyTtlOut,
    DecMplsTtl,
    DecNwTtl,
    Enqueue,
    GotoTable,
    Group,
    Instruction,
    Output,
    PopMpls,
    PopVlan,
    PushMpls,
    PushVlan,
    SetField,
    SetMplsTtl,
    SetNwTtl,
    SetQueue,
    SetTransportDst,
    SetTransportSrc,
    SetVlanPcp,
    SetVlanVid,
    UseMeter,
    WriteActions,
    WriteMetadata,
)
from penstock.openflow.fields import (
    BY_NAME,
    ETH_ARP,
    ETH_IPV4,
    ETH_IPV6,
    ETH_MPLS,
    ETH_QINQ,
    ETH_VLAN,
    IP_ICMP,
    IP_ICMPV6,
    IP_SCTP,
    IP_TCP,
    IP_UDP,
    VID_PRESENT,
)
from penstock.openflow.match import ANYTHING, Match, Term
from penstock.openflow.messages import PortNo

LAST_TABLE: Final = 3
GROUPS: Final = (1, 2, 3, 4)
METERS: Final = (1, 2)
COOKIES: Final = (0, 1, 2, 0x30, 1 << 60)
ALL_BITS: Final = 0xFFFFFFFFFFFFFFFF
METADATA: Final = (1, 0xAB00, 1 << 40)
MAX_LENS: Final = (0, 20, 64, 128, 0xFFFF)
NO_SUCH_PORT: Final = 77

_LABEL_SETTERS: Final = tuple(SetField("mpls_label", label) for label in LABELS)
_V10_FIELDS: Final = frozenset(
    {
        *("in_port", "eth_dst", "eth_src", "eth_type", "vlan_vid", "vlan_pcp"),
        *("ip_dscp", "ip_proto", "ipv4_src", "ipv4_dst", "arp_op", "arp_spa", "arp_tpa"),
        *("tcp_src", "tcp_dst", "udp_src", "udp_dst", "sctp_src", "sctp_dst"),
        *("icmpv4_type", "icmpv4_code"),
    }
)
_V10_MASKABLE: Final = frozenset({"ipv4_src", "ipv4_dst", "arp_spa", "arp_tpa"})


def draw_cookie_filter(rng: Random) -> tuple[int, int]:
    """Return a cookie and the bits of it that a flow entry must have.

    Never all bits of the cookie 0: Open vSwitch then shows entries of its own.
    """
    mask = rng.choice((0, 0, 0, ALL_BITS, 1, 0x30))
    return rng.choice(COOKIES[1:] if mask == ALL_BITS else COOKIES), mask


def draw_match(rng: Random, given: Sample, v10: bool, table: int = 0) -> Match:
    """Return a match that (input port and metadata aside) accepts a packet."""
    fields = {name: value for name, value in given.fields.items() if not v10 or name in _V10_FIELDS}
    share = rng.choice((0.05, 0.15, 0.3, 0.5)) if rng.random() < 0.95 else 1
    wanted = {name for name in fields if rng.random() < share}
    for name in sorted(wanted, key=lambda name: BY_NAME[name].number, reverse=True):
        wanted |= {needed for needed, _ in BY_NAME[name].needs}
        wanted |= {deeper for needed, _ in BY_NAME[name].needs for deeper, _ in BY_NAME[needed].needs}
    terms = [_term(rng, name, fields[name], v10) for name in fields if name in wanted]
    if "vlan_vid" not in fields and rng.random() < 0.1:
        terms.append(Term("vlan_vid", 0, BY_NAME["vlan_vid"].full))
    if rng.random() < 0.3:
        terms.append(Term("in_port", rng.choice(PORTS), BY_NAME["in_port"].full))
    if table and rng.random() < 0.3:
        mask = rng.choice((BY_NAME["metadata"].full, 0xFF00, 1))
        terms.append(Term("metadata", rng.choice(METADATA), mask))
    return Match.normal(terms)


def _term(rng: Random, name: str, value: int, v10: bool) -> Term:
    field = BY_NAME[name]
    maskable = name in _V10_MASKABLE if v10 else field.maskable
    if not maskable or rng.random() < 0.7:
        return Term(name, value, field.full)
    if name == "vlan_vid":
        return Term(name, value, rng.choice((VID_PRESENT, VID_PRESENT | 1)))
    if field.kind in ("ipv4", "ipv6") and (v10 or rng.random() < 0.7):
        mask = field.full >> (shift := rng.choice((1, 8, 9, 24))) << shift
    else:
        mask = rng.choice((field.full ^ 1, 1, 0xFF, field.full ^ 0xFF00)) & field.full
    return Term(name, value, mask)


def _known(match: Match) -> tuple[int | None, int | None, bool]:
    """Return the Ethernet type, IP protocol and presence of a tag that a match promises."""
    vid = match.get("vlan_vid")
    tagged = vid is not None and bool(vid.value & VID_PRESENT)
    return match.value("eth_type"), match.value("ip_proto"), tagged


_RESERVED: Final = (PortNo.IN_PORT, PortNo.FLOOD, PortNo.ALL, PortNo.LOCAL)


def draw_output(rng: Random, v10: bool) -> Action:
    """Return an action that sends the packet somewhere, most often to a port there is."""
    roll = rng.random()
    if roll < 0.68:
        return Output(rng.choice(PORTS), rng.choice((0, 0xFFFF)))
    if roll < 0.8:
        return Output(PortNo.CONTROLLER, rng.choice(MAX_LENS))
    if roll < 0.95:
        port = rng.choice(_RESERVED)
        return Output(port if roll < 0.92 else PortNo.NORMAL, 0)
    if roll < 0.98:
        return Output(NO_SUCH_PORT, 0)
    return Enqueue(rng.choice(PORTS), rng.randrange(2)) if v10 else SetQueue(rng.randrange(2))


def _v10_setter(rng: Random, match: Match) -> Action:
    ethertype, protocol, _ = _known(match)
    choices: list[Action] = [
        SetField("eth_src", rng.choice(MACS)),
        SetField("eth_dst", rng.choice(MACS)),
        SetVlanVid(rng.choice(VLANS)),
        SetVlanPcp(rng.choice((0, 5))),
        PopVlan(),
    ]
    if ethertype == ETH_IPV4 or rng.random() < 0.3:
        choices += [
            SetField("ipv4_src", rng.choice(IPS)),
            SetField("ipv4_dst", rng.choice(IPS)),
            SetField("ip_dscp", rng.choice(DSCPS)),
        ]
    if protocol in (IP_TCP, IP_UDP) or rng.random() < 0.3:
        choices += [
            SetTransportSrc(rng.choice(TRANSPORT_PORTS)),
            SetTransportDst(rng.choice(TRANSPORT_PORTS)),
        ]
    return rng.choice(choices)


_SETTABLE: Final[dict[str, tuple[int, ...]]] = {
    "eth_dst": MACS,
    "eth_src": MACS,
    "vlan_vid": tuple(VID_PRESENT | vid for vid in VLANS),
    "vlan_pcp": (0, 5),
    "ip_dscp": DSCPS,
    "ip_ecn": (0, 2),
    "ipv4_src": IPS,
    "ipv4_dst": IPS,
    "tcp_src": TRANSPORT_PORTS,
    "tcp_dst": TRANSPORT_PORTS,
    "udp_src": TRANSPORT_PORTS,
    "udp_dst": TRANSPORT_PORTS,
    "sctp_src": TRANSPORT_PORTS,
    "sctp_dst": TRANSPORT_PORTS,
    "icmpv4_type": (0, 8),
    "icmpv4_code": (0, 3),
    "arp_op": (1, 2),
    "arp_spa": IPS,
    "arp_tpa": IPS,
    "arp_sha": MACS,
    "arp_tha": MACS,
    "ipv6_src": IP6S,
    "ipv6_dst": IP6S,
    "ipv6_flabel": (0, 0x12345, 0xFFFFF),
    "icmpv6_type": (128, 129),
    "icmpv6_code": (0, 1),
    "ipv6_nd_target": IP6S,
    "ipv6_nd_sll": MACS,
    "ipv6_nd_tll": MACS,
    "mpls_label": LABELS,
    "mpls_tc": (0, 5),
    "mpls_bos": (0, 1),
    "metadata": METADATA,
    "tunnel_id": (0, 9),
}

_BY_PROTOCOL: Final[dict[int, tuple[str, ...]]] = {
    IP_TCP: ("tcp_src", "tcp_dst"),
    IP_UDP: ("udp_src", "udp_dst"),
    IP_SCTP: ("sctp_src", "sctp_dst"),
    IP_ICMP: ("icmpv4_type", "icmpv4_code"),
    IP_ICMPV6: ("icmpv6_type", "icmpv6_code"),
}


def _set_field(rng: Random, match: Match) -> Action:
    """Return a set-field that the match allows; one in twelve is taken from all there are."""
    ethertype, protocol, tagged = _known(match)
    names = ["eth_dst", "eth_src", "metadata", "tunnel_id"]
    if tagged:
        names += ["vlan_vid", "vlan_pcp"]
    if ethertype in (ETH_IPV4, ETH_IPV6):
        names += ["ip_dscp", "ip_ecn", *_BY_PROTOCOL.get(protocol or 0, ())]
        names += (
            ["ipv4_src", "ipv4_dst"] if ethertype == ETH_IPV4 else ["ipv6_src", "ipv6_dst", "ipv6_flabel"]
        )
    if ethertype in (ETH_ARP, ETH_RARP):
        names += ["arp_op", "arp_spa", "arp_tpa", "arp_sha", "arp_tha"]
    if ethertype == ETH_MPLS:
        names += ["mpls_label", "mpls_tc", "mpls_bos"]
    if match.value("icmpv6_type") in (135, 136):
        names += ["ipv6_nd_target", "ipv6_nd_sll" if match.value("icmpv6_type") == 135 else "ipv6_nd_tll"]
    name = rng.choice([*_SETTABLE] if rng.random() < 0.08 else names)
    return SetField(name, rng.choice(_SETTABLE[name]))


def _v13_changes(rng: Random, match: Match) -> list[Action]:
    """Return one change to the packet, or a few that belong together."""
    ethertype, _, tagged = _known(match)
    roll = rng.random()
    if roll < 0.5:
        return [_set_field(rng, match)]
    if roll < 0.68:
        push: list[Action] = [PushVlan(ETH_VLAN if rng.random() < 0.8 else ETH_QINQ)]
        if rng.random() < 0.8:
            push.append(SetField("vlan_vid", VID_PRESENT | rng.choice(VLANS)))
        return push
    if roll < 0.78 and tagged:
        return [PopVlan()]
    if roll < 0.9 and ethertype in (ETH_IPV4, ETH_IPV6):
        return [rng.choice((DecNwTtl(), DecNwTtl(), SetNwTtl(rng.choice((0, 1, 9)))))]
    if ethertype == ETH_MPLS:
        return [
            rng.choice(
                (
                    PopMpls(ETH_IPV4),
                    DecMplsTtl(),
                    SetMplsTtl(rng.choice((1, 7))),
                    PushMpls(ETH_MPLS),
                    PopMpls(ETH_MPLS),
                )
            )
        ]
    if roll < 0.95:
        label: list[Action] = [PushMpls(ETH_MPLS)]
        return [*label, SetField("mpls_label", rng.choice(LABELS))] if rng.random() < 0.5 else label
    return [rng.choice((PopVlan(), DecNwTtl(), CopyTtlOut(), PopMpls(ETH_IPV4), SetQueue(1)))]


def keep_in_sight(actions: tuple[Action, ...]) -> tuple[Action, ...]:
    """Return actions after which no packet has to be looked at afresh: below a label is a label."""
    return tuple(PopMpls(ETH_MPLS) if isinstance(action, PopMpls) else action for action in actions)


def draw_bucket(rng: Random, groups: list[int]) -> tuple[Action, ...]:
    """Return the actions of a group's bucket.

    No bucket puts an MPLS label on: Open vSwitch keeps one copy of the packet for all buckets and
    afterwards no longer knows where its headers are.
    """
    actions = draw_actions(rng, ANYTHING, False, groups)
    return tuple(a for a in actions if not isinstance(a, PushMpls) and a not in _LABEL_SETTERS)


def draw_actions(rng: Random, match: Match, v10: bool, groups: list[int]) -> tuple[Action, ...]:
    """Return a list of actions for packets of a match; an empty one drops them.

    A group that is used is taken from `groups`, because Open vSwitch 3.1.0 dies of an assertion
    when a group is deleted to which one flow entry refers twice.
    """
    actions: list[Action] = []
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 4))):
        roll = rng.random()
        if roll < 0.6:
            actions.append(draw_output(rng, v10))
        elif v10:
            actions.append(_v10_setter(rng, match))
        elif roll < 0.75 and groups:
            actions.append(Group(groups.pop(rng.randrange(len(groups)))))
        else:
            actions += _v13_changes(rng, match)
    if actions and rng.random() < 0.75:
        actions.append(draw_output(rng, v10))
    return tuple(actions)


def draw_instructions(
    rng: Random, match: Match, v10: bool, table: int, groups: list[int]
) -> tuple[Instruction, ...]:
    """Return what a rule does with the packets of its match."""
    if v10:
        actions = draw_actions(rng, match, v10, [])
        return (ApplyActions(actions),) if actions else ()
    chosen: list[Instruction] = []
    if rng.random() < 0.06:
        chosen.append(UseMeter(rng.choice(METERS)))
    if rng.random() < 0.8:
        chosen.append(ApplyActions(draw_actions(rng, match, v10, groups)))
    if rng.random() < 0.1:
        chosen.append(ClearActions())
    if rng.random() < 0.35:
        chosen.append(WriteActions(draw_actions(rng, match, v10, groups)))
    if rng.random() < 0.2:
        chosen.append(WriteMetadata(rng.choice(METADATA), rng.choice((ALL_BITS, 0xFF00, 1))))
    if table < LAST_TABLE and rng.random() < 0.45:
        chosen.append(GotoTable(rng.randrange(table + 1, LAST_TABLE + 1)))
    return tuple(chosen)
