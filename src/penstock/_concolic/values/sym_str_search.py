"""Finding, cutting and comparing texts that are made of pieces.

Python's own algorithms on strings, one character after the other: where the next step depends on a
character that depends on inputs, the run decides.  A piece of changing width is one unit as long as
nothing that is looked for can be within it; else the run first decides how wide it is, and it falls
into its characters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from penstock._concolic.terms import (
    FALSE,
    Term,
    add,
    both,
    const,
    either,
    equal_all,
    ite,
    join,
    lt,
    negation,
    sub,
)
from penstock._concolic.values.escapes import Unfollowed
from penstock._concolic.values.integers import decide
from penstock._concolic.values.segments import (
    ALPHABET,
    Piece,
    Pieces,
    aligned,
    among,
    cells,
    code,
    ends,
    fits,
    is_fixed,
    read,
    reader,
    shape,
    shown,
    spells,
    starts,
    terms_of,
    units,
    widths,
)

Units = list[str | Piece]


# Widths.


def settled(parts: Pieces) -> Units:
    """Return the characters of a text; the run decides how wide the pieces are whose width may change."""
    found: Units = []
    for part in units(parts):
        if isinstance(part, str) or is_fixed(part):
            found.append(part)
        else:
            _decide_width(part)
            found += cells(part)
    return found


def _decide_width(piece: Piece) -> None:
    """Decide how wide a piece is, by the same questions however wide it is."""
    actual = len(piece.shown)
    low, high = widths(piece)
    for width in range(low, min(actual + 1, high)):
        decide(fits(piece, width), actual <= width)


def cut(parts: Pieces, at: int) -> tuple[Units, Units]:
    """Return a text in two: so many characters, and the rest, whose widths are not looked at."""
    left: Units = []
    rest = list(units(parts))
    while rest and len(left) < at:
        left += settled([rest.pop(0)])
    return left[:at], [*left[at:], *rest]


def _comparable(parts: Pieces, wanted: Pieces) -> tuple[Units, Units]:
    """Return two texts such that nothing of the second can be within a piece of changing width."""
    sought = settled(wanted)
    alphabet = frozenset[str]().union(
        *(part if isinstance(part, str) else ALPHABET[part.form] for part in sought)
    )
    found: Units = []
    for part in units(parts):
        whole = isinstance(part, str) or alphabet.isdisjoint(ALPHABET[part.form])
        found += [part] if whole else settled([part])
    return found, sought


# Occurrences.


def _occurs(parts: Sequence[str | Piece], wanted: Units) -> tuple[Term, bool]:
    """Return whether a text starts with another, character by character, and whether it does in this run."""
    if len(parts) < len(wanted):
        return FALSE, False
    pairs = []
    hit = True
    for one, other in zip(parts, wanted, strict=False):
        if isinstance(one, str) and isinstance(other, str):
            if one != other:
                return FALSE, False
        elif not (_may_be(one, other) and _may_be(other, one)):
            return FALSE, False
        else:
            pairs.append(aligned(one, other))
            hit = hit and shown(one) == shown(other)
    return equal_all(pairs), hit


def _may_be(one: str | Piece, other: str | Piece) -> bool:
    """Tell whether a character may be another one, as far as that is easily seen."""
    if isinstance(one, str):
        return True
    return is_fixed(one) and (isinstance(other, Piece) or read(other, one.form) is not None)


def search(parts: Units, wanted: Units, *, backwards: bool = False) -> int:
    """Return at which unit a text occurs first, or last, or -1; the run decides at each where it may."""
    places = range(len(parts) - len(wanted) + 1)
    for at in reversed(places) if backwards else places:
        if decide(*_occurs(parts[at : at + len(wanted)], wanted)):
            return at
    return -1


def position(parts: Pieces, wanted: Pieces, *, backwards: bool) -> int:
    """Return how many characters there are before the first or last occurrence of a text, or -1."""
    searched, sought = _comparable(parts, wanted)
    at = search(searched, sought, backwards=backwards)
    return at if at < 0 else len(settled(searched[:at]))


def contains(parts: Pieces, wanted: Pieces) -> Term:
    """Return whether a text occurs anywhere in another."""
    searched, sought = _comparable(parts, wanted)
    return either(*(_occurs(searched[at:], sought)[0] for at in range(len(searched) - len(sought) + 1)))


def starts_with(parts: Pieces, wanted: Pieces) -> Term:
    """Return whether a text starts with another."""
    if all(isinstance(part, str) for part in wanted):
        return starts(parts, "".join(map(shown, wanted)))
    return _occurs(settled(parts), settled(wanted))[0]


def ends_with(parts: Pieces, wanted: Pieces) -> Term:
    """Return whether a text ends with another."""
    if all(isinstance(part, str) for part in wanted):
        return ends(parts, "".join(map(shown, wanted)))
    searched, sought = settled(parts), settled(wanted)
    return (
        _occurs(searched[len(searched) - len(sought) :], sought)[0] if len(sought) <= len(searched) else FALSE
    )


# Splitting.


def split(parts: Pieces, separator: Pieces, most: int, *, backwards: bool = False) -> list[Units]:
    """Return the parts of a text between at most so many occurrences of another."""
    rest, sought = _comparable(parts, separator)
    found: list[Units] = []
    while most < 0 or len(found) < most:
        at = search(rest, sought, backwards=backwards)
        if at < 0:
            break
        before, after = rest[:at], rest[at + len(sought) :]
        found.append(after if backwards else before)
        rest = before if backwards else after
    found.append(rest)
    return found[::-1] if backwards else found


def words(parts: Pieces) -> list[Units]:
    """Return the parts of a text between white space."""
    found: list[Units] = []
    inside = False
    for part in units(parts):
        if _is(part, str.isspace):
            inside = False
        else:
            if not inside:
                found.append([])
            found[-1].append(part)
            inside = True
    return found


def stripped(parts: Pieces, characters: str | None, *, left: bool, right: bool) -> Units:
    """Return a text without what is at its ends: white space, or any of some characters."""
    holds: Callable[[str], bool] = str.isspace if characters is None else characters.__contains__
    found = list(units(parts))
    while left and found:
        if _varies(found[0], holds):
            found[:1] = settled(found[:1])
        if not _is(found[0], holds):
            break
        del found[0]
    while right and found:
        if _varies(found[-1], holds):
            found[-1:] = settled(found[-1:])
        if not _is(found[-1], holds):
            break
        del found[-1]
    return found


def _is(part: str | Piece, holds: Callable[[str], bool]) -> bool:
    """Decide whether a character has a property."""
    return decide(among(part, holds), holds(shown(part)[0]))


def _varies(part: str | Piece, holds: Callable[[str], bool]) -> bool:
    """Tell whether a piece of changing width may have characters with a property and such without."""
    if isinstance(part, str) or is_fixed(part):
        return False
    return len({holds(character) for character in ALPHABET[part.form]}) > 1


# Properties.


def every(parts: Pieces, holds: Callable[[str], bool]) -> Term:
    """Return whether all characters of a text have a property."""
    return both(*(among(part, holds) for part in _uniform(parts, holds)))


def some(parts: Pieces, holds: Callable[[str], bool]) -> Term:
    """Return whether any character of a text has a property."""
    return either(*(among(part, holds) for part in _uniform(parts, holds)))


def _uniform(parts: Pieces, holds: Callable[[str], bool]) -> Units:
    found: Units = []
    for part in units(parts):
        found += settled([part]) if _varies(part, holds) else [part]
    return found


def same(one: Pieces, other: Pieces) -> Term:
    """Return whether two texts are the same."""
    for constant, text in ((one, other), (other, one)):
        if all(isinstance(part, str) for part in constant):
            return spells(text, "".join(map(shown, constant)))
    kind = shape(one)
    if kind == shape(other) and reader(kind).unique:
        return equal_all(zip(terms_of(one), terms_of(other), strict=True))
    (shortest, longest), (least, most) = _length(one), _length(other)
    if longest < least or most < shortest:
        return FALSE
    first, second = settled(one), settled(other)
    return _occurs(first, second)[0] if len(first) == len(second) else FALSE


def _length(parts: Pieces) -> tuple[int, int]:
    """Return how many characters a text has at least and at most."""
    each = [(len(part), len(part)) if isinstance(part, str) else widths(part) for part in parts]
    return sum(low for low, _ in each), sum(high for _, high in each)


def before(one: Pieces, other: Pieces) -> Term:
    """Return whether a text comes before another in the order of characters, if all widths are fixed."""
    first, second = list(units(one)), list(units(other))
    if not all(isinstance(part, str) or is_fixed(part) for part in (*first, *second)):
        raise Unfollowed
    tie = len(first) < len(second)
    left: list[tuple[Term, int]] = []
    right: list[tuple[Term, int]] = []
    for this, that in zip(first, second, strict=False):
        if isinstance(this, str) and isinstance(that, str):
            if this != that:
                tie = this < that
                break
            continue
        lower, upper = aligned(this, that)
        width = max(lower.high, upper.high).bit_length()
        left.append((lower, width))
        right.append((upper, width))
    return negation(lt(join(right), join(left))) if tie else lt(join(left), join(right))


# Case.


def recased(parts: Pieces, *, upper: bool) -> Units:
    """Return a text in small letters, or in capitals."""
    found: Units = []
    for part in parts:
        if isinstance(part, str):
            found.append(part.upper() if upper else part.lower())
            continue
        term, form, text = part
        text = text.upper() if upper else text.lower()
        match form:
            case "c":
                found.append(Piece(_other_case(term, upper=upper), "c", text))
            case "ipv6" | "inet6" if upper:
                raise Unfollowed
            case "d" | "d1" | "ipv6" | "inet6":
                found.append(part)
            case _:
                found.append(Piece(term, ("X" if upper else "x") + form[1:], text))
    return found


def _other_case(term: Term, *, upper: bool) -> Term:
    """Return the number of a letter in small or in capital; only ASCII has both below 256."""
    if term.high >= 128:
        raise Unfollowed
    first = "a" if upper else "A"
    letter = both(negation(lt(term, const(ord(first)))), lt(term, const(ord(first) + 26)))
    return ite(letter, sub(term, const(32)) if upper else add(term, const(32)), term)


def codes(parts: Pieces, most: int) -> list[Term]:
    """Return the numbers of the characters of a text; the run decides whether all are at most so large."""
    found = []
    for part in settled(parts):
        number = code(part)
        if not decide(negation(lt(const(most), number)), ord(shown(part)) <= most):
            raise Unfollowed
        found.append(number)
    return found
