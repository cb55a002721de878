"""Building numbers: arithmetic that folds what it can (see `terms`).

A number that is put together from others bit by bit, with shifts, masks, sums or joins, is always
built in one way: as a `join` of parts side by side, shifted up if zeros are below all of them.  So it
does not matter by which of the ways that Python offers a program takes bytes apart and together.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from penstock._concolic.nodes import FALSE, MOST_BITS, MOST_DEPTH, Term, TooWide, const, parts_of


def operation(op: str, args: tuple[Term, ...], low: int, high: int) -> Term:
    """Return an operation on terms within bounds, unless it gets too wide or too deep."""
    if low == high:
        return const(low)
    if max(low.bit_length(), high.bit_length()) > MOST_BITS or any(arg.depth >= MOST_DEPTH for arg in args):
        raise TooWide
    return Term(op, args, low, high)


def add(one: Term, other: Term) -> Term:
    """Return the sum."""
    if one.value is not None:
        one, other = other, one
    if other.value is not None:
        return _offset(one, other.value)
    joined = _overlaid(one, other, "+")
    if joined is not None:
        return joined
    return operation("+", (one, other), one.low + other.low, one.high + other.high)


def _offset(term: Term, distance: int) -> Term:
    """Return a number with a constant added: offsets add up, and one below zero is subtracted."""
    base, known = without_offset(term)
    distance += known
    if base.value is not None:
        return const(base.value + distance)
    if not distance:
        return base
    if distance > 0 and (joined := _overlaid(base, const(distance), "+")) is not None:
        return joined
    sign, low, high = "+" if distance > 0 else "-", base.low + distance, base.high + distance
    return operation(sign, (base, const(abs(distance))), low, high)


def without_offset(term: Term) -> tuple[Term, int]:
    """Return what a constant is added to in a term, and the constant."""
    if term.op in ("+", "-") and (offset := term.operands[1].value) is not None:
        return term.operands[0], offset if term.op == "+" else -offset
    return term, 0


def sub(one: Term, other: Term) -> Term:
    """Return the difference."""
    if other.value is not None:
        return _offset(one, -other.value)
    if one == other:
        return FALSE
    if one.value is not None and other.op == "-" and other.operands[0].value is not None:
        return _offset(other.operands[1], one.value - other.operands[0].value)
    return operation("-", (one, other), one.low - other.high, one.high - other.low)


def mul(one: Term, other: Term) -> Term:
    """Return the product."""
    if one.value is not None:
        one, other = other, one
    if (shift := _power(other)) is not None:
        return shl(one, const(shift))
    corners = [a * b for a in (one.low, one.high) for b in (other.low, other.high)]
    return operation("*", (one, other), min(corners), max(corners))


def floordiv(one: Term, other: Term) -> Term:
    """Return the quotient rounded down; the divisor must be above zero, whatever its bounds."""
    if (shift := _power(other)) is not None:
        return shr(one, const(shift))
    corners = [a // b for a in (one.low, one.high) for b in (max(other.low, 1), other.high)]
    return operation("//", (one, other), min(corners), max(corners))


def mod(one: Term, other: Term) -> Term:
    """Return what division leaves; the divisor must be above zero, whatever its bounds."""
    if (shift := _power(other)) is not None and one.low >= 0:
        return bits(one, 0, shift)
    if one.low >= 0 and one.high < other.low:
        return one
    if one.value is not None and other.value is not None:
        return const(one.value % other.value)
    high = other.high - 1
    return operation("%", (one, other), 0, min(high, one.high) if one.low >= 0 else high)


def _power(term: Term) -> int | None:
    """Return of which power of two a term is the constant."""
    value = term.value
    return value.bit_length() - 1 if value is not None and value > 0 and not value & value - 1 else None


def bit_and(one: Term, other: Term) -> Term:
    """Return the bits that both have."""
    if one.value is not None:
        one, other = other, one
    if one.value is not None and other.value is not None:
        return const(one.value & other.value)
    if one == other:
        return one
    mask = other.value
    if mask is not None and one.low >= 0:
        # The bits that the mask lets through, each run of them a slice put back where it was.
        runs = _runs(mask & (1 << one.high.bit_length()) - 1)
        if len(runs) <= _MOST_RUNS:
            at, parts = 0, []
            for ones, width in reversed(runs):
                parts.append((bits(one, at, width) if ones else FALSE, width))
                at += width
            return join(parts[::-1])
    low_bound, high = _bit_bounds(one, other)
    if one.low >= 0 and other.low >= 0:
        high = min(one.high, other.high)
    elif one.low >= 0 or other.low >= 0:
        low_bound, high = 0, one.high if one.low >= 0 else other.high
    return operation("&", (one, other), low_bound, high)


def bit_or(one: Term, other: Term) -> Term:
    """Return the bits that either has."""
    if one.value is not None:
        one, other = other, one
    if one.value is not None and other.value is not None:
        return const(one.value | other.value)
    if one == other or other.value == 0:
        return one
    joined = _overlaid(one, other, "|")
    return joined if joined is not None else operation("|", (one, other), *_bit_bounds(one, other))


def bit_xor(one: Term, other: Term) -> Term:
    """Return the bits that one of both has."""
    if one.value is not None:
        one, other = other, one
    if one.value is not None and other.value is not None:
        return const(one.value ^ other.value)
    if one == other:
        return FALSE
    if other.value == 0:
        return one
    joined = _overlaid(one, other, "^")
    return joined if joined is not None else operation("^", (one, other), *_bit_bounds(one, other))


def _bit_bounds(one: Term, other: Term) -> tuple[int, int]:
    """Return how far two's complement of the wider one reaches."""
    width = max(term.bit_length() for bound in (one, other) for term in (bound.low, bound.high))
    least = min(one.low, other.low)
    return (0 if least >= 0 else -(1 << width)), (1 << width) - 1


