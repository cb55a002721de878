"""Solutions by trying likely values, in a fixed order.

The conditions of a path through a controller are mostly easy: a field is this address and none of
those.  So before a solver is asked, each input is given one value after the other in the order in
which people would try: the preferred ones, those beside the numbers it is compared with, those that
would make a condition hold (`inverse`).  Inputs are chosen in their order, and a condition is checked
as soon as all its inputs are chosen; the first solution is taken.  So it is the same whenever the
same conditions are asked for, whatever was asked before.

Inputs that have to be equal are chosen together.  Where all values of an input were tried, no
solution means that there is none; else somebody else has to decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from penstock._concolic.solving.allowed import Allowed
from penstock._concolic.solving.compiled import Evaluator
from penstock._concolic.solving.inverse import likely_values
from penstock._concolic.space import Variable
from penstock._concolic.terms import Term

_MOST_TRIES: Final = 1_500
"""How many values are tried before a solver is asked."""

_FEW: Final = 256
"""How many values an input may have at most for all of them to be tried."""


class GivenUp(Exception):
    """No solution was found, and there may be one."""


@dataclass(slots=True)
class _Choice:
    """Inputs that have one value together, what it may be, and the conditions to check once it is chosen."""

    names: tuple[str, ...]
    preferred: tuple[int, ...]
    allowed: Allowed
    everything: list[int] | None
    checks: list[Term]
    concerning: list[Term]


def guess(
    variables: Sequence[Variable], conditions: Sequence[Term], evaluator: Evaluator
) -> dict[str, int] | None:
    """Return values that make all conditions hold, None if there are none, or give up."""
    choices = _choices(variables, conditions)
    if any(choice.everything == [] for choice in choices):
        return None
    return _Attempt(choices, evaluator).solve()


def _choices(variables: Sequence[Variable], conditions: Sequence[Term]) -> list[_Choice]:
    """Return what is to be chosen, in order, with all that the conditions say of each."""
    leader = _leaders(variables, conditions)
    order = list(dict.fromkeys(leader[variable.name] for variable in variables))
    position = {name: order.index(first) for name, first in leader.items()}
    choices = []
    for first in order:
        members = [variable for variable in variables if leader[variable.name] == first]
        preferred = tuple(dict.fromkeys(value for variable in members for value in variable.preferred))
        allowed = Allowed(members[0].width)
        choices.append(_Choice(tuple(m.name for m in members), preferred, allowed, None, [], []))
    for condition in conditions:
        places = {position[name] for name in condition.variables}
        choice = choices[max(places)]
        if len(condition.variables) == 1 and choice.allowed.learn(condition):
            continue
        if _equal_inputs(condition) is not None:
            continue
        choice.checks.append(condition)
        for place in places:
            choices[place].concerning.append(condition)
    for choice in choices:
        choice.everything = _everything(choice)
    return choices


def _everything(choice: _Choice) -> list[int] | None:
    """Return all values that must be tried for certainty, if they are few."""
    everything = choice.allowed.values(_FEW)
    if everything is None and not choice.allowed.mask and not choice.concerning:
        # Nothing but bounds and values left out: any value will do, and one of these is in.
        return [value for value in choice.allowed.neighbours() if value in choice.allowed]
    return everything


def _leaders(variables: Sequence[Variable], conditions: Sequence[Term]) -> dict[str, str]:
    """Return for each input the first of those that must be equal to it."""
    leader = {variable.name: variable.name for variable in variables}
    rank = {variable.name: index for index, variable in enumerate(variables)}
    for condition in conditions:
        pair = _equal_inputs(condition)
        if pair is not None:
            first, second = sorted((leader[pair[0]], leader[pair[1]]), key=rank.__getitem__)
            leader = {name: first if known == second else known for name, known in leader.items()}
    return leader


def _equal_inputs(condition: Term) -> tuple[str, str] | None:
    """Return the two inputs of the same width that a condition makes equal, if that is what it does."""
    if condition.op != "==":
        return None
    one, other = condition.operands
    if one.op != "var" or other.op != "var" or one.high != other.high:
        return None
    return str(one.args[0]), str(other.args[0])


class _Attempt:
    """One search through the choices, depth first."""

    def __init__(self, choices: list[_Choice], evaluator: Evaluator) -> None:
        self._choices = choices
        self._evaluator = evaluator
        self._tries = 0
        self._values: dict[str, int] = {}
        for choice in choices:
            self._leave(choice)

    def _leave(self, choice: _Choice) -> None:
        """Give inputs that are yet to be chosen the value that they will most likely have."""
        allowed = choice.allowed
        known = (value for value in choice.preferred if value in allowed)
        self._give(
            choice, next(known, allowed.forced(choice.preferred[0] if choice.preferred else allowed.low))
        )

    def _give(self, choice: _Choice, value: int) -> None:
        for name in choice.names:
            self._values[name] = value

    def solve(self) -> dict[str, int] | None:
        """Return the first solution; None if there is none, or give up."""
        waiting = [self._candidates(self._choices[0])]
        while waiting:
            choice = self._choices[len(waiting) - 1]
            if not any(self._suits(choice, value) for value in waiting[-1]):
                self._leave(choice)
                waiting.pop()
            elif len(waiting) == len(self._choices):
                return self._values
            else:
                waiting.append(self._candidates(self._choices[len(waiting)]))
        if any(choice.everything is None for choice in self._choices):
            raise GivenUp
        return None

    def _suits(self, choice: _Choice, value: int) -> bool:
        """Choose a value, and tell whether the conditions that can be checked now hold."""
        self._tries += 1
        if self._tries > _MOST_TRIES:
            raise GivenUp
        self._give(choice, value)
        return all(self._evaluator(check, self._values) for check in choice.checks)

    def _candidates(self, choice: _Choice) -> Iterator[int]:
        """Yield values to try, each once and only those that are allowed."""
        seen: set[int] = set()
        for value in self._proposals(choice):
            if value in choice.allowed and value not in seen:
                seen.add(value)
                yield value

    def _proposals(self, choice: _Choice) -> Iterator[int]:
        yield from choice.preferred
        likely: set[int] = set()
        for condition in choice.concerning:
            for name in choice.names:
                likely |= likely_values(condition, True, name, self._values)
        ordered = sorted(likely)
        yield from ordered
        yield from map(choice.allowed.forced, (*choice.preferred, *ordered))
        yield from choice.allowed.neighbours()
        yield from choice.everything or ()
