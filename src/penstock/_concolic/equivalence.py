"""Equivalence classes of a host's packets: conditions, refined by whatever tells packets apart.

Each class has a representative, which stays the same while the class shrinks around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock._concolic.packets.frames import FrameSpace
from penstock._concolic.solving.allowed import Assumed
from penstock._concolic.solving.solver import Solver
from penstock._concolic.space import Inputs
from penstock._concolic.terms import FALSE, TRUE, Term, evaluate

Partition = tuple[tuple[Term, ...], ...]
"""Conditions of which one and only one holds of each packet."""


@dataclass(frozen=True, slots=True)
class EquivalenceClass:
    """Packets that nothing tells apart, and one of them."""

    condition: tuple[Term, ...]
    inputs: Inputs
    data: bytes


class Refinement:
    """The classes of the packets that a solver finds; examples fulfil `wishes` where they can."""

    def __init__(self, frames: FrameSpace, solver: Solver, wishes: Sequence[Term], most: int) -> None:
        self._frames = frames
        self._solver = solver
        self._wishes = wishes
        self._most = most
        whole = self._example(())
        self.classes: list[EquivalenceClass] = [] if whole is None else [whole]

    @property
    def is_too_fine(self) -> bool:
        """Whether there were more classes than are dealt with."""
        return len(self.classes) > self._most

    def split(self, partition: Partition) -> None:
        """Split the classes that a partition goes through."""
        found: list[EquivalenceClass] = []
        for known in self.classes:
            assumed = Assumed((*self._solver.space.constraints, *known.condition))
            for part in partition:
                left = {assumed.left_of(term): None for term in part}
                condition = (*known.condition, *(term for term in left if term != TRUE))
                if all(evaluate(term, known.inputs) for term in part):
                    found.append(replace(known, condition=condition))
                elif FALSE not in left and (made := self._example(condition)) is not None:
                    found.append(made)
        self.classes = found[: self._most + 1]

    def _example(self, condition: tuple[Term, ...]) -> EquivalenceClass | None:
        inputs = self._solver.solve(condition)
        if inputs is None:
            return None
        assumed = Assumed((*self._solver.space.constraints, *condition))
        wanted = [wish for wish in map(assumed.left_of, self._wishes) if wish not in (TRUE, FALSE)]
        inputs = self._solver.likely((*condition, *wanted)) or inputs
        return EquivalenceClass(condition, inputs, self._frames.data(inputs))
