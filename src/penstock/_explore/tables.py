"""What a compiled network is made of: transitions as differences between numbers, and their tables.

Every table here is filled where it is first asked, once, by a function it was made with.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock._explore.interning import MASK
from penstock._world.transition import Transition


class Op(dict[int, int]):
    """What a transition does to another cell: from the cell's number to the difference it makes.

    A number that was not met before is worked out by `work`, once.
    """

    __slots__ = ("shift", "work")

    def __init__(self, shift: int, work: Callable[[int], int]) -> None:
        super().__init__()
        self.shift = shift
        self.work = work

    def __missing__(self, number: int) -> int:
        difference = self[number] = self.work(number)
        return difference


Ops = tuple[tuple[int, Op], ...]
"""What a transition does to other cells, each with the cell's place in a state."""


Entry = tuple[int, int, Ops, int, Transition]
"""One transition of a cell in one local situation: its bit, its difference, its effects on others, what
it shows the properties, and what it is called.

The bit identifies it to sleep sets; 0 where it must never sleep.  What it shows is a number, 0 where
nothing.  This is a bare tuple, as is `Group`, because Python takes those apart much faster than named ones.
"""


def taken(state: int, difference: int, ops: Ops) -> int:
    """Return the state after a transition."""
    state += difference
    for at, op in ops:
        state += op[state >> at & MASK]
    return state


class Rows(dict[int, tuple[Entry, ...]]):
    """Transitions under one fabric state, by the number of what they depend on."""

    __slots__ = ("work",)

    def __init__(self, work: Callable[[int], tuple[Entry, ...]]) -> None:
        super().__init__()
        self.work = work

    def __missing__(self, number: int) -> tuple[Entry, ...]:
        entries = self[number] = self.work(number)
        return entries


Group = tuple[int, int, int, Rows]
"""Transitions that depend on the same part of a state: its shift, its mask, the group's place, its rows.

The part is `state >> shift & mask`.  Groups are counted from 0, which is the fabric's.
"""


class Tables(dict[int, tuple[Group, ...]]):
    """The groups of transitions under each fabric state, made when it is met."""

    __slots__ = ("work",)

    def __init__(self, work: Callable[[int], tuple[Group, ...]]) -> None:
        super().__init__()
        self.work = work

    def __missing__(self, fabric: int) -> tuple[Group, ...]:
        made = self[fabric] = self.work(fabric)
        return made
