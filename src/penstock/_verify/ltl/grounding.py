"""From a formula over a model to temporal logic over numbered propositions.

Each largest part without temporal operators is one proposition, whatever quantifiers it has: it is true
or false in a moment.  Quantifiers that have temporal operators under them range over sets that never
change (`signature` refuses others), so they are written out, over the members in the first state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from penstock._verify.ltl.core import (
    Core,
    Literal,
    always,
    conjunction,
    disjunction,
    eventually,
    negation,
    release,
    until,
)
from penstock._verify.ltl.meaning import Bound, Interpretation, Value, members, predicate
from penstock._verify.ltl.syntax import Formula, Infix, Prefix, Quantified, is_temporal
from penstock._verify.ltl.visibility import events_of, paths_read


@dataclass(frozen=True, slots=True)
class Proposition:
    """Something that is true or false in a moment, and what it looks at.

    `events` are the events it has ears for, `reads` the paths of names and fields (see `visibility`), in
    which a variable that was written out is the text of what it stands for.
    """

    formula: Formula
    bound: tuple[tuple[str, Any], ...]
    truth: Value = field(compare=False, repr=False)

    @property
    def events(self) -> frozenset[str]:
        """The events it has ears for."""
        return events_of(self.formula)

    @property
    def reads(self) -> frozenset[str]:
        """What it looks at in a state."""
        return paths_read(self.formula, {name: str(member) for name, member in self.bound})

    def __str__(self) -> str:
        where = ", ".join(f"{name} = {member}" for name, member in self.bound)
        return f"{self.formula}{f' where {where}' if where else ''}"


@dataclass(frozen=True, slots=True)
class Grounded:
    """A formula over propositions; the proposition with number n is the n-th.

    `events` are those that any proposition has ears for, `reads` is what any looks at in a state: what is
    none of these events and changes nothing of this is invisible.
    """

    core: Core
    propositions: tuple[Proposition, ...]
    events: frozenset[str]
    reads: frozenset[str]
    interpretation: Interpretation = field(repr=False)

    def hears(self, label: Any) -> bool:
        """Tell whether a transition is an event that any proposition has ears for."""
        return any(True for event in self.events for _ in self.interpretation.happened(label, event))

    def letter(self, state: Any, label: Any = None) -> int:
        """Return the truth of all propositions in a moment, one bit each."""
        found = 0
        for number, proposition in enumerate(self.propositions):
            if proposition.truth(state, label, {}):
                found |= 1 << number
        return found


def ground(formula: Formula, interpretation: Interpretation, first: Any) -> Grounded:
    """Return a checked formula over its propositions; `first` is the first state of the model."""
    grounding = _Grounding(interpretation, first)
    core = grounding.core(formula, {})
    found = tuple(grounding.propositions)
    events = frozenset(event for proposition in found for event in proposition.events)
    reads = frozenset(path for proposition in found for path in proposition.reads)
    return Grounded(core, found, events, reads, interpretation)


_PREFIXES: Final[Mapping[str, Callable[[Core], Core]]] = {"not": negation, "G": always, "F": eventually}


class _Grounding:
    def __init__(self, interpretation: Interpretation, first: Any) -> None:
        self._interpretation = interpretation
        self._first = first
        self.propositions: list[Proposition] = []

    def core(self, formula: Formula, bound: Bound) -> Core:
        if not is_temporal(formula):
            return self._literal(formula, bound)
        match formula:
            case Prefix(operator, body):
                return _PREFIXES[operator](self.core(body, bound))
            case Infix(operator, left, right):
                return _joined(operator, self.core(left, bound), self.core(right, bound))
            case Quantified(quantifier, variable, domain, body):
                found = members(domain, self._interpretation, self._first, bound)
                parts = [self.core(body, {**bound, variable: member}) for member in found]
                return conjunction(parts) if quantifier == "forall" else disjunction(parts)
        raise AssertionError(f"{formula} has a temporal operator where none can be")

    def _literal(self, formula: Formula, bound: Bound) -> Core:
        positive = True
        while isinstance(formula, Prefix):
            positive, formula = not positive, formula.body
        truth = predicate(formula, self._interpretation, bound)
        proposition = Proposition(formula, _used(formula, bound), truth)
        if proposition not in self.propositions:
            self.propositions.append(proposition)
        return Literal(self.propositions.index(proposition), positive)


def _used(formula: Formula, bound: Bound) -> tuple[tuple[str, Any], ...]:
    """Return the variables that a formula uses, so that propositions that differ in others only are one."""
    marked = paths_read(formula, {name: f"\0{name}" for name in bound})
    used = {path.split(".")[0][1:] for path in marked if path.startswith("\0")}
    return tuple((name, member) for name, member in bound.items() if name in used)


def _joined(operator: str, left: Core, right: Core) -> Core:
    match operator:
        case "and":
            return conjunction([left, right])
        case "or":
            return disjunction([left, right])
        case "implies":
            return disjunction([negation(left), right])
        case "iff":
            return disjunction([conjunction([left, right]), conjunction([negation(left), negation(right)])])
        case "U":
            return until(left, right)
        case "R":
            return release(left, right)
        case "W":
            return disjunction([until(left, right), always(left)])
    raise AssertionError(f"{operator} joins no formulas")
