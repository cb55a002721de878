"""What a header is: parts in a row, and what may be inside.

A part is some bits with a meaning: an input, a constant, a length or a checksum.  From that follows
what a header is as bytes, each a term, and how long it is with all that is inside it.  What is inside
is the first alternative whose conditions hold; whoever asks says how conditions are decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from penstock._concolic.terms import (
    FALSE,
    TRUE,
    Term,
    add,
    bits,
    both,
    const,
    either,
    eq,
    ite,
    join,
    negation,
    var,
)
from penstock._concolic.values.segments import Piece, code

PAYLOAD_SIZE: Final = 8
"""How many bytes of a payload are inputs; the others are zero."""

INPUTS: Final[dict[str, int]] = {"payload_length": 11, "payload": PAYLOAD_SIZE * 8}
"""How many bits each input has; layouts add theirs."""


def declared(name: str, width: int) -> Term:
    """Return an input that is new, as a term."""
    INPUTS[name] = width
    return input_term(name)


def input_term(name: str) -> Term:
    """Return an input as a term."""
    return var(name, INPUTS[name])


def is_value(name: str, value: int) -> Term:
    """Return whether an input has a value."""
    return eq(input_term(name), const(value))


# Parts of headers.


@dataclass(frozen=True, slots=True)
class Part:
    """Some bits of a header, and what they say."""

    bits: int
    term: Term


@dataclass(frozen=True, slots=True)
class Length:
    """Bits that count bytes: of all that is inside the header, and `more`."""

    bits: int
    more: int


@dataclass(frozen=True, slots=True)
class Checksum:
    """A checksum of the `header` alone, or of `all` from it on, or with a `pseudo`-header too."""

    scope: str
    bits: int = 16


def field(name: str, width: int) -> Part:
    """Return bits that are an input."""
    return Part(width, declared(name, width))


def fixed(width: int, value: int = 0) -> Part:
    """Return bits that are always the same."""
    return Part(width, const(value))


def digit(nibble: Term) -> Term:
    """Return the character that writes four bits as a hexadecimal digit."""
    return code(Piece(nibble, "x1"))


def digits(name: str, width: int) -> tuple[Part, ...]:
    """Return an input that is written as hexadecimal digits."""
    term = declared(name, width)
    return tuple(Part(8, digit(bits(term, low, 4))) for low in range(width - 4, -4, -4))


# Headers.


@dataclass(frozen=True)
class Alternative:
    """A header that may come next, and the conditions under which it does."""

    conditions: tuple[Term, ...]
    header: Header

    @cached_property
    def condition(self) -> Term:
        """All conditions in one."""
        return both(*self.conditions)


@dataclass(frozen=True, eq=False)
class Header:
    """The parts of a header, what may be inside it, and whether opaque bytes may be.

    A header without parts gives a common name to several.
    """

    name: str
    parts: tuple[Part | Length | Checksum, ...] = ()
    inside: tuple[Alternative, ...] = ()
    payload: bool = False

    @cached_property
    def size(self) -> int:
        """How many bytes the header has."""
        return sum(part.bits for part in self.parts) // 8

    @cached_property
    def inputs(self) -> frozenset[str]:
        """The inputs that can be read in the header."""
        terms = (part.term for part in self.parts if isinstance(part, Part))
        return frozenset[str]().union(*(term.variables for term in terms))

    @cached_property
    def length_inside(self) -> Term:
        """How many bytes are inside the header."""
        found = input_term("payload_length") if self.payload else FALSE
        for alternative in reversed(self.inside):
            found = ite(alternative.condition, alternative.header.length, found)
        return found

    @cached_property
    def length(self) -> Term:
        """How many bytes the header has together with all that is inside."""
        return add(self.length_inside, const(self.size))

    @cached_property
    def term(self) -> Term:
        """The header as one number, checksums zero."""
        return join([(self._meaning(part), part.bits) for part in self.parts])

    @cached_property
    def octets(self) -> tuple[Term, ...]:
        """The bytes of the header, checksums zero."""
        return tuple(bits(self.term, 8 * (self.size - 1 - at), 8) for at in range(self.size))

    @cached_property
    def checksum(self) -> tuple[int, str] | None:
        """At which byte the checksum is and what it covers, if there is one."""
        at = 0
        for part in self.parts:
            if isinstance(part, Checksum):
                return at // 8, part.scope
            at += part.bits
        return None

    def _meaning(self, part: Part | Length | Checksum) -> Term:
        match part:
            case Part(_, term):
                return term
            case Length(_, more):
                return add(self.length_inside, const(more))
            case Checksum():
                return FALSE


Decide = Callable[[Term], bool]


def chosen(header: Header, decide: Decide) -> Header | None:
    """Return what is inside a header; `decide` is asked for one condition at a time."""
    for alternative in header.inside:
        if all(map(decide, alternative.conditions)):
            return alternative.header
    return None


def when(header: Header, **values: int) -> Alternative:
    """Return a header that comes next where inputs have these values."""
    return Alternative(tuple(is_value(name, value) for name, value in values.items()), header)


def stacked(outer: Header, decide: Decide) -> Iterator[Header]:
    """Go through a header and those inside it, from the outermost in."""
    header: Header | None = outer
    while header is not None:
        yield header
        header = chosen(header, decide)


def reachable(outer: Header) -> Iterator[Header]:
    """Go through all headers that may be inside one, itself first."""
    waiting, seen = [outer], {outer}
    for header in waiting:
        yield header
        for alternative in header.inside:
            if alternative.header not in seen:
                seen.add(alternative.header)
                waiting.append(alternative.header)


def presence(outer: Header, always: Header) -> dict[str, Term]:
    """Return under which condition each header is inside one, by name; of two it is known."""
    ways: dict[Header, dict[Term, list[Term]]] = {header: {} for header in reachable(outer)}
    found = {outer.name: TRUE, always.name: TRUE}
    for header in reachable(outer):
        if header.name not in found:
            found[header.name] = either(*(both(either(*outer), own) for own, outer in ways[header].items()))
        before: list[Alternative] = []
        for alternative in header.inside:
            others = (negation(other.condition) for other in before if not _apart(other, alternative))
            own = both(*alternative.conditions, *others)
            ways[alternative.header].setdefault(own, []).append(found[header.name])
            before.append(alternative)
    return found


def _apart(one: Alternative, other: Alternative) -> bool:
    """Tell whether two alternatives exclude each other, since they want one field to be different."""
    wanted = dict(map(_wanted, one.conditions))
    return any(wanted.get(field, value) != value for field, value in map(_wanted, other.conditions))


def _wanted(condition: Term) -> tuple[Term, Term]:
    field, value = condition.operands
    return field, value
