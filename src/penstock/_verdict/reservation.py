"""Why a search that found nothing proves nothing: one reason, and what would lift it."""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from penstock._verdict.stopping import Bound, Why


class Reservation(NamedTuple):
    """A sentence that says what was left out, one that says what to do about it, and the kind of reason."""

    sentence: str
    remedy: str = ""
    why: Why = Why.UNSEEN_STATE

    def bound(self) -> Bound:
        """Return it as a reason of a verdict."""
        texts = [text.removesuffix(".") for text in (self.sentence, self.remedy) if text]
        return Bound(": ".join(f"{text[0].lower()}{text[1:]}" for text in texts), self.why)

    def __str__(self) -> str:
        return f"{self.sentence} {self.remedy}".rstrip()


@runtime_checkable
class Reserved(Protocol):
    """A component that knows what a search has left out of it."""

    def reservations(self) -> tuple[Reservation, ...]:
        """Return what was left out so far."""
        ...
