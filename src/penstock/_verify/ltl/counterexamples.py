"""Runs that break a property: a stem, and a loop that repeats for ever; and their replay.

A replay trusts neither the automaton nor the search: it takes the run's transitions again one by one, and
evaluates the formula on the word of the run by the definition of its operators alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from penstock._verify.ltl.core import holds
from penstock._verify.ltl.grounding import Grounded
from penstock._verify.ltl.product import Move, Product


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A run that breaks a property.

    With `ending` "prefix" the stem alone does, whatever follows; with "rest" nothing can happen after the
    stem and the last state stays for ever; with "loop" the loop repeats for ever.
    """

    stem: tuple[Move, ...]
    loop: tuple[Move, ...] = ()
    ending: Literal["prefix", "rest", "loop"] = "loop"

    def __str__(self) -> str:
        parts = [*(f"{number}. {move}" for number, move in enumerate(self.stem, 1))]
        if self.ending == "rest":
            parts.append("and nothing can happen any more.")
        if self.loop:
            parts.append("and then again and again:")
            parts += (f"{number}. {move}" for number, move in enumerate(self.loop, len(self.stem) + 1))
        return "\n".join(parts)


def divergence(run: Counterexample, product: Product, grounded: Grounded, fair: Sequence[Hashable]) -> str:
    """Return why a run is no counterexample after all, as a sentence; empty if it is one.

    `grounded` is the formula that the run must break.
    """
    state = product.initial()[0]
    stem: list[int] = [product.letter(state)]
    loop: list[int] = []
    for letters, moves in ((stem, run.stem), (loop, run.loop)):
        for move in moves:
            if move not in product.moves(state):
                return f"The transition {move} could not be taken again."
            state = move.state
            letters += [product.letter(*moment) for moment in product.moments(move)]
    last = run.stem[-1].state if run.stem else product.initial()[0]
    if run.ending == "loop" and (not run.loop or run.loop[-1].state != last):
        return "The loop does not come back to where it began."
    if run.ending == "rest" and product.moves(state):
        return "Something can still happen where the run was said to end."
    if run.ending == "prefix":
        loop = stem[-1:]
    if holds(grounded.core, stem, loop or stem[-1:]):
        return "The property holds of this run."
    return _unfairness(run, product, fair) if run.ending == "loop" else ""


def _unfairness(run: Counterexample, product: Product, fair: Sequence[Hashable]) -> str:
    """Return which actor the loop treats unfairly, as a sentence."""
    acted = {move.actor for move in run.loop}
    for actor in fair:
        if actor not in acted and all(
            any(possible.actor == actor for possible in product.moves(move.state)) for move in run.loop
        ):
            return f"The run is not fair: {actor} can act for ever and never does."
    return ""
