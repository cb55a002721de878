"""Which packets a formula tells apart, as conditions on their header fields.

A formula compares fields of packets with constants, with addresses of hosts, or with one another.  Each
comparison is one condition.  Where packets agree on all of them, the formula says the same of them.

A field that is compared with another packet's, with a variable of the program or with a port can tell any two
packets apart.  There are no conditions for that, so it is told (`beyond`), and a proof is bounded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NoReturn

from penstock._concolic.packets.frames import FrameSpace
from penstock._concolic.terms import Term, both, const, either, eq, ite, lt, negation
from penstock._verify.abstract_controller import SYNCHRONISE
from penstock._verify.abstract_switch import ADD, DELETE, EXPIRE, REPLY
from penstock._verify.ltl.parser import FormulaError
from penstock._verify.ltl.syntax import (
    After,
    Comparison,
    Constant,
    Field,
    Formula,
    Infix,
    Listed,
    Name,
    Prefix,
    Quantified,
    Truth,
)
from penstock._verify.ltl.syntax import Term as Value
from penstock._verify.vocabulary import ADDRESSED, CONTROLLER, FIELDS, LYING, ORDERED, RECEIVED, SSH
from penstock._world.hosts import Host
from penstock.addresses import ipv4, ipv4_text, mac, mac_text
from penstock.errors import PenstockError
from penstock.openflow.fields import BY_NAME, ETH_IPV4, VID_PRESENT

_ADDRESSES: Final = {"mac": mac, "ipv4": ipv4}
_TEXTS: Final = {"mac": mac_text, "ipv4": ipv4_text}
_OF_HOSTS: Final = {"mac": "mac", "ip": "ipv4"}
"""What sort of address a field of a host is."""
_ORDERS: Final = frozenset({"<", "<=", ">", ">="})
_SAME: Final = frozenset({"==", "!=", "in", "not in"})
_PACKETLESS: Final = frozenset({ADD, DELETE, EXPIRE, REPLY, SYNCHRONISE})
"""The events that tell of no packet; of others, it is the second argument."""


class Distinctions:
    """What a formula asks of packets: what conditions say of it, and what none does."""

    def __init__(self, formula: Formula, hosts: Sequence[Host], text: str) -> None:
        self._hosts = hosts
        self._text = text
        self._conditions: dict[Term, None] = {}
        self._beyond: dict[str, None] = {}
        self._visit(formula, {}, frozenset())

    @property
    def conditions(self) -> tuple[Term, ...]:
        """What it asks of the header fields of a packet."""
        return tuple(self._conditions)

    @property
    def beyond(self) -> tuple[str, ...]:
        """The comparisons that no condition on one packet stands for, such as one of two packets."""
        return tuple(self._beyond)

    def _visit(self, formula: Formula, listed: Mapping[str, Listed], packets: frozenset[str]) -> None:
        """Go through a formula; names of `listed` run through what was written out, `packets` are packets."""
        match formula:
            case Truth(term):
                self._names_hosts(term)
                self._conditions.update(dict.fromkeys(_truth(term)))
            case Comparison():
                for left in _items(formula.left, listed):
                    for right in _items(formula.right, listed):
                        self._compare(formula, left, right, packets)
            case Prefix(body=body):
                self._visit(body, listed, packets)
            case Infix(left=one, right=other):
                self._visit(one, listed, packets)
                self._visit(other, listed, packets)
            case After(event=event, names=names, body=body):
                named = frozenset(names or ())
                packet = frozenset((names or ())[1:2] if event not in _PACKETLESS else ())
                self._visit(body, _without(listed, named), (packets - named) | packet)
            case Quantified(variable=variable, domain=domain, body=body):
                self._names_hosts(domain)
                inner = dict(_without(listed, {variable}))
                if isinstance(domain, Listed):
                    inner[variable] = Listed(tuple(_items(domain, listed)))
                is_packet = isinstance(domain, Field) and domain.name in (RECEIVED, LYING, ORDERED)
                within = packets - {variable} | ({variable} if is_packet else set())
                self._visit(body, inner, within)

    def _compare(self, whole: Comparison, left: Value, right: Value, packets: frozenset[str]) -> None:
        for one, other in ((left, right), (right, left)):
            self._names_hosts(one)
            self._conditions.update(dict.fromkeys(_truth(one)))
            if isinstance(one, Field) and isinstance(other, Constant) and not _is_programs(one):
                self._check_constant(one.name, other, ordered=whole.operator in _ORDERS)
            if isinstance(one, Name) and one.name in packets and whole.operator in _SAME:
                self._beyond[str(whole)] = None
            if not isinstance(one, Field) or one.name not in FIELDS or _is_programs(one):
                continue
            found = _compared(one, other, self._hosts, ordered=whole.operator in _ORDERS)
            if found is None:
                self._beyond[str(whole)] = None
            else:
                self._conditions.update(dict.fromkeys(found))

    def _check_constant(self, field: str, constant: Constant, *, ordered: bool) -> None:
        """Refuse a value that a field never has, since it is written otherwise."""
        value = constant.value
        reader = _ADDRESSES.get(_kind(field))
        if field == "vlan_vid" and isinstance(value, int) and 0 < value < VID_PRESENT and not ordered:
            self._refuse(
                f"vlan_vid of a packet in VLAN {value} is {value | VID_PRESENT}: write that", constant
            )
        if reader is None or not isinstance(value, str) or not value:
            return
        try:
            usual = _TEXTS[_kind(field)](reader(value))
        except PenstockError:
            self._refuse(f"{constant} is no address, so {field} never is: write one", constant)
        if usual != value:
            self._refuse(f'{constant} is not how addresses are written here: write "{usual}"', constant)

    def _refuse(self, sentence: str, constant: Constant) -> NoReturn:
        raise FormulaError(f"{sentence}.", self._text, constant.at)

    def _names_hosts(self, term: Value) -> None:
        """Note that packets are told apart by the hosts that they come from or go to, if a term does so."""
        while isinstance(term, Field):
            if term.name in ADDRESSED:
                named = term.name
                self._conditions.update(dict.fromkeys(_names(named, host) for host in self._hosts))
            term = term.owner


def _is_programs(term: Value) -> bool:
    """Tell whether a term is a variable of the program, or something in one."""
    while isinstance(term, Field):
        term = term.owner
    return term == Name(CONTROLLER)


def _kind(field: str) -> str:
    """Return how a field is written."""
    return _OF_HOSTS.get(field) or (BY_NAME[field].kind if field in FIELDS else "")


def _items(term: Value, listed: Mapping[str, Listed]) -> Iterator[Value]:
    """Yield what a term may stand for, sets that were written out being gone through."""
    if isinstance(term, Name) and term.name in listed:
        yield from listed[term.name].items
    elif isinstance(term, Listed):
        for item in term.items:
            yield from _items(item, listed)
    else:
        yield term


def _without(listed: Mapping[str, Listed], names: Collection[str]) -> Mapping[str, Listed]:
    return {name: values for name, values in listed.items() if name not in names}


def _truth(term: Value) -> Iterator[Term]:
    if isinstance(term, Field) and term.name == "ssh":
        yield eq(_value("tcp_dst"), const(SSH))


def _compared(field: Field, other: Value, hosts: Sequence[Host], *, ordered: bool) -> list[Term] | None:
    """Return the conditions that a comparison of a header field comes to; None if there are no such."""
    value = _value(field.name)
    match other:
        case Constant(constant):
            number = _number(field.name, constant)
            if number is None:
                return _presence(field.name)
            return [eq(value, const(number)), *([lt(value, const(number))] if ordered else [])]
        case Field(owner, name) if name in FIELDS and owner == field.owner:
            meeting = [eq(value, _value(name)), lt(value, _value(name))]
            return [*meeting, *_presence(field.name), *_presence(name)]
        case Field(_, "mac") if not _is_programs(other):
            return [eq(value, const(host.mac)) for host in hosts]
        case Field(_, "ip") if not _is_programs(other):
            return [eq(value, const(host.ip)) for host in hosts]
        case _:
            return None


def _presence(field: str) -> list[Term]:
    """Return when a packet has a field at all, unless all have."""
    present = FrameSpace.present.get(field)
    return [] if present is None else [present]


def _value(field: str) -> Term:
    """Return a field as formulas have it: 0 where a packet has none."""
    present = FrameSpace.present.get(field)
    term = FrameSpace.fields[field]
    return term if present is None else ite(present, term, const(0))


def _number(field: str, constant: object) -> int | None:
    """Return the value of a field that a constant stands for, if it is one."""
    if isinstance(constant, bool):
        return None
    if isinstance(constant, int):
        return constant
    reader = _ADDRESSES.get(_kind(field))
    return reader(constant) if reader is not None and isinstance(constant, str) and constant else None


def _names(which: str, host: Host) -> Term:
    """Return when a host is the one that a packet comes from or goes to."""
    link, network = (FrameSpace.fields[name] for name in ADDRESSED[which])
    is_ip = eq(FrameSpace.fields["eth_type"], const(ETH_IPV4))
    return either(both(is_ip, eq(network, const(host.ip))), both(negation(is_ip), eq(link, const(host.mac))))