_MOST_RUNS: Final = 16
"""How many runs of equal bits a constant may have to be taken apart."""


def _runs(value: int) -> list[tuple[bool, int]]:
    """Return the runs of equal bits of a number, the highest first: whether they are ones, and how many."""
    runs: list[tuple[bool, int]] = []
    while value:
        ones = bool(value & 1)
        rest = ~value if ones else value
        width = (rest & -rest).bit_length() - 1
        runs.append((ones, width))
        value >>= width
    return runs[::-1]


def _is_laid(term: Term) -> bool:
    """Tell whether a number consists of parts that lie side by side."""
    return term.op == "join" or (term.op == "<<" and term.operands[1].value is not None)


def _laid(term: Term) -> list[tuple[Term, int]]:
    """Return the parts of a number that is not below zero, the highest first, with the bits of each."""
    if term.op == "join":
        return parts_of(term)
    if term.value is not None:
        runs = _runs(term.value)
        if len(runs) <= _MOST_RUNS:
            return [(const((1 << width) - 1 if ones else 0), width) for ones, width in runs]
    elif term.op == "<<" and (shift := term.operands[1].value) is not None:
        return [*_laid(term.operands[0]), (FALSE, shift)]
    return [(term, term.high.bit_length())]


def _overlaid(one: Term, other: Term, op: str) -> Term | None:
    """Return a bitwise operation or a sum as numbers laid side by side, where that is what it is.

    So it is where of each run of bits all are zero in one of the numbers, or known in both.
    """
    known = op != "+" and other.value is not None
    if one.low < 0 or other.low < 0 or not (known or _is_laid(one) or _is_laid(other)):
        return None
    cuts: set[int] = {0}
    for term in (one, other):
        end = 0
        for _, width in reversed(_laid(term)):
            end += width
            cuts.add(end)
    ends = sorted(cuts)
    parts: list[tuple[Term, int]] = []
    for start, end in pairwise(ends):
        width = end - start
        part = _overlaid_run(bits(one, start, width), bits(other, start, width), op, (1 << width) - 1)
        if part is None:
            return None
        parts.append((part, width))
    return join(parts[::-1])


def _overlaid_run(one: Term, other: Term, op: str, ones: int) -> Term | None:
    if one.value == 0 or other.value == 0:
        return other if one.value == 0 else one
    if op == "|" and ones in (one.value, other.value):
        return const(ones)
    if one.value is None or other.value is None or (op == "+" and one.value & other.value):
        return None
    return const(one.value | other.value if op != "^" else one.value ^ other.value)


def invert(term: Term) -> Term:
    """Return the number with all bits the other way round."""
    return sub(const(-1), term)


def negate(term: Term) -> Term:
    """Return the number below zero that is as far from it."""
    return sub(FALSE, term)


