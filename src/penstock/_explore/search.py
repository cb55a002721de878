"""What all searches share: where they stop, what they found, and how a path is told.

A search needs three things of a state: the key under which it is remembered (the state itself, a
fingerprint of it, or its projection), the key it was first reached from, and its sleep set.  A
path is rebuilt from the keys by walking forward again, so no state holds more than its parent.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.expand import Expand, SleepSetExpand, expand_all, expand_with_sleep_sets
from penstock._explore.interning import MASK, WIDTH, Full
from penstock._properties.base import Property, Undecided, Violated, ask, unfinished
from penstock._properties.watch import Ending
from penstock._verdict import verdict as stopping
from penstock._verdict.verdict import Bound, Reservation, Why
from penstock._world.transition import Transition
from penstock.errors import PenstockError

Key = Callable[[int], int]

PERIOD: Final = 4096
"""How many states a search expands between two looks at the clock, at most."""

_FIRST_PERIOD: Final = 32
_BETWEEN: Final = 0.1
"""About how many seconds should lie between two looks at the clock."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a search stops by itself; None means nowhere."""

    states: int | None = None
    depth: int | None = None
    seconds: float | None = None
    memory_mb: int | None = None
    until: float | None = None
    """When its seconds are over, by the monotonic clock, where they began before it."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken property and the transitions that lead there."""

    property: str
    message: str
    path: tuple[Transition, ...]


@dataclass(slots=True)
class Outcome:
    """What a search covered and found."""

    result: Literal["violation", "exhausted", "bounded"] = "exhausted"
    states: int = 0
    transitions: int = 0
    terminal: int = 0
    depth: int = 0
    seconds: float = 0.0
    peak_rss_mb: int = 0
    violations: list[Violation] = field(default_factory=list)
    exercised: dict[str, int] = field(default_factory=dict)
    stopped_by: str = ""
    """What stopped the search (a `Bound`), if it did not end by itself."""
    remarks: list[str] = field(default_factory=list)
    reservations: list[Reservation] = field(default_factory=list)
    """Why it proves nothing that nothing was found."""
    unfinished: dict[str, None] = field(default_factory=dict)
    """Where components were still in the middle of something, in states that nothing follows."""
    cut_short: int = 0
    """In how many such states a property does not hold, and timers are left that may put it right."""
    undecided: dict[str, None] = field(default_factory=dict)
    """Of what nobody can tell whether it breaks a property."""
    left_out: list[Bound] = field(default_factory=list)
    """What was not tried though it could matter."""

    @property
    def transitions_per_s(self) -> float:
        """How many transitions were taken in a second."""
        return self.transitions / self.seconds if self.seconds else 0.0


class Stop(Exception):
    """The search ends here, because of a bound."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound)
        self.bound = bound


class Successors(Protocol):
    """What a search takes in a state, where that is not simply everything (see `strategies`)."""

    @property
    def expand_all(self) -> Expand:
        """The function from a state to its successors."""
        ...

    @property
    def expand_with_sleep_sets(self) -> SleepSetExpand:
        """The same with sleep sets."""
        ...


Progress = Callable[[Outcome], None]


def peak_rss_mb() -> int:
    """Return the most memory this process has had, in megabytes."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        status = ""
    for line in status.splitlines():
        # What getrusage tells is as much as the process had that started this one, if that was more.
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1024
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // unit


def fingerprint(state: int) -> int:
    """Return 64 bits that stand for a state."""
    size = (state.bit_length() + 7) // 8
    return int.from_bytes(blake2b(state.to_bytes(size), digest_size=8).digest())


def collision_odds(states: int) -> float:
    """Return how likely it is that 64-bit fingerprints made a search of this size miss a state."""
    return min(1.0, states * (states - 1) / 2 / 2**64)


