"""What `ovs-ofctl dump-flows`, `dump-groups` and `dump-ports-desc` print, line by line.

A line that cannot be read is an `Unread` with its number, and the rest is read all the same.  An action that
is known by name but not followed (`resubmit`, `ct`, `learn`, …) stays in its rule under that name
(`UnknownAction`): what becomes of packets after it is not known, and whoever asks is told so.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, NamedTuple

from penstock._world.switch.flow_table import FlowEntry
from penstock._world.switch.state import GroupEntry, PortStatus
from penstock.errors import PenstockError
from penstock.openflow.actions import (
    Action,
    ApplyActions,
    ClearActions,
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
    UnknownAction,
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
    ETH_MPLS_MULTICAST,
    IP_ICMP,
    IP_ICMPV6,
    IP_SCTP,
    IP_TCP,
    IP_UDP,
    VID_PRESENT,
)
from penstock.openflow.match import Match, Term
from penstock.openflow.messages import Bucket, GroupType, PortConfig, PortNo

DEFAULT_PRIORITY: Final = 32768

_ETH_RARP: Final = 0x8035
_PROTOCOLS: Final[dict[str, dict[str, int]]] = {
    "ip": {"eth_type": ETH_IPV4},
    "ipv6": {"eth_type": ETH_IPV6},
    "arp": {"eth_type": ETH_ARP},
    "rarp": {"eth_type": _ETH_RARP},
    "mpls": {"eth_type": ETH_MPLS},
    "mplsm": {"eth_type": ETH_MPLS_MULTICAST},
    "icmp": {"eth_type": ETH_IPV4, "ip_proto": IP_ICMP},
    "icmp6": {"eth_type": ETH_IPV6, "ip_proto": IP_ICMPV6},
    **{
        f"{name}{suffix}": {"eth_type": kind, "ip_proto": protocol}
        for name, protocol in (("tcp", IP_TCP), ("udp", IP_UDP), ("sctp", IP_SCTP))
        for suffix, kind in (("", ETH_IPV4), ("6", ETH_IPV6))
    },
}
"""What stands for several fields: `tcp6` is IPv6 that carries TCP."""

_ALIASES: Final = {
    "dl_src": "eth_src",
    "dl_dst": "eth_dst",
    "dl_type": "eth_type",
    "dl_vlan_pcp": "vlan_pcp",
    "nw_proto": "ip_proto",
    "nw_ecn": "ip_ecn",
    "ip_src": "ipv4_src",
    "ip_dst": "ipv4_dst",
    "nw_src": "ipv4_src",
    "nw_dst": "ipv4_dst",
    "icmpv6_type": "icmpv6_type",
    "ipv6_label": "ipv6_flabel",
    "nd_target": "ipv6_nd_target",
    "nd_sll": "ipv6_nd_sll",
    "nd_tll": "ipv6_nd_tll",
    "tun_id": "tunnel_id",
}
_OF_ARP: Final = {"ipv4_src": "arp_spa", "ipv4_dst": "arp_tpa", "ip_proto": "arp_op"}
_TRANSPORTS: Final = {IP_TCP: "tcp", IP_UDP: "udp", IP_SCTP: "sctp"}
_BESIDE: Final = frozenset(
    {"cookie", "duration", "table", "n_packets", "n_bytes", "idle_timeout", "hard_timeout", "idle_age"}
    | {"hard_age", "importance", "priority", "send_flow_rem", "reset_counts", "check_overlap"}
    | {"no_packet_counts", "no_byte_counts"}
)
"""What a line says of an entry beside its match."""

_PORTS: Final = {
    "in_port": PortNo.IN_PORT,
    "table": PortNo.TABLE,
    "normal": PortNo.NORMAL,
    "flood": PortNo.FLOOD,
    "all": PortNo.ALL,
    "controller": PortNo.CONTROLLER,
    "local": PortNo.LOCAL,
}
_UNFOLLOWED: Final = frozenset(
    {"resubmit", "ct", "ct_clear", "learn", "load", "move", "push", "pop", "multipath", "bundle"}
    | {"bundle_load", "fin_timeout", "sample", "conjunction", "clone", "encap", "decap", "exit", "nat"}
    | {"check_pkt_larger", "delete_field", "dec_nsh_ttl", "copy_ttl_in", "copy_ttl_out", "push_pbb"}
    | {"pop_pbb", "set_mpls_label", "set_mpls_tc", "unroll_xlate", "debug_recirc", "debug_slow"}
)
"""Actions that Open vSwitch knows, and after which packets are not followed."""

_NOT_SET: Final = frozenset({"in_port", "in_phy_port", "eth_type", "ip_proto", "pbb_isid", "ipv6_exthdr"})
"""Fields that OpenFlow lets nobody write; that Open vSwitch writes the port is not followed."""

_GROUP_TYPES: Final = {
    "all": GroupType.ALL,
    "select": GroupType.SELECT,
    "indirect": GroupType.INDIRECT,
    "ff": GroupType.FAST_FAILOVER,
    "fast_failover": GroupType.FAST_FAILOVER,
}
_HEADER: Final = re.compile(r"(NXST|OFPST)_\w+ reply")
_PORT: Final = re.compile(r"(\d+|LOCAL)\(([^)]*)\): addr:")
_LAST_TABLE: Final = 254
_MOST_LINES: Final = 2_000_000


class _Unreadable(Exception):
    """Why something cannot be read."""


class Unread(NamedTuple):
    """A line that could not be read, and why."""

    number: int
    text: str
    why: str


@dataclass
class Dump:
    """What was read of one switch: entries by table with the lines they stand in, groups and ports."""

    entries: dict[int, dict[FlowEntry, int]] = field(default_factory=dict)
    groups: dict[int, GroupEntry] = field(default_factory=dict)
    ports: dict[int, PortStatus] = field(default_factory=dict)
    unread: list[Unread] = field(default_factory=list)
    unknown: list[tuple[int, str]] = field(default_factory=list)
    """The actions that are not followed, each with its line."""
    places: dict[tuple[int, int, Match], int] = field(default_factory=dict)
    """The line of the entry of each table, priority and match."""


Names = Callable[[str], int | None]
"""Returns the number of a port of a name."""


def read_dump(lines: Iterable[str], named: Names = lambda _: None) -> Dump:
    """Read what was printed of a switch; what it says itself of the names of its ports comes first."""
    lines = list(islice(lines, _MOST_LINES + 1))
    own = {found[2]: found[1] for line in lines if (found := _PORT.match(line.strip())) is not None}

    def number_of(name: str) -> int | None:
        return _port(own[name], named) if name in own else named(name)

    dump, port = Dump(), 0
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if number > _MOST_LINES:
            dump.unread.append(Unread(number, "", f"only {_MOST_LINES:,} lines are read"))
            break
        try:
            found = _PORT.match(text)
            if not text or _HEADER.match(text):
                continue
            if found is not None:
                port = _port(found[1], lambda _: None)
                dump.ports[port] = PortStatus()
            elif port and text.partition(":")[0] in _OF_PORTS:
                dump.ports[port] = _port_line(dump.ports[port], text)
            elif text.startswith("group_id="):
                group, entry = _Reader(number_of, dump, number).group(text)
                dump.groups[group] = entry
            elif "actions=" in text:
                _take_in(dump, number, *_Reader(number_of, dump, number).flow(text))
            else:
                raise _Unreadable("it is no flow, group or port")
        except (_Unreadable, PenstockError) as error:
            dump.unread.append(Unread(number, text, str(error).rstrip(".")))
    return dump


def _take_in(dump: Dump, number: int, table: int, flow: FlowEntry) -> None:
    """Add an entry; a switch has no two of one table, priority and match."""
    place = table, flow.priority, flow.match
    first = dump.places.setdefault(place, number)
    if first != number:
        raise _Unreadable(f"line {first} has the same table, priority and match")
    dump.entries.setdefault(table, {})[flow] = number


def doubt_groups(dump: Dump) -> None:
    """Follow no packets into groups that are not told: a switch has no entry for a group that it has not."""

    def doubted(actions: tuple[Action, ...], number: int) -> tuple[Action, ...]:
        found: list[Action] = []
        for action in actions:
            if isinstance(action, Group) and action.group_id not in dump.groups:
                action = UnknownAction(f"group:{action.group_id}")
                dump.unknown.append((number, f"{action.text} (no such group is told: add dump-groups)"))
            found.append(action)
        return tuple(found)

    for entries in dump.entries.values():
        for entry, number in [*entries.items()]:
            instructions = tuple(
                replace(one, actions=doubted(one.actions, number))
                if isinstance(one, ApplyActions | WriteActions)
                else one
                for one in entry.instructions
            )
            if instructions != entry.instructions:
                del entries[entry]
                entries[replace(entry, instructions=instructions)] = number


_OF_PORTS: Final = ("config", "state", "current", "advertised", "supported", "peer", "speed")


_CONFIG: Final = {
    "PORT_DOWN": PortConfig.DOWN,
    "NO_RECV": PortConfig.NO_RECV,
    "NO_FLOOD": PortConfig.NO_FLOOD,
    "NO_FWD": PortConfig.NO_FWD,
    "NO_PACKET_IN": PortConfig.NO_PACKET_IN,
}


def _port_line(status: PortStatus, text: str) -> PortStatus:
    key, _, words = text.partition(":")
    if key == "config":
        told = (flag for word, flag in _CONFIG.items() if word in words.split())
        return PortStatus(sum(map(int, told)), status.link)
    if key == "state" and "LINK_DOWN" in words:
        return PortStatus(status.config, False)
    return status


def _port(text: str, named: Names) -> int:
    text = text.strip('"')
    if text.isdecimal():
        port = int(text)
        # Numbers of 16 bits that 1.0 reserves are meant as such.
        port += 0xFFFF0000 if 0xFF00 <= port <= 0xFFFF else 0
        if port < PortNo.MAX or port in _PORTS.values():
            return port
    reserved = _PORTS.get(text.lower())
    number = named(text) if reserved is None else int(reserved)
    if number is None:
        raise _Unreadable(f"there is no port {text!r}")
    return number


def _number(text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise _Unreadable(f"{text!r} is no number") from None


def _within(name: str, text: str, most: int) -> int:
    number = _number(text)
    if not 0 <= number <= most:
        raise _Unreadable(f"{name}={text} is not within 0 and {most}")
    return number


def _parted(text: str) -> Iterator[str]:
    """Yield what stands between commas that are in no brackets."""
    depth, start = 0, 0
    for at, letter in enumerate(text):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        elif letter == "," and not depth:
            yield text[start:at].strip()
            start = at + 1
    if depth:
        raise _Unreadable("a bracket is not closed")
    yield text[start:].strip()


def read_match(text: str, named: Names = lambda _: None) -> Match:
    """Read a match as `ovs-ofctl` prints it, as in `tcp,nw_dst=10.0.0.2,tp_dst=80`."""
    try:
        return _match([part for part in _parted(text) if part], named)
    except _Unreadable as error:
        raise PenstockError(f"{text!r} is no match of ovs-ofctl: {error}.") from None


def _match(parts: list[str], named: Names) -> Match:
    plain: dict[str, int] = {}
    given: list[tuple[str, str]] = []
    for part in parts:
        name, equals, value = part.partition("=")
        if not equals and name in _PROTOCOLS:
            plain.update(_PROTOCOLS[name])
        elif not equals:
            raise _Unreadable(f"{name!r} is no field that is followed")
        else:
            given.append((_ALIASES.get(name, name), value))
    terms = {name: Term(name, value, BY_NAME[name].full) for name, value in plain.items()}
    for name, value in sorted(given, key=lambda one: one[0] not in ("eth_type", "ip_proto")):
        for term in _terms(name, value, terms, named):
            terms[term.field] = _both(terms.get(term.field), term)
    return Match.normal(list(terms.values()))


def _both(one: Term | None, other: Term) -> Term:
    if one is None:
        return other
    if (one.value ^ other.value) & one.mask & other.mask:
        raise _Unreadable(f"{other.field} has two values")
    return Term(one.field, one.value | other.value, one.mask | other.mask)


def _terms(name: str, value: str, known: dict[str, Term], named: Names) -> Iterator[Term]:
    kind = known["eth_type"].value if "eth_type" in known else 0
    protocol = known["ip_proto"].value if "ip_proto" in known else 0
    match name:
        case "in_port":
            yield Term("in_port", _port(value, named), BY_NAME["in_port"].full)
        case "dl_vlan":
            number = _number(value)
            yield Term("vlan_vid", 0 if number == 0xFFFF else VID_PRESENT | number, 0x1FFF)
        case "vlan_pcp":
            yield _term(name, value)
            yield Term(
                "vlan_vid", VID_PRESENT, VID_PRESENT
            )  # Only what has a tag has a priority, even if it is 0.
        case "vlan_tci":
            yield from _tci(value)
        case "nw_tos":
            yield Term("ip_dscp", _number(value) >> 2, 0x3F)
        case "tp_src" | "tp_dst" if protocol in _TRANSPORTS:
            yield _term(f"{_TRANSPORTS[protocol]}_{name[3:]}", value)
        case "icmp_type" | "icmp_code":
            yield _term(f"icmpv{6 if kind == ETH_IPV6 else 4}_{name[5:]}", value)
        case "ipv4_src" | "ipv4_dst" | "ip_proto" if kind in (ETH_ARP, _ETH_RARP):
            yield _term(_OF_ARP[name], value)
        case _ if name in BY_NAME and name not in ("in_phy_port", "pbb_isid", "ipv6_exthdr"):
            yield _term(name, value)
        case _:
            raise _Unreadable(f"the field {name!r} is not followed")


def _tci(text: str) -> Iterator[Term]:
    value_text, _, mask_text = text.partition("/")
    value, mask = _number(value_text), _number(mask_text) if mask_text else 0xFFFF
    if not value and mask == 0xFFFF:
        yield Term("vlan_vid", 0, 0x1FFF)  # no tag at all
        return
    yield Term("vlan_vid", value & mask & 0x1FFF, mask & 0x1FFF)
    if mask >> 13:
        yield Term("vlan_pcp", (value & mask) >> 13, mask >> 13)


def _term(name: str, text: str) -> Term:
    value, slash, mask = text.partition("/")
    known = BY_NAME[name]
    if slash and not mask.isdecimal():
        return Term(name, _value(name, value), _value(name, mask))
    if slash and known.kind not in ("ipv4", "ipv6"):
        return Term(name, _value(name, value), _number(mask))
    (term,) = Match.of(**{name: text if slash else value}).terms or (Term(name, 0, 0),)
    return term


def _value(name: str, text: str) -> int:
    (term,) = Match.of(**{name: text}).terms
    return term.value


@dataclass
class _Reader:
    """Reads one line, and notes what it has that is not followed."""

    named: Names
    dump: Dump
    number: int

    def flow(self, text: str) -> tuple[int, FlowEntry]:
        """Return a table and an entry in it."""
        before, _, after = text.partition("actions=")
        beside: dict[str, str] = {}
        match: list[str] = []
        for part in _parted(before.replace(" ", ",")):
            name, _, value = part.partition("=")
            if name in _BESIDE:
                beside[name] = value
            elif part:
                match.append(part)
        table = _within("table", beside.get("table", "0"), _LAST_TABLE)
        priority = _within("priority", beside.get("priority", str(DEFAULT_PRIORITY)), 0xFFFF)
        instructions = self.instructions(after)
        for one in instructions:
            if isinstance(one, GotoTable) and not table < one.table_id <= _LAST_TABLE:
                raise _Unreadable(f"goto_table:{one.table_id} leads to no later table")
        return table, FlowEntry(priority, _match(match, self.named), instructions)

    def instructions(self, text: str) -> tuple[Instruction, ...]:
        """Return what an entry does, in the order in which a switch does it."""
        applied: list[Action] = []
        meters: list[Instruction] = []
        later: dict[int, Instruction] = {}
        for part in _parted(text):
            name, argument = _named(part)
            match name:
                case "drop" | "":
                    pass
                case "meter":
                    meters.append(UseMeter(_number(argument)))
                case "clear_actions":
                    later[0] = ClearActions()
                case "write_actions":
                    later[1] = WriteActions(tuple(self.actions(argument)))
                case "write_metadata":
                    value, _, mask = argument.partition("/")
                    later[2] = WriteMetadata(_number(value), _number(mask) if mask else (1 << 64) - 1)
                case "goto_table":
                    later[3] = GotoTable(_number(argument))
                case "apply_actions":
                    applied += self.actions(argument)
                case _:
                    applied += self.actions(part)
        first: list[Instruction] = [ApplyActions(tuple(applied))] if applied else []
        return (*meters, *first, *(later[place] for place in sorted(later)))

    def actions(self, text: str) -> Iterator[Action]:
        """Yield the actions of a list."""
        for part in _parted(text):
            name, argument = _named(part)
            if name in ("drop", "", "note", "pop_queue"):
                continue
            if name in _UNFOLLOWED:
                self.dump.unknown.append((self.number, part))
                yield UnknownAction(part)
            else:
                yield self.action(name, argument, part)

    def action(self, name: str, argument: str, part: str) -> Action:
        """Return one action."""
        match name:
            case "output" if argument.startswith(("NXM", "OXM", "reg")) or "=" in argument:
                self.dump.unknown.append((self.number, part))
                return UnknownAction(part)
            case "output":
                return Output(_port(argument, self.named))
            case "enqueue":
                port, _, queue = argument.replace(",", ":").partition(":")
                return Enqueue(_port(port, self.named), _number(queue))
            case "group":
                return Group(_number(argument))
            case "set_queue":
                return SetQueue(_number(argument))
            case "set_field":
                return self.set_field(argument, part)
            case "mod_vlan_vid" | "set_vlan_vid":
                return SetVlanVid(_number(argument))
            case "mod_vlan_pcp" | "set_vlan_pcp":
                return SetVlanPcp(_number(argument))
            case "strip_vlan" | "pop_vlan":
                return PopVlan()
            case "push_vlan":
                return PushVlan(_number(argument))
            case "push_mpls":
                return PushMpls(_number(argument))
            case "pop_mpls":
                return PopMpls(_number(argument))
            case "mod_dl_src" | "mod_dl_dst" | "mod_nw_src" | "mod_nw_dst":
                target = _ALIASES[name[4:]]
                return SetField(target, _value(target, argument))
            case "mod_nw_tos":
                return SetField("ip_dscp", _number(argument) >> 2)
            case "mod_nw_ecn":
                return SetField("ip_ecn", _number(argument))
            case "mod_tp_src":
                return SetTransportSrc(_number(argument))
            case "mod_tp_dst":
                return SetTransportDst(_number(argument))
            case "set_tunnel" | "set_tunnel64":
                return SetField("tunnel_id", _number(argument))
            case "mod_nw_ttl" | "set_nw_ttl":
                return SetNwTtl(_number(argument))
            case "dec_ttl" if not argument:
                return DecNwTtl()
            case "set_mpls_ttl":
                return SetMplsTtl(_number(argument))
            case "dec_mpls_ttl":
                return DecMplsTtl()
            case "controller":
                return Output(PortNo.CONTROLLER)
            case "dec_ttl":
                self.dump.unknown.append((self.number, part))
                return UnknownAction(part)
            case _ if name in _PORTS and not argument:
                return Output(_PORTS[name])
            case _ if not argument:
                return Output(_port(part, self.named))
            case _:
                raise _Unreadable(f"the action {part!r} is unknown")

    def set_field(self, argument: str, part: str) -> Action:
        """Return the action that writes a value into a field."""
        value, arrow, name = argument.partition("->")
        name = _ALIASES.get(name, name)
        if not arrow or name not in BY_NAME or name in _NOT_SET or "/" in value:
            self.dump.unknown.append((self.number, part))
            return UnknownAction(part)
        number = _value(name, value)
        return SetField(name, number & 0xFFF if name == "vlan_vid" else number)

    def group(self, text: str) -> tuple[int, GroupEntry]:
        """Return a group and its number."""
        head, *buckets = text.split("bucket=")
        told = dict(part.partition("=")[::2] for part in head.split(",") if part.strip())
        kind = _GROUP_TYPES.get(told.get("type", ""))
        if kind is None:
            raise _Unreadable(f"the type {told.get('type', '')!r} of the group is unknown")
        return _number(told["group_id"]), GroupEntry(int(kind), tuple(map(self.bucket, buckets)))

    def bucket(self, text: str) -> Bucket:
        """Return a bucket of a group."""
        head, _, actions = text.partition("actions=")
        told = dict(part.strip().partition(":")[::2] for part in head.split(",") if part.strip())
        return Bucket(
            tuple(self.actions(actions.rstrip(","))) if actions else tuple(self.actions(_bare(head))),
            weight=_number(told.get("weight", "1")),
            watch_port=_port(told["watch_port"], self.named) if "watch_port" in told else PortNo.ANY,
            watch_group=_number(told["watch_group"]) if "watch_group" in told else PortNo.ANY,
        )


def _bare(head: str) -> str:
    """Return the actions of a bucket that are not called so."""
    known = ("bucket_id", "weight", "watch_port", "watch_group")
    return ",".join(part for part in head.split(",") if part.strip().partition(":")[0] not in known)


def _named(part: str) -> tuple[str, str]:
    """Return the name of an action, and what it is told."""
    found = re.fullmatch(r"([A-Za-z_0-9\"-]+?)(?:[:=](.*)|\((.*)\))?", part)
    if found is None:
        raise _Unreadable(f"the action {part!r} is unknown")
    name, argument, bracketed = found.groups()
    return name.lower(), argument if argument is not None else bracketed or ""
