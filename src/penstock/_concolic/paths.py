"""The paths that a program can take, each with the inputs that stand for it.

The search is generational: the program runs on some inputs and notes what they decided; then each of
these decisions is turned round, and where inputs exist that agree with all decisions before it and
take the other way there, they are run too.  Paths wait in a queue for their turn, breadth first.  Of a
path that came from turning round decision n only later ones are turned round, so none is looked for
twice.

The inputs that led to a path say little about it; they are what the solver made of a part of its
condition.  So the whole condition is solved again, and the program runs on the answer: these inputs
depend on the path's condition alone and are the same in every search that meets it.

Two things can go wrong.  A run may leave the way that was predicted for it, because a value was not
followed (see `Run.losses`) or because the program does not depend on its inputs alone; it is a path
all the same, and the result counts how often that happened.  And there may be more paths than anybody
wants to wait for: the search ends at a budget, and says so.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Final, Generic, TypeVar

from penstock._concolic.run import MOST_DECISIONS, Decision, Loss, Run, TooManyDecisions
from penstock._concolic.solving.solver import Solver
from penstock._concolic.space import Inputs, Space
from penstock._concolic.terms import Term, negation

T = TypeVar("T")

_Signs = tuple[tuple[Term, bool], ...]
"""What tells paths apart: the conditions that decided, and which way."""


_LOSSY: Final = 6
"""How many times less time is spent on a program that cannot be followed all the way."""


@dataclass(frozen=True, slots=True)
class Path(Generic[T]):
    """One way through a program: what decided it, inputs that take it, and what came of them.

    A path that was `cut` went on deciding for too long; it has no result.
    """

    decisions: tuple[Decision, ...]
    inputs: dict[str, int]
    result: T | None
    cut: bool
    losses: Counter[Loss]

    @property
    def condition(self) -> tuple[Term, ...]:
        """What held of the inputs, decision by decision."""
        return tuple(decision.holds for decision in self.decisions)


@dataclass(frozen=True, slots=True)
class Exploration(Generic[T]):
    """The paths that were found, and how sure it is that there are no more.

    `complete` means that every decision met was turned round, and that nothing stood in the way;
    `remarks` say in sentences what did.  Values that were lost are a matter of their own: what is
    decided by them is never met.
    """

    paths: tuple[Path[T], ...]
    complete: bool
    remarks: tuple[str, ...]
    losses: Counter[Loss]
    runs: int
    queries: int
    seconds: float


def explore(
    execute: Callable[[Inputs], T],
    space: Space,
    *,
    paths: int = 1000,
    seconds: float | None = None,
    solver: Solver | None = None,
) -> Exploration[T]:
    """Find the paths of a program through all inputs of a space, up to a number of paths and a time."""
    search = _Search(execute, solver if solver is not None else Solver(space), paths, seconds)
    return search.explore()


@dataclass(slots=True)
class _Search(Generic[T]):
    """One exploration under way."""

    execute: Callable[[Inputs], T]
    solver: Solver
    most_paths: int
    seconds: float | None
    started: float = field(default_factory=monotonic)
    found: dict[_Signs, Path[T]] = field(default_factory=dict)
    waiting: deque[tuple[Path[T], int]] = field(default_factory=deque)
    losses: Counter[Loss] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)
    runs: int = 0
    divergences: int = 0

    @property
    def limit(self) -> float | None:
        """How many seconds there are; fewer if values slip away, and paths may be missing in any case."""
        lossy = self.losses or self.divergences
        return self.seconds if self.seconds is None or not lossy else self.seconds / _LOSSY

    def explore(self) -> Exploration[T]:
        """Turn round decisions until none is left or a budget is spent."""
        queries, unknown = self.solver.queries, self.solver.unknown
        inputs = self.solver.solve(())
        if inputs is not None:
            self._follow(inputs, ())
        while self.waiting and not self.remarks:
            self._turn_round(*self.waiting.popleft())
        self._remark(self.solver.unknown - unknown)
        return Exploration(
            paths=tuple(self.found.values()),
            complete=not self.remarks,
            remarks=tuple(self.remarks),
            losses=self.losses,
            runs=self.runs,
            queries=self.solver.queries - queries,
            seconds=monotonic() - self.started,
        )

    def _turn_round(self, path: Path[T], start: int) -> None:
        """Look for paths that leave a known one at some decision from the given one on."""
        signs, held = _signs(path), path.condition
        for index in range(start, len(held)):
            if self.limit is not None and monotonic() - self.started >= self.limit:
                self.remarks.append(f"The search stopped after {self.limit:g} s; there may be more paths.")
                return
            inputs = self.solver.solve((*held[:index], negation(held[index])))
            if inputs is None:
                continue
            if len(self.found) >= self.most_paths:
                self.remarks.append(f"The search stopped at {self.most_paths} paths; there are more.")
                return
            condition, outcome = signs[index]
            self._follow(inputs, (*signs[:index], (condition, not outcome)))

    def _follow(self, inputs: dict[str, int], predicted: _Signs) -> None:
        """Run on inputs, and keep the path that they take if it is new."""
        path = self._run(inputs)
        signs = _signs(path)
        agreed = 0
        while agreed < min(len(signs), len(predicted)) and signs[agreed] == predicted[agreed]:
            agreed += 1
        self.divergences += agreed < len(predicted)
        if signs not in self.found:
            self.found[signs] = path = self._represented(path)
            self.waiting.append((path, agreed))

    def _represented(self, path: Path[T]) -> Path[T]:
        """Return a path with the inputs that stand for it: those that its condition alone leads to."""
        inputs = self.solver.solve(path.condition)
        if inputs is None or inputs == path.inputs:
            return path
        again = self._run(inputs)
        if _signs(again) == _signs(path):
            return again
        self.divergences += 1
        return path

    def _run(self, inputs: dict[str, int]) -> Path[T]:
        self.runs += 1
        result, cut = None, False
        with Run(inputs) as run:
            try:
                result = self.execute(inputs)
            except TooManyDecisions:
                cut = True
        self.losses += run.losses
        return Path(tuple(run.decisions), inputs, result, cut, run.losses)

    def _remark(self, unknown: int) -> None:
        """Say what else stood in the way of finding all paths."""
        cut = sum(path.cut for path in self.found.values())
        if unknown:
            self.remarks.append(f"The solver gave up {_times(unknown)}; paths may be missing.")
        if self.divergences:
            self.remarks.append(
                f"A run left its predicted path {_times(self.divergences)}; paths may be missing."
            )
        if cut:
            self.remarks.append(
                f"A run was cut short after {MOST_DECISIONS} decisions {_times(cut)}; paths may be missing."
            )


def _signs(path: Path[T]) -> _Signs:
    return tuple((decision.condition, decision.outcome) for decision in path.decisions)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"
