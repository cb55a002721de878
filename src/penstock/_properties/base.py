"""The one interface of all properties.

A property watches executions from outside.  It may
- follow what happens: `see` picks what matters out of the record of a step (or None), `next` takes
  the property's own state on by it; `see_state` does the same with the state that the step led to;
- look at the network when it has come to rest: `at_rest`;
- look at some components in every state: `reads` names them, `check` gets their states.

Each of the three raises `Violated` with one sentence when the property is broken.  They must be
functions of their arguments alone, since a search remembers their answers; only what `start` learns
of the network, which never changes, may be kept in the property itself.

A property that waits for a safe time (NICE §6.2) does so by keeping in its own state what is still
to be explained, and judging at rest or when the event that should have explained it has passed.
That state is part of every state of a search, so it holds no more than is needed to go on judging:
what is settled is forgotten, and sights whose order means nothing lead to equal states.

A property also says when it was really put to the test, so that a result is not taken for more
than it is: `judges` for what it sees, the answers of `at_rest` and `check` for the rest.
"""

from __future__ import annotations

import traceback
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final

from penstock._base.users_code import explained
from penstock._world.network import Network
from penstock._world.transition import Record
from penstock.errors import PenstockError

UPHELD: Final[Hashable] = object()
"""What `see` returns of a step that was judged by itself and was fine: nothing to remember of it."""


class Violated(Exception):
    """A property is broken; the text says how, in one sentence."""


class Undecided(Exception):
    """Whether a property holds at the end of a run cannot be told; the text says why, without a full stop."""


class PropertyFault(PenstockError):
    """A property raised an exception, which is its own fault; `traceback` shows where."""

    def __init__(self, name: str, method: str, error: Exception) -> None:
        super().__init__(
            f"The property {name} raised {explained(error)}, in its {method!r}: that is a fault of the "
            "property and not of the network."
        )
        self.property = name
        self.traceback = "".join(traceback.format_exception(error))


class Property:
    """Something that must hold in every execution."""

    sentence: str = ""
    """What the property demands, in one sentence."""

    needs: str = ""
    """What must happen for the property to be put to the test, to end "that needs …"."""

    unjudged_after_faults: str = ""
    """What the property does not judge from the moment on at which something fails; "" if it judges all."""

    blames_arrival: bool = False
    """Whether a packet that breaks the property is where it should not be, so that whoever sent it there is
    to blame; otherwise it is whoever had it last."""

    @property
    def name(self) -> str:
        """What the property is called in results."""
        return type(self).__name__

    def start(self, _network: Network, /) -> Hashable:
        """Return the property's state before anything happened.

        What the property needs to know of the network it may keep in `self`; whoever drives it
        gives every network a copy of the property.
        """
        return None

    def see(self, _record: Record, /) -> Hashable | None:
        """Return what matters to this property in a step; None if nothing, `UPHELD` if that is all."""
        return None

    def see_state(self, _record: Record, _state: Any, /) -> Hashable | None:
        """Return what matters in the state that a component is in after a step; as `see`, asked first."""
        return None

    def next(self, state: Any, _seen: Any, /) -> Any:
        """Return the property's state after it saw something."""
        return state

    def judges(self, _state: Any, _seen: Any, /) -> bool:
        """Tell whether what was seen puts the property to the test, or is only kept for later."""
        return True

    def at_rest(self, _state: Any, _states: Mapping[str, Any], /) -> bool:
        """Judge a network in which nothing can happen by itself any more.

        `states` holds the components' states by name.  Return whether there was anything to judge; raise
        `Undecided` if there was, and nobody can tell.
        """
        return False

    @property
    def reads(self) -> tuple[str, ...]:
        """The components whose states `check` looks at."""
        return ()

    def check(self, _states: Mapping[str, Any], /) -> bool:
        """Judge the states of the components in `reads`; return whether there was anything to judge."""
        return False


def ask(watcher: Property, method: str, *arguments: object) -> Any:
    """Return what a property answers; an exception other than `Violated` is its own fault."""
    try:
        answer = getattr(watcher, method)(*arguments)
        hash(answer)
    except (Violated, Undecided, PenstockError):
        raise
    except Exception as error:
        raise PropertyFault(watcher.name, method, error) from error
    return answer


def unfinished(states: Mapping[str, Any]) -> str:
    """Return where a component is in the middle of something that it has not been let go on with, if one is.

    Nothing may be happening, but that is not the end of the run.
    """
    places = (
        getattr(each, "unfinished", "")
        for state in states.values()
        for each in (state, getattr(state, "inner", None))
    )
    return next(filter(None, places), "")


def never_exercised(properties: Iterable[Property], exercised: Mapping[str, int]) -> tuple[str, ...]:
    """Return a warning for each property that was never put to the test, which says what that needs."""
    return tuple(
        f"{watcher.name} was never put to the test{f': that needs {watcher.needs}' if watcher.needs else ''}."
        for watcher in properties
        if not exercised.get(watcher.name)
    )


def sight_of(watcher: Property, record: Record, state: Any) -> Any:
    """Return what a property picks out of a step, and the state that it led to."""
    seen = ask(watcher, "see", record)
    if seen is None and type(watcher).see_state is not Property.see_state:
        seen = ask(watcher, "see_state", record, state)
    return seen
