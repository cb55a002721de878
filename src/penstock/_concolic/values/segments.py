"""The pieces of a text that depends on inputs: how a number is written, and how to read it back.

A form says how the number of a piece is written:

- `d1`: one decimal digit;
- `x1` and `x2`: one and two hexadecimal digits, `X1` and `X2` the same in capitals;
- `d` and `x` or `X`: decimal and hexadecimal without zeros in front, so of changing width;
- `c`: the character of that number, below 256;
- `ipv6`: the text of an IPv6 address as RFC 5952 and Python's `ipaddress` have it, `inet6` the same as
  the C library writes it, with an IPv4 address at the end of some (`netaddr` and os-ken do so).

What a text as a whole is asked (is it this constant, does it start with that) becomes a condition on
the numbers of its pieces.  These conditions are exact; where there is none, `Unfollowed` is raised.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from ipaddress import IPv6Address
from typing import Final, NamedTuple

from penstock._concolic.terms import (
    FALSE,
    Term,
    add,
    bits,
    both,
    const,
    either,
    eq,
    equal_all,
    floordiv,
    ite,
    join,
    le,
    lt,
    mod,
)
from penstock._concolic.values.escapes import Unfollowed


class Piece(NamedTuple):
    """A number within a text, how it is written, and what that comes to in this run."""

    term: Term
    form: str
    shown: str = ""


Pieces = Sequence[str | Piece]
Pairs = tuple[tuple[Term, Term], ...]

_DIGITS: Final = {"d": "0123456789", "x": "0123456789abcdef", "X": "0123456789ABCDEF"}

WRITES_DOTS: Final = "." in str(IPv6Address(0xFFFF << 32))
"""Whether `ipaddress` writes IPv4 addresses that are mapped into IPv6 with dots, as from Python 3.13 on."""
_IPV6: Final = "0123456789abcdef:" + "." * WRITES_DOTS

ALPHABET: Final = {
    **{form: frozenset(_DIGITS[form[0]]) for form in ("d", "d1", "x", "x1", "x2", "X", "X1", "X2")},
    "c": frozenset(map(chr, range(256))),
    "ipv6": frozenset(_IPV6),
    "inet6": frozenset("0123456789abcdef:."),
}
"""The characters that the text of a piece may consist of."""

_PATTERN: Final = {
    "x1": "([0-9a-f])",
    "x2": "([0-9a-f]{2})",
    "X1": "([0-9A-F])",
    "X2": "([0-9A-F]{2})",
    "d": "(0|[1-9][0-9]*)",
    "d1": "([0-9])",
    "x": "(0|[1-9a-f][0-9a-f]*)",
    "X": "(0|[1-9A-F][0-9A-F]*)",
    "c": "([\x00-\xff])",
    "ipv6": f"([{_IPV6}]+)",
    "inet6": "([0-9a-f:.]+)",
}

_ONE_CHARACTER: Final = {
    **{form: {digit: value for value, digit in enumerate(_DIGITS[form[0]])} for form in ("d1", "x1", "X1")},
    "c": {chr(value): value for value in range(256)},
}
"""The numbers of forms that are one character, by that character."""

_LONGEST_ADDRESS: Final = 45

_ALWAYS_FIXED: Final = frozenset({*_ONE_CHARACTER, "x2", "X2"})

_BASES: Final = {"d": 10, "x": 16, "X": 16}


def base_of(form: str) -> int:
    """Return the base in which a form writes digits; 0 for a form that does not."""
    return _BASES.get(form[0], 0)


def written(value: int, form: str) -> str:
    """Return how a number is written."""
    match form:
        case "d" | "d1":
            return str(value)
        case "c":
            return chr(value)
        case "ipv6":
            return str(IPv6Address(value))
        case "inet6":
            return socket.inet_ntop(socket.AF_INET6, value.to_bytes(16, "big"))
        case _:
            digits = f"{value:0{form[1:] or '0'}x}"
            return digits.upper() if form[0] == "X" else digits


def read(text: str, form: str) -> int | None:
    """Return the number that is written so in a form, if there is one."""
    if form in _ONE_CHARACTER:
        return _ONE_CHARACTER[form].get(text)
    if not re.fullmatch(_PATTERN[form], text):
        return None
    return _number(text, form)


def _number(text: str, form: str) -> int | None:
    """Return the number that is written in characters as a form has them."""
    if form == "c":
        return ord(text)
    if base := base_of(form):
        return int(text, base)
    try:
        value = int(IPv6Address(text))
    except ValueError:
        return None
    return value if written(value, form) == text else None


def widths(piece: Piece) -> tuple[int, int]:
    """Return how many characters a piece has at least and at most."""
    match piece.form:
        case "d1" | "x1" | "X1" | "c":
            return 1, 1
        case "x2" | "X2":
            return 2, 2
        case "ipv6" | "inet6":
            return 2, _LONGEST_ADDRESS
        case form:
            low, high = (len(written(max(bound, 0), form)) for bound in (piece.term.low, piece.term.high))
            return low, high


def is_fixed(piece: Piece) -> bool:
    """Tell whether a piece always has the same width."""
    if piece.form in _ALWAYS_FIXED:
        return True
    low, high = widths(piece)
    return low == high


def cells(piece: Piece) -> list[Piece]:
    """Return the characters of a piece, as pieces, given that it is as wide as it is in this run."""
    term, form, shown = piece
    if form in _ONE_CHARACTER:
        return [piece]
    base = base_of(form)
    if not base:
        raise Unfollowed
    places = range(len(shown) - 1, -1, -1)
    if base == 16:
        numbers = [bits(term, 4 * place, 4) for place in places]
    else:
        # The first digit is what is left, so that a single one is the number itself.
        first, *rest = (floordiv(term, const(10**place)) for place in places)
        numbers = [first, *(mod(number, const(10)) for number in rest)]
    return [Piece(number, f"{form[0]}1", digit) for number, digit in zip(numbers, shown, strict=True)]


def fits(piece: Piece, width: int) -> Term:
    """Return whether a piece is no wider than so many characters."""
    base = base_of(piece.form)
    if not base:
        raise Unfollowed
    return lt(piece.term, const(base**width))


# Whole texts and constants.


def terms_of(pieces: Pieces) -> list[Term]:
    """Return the numbers of a text in their order."""
    return [piece.term for piece in pieces if isinstance(piece, Piece)]


def shape(pieces: Pieces) -> tuple[str | tuple[str, bool], ...]:
    """Return what is the same of all texts that are written alike."""
    return tuple(
        piece if isinstance(piece, str) else (piece.form, base_of(piece.form) > 0 and is_fixed(piece))
        for piece in pieces
    )


class Reader(NamedTuple):
    """How to read the numbers of a text back: the pattern, the forms, and whether there is only one way."""

    pattern: re.Pattern[str]
    forms: tuple[str, ...]
    unique: bool

    def values(self, text: str) -> list[int] | None:
        """Return the numbers with which a text would be this one, or None if there are none."""
        match = self.pattern.fullmatch(text)
        if match is None:
            return None
        found = []
        for group, form in zip(match.groups(), self.forms, strict=True):
            value = _number(group, form)
            if value is None:
                return None
            found.append(value)
        return found


@lru_cache(maxsize=1024)
def reader(kind: tuple[str | tuple[str, bool], ...]) -> Reader:
    """Return how to read texts of a shape."""
    pattern = "".join(re.escape(part) if isinstance(part, str) else _PATTERN[part[0]] for part in kind)
    forms = tuple(part[0] for part in kind if not isinstance(part, str))
    alphabet = frozenset[str]().union(*(ALPHABET[form] for form in forms))
    unique, varying = True, 0
    for part in kind:
        if isinstance(part, str):
            # A character that no number is written with: what is before it cannot reach beyond it.
            if not alphabet.issuperset(part):
                varying = 0
        elif not part[1] and part[0] in ("d", "x", "X", "ipv6", "inet6"):
            varying += 1
            unique = unique and varying == 1
    return Reader(re.compile(pattern), forms, unique)


def spells(pieces: Pieces, text: str) -> Term:
    """Return whether a text comes to a constant."""
    kind = shape(pieces)
    if reader(kind).unique:
        return _read_back(kind, tuple(terms_of(pieces)), text)
    return _spells(tuple(pieces), text, (), whole=True)


@lru_cache(maxsize=1 << 16)
def _read_back(kind: tuple[str | tuple[str, bool], ...], terms: tuple[Term, ...], text: str) -> Term:
    """Return whether these numbers are those that a constant is written from.

    A look-up asks this of every key, run after run; it is the same question each time.
    """
    values = reader(kind).values(text)
    if values is None:
        return FALSE
    return equal_all((term, const(value)) for term, value in zip(terms, values, strict=True))


def starts(pieces: Pieces, text: str) -> Term:
    """Return whether a text starts with a constant."""
    return _spells(tuple(units(pieces)), text, (), whole=False)


def _spells(parts: tuple[str | Piece, ...], text: str, known: Pairs, *, whole: bool) -> Term:
    """Return whether a text comes to a constant, or only starts with it, given what must be equal already."""
    if not text and not (whole and parts):
        return equal_all(known)
    if not parts:
        return FALSE
    first, rest = parts[0], parts[1:]
    if isinstance(first, str):
        return _spells(rest, text[len(first) :], known, whole=whole) if text.startswith(first) else FALSE
    found = []
    for width in _possible_widths(first, text):
        value = read(text[:width], first.form)
        if value is not None:
            pairs = (*known, (first.term, const(value)))
            found.append(_spells(rest, text[width:], pairs, whole=whole))
    if not whole and not is_fixed(first):
        found.append(both(equal_all(known), _starts_within(first, text)))
    return either(*found)


def _starts_within(piece: Piece, text: str) -> Term:
    """Return whether a piece starts with a constant, and is longer."""
    term, form, _ = piece
    if base_of(form):
        value = read(text, form)
        return FALSE if value is None or value == 0 else _longer(piece, value, len(text))
    # The first group of an address: it has no zeros in front, so four digits are all of it.
    digits = text.removesuffix(":")
    value = read(digits, "x")
    if value is None or value == 0 or len(digits) > 4:
        raise Unfollowed
    group = Piece(bits(term, 112, 16), "x")
    exact = eq(group.term, const(value))
    return exact if digits != text else either(exact, _longer(group, value, len(digits)))


def _longer(piece: Piece, value: int, width: int) -> Term:
    """Return whether the digits of a piece are those of a number and more after them."""
    base = base_of(piece.form)
    found = []
    for more in range(1, widths(piece)[1] - width + 1):
        low, high = value * base**more, (value + 1) * base**more
        found.append(both(le(const(low), piece.term), lt(piece.term, const(high))))
    return either(*found)


def ends(pieces: Pieces, text: str) -> Term:
    """Return whether a text ends with a constant."""
    return _ends(tuple(units(pieces)), text, ())


def _ends(parts: tuple[str | Piece, ...], text: str, known: Pairs) -> Term:
    if not text or not parts:
        return FALSE if text else equal_all(known)
    rest, last = parts[:-1], parts[-1]
    if isinstance(last, str):
        return _ends(rest, text[: -len(last)], known) if text.endswith(last) else FALSE
    found = []
    for width in _possible_widths(last, text):
        value = read(text[len(text) - width :], last.form)
        if value is not None:
            found.append(_ends(rest, text[: len(text) - width], ((last.term, const(value)), *known)))
    if not is_fixed(last):
        found.append(both(equal_all(known), _ends_within(last, text)))
    return either(*found)


def _ends_within(piece: Piece, text: str) -> Term:
    """Return whether a piece ends with a constant, and is longer."""
    term, form, _ = piece
    base = base_of(form)
    if not base:
        raise Unfollowed
    if any(digit not in _DIGITS[form[0]] for digit in text):
        return FALSE
    size = const(base ** len(text))
    return both(eq(mod(term, size), const(int(text, base))), le(size, term))


def _possible_widths(piece: Piece, text: str) -> range:
    low, high = widths(piece)
    return range(low, min(high, len(text)) + 1)


# Characters.


def is_cell(unit: str | Piece) -> bool:
    """Tell whether a part of a text is one character."""
    return isinstance(unit, str) or (is_fixed(unit) and len(unit.shown) == 1)


def units(pieces: Pieces) -> Iterator[str | Piece]:
    """Yield the characters of a text; a piece of changing width stays whole."""
    for piece in pieces:
        if isinstance(piece, str) or is_fixed(piece):
            yield from piece if isinstance(piece, str) else cells(piece)
        else:
            yield piece


def assembled(parts: Pieces) -> tuple[str | Piece, ...]:
    """Return parts of a text as few pieces: constants are put together, and two digits that meet too."""
    found: list[str | Piece] = []
    for part in parts:
        if isinstance(part, Piece) and part.term.value is not None:
            part = part.shown
        last = found[-1] if found else None
        if isinstance(part, str):
            if isinstance(last, str):
                found[-1] = last + part
            elif part:
                found.append(part)
        elif isinstance(last, Piece) and part.form == last.form and part.form in ("x1", "X1"):
            pair = join([(last.term, 4), (part.term, 4)])
            found[-1] = Piece(pair, f"{part.form[0]}2", last.shown + part.shown)
        else:
            found.append(part)
    return tuple(found)


def shown(unit: str | Piece) -> str:
    """Return what a part of a text comes to in this run."""
    return unit if isinstance(unit, str) else unit.shown


def code(unit: str | Piece) -> Term:
    """Return the number of a character."""
    if isinstance(unit, str):
        return const(ord(unit))
    match unit.form:
        case "c":
            return unit.term
        case "d1":
            return add(unit.term, const(48))
        case form:
            letters = add(unit.term, const(87 if form == "x1" else 55))
            return ite(lt(unit.term, const(10)), add(unit.term, const(48)), letters)


def aligned(one: str | Piece, other: str | Piece) -> tuple[Term, Term]:
    """Return numbers for two characters that are in the same order as the characters."""
    if isinstance(one, str) and not isinstance(other, str):
        second, first = aligned(other, one)
        return first, second
    if isinstance(one, Piece):
        if isinstance(other, Piece):
            if {one.form, other.form} in ({one.form}, {"d1", "x1"}, {"d1", "X1"}):
                return one.term, other.term
        elif (value := read(other, one.form)) is not None:
            return one.term, const(value)
    return code(one), code(other)


def among(unit: str | Piece, holds: Callable[[str], bool]) -> Term:
    """Return whether a character has a property; a piece of changing width must have it all or not at all."""
    if isinstance(unit, str):
        return const(holds(unit))
    if not is_cell(unit):
        found = {holds(character) for character in ALPHABET[unit.form]}
        if len(found) > 1:
            raise Unfollowed
        return const(found.pop())
    if unit.form == "c":
        values = [value for value in range(256) if holds(chr(value))]
    else:
        values = [value for value, digit in enumerate(_DIGITS[unit.form[0]]) if holds(digit)]
    return either(*(_within(unit.term, first, last) for first, last in _ranges(values)))


def _within(term: Term, first: int, last: int) -> Term:
    return eq(term, const(first)) if first == last else both(le(const(first), term), le(term, const(last)))


def _ranges(values: list[int]) -> list[tuple[int, int]]:
    """Return ascending numbers as ranges, with the first and the last of each."""
    found: list[tuple[int, int]] = []
    for value in values:
        if found and found[-1][1] == value - 1:
            found[-1] = found[-1][0], value
        else:
            found.append((value, value))
    return found
