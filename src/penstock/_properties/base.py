"""The one interface of all properties, as classes and as single functions.

The one interface of all properties.

A property watches executions from outside.  It may
- follow what happens: `see` picks what matters out of the record of a step (or None), `next` takes
  the property's own state on by it; `see_state` does the same with the state that the step led to;
- look at the network when it has come to rest: `at_rest`;
- look at some components in every state: `reads` names them, `check` gets their states.

Each of the three raises `Violated` with one sentence when the property is violated.  They must be
functions of their arguments alone, since a search remembers their answers; only what `start` learns
of the network, which never changes, may be kept in the property itself.

A property that waits for a safe time (NICE §6.2) does so by keeping in its own state what is still
to be explained, and judging at rest or when the event that should have explained it has passed.
That state is part of every state of a search, so it holds no more than is needed to go on judging:
what is settled is forgotten, and sights whose order means nothing lead to equal states.

A property also says when it was really exercised, so that a result is not taken for more
than it is: `judges` for what it sees, the answers of `at_rest` and `check` for the rest.

Properties that are one function, of a user's own.

    @invariant(reads=("s1",))
    def few_rules(s1):
        "No table of s1 has more than ten rules."
        return all(len(table) <= 10 for table in s1.tables.values())

    @at_rest
    def all_answered(states):
        "h1 has an answer to every ping."
        return states["h1"].memory.waiting == ()

Such a function returns True where the property holds, False or a sentence of its own where it is
broken, and None where there is nothing to judge.  Its docstring is what it demands.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
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
    """What must happen for the property to be exercised, to end "it needs …"."""

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
        f"{watcher.name} was never exercised{f': it needs {watcher.needs}' if watcher.needs else ''}."
        for watcher in properties
        if not exercised.get(watcher.name)
    )


def sight_of(watcher: Property, record: Record, state: Any) -> Any:
    """Return what a property picks out of a step, and the state that it led to."""
    seen = ask(watcher, "see", record)
    if seen is None and type(watcher).see_state is not Property.see_state:
        seen = ask(watcher, "see_state", record, state)
    return seen


Judgement = bool | str | None
Judge = Callable[..., Judgement]


class FunctionProperty(Property):
    """A property that a function judges."""

    def __init__(self, function: Judge) -> None:
        self.function = function
        self.sentence = " ".join((inspect.getdoc(function) or "").split())

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function.__name__

    def judge(self, *states: Any) -> bool:
        """Return whether the function had anything to judge."""
        answer = self.function(*states)
        match answer:
            case None | True:
                return answer is not None
            case False:
                raise Violated(f"Violated: {self.sentence}" if self.sentence else f"{self.name} is violated.")
            case str():
                raise Violated(answer)
        raise TypeError(f"it returned {answer!r} instead of True, False, a sentence or None")


class Invariant(FunctionProperty):
    """A function of the states of some components, which must hold in every state."""

    def __init__(self, function: Judge, reads: Sequence[str]) -> None:
        super().__init__(function)
        self._reads = tuple(reads)

    @property
    def reads(self) -> tuple[str, ...]:
        """The components whose states the function is given, in this order."""
        return self._reads

    def check(self, states: Mapping[str, Any], /) -> bool:
        """Ask the function."""
        return self.judge(*(states[name] for name in self._reads))


class AtRest(FunctionProperty):
    """A function of the states of all components by name, which must hold when the network is at rest."""

    def at_rest(self, _state: None, states: Mapping[str, Any], /) -> bool:
        """Ask the function."""
        return self.judge(states)


def invariant(*, reads: Sequence[str]) -> Callable[[Judge], Invariant]:
    """Make a function of the states of the components named in `reads` a property of every state."""

    def decorate(function: Judge) -> Invariant:
        return Invariant(function, reads)

    return decorate


def at_rest(function: Judge) -> AtRest:
    """Make a function of the components' states by name a property of networks that came to rest."""
    return AtRest(function)


def from_function(function: Judge) -> FunctionProperty:
    """Make a property of a plain function.

    One whose only parameter is `states` judges networks at rest; any other judges every state, and
    its parameters name the components it reads.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    if not parameters or any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.KEYWORD_ONLY) for p in parameters):
        raise PenstockError(
            f"{getattr(function, '__name__', function)!s} is not a property: give it the parameter "
            "states, or parameters that are named after components."
        )
    names = [parameter.name for parameter in parameters]
    return AtRest(function) if names == ["states"] else Invariant(function, names)
