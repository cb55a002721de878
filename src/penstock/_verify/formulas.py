"""Formulas as properties: those that say what must never be are decided by reachability, with reductions.

`G P` demands P of every moment.  Where P looks at states only, or at events only, it is a property like any
other (`penstock._properties`), and a search need know nothing of automata.  Whether reductions may be used is
read off the formula:

- It must be *upward closed*: more packets in the queues never mend what is broken.  The states that are
  visited have all packets that the others have (see `grounds`), and some more.  So of packets in `rcvq`
  and `pktq` there may be `forall` under an even number of negations, `exists` under an odd number, and
  nothing else.
- If a single packet is enough to break it, a step that brings packets shows only if one of them does; else
  all that changes what the formula reads counts as visible.
- An event is judged by itself, by what it tells.

Everything else goes to `_verify.ltl`, without reductions.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock._properties.base import UPHELD, Property, Violated
from penstock._verify.invariants import PerPacket
from penstock._verify.ltl.meaning import Value, members, predicate
from penstock._verify.ltl.parser import parse
from penstock._verify.ltl.signature import check
from penstock._verify.ltl.syntax import (
    After,
    Comparison,
    Formula,
    Infix,
    Prefix,
    Quantified,
    Truth,
    is_temporal,
)
from penstock._verify.ltl.visibility import events_of, paths_read
from penstock._verify.vocabulary import LYING, ORDERED, RECEIVED, Vocabulary, kinds_heard
from penstock._world.transition import Record

MANY_PACKETS = 2
"""How many packets are so many that it makes no difference how many."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A formula that was read and checked, and what it looks at."""

    text: str
    formula: Formula
    body: Formula | None
    """What it demands of every moment, if that is all it demands."""
    components: frozenset[str]
    """The components whose states it looks at."""
    events: frozenset[str]
    """The kinds of events that it has ears for."""
    packets: int | None
    """How many packets it takes to break `body`; None where more packets may also mend it."""

    @property
    def is_invariant(self) -> bool:
        """Whether it can be judged state by state, or event by event, with reductions."""
        return self.body is not None and self.packets is not None and not (self.events and self.components)


def read(text: str, vocabulary: Vocabulary) -> Reading:
    """Return a formula that a text stands for; errors tell the column."""
    formula = parse(text)
    check(formula, vocabulary.signature, text)
    body = _demanded(formula)
    paths = paths_read(formula)
    return Reading(
        text,
        formula,
        body,
        vocabulary.components_read(paths),
        kinds_heard(events_of(formula)),
        None if body is None or _looks_at_orders(paths) else _packets_to_break(body, broken=True),
    )


def property_of(reading: Reading, vocabulary: Vocabulary) -> Property:
    """Return an invariant as a property for searches."""
    assert reading.body is not None
    if reading.events or not reading.components:
        return EventFormula(reading, vocabulary)
    one = reading.packets is not None and reading.packets < MANY_PACKETS
    alone = one and vocabulary.controller not in reading.components
    return (PacketFormula if alone else StateFormula)(reading, vocabulary)


def _looks_at_orders(paths: frozenset[str]) -> bool:
    """Tell whether a formula looks at what steps take away from switches."""
    return any(ORDERED in path.split(".")[1:] for path in paths)


def _demanded(formula: Formula) -> Formula | None:
    """Return what a formula demands of every moment, if it demands nothing else."""
    match formula:
        case Prefix("G", body):
            return _demanded(body) if is_temporal(body) else body
        case Infix("and", left, right):
            one, other = _demanded(left), _demanded(right)
            return None if one is None or other is None else Infix("and", one, other)
        case Quantified("forall", variable, domain, body):
            inner = _demanded(body)
            return None if inner is None else Quantified("forall", variable, domain, inner)
        case _:
            return None


def _packets_to_break(formula: Formula, *, broken: bool) -> int | None:
    """Return how many packets make a formula false (`broken`) or true; None if that may take fewer."""
    match formula:
        case Comparison("in" | "not in", _, right) if _is_queue(right):
            return None
        case Truth() | Comparison():
            return 0
        case Prefix("not", body):
            return _packets_to_break(body, broken=not broken)
        case After(body=body):
            return _packets_to_break(body, broken=broken)
        case Quantified(quantifier, _, domain, body):
            inner = _packets_to_break(body, broken=broken)
            if inner is None:
                return None
            witness = (quantifier == "forall") == broken
            if _is_queue(domain):
                return min(inner + 1, MANY_PACKETS) if witness else None
            return inner if witness else min(MANY_PACKETS * inner, MANY_PACKETS)
        case Infix(operator, left, right):
            return _of_both(operator, left, right, broken=broken)
    return None


def _of_both(operator: str, left: Formula, right: Formula, *, broken: bool) -> int | None:
    if operator == "iff":
        parts = [_packets_to_break(part, broken=way) for part in (left, right) for way in (True, False)]
        return 0 if set(parts) == {0} else None
    one = _packets_to_break(left, broken=broken if operator != "implies" else not broken)
    other = _packets_to_break(right, broken=broken)
    if one is None or other is None:
        return None
    either = (operator == "and") == broken
    return max(one, other) if either else min(one + other, MANY_PACKETS)


def _is_queue(term: object) -> bool:
    return str(term).rpartition(".")[2] in (RECEIVED, LYING, ORDERED)


class _Formula(Property):
    """What all formulas have in common that are judged moment by moment."""

    def __init__(self, reading: Reading, vocabulary: Vocabulary) -> None:
        assert reading.body is not None
        self.sentence = f"{reading.text}"
        self._reading = reading
        self._vocabulary = vocabulary
        self._truth: Value = predicate(reading.body, vocabulary, {})

    @property
    def name(self) -> str:
        """The formula."""
        return self._reading.text

    def _failure(self, states: Mapping[str, Any]) -> str:
        """Return how it fails, with those for whom it does if it speaks of all of them."""
        formula, bound = self._reading.body, dict[str, Any]()
        while isinstance(formula, Quantified) and formula.quantifier == "forall":
            body = formula.body
            for member in members(formula.domain, self._vocabulary, states, bound):
                trial = {**bound, formula.variable: member}
                if not predicate(body, self._vocabulary, trial)(states, None, {}):
                    bound = trial
                    break
            formula = body
        shown = ", ".join(f"{name} = {member}" for name, member in bound.items())
        return f"{formula} is false{f' for {shown}' if shown else ''}."


class StateFormula(_Formula):
    """A formula about the states of components."""

    needs = "a state to judge"

    @property
    def reads(self) -> tuple[str, ...]:
        """The components that the formula looks at."""
        return tuple(sorted(self._reading.components))

    def check(self, states: Mapping[str, Any], /) -> bool:
        """Judge a state."""
        if not self._truth(states, None, {}):
            raise Violated(self._failure(states))
        return True


class PacketFormula(StateFormula, PerPacket):
    """A formula about the states of components that a single packet breaks, if anything does."""


class EventFormula(_Formula):
    """A formula about events, each judged by itself."""

    needs = "an event that the formula speaks of"

    @property
    def holds_in_silence(self) -> bool:
        """Whether it holds where nothing has just happened, as it must at the start."""
        return bool(self._truth({}, None, {}))

    def see(self, record: Record, /) -> Hashable | None:
        """Judge a step."""
        if not any(event.kind in self._reading.events for event in record.events):
            return None
        if self._truth({}, record, {}):
            return UPHELD
        return f"After {record.transition}, {self._reading.body} is false."

    def next(self, _state: Any, seen: str, /) -> Any:
        """Refuse what was judged false."""
        raise Violated(seen)
