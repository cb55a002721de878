"""Dice that a search can decide.

Whatever a program draws from `random` comes down to a number below a limit, a number of so many bits,
or a fraction.  A `Roll` says which: how many outcomes there are and which one came.  The first rolls of
a step may be decided beforehand; after that the dice fall as their seed says.  So a search can have a
step made again with another outcome: all of them where there are few, some where there are many.
"""

from __future__ import annotations

import random
import sys
from types import FrameType
from typing import Final, NamedTuple

from penstock._controllers.outside import is_library_import, place_of

MOST: Final = 8
"""How many outcomes of one roll are tried; of more than that, some."""

_FRACTIONS: Final = (0.0, 0.5, 1.0 - 2**-53)
"""The fractions that are tried: the ends and the middle."""


class Roll(NamedTuple):
    """How many outcomes of a roll are tried, whether those are all there are, and where it was made."""

    outcomes: int
    complete: bool
    where: str = ""


class Dice(random.Random):
    """A generator whose first rolls can be decided."""

    def __init__(self) -> None:
        self.decided: tuple[int, ...] = ()
        self.rolls: list[Roll] = []
        """What was rolled since the dice were last laid out."""
        super().__init__(0)

    def lay_out(self, decided: tuple[int, ...]) -> None:
        """Begin anew, with these outcomes first."""
        self.decided, self.rolls = decided, []

    def _outcome(self, outcomes: int, *, complete: bool) -> int | None:
        """Note a roll; return which outcome was decided for it, or None."""
        frame = sys._getframe(2)
        if _is_os_kens(frame) or is_library_import(frame):
            return None
        place = len(self.rolls)
        self.rolls.append(Roll(outcomes, complete, place_of(frame)))
        return self.decided[place] if place < len(self.decided) else None

    def random(self) -> float:
        """Return a number from 0 up to 1."""
        outcome = self._outcome(len(_FRACTIONS), complete=False)
        return super().random() if outcome is None else _FRACTIONS[outcome % len(_FRACTIONS)]

    def getrandbits(self, k: int, /) -> int:
        """Return a number of so many bits."""
        return self._below(1 << k, super().getrandbits(k))

    def _randbelow(self, n: int) -> int:
        return self._below(n, super().getrandbits(n.bit_length() + 32) % n) if n > 1 else 0

    def _below(self, n: int, fallen: int) -> int:
        """Return a number below a limit: the decided one, or the one that has fallen."""
        if n <= 1:
            return 0
        outcome = self._outcome(min(n, MOST), complete=n <= MOST)
        if outcome is None:
            return fallen
        # Of many, those at both ends: that is where programs make mistakes.
        return outcome if n <= MOST or outcome < MOST // 2 else n - MOST + outcome


def _is_os_kens(frame: FrameType | None) -> bool:
    """Tell whether it is os-ken that draws, for the first number of a session's messages."""
    while frame is not None and frame.f_globals.get("__name__") in _DRAWING:
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") == "os_ken.controller.controller"


_DRAWING: Final = frozenset({__name__, "random", "penstock._controllers.osken.determinism"})
"""The modules that are between who draws and the dice."""
