"""Properties that are one function, of a user's own.

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
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock._properties.base import Property, Violated
from penstock.errors import PenstockError

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
                raise Violated(
                    f"It does not hold that: {self.sentence}" if self.sentence else f"{self.name} is broken."
                )
            case str():
                raise Violated(answer)
        raise TypeError(f"it returned {answer!r} where True, False, a sentence or None is due")


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

    def made(function: Judge) -> Invariant:
        return Invariant(function, reads)

    return made


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
            f"{getattr(function, '__name__', function)!s} is no property: give it the parameter states, "
            f"or parameters that are named after components."
        )
    names = [parameter.name for parameter in parameters]
    return AtRest(function) if names == ["states"] else Invariant(function, names)
