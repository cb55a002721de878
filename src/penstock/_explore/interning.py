"""Numbers for values: the first value met is 0, the next new one 1, and so on.

Equal values get one number, so a search compares numbers instead of values.  A number has 24 bits,
which is how wide each part of a global state is (see `cells`).
"""

from __future__ import annotations

from typing import Any, Final

WIDTH: Final = 24
MASK: Final = (1 << WIDTH) - 1


class Full(Exception):
    """There are more values than 24 bits can number; the text says of what, to end "stopped at …"."""


class Interned:
    """Values numbered in the order in which they were met; `what` is what they are called in plural."""

    __slots__ = ("numbers", "values", "what")

    def __init__(self, what: str) -> None:
        self.what = what
        self.numbers: dict[Any, int] = {}
        self.values: list[Any] = []

    def number(self, value: Any) -> int:
        """Return the number of a value."""
        number = self.numbers.get(value)
        if number is None:
            number = len(self.values)
            if number > MASK:
                raise Full(f"{number:,} {self.what}, the most it can tell apart")
            self.numbers[value] = number
            self.values.append(value)
        return number
