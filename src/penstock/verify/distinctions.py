"""Which packets a formula tells apart, as conditions on their header fields.

A formula compares fields of packets with constants, with addresses of hosts, or with one another.  Each
comparison is one condition.  Where packets agree on all of them, the formula says the same of them.

A field that is compared with another packet's, with a variable of the program or with a port can tell any two
packets apart.  There are no conditions for that, so it is told (`beyond`), and a proof is bounded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from penstock.addresses import ipv4, mac
from penstock.errors import PenstockError
from penstock.openflow.fields import BY_NAME, ETH_IPV4
from penstock.symbolic.packets.frames import FrameSpace
from penstock.symbolic.terms import Term, both, const, either, eq, ite, lt, negation
from penstock.verify.abstract_controller import SYNCHRONISE
from penstock.verify.abstract_switch import ADD, DELETE, EXPIRE, REPLY
from penstock.verify.ltl.syntax import (
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
from penstock.verify.ltl.syntax import Term as Value
from penstock.verify.vocabulary import ADDRESSED, CONTROLLER, FIELDS, LYING, ORDERED, RECEIVED, SSH
from penstock.world.hosts import Host

_ADDRESSES: Final = {"mac": mac, "ipv4": ipv4}
_ORDERS: Final = frozenset({"<", "<=", ">", ">="})
_SAME: Final = frozenset({"==", "!=", "in", "not in"})
_PACKETLESS: Final = frozenset({ADD, DELETE, EXPIRE, REPLY, SYNCHRONISE})
"""The events that tell of no packet; of others, it is the second argument."""


class Distinctions:
    """What a formula asks of packets: what conditions say of it, and what none does."""

    def __init__(self, formula: Formula, hosts: Sequence[Host]) -> None:
        self._hosts = hosts
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
            if isinstance(one, Name) and one.name in packets and whole.operator in _SAME:
                self._beyond[str(whole)] = None
            if not isinstance(one, Field) or one.name not in FIELDS or one.owner == Name(CONTROLLER):
                continue
            found = _compared(one, other, self._hosts, ordered=whole.operator in _ORDERS)
            if found is None:
                self._beyond[str(whole)] = None
            else:
                self._conditions.update(dict.fromkeys(found))

    def _names_hosts(self, term: Value) -> None:
        """Note that packets are told apart by the hosts that they come from or go to, if a term does so."""
        while isinstance(term, Field):
            if term.name in ADDRESSED:
                named = term.name
                self._conditions.update(dict.fromkeys(_names(named, host) for host in self._hosts))
            term = term.owner


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
                return []
            return [eq(value, const(number)), *([lt(value, const(number))] if ordered else [])]
        case Field(owner, name) if name in FIELDS and owner == field.owner:
            return [eq(value, _value(name)), lt(value, _value(name))]
        case Field(_, "mac"):
            return [eq(value, const(host.mac)) for host in hosts]
        case Field(_, "ip"):
            return [eq(value, const(host.ip)) for host in hosts]
        case _:
            return None


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
    reader = _ADDRESSES.get(BY_NAME[field].kind)
    try:
        return None if reader is None else reader(str(constant))
    except PenstockError:
        return None


def _names(which: str, host: Host) -> Term:
    """Return when a host is the one that a packet comes from or goes to."""
    link, network = (FrameSpace.fields[name] for name in ADDRESSED[which])
    is_ip = eq(FrameSpace.fields["eth_type"], const(ETH_IPV4))
    return either(both(is_ip, eq(network, const(host.ip))), both(negation(is_ip), eq(link, const(host.mac))))
