"""Programs whose state is watched for being complete, while an engine searches.

An engine that remembers steps relies on a program's state being all that its steps depend on.  `begin`
has the programs of a network looked at; where one turns out to keep state that was not saved,
`MoreState` comes up and `again` takes that state up: everything remembered until then is void, and the
engine begins anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, Protocol, runtime_checkable

from penstock._controllers.surface import MoreState
from penstock._verdict.verdict import Reservation, Reserved, Why

MOST_TIMES: Final = 4
"""How often an engine begins anew."""


@runtime_checkable
class Watchable(Reserved, Protocol):
    """A program that can tell whether it keeps state which is not saved."""

    interrupts: bool
    """Whether it raises `MoreState` when it notices; else it only has a reservation."""

    def look(self) -> None:
        """Notice state that is not saved."""
        ...

    def adopt(self, more: MoreState) -> None:
        """Save that too from now on."""
        ...

    def leave(self) -> None:
        """Put back, in the rest of the process, what the program has changed there."""
        ...


@runtime_checkable
class Rolls(Protocol):
    """A program of which a search can decide what it draws from `random`."""

    rolls: bool


def programs(components: Iterable[Any]) -> Iterator[Watchable]:
    """Yield the programs among components, also those inside of others."""
    for component in components:
        inner = component
        while inner is not None and not isinstance(inner, Watchable):
            inner = getattr(inner, "inner", None)
        if inner is not None:
            yield inner


def begin(components: Iterable[Any], times: int) -> None:
    """Have programs noticed that keep state which is not saved, from the next step on, for so many times."""
    for program in programs(components):
        program.interrupts = times <= MOST_TIMES


def look(components: Iterable[Any]) -> None:
    """Notice it now."""
    for program in programs(components):
        program.look()


def again(components: Iterable[Any], more: MoreState) -> None:
    """Have programs save more."""
    for program in programs(components):
        program.interrupts = False
        program.adopt(more)


def leave(components: Iterable[Any]) -> None:
    """Have programs leave the process as they found it; their states can still be entered."""
    for program in programs(components):
        program.interrupts = False
        program.leave()


def reservations(components: Iterable[Any]) -> list[Reservation]:
    """Return what cannot be seen of programs, or was not tried."""
    found = [each for program in programs(components) for each in program.reservations()]
    return list(dict.fromkeys(found))


def cut_off(components: Iterable[Any]) -> list[Reservation]:
    """Return what programs asked for that they do not have here, a network or more of what there is.

    What they did from then on they might not have done with it, be it right or wrong.
    """
    return [each for each in reservations(components) if each.why in (Why.NETWORK, Why.LIMITS)]
