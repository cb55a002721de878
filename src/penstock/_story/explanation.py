"""What there is to say about the cause of a violation, as a value that a story ends with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from penstock._controllers.origins import Place, places_of

_MOST_CALLERS: Final = 3
_MOST_NEEDED: Final = 6
"""How many events that it takes are told one by one."""


@dataclass(frozen=True, slots=True)
class Code:
    """The functions of a program that did something, innermost first, and what they did."""

    text: str
    """The places, as controllers write them (see `_controllers.origins`)."""
    did: str

    @property
    def places(self) -> tuple[Place, ...]:
        """The lines of code, innermost first."""
        return places_of(self.text)

    def __str__(self) -> str:
        inner, *callers = self.places
        if len(callers) > _MOST_CALLERS:
            # The handler is the last of them, and the first thing to look for.
            callers = [*callers[: _MOST_CALLERS - 1], callers[-1]]
        way = ", ".join(f"by {caller.function} at {caller}" for caller in callers)
        return f"{inner} in {inner.function}{f' (called {way})' if way else ''} {self.did}."


@dataclass(frozen=True, slots=True)
class Needed:
    """An event without which, or after another one, the property holds."""

    step: int
    what: str
    after: int | None = None
    """The step that it would have to come after; None if it is left out."""
    then: str = ""
    """What that step is."""
    is_subject: bool = False
    """Whether it is the sending of the very packet that the violation is about."""
    otherwise: bool = False
    """Whether the property is broken in another way then."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a property is broken; what is not known is empty."""

    why: str = ""
    code: tuple[Code, ...] = ()
    moved: Needed | None = None
    """The first event that, had it come later, makes the violation go away."""
    left_out: tuple[Needed, ...] = ()
    """The events each of which, left out, makes the violation go away, in order."""
    enough: tuple[Needed, ...] = ()
    """A few events that are enough, where no single one but the packet itself is needed."""
    needless: tuple[int, ...] = ()
    """The steps without which, all of them left out, the violation is the same."""
    untried: bool = False
    """Whether there was more to try than was tried."""

    def __bool__(self) -> bool:
        return bool(self.why or self.code or self.moved or self.left_out)

    def lines(self, name: str) -> Iterator[str]:
        """Yield the cause of a violation of this property, in sentences."""
        if self.why:
            yield f"Why: {self.why}."
        for code in self.code:
            if code.places:
                yield f"Code: {code}"
        if self.moved is not None:
            first = f"step {self.moved.step} ({self.moved.what})"
            second = f"step {self.moved.after} ({self.moved.then})"
            yield f"Order: had {first} come after {second}, {name} would hold."
        if needed := self._need_text(name):
            yield f"Needed: {needed}{' (Not all was tried.)' if self.untried else ''}"

    def _need_text(self, name: str) -> str:
        strict = [event for event in self.left_out if not event.is_subject and not event.otherwise]
        weak = [event for event in self.left_out if event.otherwise]
        if strict:
            return f"without {_any_of(strict)}, {name} would hold."
        if weak:
            other = f"but {name} would be violated in another way"
            return f"without {_any_of(weak)}, this would not happen, {other}."
        return f"nothing but {_event_list(self.enough)}." if self.enough else ""

    def as_json(self) -> dict[str, object]:
        """Return the explanation as plain data; what is empty is left out."""
        found: dict[str, object] = {
            "why": self.why,
            "code": [
                {
                    "did": code.did,
                    "places": [place._asdict() for place in code.places],
                }
                for code in self.code
            ],
            "moved": None if self.moved is None else _needed_as_json(self.moved),
            "left_out": [_needed_as_json(event) for event in self.left_out],
            "enough": [_needed_as_json(event) for event in self.enough],
            "needless": list(self.needless),
            "untried": self.untried,
        }
        return {name: value for name, value in found.items() if value}


def _event_list(events: Sequence[Needed]) -> str:
    told = [f"step {event.step} ({event.what})" for event in events[:_MOST_NEEDED]]
    more = f", and {len(events) - len(told)} more" if len(events) > len(told) else ""
    return ", ".join(told) + more


def _any_of(events: Sequence[Needed]) -> str:
    return f"{'any one of ' if len(events) > 1 else ''}{_event_list(events)}"


def _needed_as_json(event: Needed) -> dict[str, object]:
    found: dict[str, object] = {"step": event.step, "what": event.what}
    if event.otherwise:
        found["otherwise"] = True
    if event.is_subject:
        found["is_subject"] = True
    return found if event.after is None else {**found, "after": event.after, "then": event.then}


UNEXPLAINED: Final = Explanation()
"""What is said where nothing was found out."""
