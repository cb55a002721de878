"""Formulas about events whose violation shows in a prefix of a run, as properties that follow runs.

    G (<bsync(s, x)> x == 1 implies G not <drop(t, p)> p.dst == h2)

The automaton of the negation is run beside the network as a set of states; where it reaches one that accepts
whatever comes, the formula is broken.  So such formulas are decided by reachability with reductions, like
invariants: what changes the set is seen, and what is seen is not reduced away.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from penstock._properties.base import UPHELD, Property, Violated
from penstock._verify.formulas import Reading
from penstock._verify.ltl.core import negation
from penstock._verify.ltl.grounding import ground
from penstock._verify.ltl.translation import automaton_of
from penstock._verify.vocabulary import Vocabulary
from penstock._world.network import Network
from penstock._world.transition import Record


class Monitor(Property):
    """A formula about events that is followed along a run."""

    needs = "an event that the formula speaks of"

    def __init__(self, reading: Reading, vocabulary: Vocabulary) -> None:
        self.sentence = reading.text
        self._reading = reading
        self._grounded = ground(reading.formula, vocabulary, {})
        self._automaton = automaton_of(negation(self._grounded.core))
        self._silence = self._grounded.letter({})
        self._start = self._onward(frozenset({self._automaton.initial} if len(self._automaton) else ()))

    @property
    def name(self) -> str:
        """The formula."""
        return self._reading.text

    @property
    def applies(self) -> bool:
        """Whether a prefix decides, and that of no steps does not."""
        return self._automaton.is_terminal and not self._is_broken(self._start)

    def _onward(self, states: frozenset[int], *letters: int) -> frozenset[int]:
        for letter in (*letters, self._silence):
            states = frozenset(
                after for state in states for after in self._automaton.successors(state, letter)
            )
        return states

    def _is_broken(self, states: frozenset[int]) -> bool:
        return any(map(self._automaton.is_universal, states))

    def start(self, _network: Network, /) -> frozenset[int]:
        """Begin with silence."""
        return self._start

    def see(self, record: Record, /) -> Hashable | None:
        """Pick out the truth of what the formula says of the step's events."""
        if not any(event.kind in self._reading.events for event in record.events):
            return None
        letter = self._grounded.letter({}, record)
        return UPHELD if letter == self._silence else (letter, str(record.transition))

    def next(self, state: frozenset[int], seen: Any, /) -> frozenset[int]:
        """Follow the automaton over an event and the silence after it."""
        letter, step = seen
        after = self._onward(state, letter)
        if self._is_broken(after):
            raise Violated(f"after {step}, whatever follows violates it.")
        return after
