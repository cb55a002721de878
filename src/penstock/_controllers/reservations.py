"""What a search has to say of a program that it cannot wholly see, decide or wait for."""

from __future__ import annotations

import ast
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from penstock._controllers import confined
from penstock._controllers.c_contents import LOST
from penstock._controllers.osken.dice import Roll
from penstock._controllers.outside import NO_NETWORK, SOCKETS
from penstock._verdict.verdict import Reservation, Why


def unsaved(names: Collection[str]) -> Iterator[Reservation]:
    """Yield what was noticed to change and could not be saved."""
    for name in names:
        yield Reservation(
            f"The program keeps state that Penstock does not see, in {name}.",
            "Keep it in attributes of the program's own objects.",
        )


def unseen(kinds: Collection[str], places: Mapping[str, str]) -> Iterator[Reservation]:
    """Yield what is in memory and can be neither compared nor put back."""
    for kind in sorted({*kinds, *LOST}):
        where = f"{places[kind]}, " if places.get(kind) else ""
        name = kind.removeprefix("builtins.")
        yield Reservation(
            f"The program keeps state that Penstock does not see, in {where}an object of type {name}.",
            "Keep it in plain attributes, lists and dictionaries.",
        )


_LIFETIMES: Final = frozenset(
    {"__subclasses__", "getrefcount", "get_objects", "get_referrers", "finalize", "__del__"}
)
"""What programs use that go by when objects are given up."""


def lifetimes(sources: Iterable[str]) -> Iterator[Reservation]:
    """Yield that a program goes by which objects there are in memory."""
    for name in sorted(frozenset().union(*map(_lifetimes_in, sources))):
        yield Reservation(
            f"The program goes by when objects are given up ({name}), which is later while earlier states "
            "are kept.",
            "Keep a list of what there is.",
        )


@functools.lru_cache(maxsize=256)
def _lifetimes_in(source: str) -> frozenset[str]:
    """Return what a source uses of that; every search of a program asks, several times."""
    if not any(name in source for name in _LIFETIMES):
        return frozenset()
    names = (
        getattr(node, "attr", None) or getattr(node, "name", None) for node in ast.walk(ast.parse(source))
    )
    return frozenset(name for name in names if name in _LIFETIMES)


def outside(noticed: Mapping[str, str]) -> Iterator[Reservation]:
    """Yield what is outside of memory, and what a program wanted that there is no more of."""
    if what := confined.used_up():
        yield Reservation(
            f"The program has used up what there is for it in a process that calls it often: {what}.",
            "Have it end and close what it begins and opens, or a test double do that in the scenario.",
            Why.LIMITS,
        )
    if asked := confined.asked_for():
        where = f"({place}; {asked})" if (place := noticed.get(NO_NETWORK)) else f"({asked})"
        yield Reservation(
            f"The program asked for the network {where}, of which it has none in a search.",
            "Have a test double answer in the scenario, or allow it with --network.",
            Why.NETWORK,
        )
    left = dict(noticed)
    called = left.pop(NO_NETWORK, "")
    if called and not asked:
        # Who calls nobody but itself has state there all the same.
        left.setdefault(SOCKETS, called)
    for what, where in sorted(left.items()):
        yield Reservation(
            f"The program keeps state that Penstock does not see, in {what} ({where}).",
            "Have a test double do that in the scenario, or keep it in memory.",
        )


def chance(rolled: Mapping[Roll, bool]) -> Iterator[Reservation]:
    """Yield where a program draws from `random` and not every outcome was tried."""
    places = sorted({roll.where for roll, complete in rolled.items() if not complete})
    if places:
        yield Reservation(
            f"The program draws from random ({', '.join(filter(None, places)) or 'in a library'}), "
            "and only some of the outcomes were tried.",
            "Draw from a small range, or seed it.",
            Why.UNFOLLOWED,
        )


def clock(*, read: bool) -> Iterator[Reservation]:
    """Yield that a program goes by the time."""
    if read:
        yield Reservation(
            "The program reads the clock, and only a few moments were tried.",
            "Raise timers in [controller] to let more time pass.",
            Why.UNFOLLOWED,
        )
