"""Inputs that somebody has written down, in place of drawn ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from penstock._fuzz.inputs import Input, input_of
from penstock._fuzz.possible import Possible


class Source(Protocol):
    """Where inputs come from."""

    @property
    def is_over(self) -> bool:
        """Tell whether there are no more."""
        ...

    def next(self, possible: Possible) -> Input:
        """Return what to do next."""
        ...


class ScriptedInputs:
    """The inputs of a scenario, one after the other."""

    def __init__(self, texts: Sequence[str]) -> None:
        inputs = [input_of(text) for text in texts]
        self._left = len(inputs)
        self._inputs: Iterator[Input] = iter(inputs)

    @property
    def is_over(self) -> bool:
        """Tell whether all of them were handed out."""
        return not self._left

    def next(self, possible: Possible) -> Input:  # noqa: ARG002 - what is written is done, possible or not
        """Return the next of them."""
        self._left -= 1
        return next(self._inputs)