def shl(one: Term, other: Term) -> Term:
    """Return a number shifted up; the distance must not be below zero."""
    assert other.low >= 0
    if other.value == 0:
        return one
    if other.high > MOST_BITS:
        raise TooWide
    if other.value is not None and one.op == "<<" and (shift := one.operands[1].value) is not None:
        return shl(one.operands[0], const(shift + other.value))
    corners = [a << b for a in (one.low, one.high) for b in (other.low, other.high)]
    return operation("<<", (one, other), min(corners), max(corners))


def shr(one: Term, other: Term) -> Term:
    """Return a number shifted down; the distance must not be below zero."""
    assert other.low >= 0
    if other.value == 0:
        return one
    if other.value is not None and one.low >= 0:
        return bits(one, other.value, max(one.high.bit_length() - other.value, 0))
    distances = (min(other.low, MOST_BITS), min(other.high, MOST_BITS))
    corners = [a >> b for a in (one.low, one.high) for b in distances]
    return operation(">>", (one, other), min(corners), max(corners))


def bits(term: Term, low: int, width: int) -> Term:
    """Return `width` bits of a number that is not below zero, from the bit `low` up."""
    assert term.low >= 0
    top = term.high.bit_length()
    width = min(width, top - low)
    if width <= 0:
        return FALSE
    if width == top:
        return term
    if term.value is not None:
        return const(term.value >> low & (1 << width) - 1)
    if term.op == "bits":
        (base,) = term.operands
        start = term.args[1]
        assert isinstance(start, int)
        return bits(base, start + low, width)
    if _is_laid(term):
        return _bits_of_laid(term, low, width)
    if low + width == top:
        return _make_bits(term, low, width, term.low >> low, term.high >> low)
    return _make_bits(term, low, width, 0, (1 << width) - 1)


def _make_bits(term: Term, start: int, width: int, low: int, high: int) -> Term:
    if low == high:
        return const(low)
    if term.depth >= MOST_DEPTH:
        raise TooWide
    return Term("bits", (term, start, width), low, high)


def _bits_of_laid(term: Term, low: int, width: int) -> Term:
    """Return a slice of numbers laid side by side: slices of those it touches."""
    parts: list[tuple[Term, int]] = []
    end = 0
    for part, size in reversed(_laid(term)):
        start, end = end, end + size
        first, last = max(low, start), min(low + width, end)
        if first < last:
            parts.append((bits(part, first - start, last - first), last - first))
    return join(parts[::-1])


def join(parts: Sequence[tuple[Term, int]]) -> Term:
    """Return numbers laid side by side, the highest first, each in so many bits.

    Built the same way whoever asks: each part is as wide as it can get, with zeros as parts of their
    own; zeros above all are left out, and zeros below all are a shift.
    """
    merged: list[tuple[Term, int]] = []
    for term, width in parts:
        assert term.low >= 0 and term.high < 1 << width
        inner = _laid(term) if _is_laid(term) else [(term, term.high.bit_length())]
        _lay(merged, FALSE, width - sum(size for _, size in inner))
        for part, size in inner:
            _lay(merged, part, size)
    while merged and merged[0][0].value == 0:
        del merged[0]
    if not merged:
        return FALSE
    if merged[-1][0].value == 0 and len(merged) > 1:
        _, shift = merged.pop()
        return shl(join(merged), const(shift))
    if len(merged) == 1:
        return merged[0][0]
    merged[0] = merged[0][0], merged[0][0].high.bit_length()
    low = high = 0
    for term, width in merged:
        low, high = low << width | term.low, high << width | term.high
    if low == high:
        return const(low)
    if high.bit_length() > MOST_BITS or any(term.depth >= MOST_DEPTH for term, _ in merged):
        raise TooWide
    return Term("join", tuple(item for part in merged for item in part), low, high)


def _lay(merged: list[tuple[Term, int]], term: Term, width: int) -> None:
    """Lay one more number beside others; two slices of one number that meet become one."""
    if not width:
        return
    if merged:
        before, size = merged[-1]
        if before.value is not None and term.value is not None:
            merged[-1] = (const(before.value << width | term.value), size + width)
            return
        base, start, _ = _slice(before)
        other, low, length = _slice(term)
        if low + length == start and length == width and base == other:
            merged[-1] = (bits(base, low, size + width), size + width)
            return
    merged.append((term, width))


def _slice(term: Term) -> tuple[Term, int, int]:
    """Return of which number a term is a slice, and which."""
    if term.op == "bits":
        start, width = term.args[1], term.args[2]
        assert isinstance(start, int) and isinstance(width, int)
        return term.operands[0], start, width
    return term, 0, max(term.high.bit_length(), 1)
