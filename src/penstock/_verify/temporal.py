"""Formulas that are no invariants, decided on all states of a lifted network.

No reduction applies here, since a run is judged as a whole.  Weak fairness is for each single step: what can
be done from some moment on, for ever, is done again and again.  (Fairness for nodes would say nothing here:
where packets may come again at any time, a switch can ask about the same one for ever.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from penstock._explore.search import Bounds
from penstock._verify.formulas import Reading
from penstock._verify.lifting import Model
from penstock._verify.ltl.checking import Meter, Verdict, decide
from penstock._verify.ltl.core import holds
from penstock._verify.ltl.grounding import Grounded, ground
from penstock._verify.ltl.product import ComponentView, Label, NetworkRuns
from penstock._verify.observations import Experience
from penstock._verify.verification import look_at_programs
from penstock._verify.vocabulary import Vocabulary
from penstock._world.transition import Record
from penstock._world.world import World


class _View(ComponentView):
    """A vocabulary over the states of a search."""

    def __init__(self, runs: NetworkRuns, vocabulary: Vocabulary) -> None:
        super().__init__(runs, vocabulary)
        self._vocabulary = vocabulary

    def happened(self, label: Label, event: str, /) -> Iterator[tuple[Any, ...]]:
        """Yield the arguments of each event of a kind."""
        return self._vocabulary.happened(label, event)


class _StepByStep:
    """The same runs, in which each single step is an actor of its own."""

    def __init__(self, runs: NetworkRuns, experience: Experience) -> None:
        self._runs = runs
        self._experience = experience

    def initial(self) -> int:
        """Return the first state."""
        return self._runs.initial()

    def successors(self, state: int) -> Iterator[tuple[Label, str, int]]:
        """Yield what can happen in a state, unless the program has been in too many."""
        look_at_programs(self._experience)
        for label, _, after in self._runs.successors(state):
            yield label, str(label), after


def decided(model: Model, reading: Reading, vocabulary: Vocabulary, *, fair: bool, bounds: Bounds) -> Verdict:
    """Look for a run that breaks a formula, among all there are."""
    runs = NetworkRuns(model.network, reading.events, model.start)
    system = _StepByStep(runs, model.experience)
    grounded = ground(reading.formula, _View(runs, vocabulary), runs.initial())
    actors = _actors(system, Meter(bounds)) if fair else ()
    situation = runs.situation(reading.components)
    return decide(system, grounded, fair=actors, bounds=bounds, situation=situation)


def _actors(system: _StepByStep, meter: Meter) -> tuple[str, ...]:
    """Return the steps that are ever possible."""
    first = system.initial()
    found: dict[str, None] = {}
    known, ahead = {first}, [first]
    while ahead:
        meter.node()
        for _, actor, after in system.successors(ahead.pop()):
            found[actor] = None
            if after not in known:
                known.add(after)
                ahead.append(after)
    return tuple(sorted(found))


@dataclass(frozen=True, slots=True)
class _Moment:
    """A step of a run: what it let be heard."""

    events: tuple[Any, ...]


def breaks(
    model: Model, reading: Reading, vocabulary: Vocabulary, transitions: Iterable[Any], loop: int
) -> tuple[tuple[Record, ...], bool]:
    """Take a run in a `World` and judge it; the last `loop` steps repeat for ever (0: the last state does).

    Neither automata nor searches have a part in this.
    """
    world = World(model.network)
    world.restore(model.start)
    names = model.network.names

    def now() -> dict[str, Any]:
        return dict(zip(names, world.snapshot().states, strict=True))

    grounded = ground(reading.formula, vocabulary, now())
    records: list[Record] = []
    letters = [[grounded.letter(now())]]
    snapshots = [world.snapshot()]
    for transition in transitions:
        record = world.take(transition)
        records.append(record)
        letters.append(_letters(grounded, now(), record, reading.events))
        snapshots.append(world.snapshot())
    if loop and snapshots[-1] != snapshots[-1 - loop]:
        return tuple(records), False
    split = len(letters) - loop
    stem = [letter for each in letters[:split] for letter in each]
    again = [letter for each in letters[split:] for letter in each] if loop else stem[-1:]
    return tuple(records), not holds(grounded.core, stem, again)


def _letters(grounded: Grounded, states: dict[str, Any], record: Record, kinds: frozenset[str]) -> list[int]:
    """Return the truth of the propositions after a step: with its event, then without."""
    moment = _Moment(tuple(event for event in record.events if event.kind in kinds))
    heard = [grounded.letter(states, moment)] if grounded.hears(moment) else []
    return [*heard, grounded.letter(states)]