class Search:
    """The bookkeeping of one search: limits, findings, the way back."""

    def __init__(
        self,
        cells: CompiledNetwork,
        bounds: Bounds,
        *,
        key: Key | None = None,
        first_only: bool = True,
        progress: Progress | None = None,
        successors: Successors | None = None,
    ) -> None:
        self.cells = cells
        self.bounds = bounds
        self.key = key
        self.first_only = first_only
        self.outcome = Outcome()
        self.parents: dict[int, int] = {}
        self._started = time.monotonic()
        self._period = self._counting = _FIRST_PERIOD
        self._countdown = self._to_count = 1
        self._progress = progress
        self._successors = successors
        self._checked: list[tuple[int, Property, set[Hashable]]] = [
            (self._mask_of(watcher), watcher, set()) for watcher in cells.properties if watcher.reads
        ]
        self._found: set[tuple[str, str]] = set()
        self._ending = Ending(cells.network)
        self._ends = any(type(watcher).at_rest is not Property.at_rest for watcher in cells.properties)

    def _mask_of(self, watcher: Property) -> int:
        names = self.cells.names
        for name in watcher.reads:
            if name not in names:
                raise PenstockError(
                    f"The property {watcher.name} reads {name!r}, which is no component here: "
                    f"the components are {', '.join(names)}."
                )
        return sum(MASK << WIDTH * names.index(name) for name in watcher.reads)

    def expand_all(self) -> Expand:
        """Return the function from a state to its successors, and whether only the fabric can move."""
        return expand_all(self.cells) if self._successors is None else self._successors.expand_all

    def expand_with_sleep_sets(self) -> SleepSetExpand:
        """Return the function from a state to its successors with their sleep sets."""
        return (
            expand_with_sleep_sets(self.cells)
            if self._successors is None
            else self._successors.expand_with_sleep_sets
        )

    @property
    def judges_states(self) -> bool:
        """Tell whether any property looks at every state."""
        return bool(self._checked)

    def begin(self) -> tuple[int, int]:
        """Return the first state and its key."""
        start = self.cells.initial()
        key = start if self.key is None else self.key(start)
        self.parents[key] = key
        self.new_state(start)
        return start, key

    def start_over(self) -> None:
        """Forget which states were visited, to visit them in another order; what was found is kept."""
        self.parents.clear()
        outcome = self.outcome
        outcome.result, outcome.stopped_by, outcome.terminal, outcome.depth = "exhausted", "", 0, 0

    def pause(self) -> int:
        """Look at the clock and the limits; return after how many states to do so again.

        A state takes microseconds to expand, or seconds: it depends on the program.  The number of states is
        looked at after certain numbers of them only, so that a bound on it has a search end at the same state
        on every machine.
        """
        before = self.outcome.seconds
        self._to_count -= self._countdown
        counts = self._to_count <= 0
        self.tick(counts=counts)
        if self.outcome.seconds - before > _BETWEEN:
            self._period = max(1, self._period // 4)
        else:
            self._period = min(PERIOD, self._period * 2)
        if counts:
            limit = self.bounds.states
            self._counting = min(PERIOD, self._counting * 2)
            self._to_count = (
                self._counting if limit is None else max(1, min(self._counting, limit - self.outcome.states))
            )
        self._countdown = min(self._period, self._to_count)
        return self._countdown

    def tick(self, *, counts: bool = True) -> None:
        """Look at the clock and the limits, at the number of states only where that `counts`."""
        outcome, bounds = self.outcome, self.bounds
        outcome.seconds = time.monotonic() - self._started
        outcome.states = len(self.parents)
        if self._progress is not None:
            outcome.exercised = self._exercised()
            self._progress(outcome)
        if counts and bounds.states is not None and outcome.states >= bounds.states:
            raise Stop(stopping.states(bounds.states))
        until = self._started + (bounds.seconds or 0.0) if bounds.until is None else bounds.until
        if bounds.seconds is not None and time.monotonic() >= until:
            raise Stop(stopping.seconds(bounds.seconds))
        if bounds.memory_mb is not None and peak_rss_mb() >= bounds.memory_mb:
            raise Stop(stopping.memory(bounds.memory_mb))

    def new_state(self, state: int) -> None:
        """Judge a state met for the first time by the properties that look at every state."""
        for mask, watcher, seen in self._checked:
            part = state & mask
            if part in seen:
                continue
            seen.add(part)
            states = self.cells.component_states(state)
            read = {name: states[name] for name in watcher.reads}
            # The same components with other messages waiting: equal states are one object here.
            situation = tuple(map(id, read.values()))
            if situation not in seen:
                seen.add(situation)
                self._judge(state, watcher, partial(ask, watcher, "check", read))

    def at_rest(self, state: int) -> None:
        """Judge a state in which nothing can happen by itself any more."""
        self.outcome.terminal += 1
        states = None
        if where := unfinished(self.cells.component_states(state)):
            self.outcome.unfinished[where] = None
            return
        for index, watcher in enumerate(self.cells.properties):
            if type(watcher).at_rest is Property.at_rest:
                continue
            states = states or self.cells.component_states(state)
            own = self.cells.watching.state(state, index)
            self._judge(state, watcher, partial(self._judge_end, watcher, own, states))

    def _judge_end(self, watcher: Property, own: Any, states: dict[str, Any]) -> bool:
        """Have a property judge the end of a run; what is wrong counts only if it really is the end."""
        try:
            return bool(ask(watcher, "at_rest", own, states))
        except Undecided as undecided:
            self.outcome.undecided[str(undecided)] = None
            return True
        except Violated:
            if self._ending.stays_broken(watcher, own, states):
                raise
            self.outcome.cut_short += 1
            return False

    def _judge(self, state: int, watcher: Property, judge: Callable[[], bool]) -> None:
        index = self.cells.properties.index(watcher)
        try:
            if judge():
                self.cells.watching.exercised[index] += 1
        except Violated as violated:
            self.cells.watching.exercised[index] += 1
            self._report(state, watcher.name, str(violated))

    def broken(self, state: int) -> None:
        """Report a state in which a property that follows what happens is broken."""
        for watcher, message in self.cells.watching.broken(state):
            self._report(state, watcher.name, message)

    def _report(self, state: int, name: str, message: str) -> None:
        if (name, message) in self._found:
            return
        self._found.add((name, message))
        self.outcome.violations.append(Violation(name, message, self.path(state)))
        if self.first_only:
            raise Stop(stopping.FIRST_VIOLATION)

    def path(self, state: int) -> tuple[Transition, ...]:
        """Return the transitions that first led to a state."""
        key = self.key or (lambda number: number)
        keys = [key(state)]
        while (parent := self.parents[keys[-1]]) != keys[-1]:
            keys.append(parent)
        keys.reverse()
        here = self.cells.initial()
        transitions = []
        for wanted in keys[1:]:
            here, _, transition = next(step for step in self.cells.steps(here) if key(step[0]) == wanted)
            transitions.append(transition)
        return tuple(transitions)

    def _exercised(self) -> dict[str, int]:
        return dict(zip((p.name for p in self.cells.properties), self.cells.watching.exercised, strict=True))

    def conclude(self, visit: Callable[[Search], None]) -> Outcome:
        """Have states visited until all are, or something stops it; then close the books."""
        try:
            visit(self)
        except Stop as stop:
            return self.finish(stop.bound)
        except Full as full:
            return self.finish(Bound(str(full), Why.FULL))
        except KeyboardInterrupt:
            return self.finish(Bound("Ctrl-C", Why.INTERRUPTED))
        return self.finish(self.outcome.stopped_by)

    def finish(self, stopped_by: str = "") -> Outcome:
        """Close the books."""
        outcome = self.outcome
        outcome.seconds = time.monotonic() - self._started
        outcome.states = len(self.parents)
        outcome.peak_rss_mb = peak_rss_mb()
        outcome.exercised = self._exercised()
        outcome.stopped_by = stopped_by
        if outcome.violations:
            outcome.result = "violation"
        elif stopped_by:
            outcome.result = "bounded"
        return outcome
