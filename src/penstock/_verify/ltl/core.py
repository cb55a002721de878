"""Temporal logic over numbered propositions, with negation at the leaves only, simplified as it is built.

A letter, the truth of all propositions at one moment, is a whole number with one bit each.  The
operators are `and`, `or`, until and release; F a is `true U a`, G a is `false R a`.  The functions in lower
case build formulas and apply equivalences that make automata smaller (Somenzi and Bloem 2000; Etessami
and Holzmann 2000): all of them hold on infinite words, and the tests compare them with `holds` on words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final


@dataclass(frozen=True, slots=True)
class Literal:
    """A proposition, or its negation."""

    proposition: int
    positive: bool = True

    def __str__(self) -> str:
        return f"{'' if self.positive else '!'}p{self.proposition}"


@dataclass(frozen=True, slots=True)
class All:
    """A conjunction; of nothing it is true."""

    parts: tuple[Core, ...]

    def __str__(self) -> str:
        return "(" + " && ".join(map(str, self.parts)) + ")" if self.parts else "true"


@dataclass(frozen=True, slots=True)
class Any:
    """A disjunction; of nothing it is false."""

    parts: tuple[Core, ...]

    def __str__(self) -> str:
        return "(" + " || ".join(map(str, self.parts)) + ")" if self.parts else "false"


@dataclass(frozen=True, slots=True)
class Until:
    """`left` holds until `right` does, which it does."""

    left: Core
    right: Core

    def __str__(self) -> str:
        return f"({self.left} U {self.right})"


@dataclass(frozen=True, slots=True)
class Release:
    """`right` holds up to and including the moment when `left` does, or for ever."""

    left: Core
    right: Core

    def __str__(self) -> str:
        return f"({self.left} V {self.right})"


Core = Literal | All | Any | Until | Release
"""A formula; its text is in the syntax of `spin -f`."""

TRUE: Final = All(())
FALSE: Final = Any(())


def conjunction(parts: Iterable[Core]) -> Core:
    """Return the conjunction of some formulas."""
    return negation(disjunction(map(negation, parts)))


def disjunction(parts: Iterable[Core]) -> Core:
    """Return the disjunction of some formulas."""
    found = _without_implied(_gathered(_flat(parts)))
    if TRUE in found or any(negation(part) in found for part in found):
        return TRUE
    return found[0] if len(found) == 1 else Any(tuple(found))


def until(left: Core, right: Core) -> Core:
    """Return `left U right`."""
    if implies(left, right) or _is_eventual(right):
        return right
    if isinstance(right, Until) and implies(left, right.left):
        return right
    if left != TRUE:
        return until(TRUE, right) if implies(negation(right), left) else Until(left, right)
    match right:
        case Until(_, last):
            return until(TRUE, last)
        case Any(parts) if any(isinstance(part, Until) for part in parts):
            return until(TRUE, disjunction(part.right if isinstance(part, Until) else part for part in parts))
        case All(parts):
            # F (a and G F b) is F a and G F b, since the last never changes.
            lasting = [part for part in parts if _is_eventual(part) and _is_universal(part)]
            if lasting:
                rest = conjunction(part for part in parts if part not in lasting)
                return conjunction([until(TRUE, rest), *lasting])
    return Until(left, right)


def release(left: Core, right: Core) -> Core:
    """Return `left R right`."""
    return negation(until(negation(left), negation(right)))


def eventually(formula: Core) -> Core:
    """Return F of a formula."""
    return until(TRUE, formula)


def always(formula: Core) -> Core:
    """Return G of a formula."""
    return release(FALSE, formula)


@lru_cache(maxsize=65536)
def negation(formula: Core) -> Core:
    """Return the negation of a formula, pushed down to the propositions."""
    match formula:
        case Literal(proposition, positive):
            return Literal(proposition, not positive)
        case All(parts):
            return Any(tuple(sorted(map(negation, parts), key=_order)))
        case Any(parts):
            return All(tuple(sorted(map(negation, parts), key=_order)))
        case Until(left, right):
            return Release(negation(left), negation(right))
        case Release(left, right):
            return Until(negation(left), negation(right))


@lru_cache(maxsize=65536)
def implies(one: Core, other: Core) -> bool:
    """Tell whether one formula is seen by its shape to imply another; False where that is not seen."""
    if one in (other, FALSE) or other == TRUE:
        return True
    if isinstance(one, Any):
        return all(implies(part, other) for part in one.parts)
    if isinstance(other, All):
        return all(implies(one, part) for part in other.parts)
    if isinstance(one, All) and any(implies(part, other) for part in one.parts):
        return True
    if isinstance(other, Any) and any(implies(one, part) for part in other.parts):
        return True
    if isinstance(one, Until | Release) and type(one) is type(other):
        assert isinstance(other, Until | Release)
        if implies(one.left, other.left) and implies(one.right, other.right):
            return True
    match one:
        case Until(left, right) if implies(left, other) and implies(right, other):
            return True
        case Release(_, right) if implies(right, other):
            return True
    match other:
        case Until(_, right) if implies(one, right):
            return True
        case Release(left, right) if implies(one, left) and implies(one, right):
            return True
    return False


def is_propositional(formula: Core) -> bool:
    """Tell whether a formula speaks of one moment only."""
    match formula:
        case All(parts) | Any(parts):
            return all(map(is_propositional, parts))
        case _:
            return isinstance(formula, Literal)


def holds(formula: Core, stem: Sequence[int], loop: Sequence[int]) -> bool:
    """Tell whether a formula is true of the infinite word stem · loop · loop · …, given as letters.

    This follows the definition of the operators alone: whatever a search finds is judged by it again.
    """
    letters = [*stem, *loop]
    back = len(stem)
    return _truths(formula, letters, back)[0]


def _truths(formula: Core, letters: list[int], back: int) -> list[bool]:
    """Return the truth of a formula at each place of a word that goes on at `back` after its last."""
    match formula:
        case Literal(proposition, positive):
            return [(letter >> proposition & 1 == 1) == positive for letter in letters]
        case All(parts):
            columns = [_truths(part, letters, back) for part in parts]
            return [all(column[place] for column in columns) for place in range(len(letters))]
        case Any(parts):
            columns = [_truths(part, letters, back) for part in parts]
            return [any(column[place] for column in columns) for place in range(len(letters))]
        case Until(left, right):
            return _fixpoint(_truths(left, letters, back), _truths(right, letters, back), back)
        case Release(left, right):
            refuted = _fixpoint(
                [not truth for truth in _truths(left, letters, back)],
                [not truth for truth in _truths(right, letters, back)],
                back,
            )
            return [not truth for truth in refuted]


def _fixpoint(left: list[bool], right: list[bool], back: int) -> list[bool]:
    """Return the least solution of until: right, or left and until at the next place."""
    found = right[:]
    for _ in range(2):
        following = found[back]
        for place in range(len(found) - 1, -1, -1):
            found[place] = right[place] or (left[place] and following)
            following = found[place]
    return found


def _order(formula: Core) -> tuple[int, str]:
    text = str(formula)
    return len(text), text


def _flat(parts: Iterable[Core]) -> list[Core]:
    found: set[Core] = set()
    for part in parts:
        found.update(part.parts if isinstance(part, Any) else (part,))
    return sorted(found, key=_order)


def _gathered(parts: list[Core]) -> list[Core]:
    """Join F a and F b to F (a or b), and G F a and G F b likewise."""
    later = [part.right for part in parts if isinstance(part, Until) and part.left == TRUE]
    often = [
        part.right.right
        for part in parts
        if isinstance(part, Release) and isinstance(part.right, Until)
        if part.left == FALSE and part.right.left == TRUE
    ]
    if len(later) < 2 and len(often) < 2:
        return parts
    joined = {eventually(disjunction(later)), always(eventually(disjunction(often)))}
    apart = {*map(eventually, later), *(always(eventually(part)) for part in often)}
    return _flat([*(part for part in parts if part not in apart), *joined])


def _without_implied(parts: list[Core]) -> list[Core]:
    """Leave out each part that implies another one."""
    kept: list[Core] = []
    for place, part in enumerate(parts):
        if not any(implies(part, other) for other in [*kept, *parts[place + 1 :]]):
            kept.append(part)
    return kept


def _is_eventual(formula: Core) -> bool:
    """Tell whether a formula is true whenever it will be true later on, as F a is."""
    match formula:
        case All(parts) | Any(parts):
            return all(map(_is_eventual, parts))
        case Until(left, right) | Release(left, right):
            both = _is_eventual(left) and _is_eventual(right)
            return both or (isinstance(formula, Until) and left == TRUE)
        case Literal():
            return False


def _is_universal(formula: Core) -> bool:
    """Tell whether a formula, once true, is true for ever, as G a is."""
    return _is_eventual(negation(formula))
