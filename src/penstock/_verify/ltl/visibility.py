"""What a formula looks at: whatever changes none of it is invisible to the formula.

A reading is a path of names and fields in which a variable is written as the set it ranges over:
`forall h in hosts, p in h.rcvq: not p.ssh` reads `hosts`, `hosts.rcvq` and `hosts.rcvq.ssh`.  An argument
of an event is written `match(0)`: it is a value handed over, and only its fields are looked up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
    Term,
    Truth,
)


def events_of(formula: Formula) -> frozenset[str]:
    """Return the events that a formula has ears for."""
    match formula:
        case After(event, _, body):
            return events_of(body) | {event}
        case Prefix(body=body) | Quantified(body=body):
            return events_of(body)
        case Infix(left=left, right=right):
            return events_of(left) | events_of(right)
        case _:
            return frozenset()


def paths_read(formula: Formula, origins: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return what a formula looks at; `origins` says what free variables are to be written as."""
    return frozenset(_paths(formula, origins or {}))


def _paths(formula: Formula, origins: Mapping[str, str]) -> Iterable[str]:
    match formula:
        case Truth(term):
            yield from _term_paths(term, origins)
        case Comparison(left=left, right=right):
            yield from _term_paths(left, origins)
            yield from _term_paths(right, origins)
        case Prefix(body=body):
            yield from _paths(body, origins)
        case Infix(left=left, right=right):
            yield from _paths(left, origins)
            yield from _paths(right, origins)
        case Quantified(variable=variable, domain=domain, body=body):
            yield from _term_paths(domain, origins)
            origin = "{}" if isinstance(domain, Listed) else _origin(domain, origins)
            yield from _paths(body, {**origins, variable: origin})
        case After(event, names, body):
            bound = {name: f"{event}({position})" for position, name in enumerate(names or ())}
            yield from _paths(body, {**origins, **bound})


def _origin(term: Term, origins: Mapping[str, str]) -> str:
    match term:
        case Name(name):
            return origins.get(name, name)
        case Field(owner, name):
            return f"{_origin(owner, origins)}.{name}"
        case _:
            return str(term)


def _term_paths(term: Term, origins: Mapping[str, str]) -> Iterable[str]:
    match term:
        case Name() | Field():
            yield _origin(term, origins)
            if isinstance(term, Field):
                yield from _term_paths(term.owner, origins)
        case Listed(items):
            for item in items:
                yield from _term_paths(item, origins)
        case Constant():
            return
