"""From temporal logic to a Büchi automaton: a tableau with acceptance on edges, then on states.

The construction is Couvreur's (FM 1999), close to that of Gerth, Peled, Vardi and Wolper.  A state is a set
of formulas that must hold from here on.  It is expanded into edges: what this letter must show, what
must hold from the next one on, and which untils were *postponed*, that is, neither fulfilled now nor
dropped.  A run is good if no until is postponed for ever.  An edge that asks for less than another one
and postpones no more makes the other superfluous (Gastin and Oddoux, CAV 2001).

One acceptance set per until is turned into accepting states by counting (degeneralisation), in each
strong component only over the untils that are postponed within it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from penstock._verify.ltl.automaton import Automaton, Edge, strong_components, trimmed
from penstock._verify.ltl.core import All, Any, Core, Literal, Release, Until
from penstock._verify.ltl.reduction import reduced
from penstock.errors import PenstockError

LARGEST: Final = 5000
"""How many edges an automaton may have before it is made smaller."""


def automaton_of(formula: Core) -> Automaton:
    """Return a small Büchi automaton that accepts the words of which a formula is true."""
    return reduced(trimmed(_degeneralised(_Tableau(formula).states())))


class _Move(NamedTuple):
    """An edge of the tableau; sets of formulas are bits."""

    needs: int
    bars: int
    then: int
    postponed: int

    def covers(self, other: _Move) -> bool:
        """Tell whether this asks for no more than the other in any respect."""
        needs, bars, then, postponed = other
        return not (
            self.needs & ~needs or self.bars & ~bars or self.then & ~then or self.postponed & ~postponed
        )


_DONE = _Move(0, 0, 0, 0)


class _Tableau:
    def __init__(self, formula: Core) -> None:
        self._numbers: dict[Core, int] = {}
        self._formulas: list[Core] = []
        self._known: dict[Core, list[_Move]] = {}
        self._start = self._obligations(formula)

    def states(self) -> list[list[_Move]]:
        """Return the states that can be reached, the initial one first; `then` is the number of a state.

        States with the same moves are one.
        """
        sets: list[int] = [self._start]
        known = {self._start: 0}
        rows: list[list[_Move]] = []
        edges = 0
        for obligations in sets:
            row = self._expanded(obligations)
            edges += len(row)
            if edges > LARGEST:
                raise PenstockError(
                    f"The property needs an automaton of more than {LARGEST} edges: split it into several, "
                    "or let quantifiers with G, F, U, R or W under them range over fewer things."
                )
            for move in row:
                if move.then not in known:
                    known[move.then] = len(sets)
                    sets.append(move.then)
            rows.append([move._replace(then=known[move.then]) for move in row])
        return _merged(rows)

    def _obligations(self, formula: Core) -> int:
        """Return the bits of a formula; those of a conjunction are the bits of its parts."""
        if isinstance(formula, All):
            found = 0
            for part in formula.parts:
                found |= self._obligations(part)
            return found
        number = self._numbers.get(formula)
        if number is None:
            number = self._numbers[formula] = len(self._formulas)
            self._formulas.append(formula)
        return 1 << number

    def _expanded(self, obligations: int) -> list[_Move]:
        parts = [formula for number, formula in enumerate(self._formulas) if obligations >> number & 1]
        return self._all(parts)

    def _all(self, parts: Sequence[Core]) -> list[_Move]:
        moves = [_DONE]
        for part in parts:
            moves = _both(moves, self._moves(part))
        return moves

    def _moves(self, formula: Core) -> list[_Move]:
        """Return the ways to see to a formula now."""
        known = self._known.get(formula)
        if known is None:
            known = self._known[formula] = _least(self._worked_out(formula))
        return known

    def _worked_out(self, formula: Core) -> list[_Move]:
        match formula:
            case Literal(proposition, positive):
                bit = 1 << proposition
                return [_Move(bit, 0, 0, 0) if positive else _Move(0, bit, 0, 0)]
            case All(parts):
                return self._all(parts)
            case Any(parts):
                return [move for part in parts for move in self._moves(part)]
            case Until(left, right):
                bit = self._obligations(formula)
                wait = [_Move(0, 0, bit, bit)]
                return [*self._moves(right), *_both(self._moves(left), wait)]
            case Release(left, right):
                wait = [_Move(0, 0, self._obligations(formula), 0)]
                return _both(self._moves(right), [*self._moves(left), *wait])


def _both(one: list[_Move], other: list[_Move]) -> list[_Move]:
    """Return the ways to make two moves at once."""
    joined = [
        _Move(a.needs | b.needs, a.bars | b.bars, a.then | b.then, a.postponed | b.postponed)
        for a in one
        for b in other
    ]
    return _least([move for move in joined if not move.needs & move.bars])


def _least(moves: list[_Move]) -> list[_Move]:
    """Leave out the moves that others make superfluous."""
    kept: list[_Move] = []
    for move in moves:
        if not any(better.covers(move) for better in kept):
            kept = [*(worse for worse in kept if not move.covers(worse)), move]
    return kept


def _merged(rows: list[list[_Move]]) -> list[list[_Move]]:
    """Make one state of those with the same moves, until there are none such."""
    while True:
        first: dict[frozenset[_Move], int] = {}
        renamed = [first.setdefault(frozenset(row), len(first)) for row in rows]
        kept = dict(zip(reversed(renamed), reversed(rows), strict=True))
        merged = [
            list(dict.fromkeys(move._replace(then=renamed[move.then]) for move in kept[number]))
            for number in range(len(first))
        ]
        if len(merged) == len(rows):
            return merged
        rows = merged


def _degeneralised(rows: list[list[_Move]]) -> Automaton:
    component = strong_components([[move.then for move in row] for row in rows])
    awaited = _awaited(rows, component)

    def entered(state: int) -> tuple[int, int]:
        """Return where a component is entered: at the full count, from which it begins again."""
        waiting = awaited[component[state]]
        return state, 0 if waiting is None else len(waiting)

    def level_after(level: int, move: _Move, waiting: list[int]) -> int:
        """Return how many untils in a row have been seen not postponed."""
        level = 0 if level == len(waiting) else level
        while level < len(waiting) and not move.postponed & waiting[level]:
            level += 1
        return level

    start = entered(0)
    numbers = {start: 0}
    edges: list[tuple[Edge, ...]] = []
    accepting = set()
    pending = [start]
    for state, level in pending:
        waiting = awaited[component[state]]
        if waiting is not None and level == len(waiting):
            accepting.add(numbers[state, level])
        found = []
        for move in rows[state]:
            if waiting is None or component[move.then] != component[state]:
                key = entered(move.then)
            else:
                key = (move.then, level_after(level, move, waiting))
            if key not in numbers:
                numbers[key] = len(numbers)
                pending.append(key)
            found.append(Edge(move.needs, move.bars, numbers[key]))
        edges.append(tuple(dict.fromkeys(found)))
    return Automaton(tuple(edges), frozenset(accepting))


def _awaited(rows: list[list[_Move]], component: list[int]) -> list[list[int] | None]:
    """Return for each strong component the untils that are postponed in it on some moves.

    None stands for a component in which an until is postponed on all moves, or that has none.
    """
    found: list[list[int] | None] = []
    for home in range(max(component, default=-1) + 1):
        inner = [
            move.postponed
            for state, row in enumerate(rows)
            for move in row
            if component[state] == home == component[move.then]
        ]
        some, every = 0, -1
        for postponed in inner:
            some |= postponed
            every &= postponed
        bits = [1 << number for number in range(some.bit_length()) if some >> number & 1]
        found.append(None if every else bits)
    return found
