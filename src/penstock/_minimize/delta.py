"""Delta debugging: from many units to few of which none can be left out.

This is ddmin (Zeller and Hildebrandt; STS §3), with two changes that save tests and lose nothing: of the
subsets only the two halves are tried, and the parts are left out from the earliest on, since a violation
comes at the end.  A last pass leaves out one unit at a time until none can be; the result is 1-minimal,
which is not to say that nothing smaller exists (for that, see `shortest`).

What was tried is remembered by what it consists of, so nothing is tried twice, neither in one run nor,
with a `Progress` that has a file, in the next after this one was killed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

T = TypeVar("T")
Test = Callable[[tuple[T, ...]], bool]


def ddmin(items: Sequence[T], test: Test[T]) -> tuple[T, ...]:
    """Return few of some items that still pass a test which all of them pass together.

    The test is asked about subsequences; none of one item less than the result passes, nor of two
    neighbours less: inputs that only pass the time may do so in pairs.
    """
    kept, parts = tuple(items), 2
    while len(kept) > 1:
        parts = min(parts, len(kept))
        smaller = _halves(kept, test) if parts == 2 else None
        if smaller is not None:
            kept, parts = smaller, 2
            continue
        less, removed = _without_parts(kept, parts, test)
        if removed:
            kept, parts = less, max(2, parts - removed)
        elif parts >= len(kept):
            break
        else:
            parts *= 2
    kept = one_by_one(kept, test)
    while (shorter := _without_neighbours(kept, test)) is not None:
        kept = one_by_one(shorter, test)
    return kept


def _bounds(size: int, parts: int) -> list[tuple[int, int]]:
    edges = [size * part // parts for part in range(parts + 1)]
    return list(pairwise(edges))


def _halves(kept: tuple[T, ...], test: Test[T]) -> tuple[T, ...] | None:
    middle = len(kept) // 2
    # The later half first: what leads to a violation is mostly right before it.
    return next((half for half in (kept[middle:], kept[:middle]) if test(half)), None)


def _without_parts(kept: tuple[T, ...], parts: int, test: Test[T]) -> tuple[tuple[T, ...], int]:
    """Leave out each part in turn, for good where that passes; return what is left and how many went."""
    removed = 0
    chunks = [kept[start:end] for start, end in _bounds(len(kept), parts)]
    index = 0
    while index < len(chunks) and len(chunks) > 1:
        rest = chunks[:index] + chunks[index + 1 :]
        if test(tuple(item for chunk in rest for item in chunk)):
            chunks = rest
            removed += 1
        else:
            index += 1
    return tuple(item for chunk in chunks for item in chunk), removed


def _without_neighbours(kept: tuple[T, ...], test: Test[T]) -> tuple[T, ...] | None:
    """Return the items without two that follow each other, if they pass."""
    pairs = (kept[:index] + kept[index + 2 :] for index in range(len(kept) - 1))
    return next((less for less in pairs if less and test(less)), None)


def one_by_one(items: Sequence[T], test: Test[T]) -> tuple[T, ...]:
    """Leave items out one at a time until none can be left out; the result is 1-minimal."""
    kept = tuple(items)
    again = True
    while again:
        again = False
        index = 0
        while index < len(kept):
            less = kept[:index] + kept[index + 1 :]
            if test(less):
                kept, again = less, True
            else:
                index += 1
    return kept
