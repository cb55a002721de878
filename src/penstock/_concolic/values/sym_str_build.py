"""Texts that depend on inputs: making them, putting them together, and reading numbers from them.

A text is constants and numbers in a row: a MAC address is `x2 : x2 : x2 …`, an IPv4 address
`d . d . d . d` (see `pieces` for the forms, `strings` for the class).  The functions here also do for
code that is followed what Python does in C, where pieces would be lost: joining, formatting, `int`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from penstock._concolic.run import lose
from penstock._concolic.terms import (
    FALSE,
    Term,
    TooWide,
    add,
    bits,
    both,
    const,
    join,
    lt,
    mul,
    negate,
    negation,
    sub,
)
from penstock._concolic.values.escapes import Unfollowed, bare
from penstock._concolic.values.integers import Followed, SymBool, decide, integer, pinned
from penstock._concolic.values.segments import Piece, Pieces, base_of, reader, shape, shown, written
from penstock._concolic.values.sym_str import SymStr, join_texts, made, pieces_of
from penstock._concolic.values.sym_str_search import cut, settled

__all__ = [
    "Piece",
    "SymStr",
    "decimal",
    "followed",
    "format_value",
    "hexadecimal",
    "ipv4_text",
    "ipv6_text",
    "join_texts",
    "mac_text",
    "pieces_of",
    "text",
    "to_int",
]

# Making texts.


def text(pieces: Pieces, characters: str) -> str:
    """Return a text that consists of pieces and comes to given characters in this run."""
    if not all(isinstance(piece, str) or piece.shown for piece in pieces):
        known = reader(shape(pieces))
        match = known.pattern.fullmatch(characters)
        if match is None or not known.unique:
            lose("text")
            return characters
        groups = iter(match.groups())
        pieces = [p if isinstance(p, str) else p._replace(shown=next(groups)) for p in pieces]
    return made(pieces)


def followed(characters: str) -> SymStr:
    """Return any text as one whose methods follow arguments that depend on inputs."""
    return characters if isinstance(characters, SymStr) else SymStr(characters, pieces_of(characters))


def _written(value: int, term: Term, form: str) -> Piece:
    return Piece(term, form, written(value, form))


def decimal(value: int, term: Term) -> str:
    """Return a number as decimal text; the run decides whether it has a sign."""
    if decide(lt(term, FALSE), value < 0):
        return made(["-", _written(-value, negate(term), "d")])
    return made([_written(value, term, "d")])


def hexadecimal(value: int, term: Term, digits: int = 1, *, capitals: bool = False) -> str:
    """Return a number that is not below zero as hexadecimal text, of at least so many digits."""
    form = "X" if capitals else "x"
    limit = 1 << 4 * digits
    if (digits > 1 or term.high < 16) and decide(lt(term, const(limit)), value < limit):
        places = range(4 * (digits - 1), -1, -4)
        return made([_written(value >> place & 15, bits(term, place, 4), f"{form}1") for place in places])
    return made([_written(value, term, form)])


def mac_text(value: int, term: Term) -> str:
    """Return the text of an Ethernet address."""
    return _joined_bytes(value, term, 6, "x2", ":")


def ipv4_text(value: int, term: Term) -> str:
    """Return the text of an IPv4 address."""
    return _joined_bytes(value, term, 4, "d", ".")


def _joined_bytes(value: int, term: Term, count: int, form: str, separator: str) -> str:
    parts: list[str | Piece] = []
    for octet, part in zip(value.to_bytes(count), _octets(term, count), strict=True):
        parts += [separator, _written(octet, part, form)]
    return made(parts[1:])


@lru_cache(maxsize=1 << 12)
def _octets(term: Term, count: int) -> tuple[Term, ...]:
    """Return a number byte by byte."""
    return tuple(bits(term, place, 8) for place in range(8 * (count - 1), -1, -8))


def ipv6_text(value: int, term: Term, form: str = "ipv6") -> str:
    """Return the text of an IPv6 address, as `ipaddress` writes it or, in the form `inet6`, the C library."""
    return made([_written(value, term, form)])


# Formatting and reading numbers.

_SPEC: Final = re.compile(r"(?:(.)?([<>^]))?(#?)(0?)(\d*)(?:\.(\d+))?([a-zA-Z]?)", re.DOTALL)


def format_value(value: object, spec: str = "") -> str:
    """Return what `format` does, with the pieces of texts and numbers kept."""
    if not isinstance(value, (Followed, SymStr)) or isinstance(spec, SymStr):
        return format(value, spec)
    match = _SPEC.fullmatch(spec)
    if match is None or isinstance(value, SymBool):
        return format(value, spec)
    fill, align, prefix, zero, width, precision, kind = match.groups()
    try:
        if isinstance(value, SymStr):
            if kind not in ("", "s") or prefix or zero:
                raise Unfollowed
            body, align = value[: int(precision)] if precision else value, align or "<"
        else:
            if precision:
                raise Unfollowed
            body, align = _number(value, kind, prefix, int(width) if zero and width else 0), align or ">"
        return _filled(body, fill or " ", align, int(width or 0))
    except (Unfollowed, TooWide):
        return format(value, spec)


def _number(value: Followed, kind: str, prefix: str, digits: int) -> str:
    """Return a number as text, with zeros in front up to so many characters."""
    term = value.term
    match kind:
        case "" | "d":
            found = decimal(value.plain, term)
            return found.zfill(digits) if digits else found
        case "x" | "X" if term.low >= 0:
            mark = f"0{kind}" if prefix else ""
            size = max(digits - len(mark), 1)
            return join_texts("", [mark, hexadecimal(value.plain, term, size, capitals=kind == "X")])
        case "c" if term.low >= 0 and term.high < 256 and not digits:
            return made([_written(value.plain, term, "c")])
        case _:
            raise Unfollowed


def _filled(body: str, fill: str, align: str, width: int) -> str:
    """Return a text filled up to a width; in the middle, it has more after than before it."""
    if not width:
        return body
    room = max(width - len(body), 0)
    before = {"<": 0, ">": room, "^": room // 2}[align]
    return join_texts("", [fill * before, body, fill * (room - before)])


class _NoNumber(Exception):
    """A text has a character that no number has; Python says so best."""


def to_int(value: Any, base: int = 10) -> int:
    """Return what `int` does with a text, with its terms kept."""
    if not isinstance(value, SymStr):
        return int(bare(value), bare(base))
    base = pinned(base, "int")
    try:
        parts = list(value.pieces)
        first = parts[0]
        sign = first[:1] if isinstance(first, str) and first[:1] in ("+", "-") else ""
        parts = list(pieces_of(made(cut(parts, 1)[1]))) if sign else parts
        if isinstance(parts[0], str) and parts[0][:2] in ("0x", "0X") and base in (0, 16):
            parts, base = list(pieces_of(made(cut(parts, 2)[1]))), 16
        term = _value(parts, base)
    except _NoNumber:
        return int(value.plain, base)
    except (Unfollowed, TooWide):
        lose("int")
        return int(value.plain, base)
    return integer(int(value.plain, base), negate(term) if sign == "-" else term)


def _value(parts: Pieces, base: int) -> Term:
    """Return the number that is written in digits of a base."""
    if len(parts) == 1 and isinstance(parts[0], Piece) and base_of(parts[0].form) == base:
        return parts[0].term
    if not 2 <= base <= 16:
        raise Unfollowed
    if base == 16 and all(isinstance(part, str) or part.form in _HEXADECIMAL for part in parts):
        return join([_digits(part) for part in parts])
    total = FALSE
    for part in settled(parts):
        total = add(mul(total, const(base)), _digit(part, base))
    return total


_HEXADECIMAL: Final = ("x1", "x2", "X1", "X2")


def _digits(part: str | Piece) -> tuple[Term, int]:
    """Return the number that hexadecimal digits stand for, and how many bits they are."""
    if isinstance(part, Piece):
        return part.term, 4 * int(part.form[1])
    total = FALSE
    for character in part:
        total = add(mul(total, const(16)), _digit(character, 16))
    return total, 4 * len(part)


def _digit(part: str | Piece, base: int) -> Term:
    """Return the number that a character stands for; the run decides whether it is a digit."""
    try:
        value = int(shown(part), base)
    except ValueError:
        value = base
    if isinstance(part, str):
        if value < base:
            return const(value)
        # Some characters may be around or between digits; with any other one, it is no number.
        raise Unfollowed if part in "_+-" or part.isspace() else _NoNumber
    if part.form != "c":
        if decide(lt(part.term, const(base)), value < base):
            return part.term
        raise _NoNumber
    is_digit = both(negation(lt(part.term, const(48))), lt(part.term, const(48 + base)))
    if base <= 10 and decide(is_digit, value < base):
        return sub(part.term, const(48))
    raise Unfollowed
