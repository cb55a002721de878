"""A net under all that a search remembers: some steps are made once more, in another order.

A search makes each step of a component once and remembers it, and relies on the component doing the
same whenever it is given the same in the same state.  A program that keeps state which nobody saves
breaks that.  So when a search is over, steps that it remembers are made again: all of them where there
are few, else a share of them, evenly spread; the last one first, so
that whatever is left behind by one step is found by another.  A step that comes out otherwise is told
with what differs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from math import inf
from typing import Any, Final, NamedTuple

from penstock._controllers.snapshot import Snapshot, difference
from penstock._verdict.verdict import Reservation
from penstock._world.component import Message, Port, Step

SHARE: Final = 0.05
"""How many of a search's steps are made again, backwards and forwards; whatever the machine's speed."""

LEAST_STEPS: Final = 200
"""How many there are at least, so that small searches have all of their steps made again."""

MOST_STEPS: Final = 2_000
"""How many there are at most."""


class Remembered(NamedTuple):
    """A step that a search remembers: whose, what happened, how to make it again, and what it came to."""

    component: str
    happened: object
    """What is printed of it, should anybody ask."""
    make: Callable[[], Step]
    step: Step
    before: Hashable = None
    """The state in which it was made."""
    what: str | tuple[Port, Message] = ""
    """The action, or the port and what arrived there."""


def made_again(remembered: Sequence[Remembered], seconds: float = inf) -> list[Reservation]:
    """Make steps again and return what came out otherwise; there may be no more than so many seconds left."""
    chosen = _chosen(remembered)
    until = time.monotonic() + seconds
    for each in _in_other_orders(chosen):
        if time.monotonic() > until:
            break
        again = each.make()
        if (how := _differs(each.step, again)) is not None:
            return [_reserved(each, *how)]
    return []


def _reserved(each: Remembered, how: str, where: str) -> Reservation:
    return Reservation(
        f"The program keeps state that Penstock does not see{where}: {each.component} {how} when the same "
        f"happened to it again in the same state ({each.happened}).",
        "Keep all state in memory that Penstock saves: attributes, lists, dictionaries.",
    )


def _chosen(remembered: Sequence[Remembered]) -> Sequence[Remembered]:
    """Return steps to make again: all, or as many as are allowed, evenly spread."""
    number = min(max(LEAST_STEPS, int(SHARE * len(remembered))), MOST_STEPS)
    if len(remembered) <= number:
        return remembered
    return [remembered[place * len(remembered) // number] for place in range(number)]


def _in_other_orders(steps: Sequence[Remembered]) -> Iterator[Remembered]:
    """Yield steps backwards, then forwards; a hang, which takes its time and is retaken if told, once."""
    yield from reversed(steps)
    yield from (each for each in steps if not any(event.kind == "hung" for event in each.step.events))


def _differs(before: Step, after: Step) -> tuple[str, str] | None:
    """Return how two steps differ, and where that shows in memory, in words; None if they do not."""
    if before.sends != after.sends:
        return f"sent {_told(after.sends)} instead of {_told(before.sends)}", ""
    if before.events != after.events:
        kinds = [event.kind for event in after.events if event not in before.events] or ["less"]
        return f"did something else ({', '.join(dict.fromkeys(kinds))})", ""
    if before.state != after.state:
        where = difference(_snapshot(before.state), _snapshot(after.state))
        return "came to another state", f", in {where}" if where else ""
    return None


def _told(sends: Sequence[Any]) -> str:
    return f"[{', '.join(str(sent.message) for sent in sends)}]" if sends else "nothing"


def _snapshot(state: Any) -> Snapshot | None:
    """Return the snapshot in a component's state, if there is one."""
    while state is not None and not isinstance(state, Snapshot):
        if isinstance(state, tuple):
            state = next((part for part in state if isinstance(part, Snapshot)), None)
        else:
            state = getattr(state, "inner", None) or getattr(state, "snapshot", None)
    return state
