"""Which packets a formula tells apart, as conditions on their header fields.

A formula compares fields of packets with constants, with addresses of hosts, or with one another.  Each
comparison is one condition.  Where packets agree on all of them, the formula says the same of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from penstock.addresses import ipv4, mac
from penstock.errors import PenstockError
from penstock.openflow.fields import BY_NAME, ETH_IPV4
from penstock.symbolic.packets.frames import FrameSpace
from penstock.symbolic.terms import Term, both, const, either, eq, ite, lt, negation
from penstock.verify.ltl.syntax import (
    After,
    Comparison,
    Constant,
    Field,
    Formula,
    Infix,
    Listed,
    Prefix,
    Quantified,
    Truth,
)
from penstock.verify.ltl.syntax import Term as Value
from penstock.verify.vocabulary import ADDRESSED, FIELDS, SSH
from penstock.world.hosts import Host

_ADDRESSES: Final = {"mac": mac, "ipv4": ipv4}
_ORDERS: Final = frozenset({"<", "<=", ">", ">="})


def conditions_of(formula: Formula, hosts: Sequence[Host]) -> Iterator[Term]:
    """Yield what a formula asks of the header fields of packets."""
    for comparison in _comparisons(formula):
        if isinstance(comparison, Truth):
            yield from _truth(comparison.term)
        else:
            yield from _comparison(comparison, hosts)


def _comparisons(formula: Formula) -> Iterator[Truth | Comparison]:
    match formula:
        case Truth() | Comparison():
            yield formula
        case Prefix(body=body) | Quantified(body=body) | After(body=body):
            yield from _comparisons(body)
        case Infix(left=left, right=right):
            yield from _comparisons(left)
            yield from _comparisons(right)


def _truth(term: Value) -> Iterator[Term]:
    if isinstance(term, Field) and term.name == "ssh":
        yield eq(_value("tcp_dst"), const(SSH))


def _comparison(comparison: Comparison, hosts: Sequence[Host]) -> Iterator[Term]:
    operator, left, right = comparison.operator, comparison.left, comparison.right
    for one, other in ((left, right), (right, left)):
        yield from _truth(one)
        if not isinstance(one, Field):
            continue
        if one.name in ADDRESSED:
            yield from (_names(one.name, host) for host in hosts)
        elif one.name in FIELDS:
            yield from _compared(one.name, other, hosts, ordered=operator in _ORDERS)


def _compared(field: str, other: Value, hosts: Sequence[Host], *, ordered: bool) -> Iterator[Term]:
    value = _value(field)
    match other:
        case Constant(constant):
            number = _number(field, constant)
            if number is not None:
                yield eq(value, const(number))
                if ordered:
                    yield lt(value, const(number))
        case Listed(items):
            for item in items:
                yield from _compared(field, item, hosts, ordered=ordered)
        case Field(_, name) if name in FIELDS:
            yield eq(value, _value(name))
            yield lt(value, _value(name))
        case _:
            kind = BY_NAME[field].kind
            addresses: Mapping[str, list[int]] = {
                "mac": [host.mac for host in hosts],
                "ipv4": [host.ip for host in hosts],
            }
            yield from (eq(value, const(address)) for address in addresses.get(kind, []))


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
