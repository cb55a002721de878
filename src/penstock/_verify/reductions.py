"""Which steps of a lifted network are taken, and which are taken at once (MOCS §3.1).

Some kinds of steps are *eager*: where one is possible and no property can see it, nothing else needs to be
tried.  With `ample` sets it is then the only thing that is tried; *merged*, it is done at once as part of
the step that made it possible, and the states in between are not counted or kept.  Which kinds may be
eager is for `grounds` to say; what can be seen is decided here, from the properties:

- a step shows a property something (it *sees* the step's record), or
- a property that reads components judges them differently afterwards; a change of what is read counts in
  any case unless the property judges packets one by one (`PerPacket`), since what makes no difference by
  itself might make one together with what comes later.

A request that is handled without any consequence leads to a state with one request less and nothing else
changed; what can happen there can happen before as well, so it is not visited.

Penstock's own method also has requests *answered* at once, where afterwards everything is there that was
there before, and else nothing has changed: the program answers by sending packets on, and the switch would
ask again.  (Otherwise n such requests would be answered in 2ⁿ orders.)

Eager steps cannot go on for ever: each takes a message out of a queue, and what it puts into others is
further on its way (`nomatch` → `ctrl` → `fwd`, `add` → `brepl` → `bsync`), or brings a packet where it was
not; a `bsync` that sends anything is not eager, and a step that changes nothing is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Literal

from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.interning import MASK, WIDTH
from penstock._explore.tables import Entry, Group, Rows, taken
from penstock._properties.base import Property, Violated, ask
from penstock._verify.abstract_controller import CONTROL, ControllerQueues
from penstock._verify.abstract_host import HostQueue
from penstock._verify.abstract_switch import ADD, FORWARD, MATCH, NOMATCH, SwitchQueues
from penstock._verify.invariants import PerPacket
from penstock._world.transition import Transition

Reduction = Literal["off", "ample", "merged"]


class _Candidates(dict[int, tuple[tuple[Entry, bool], ...]]):
    """The eager transitions of a cell by its number, each worked out where it is first asked for."""

    __slots__ = ("work",)

    def __init__(self, work: Callable[[int], tuple[tuple[Entry, bool], ...]]) -> None:
        super().__init__()
        self.work = work

    def __missing__(self, number: int) -> tuple[tuple[Entry, bool], ...]:
        found = self[number] = self.work(number)
        return found


class Reduced:
    """The successors of a state when eager steps go first; `eager` holds the kinds of step that may be."""

    def __init__(self, cells: CompiledNetwork, kind: Reduction, eager: frozenset[str]) -> None:
        self._cells = cells
        self._kind = kind
        self.used: set[str] = set()
        """The kinds of step that were eager somewhere."""
        self._eager = eager
        self._fabric = cells.initial() & MASK
        """The fabric's number, which never changes: links do not fail."""
        self._groups: tuple[Group, ...] = cells.tables[self._fabric]
        self._readers = [watcher for watcher in cells.properties if watcher.reads]
        names = cells.names
        self._read = _places(names, self._readers)
        """Where in a state the cells are that a property reads."""
        self._unsure = _places(
            names, [watcher for watcher in self._readers if not isinstance(watcher, PerPacket)]
        )
        """The same for properties that may judge packets together: there nothing is invisible."""
        self._verdicts: dict[int, tuple[bool, ...]] = {}
        self._read_mask = sum(MASK << at for at in self._read)
        first = cells.initial()
        states = cells.component_states(first)
        self._controller = WIDTH * next(
            cell for cell, name in enumerate(names) if isinstance(states[name], ControllerQueues)
        )
        hosts = [cell for cell, name in enumerate(names) if isinstance(states[name], HostQueue)]
        self._lasting = ~sum(MASK << WIDTH * cell for cell in hosts)
        """All of a state but the hosts' queues."""
        self._less: dict[tuple[int, int], bool] = {}
        self._more: dict[tuple[int, int, int], bool] = {}
        self._vain: set[tuple[int, int]] = set()
        """Transitions, with what the controller was, that would change the program."""
        self._settled: set[int] = set()
        """States in which there is nothing left to be answered."""
        self._programs: dict[int, object] = {}
        self._asking: dict[int, Rows] = {
            WIDTH * cell: Rows(partial(self._asked, WIDTH * cell)) for cell in range(len(names))
        }
        self._answers = kind == "merged" and MATCH in eager
        """Whether requests are answered at once where that takes nothing away."""
        self._candidates: dict[int, _Candidates] = {
            WIDTH * cell: _Candidates(partial(self._sorted_out, WIDTH * cell)) for cell in range(len(names))
        }
        """Per place of a component's cell, the eager transitions by the cell's number."""
        self.settling: list[Transition] = []
        """The eager steps that are taken before a search begins."""
        self.start = self._chased(first, list(self._candidates), self.settling) if kind == "merged" else first

    # What a search asks.

    def expand_all(self, state: int) -> tuple[list[int], bool]:
        """Return the successors of a state, and whether only the fabric can move."""
        merging, at_controller = self._kind == "merged", self._controller
        found = []
        for at, entry in self._taken(state):
            after = self._after(state, at, entry)
            if not (merging and at == at_controller and self._is_less(after, state)):
                found.append(after)
        return found, not found

    def expand_with_sleep_sets(
        self, _state: int, _asleep: int, _wanted: int
    ) -> tuple[list[tuple[int, int]], bool]:
        """Refuse: sleep sets need queues that keep their order."""
        raise NotImplementedError("lifted networks have no FIFO queues, so sleep sets do not apply")

    def told(self, state: int) -> Iterator[tuple[int, tuple[Transition, ...]]]:
        """Yield the successors of a state, each with all transitions that lead there."""
        for at, entry in self._taken(state):
            path = [entry[4]]
            yield self._after(state, at, entry, path), tuple(path)

    # How it is answered.

    def _taken(self, state: int) -> list[tuple[int, Entry]]:
        """Return the transitions that are taken in a state, each with the place of its cell."""
        if self._kind == "ample":
            first = [
                (at, entry)
                for at, known in self._candidates.items()
                for entry, watched in known[state >> at & MASK]
                if not (watched and self._shows(state, entry))
            ]
            if first:
                return first
        return [
            (shift, entry) for shift, mask, _, rows in self._groups for entry in rows[state >> shift & mask]
        ]

    def _after(self, state: int, at: int, entry: Entry, path: list[Transition] | None = None) -> int:
        """Return where a transition of a cell leads, with the eager steps that follow if they are merged."""
        after = state + entry[1]
        touched = [at]
        for place, op in entry[2]:
            after += op[after >> place & MASK]
            touched.append(place)
        if self._kind == "merged" and after < self._cells.violated:
            after = self._chased(after, touched, path)
        return after

    def _chased(self, state: int, touched: list[int], path: list[Transition] | None = None) -> int:
        """Take eager steps, which can only be in cells that were touched, until there are none."""
        while True:
            state = self._quickly(state, touched, path)
            if not self._answers or state >= self._cells.violated:
                return state
            if state in self._settled:
                return state
            answered = self._answered(state, path)
            if answered == state:
                self._settled.add(state)
                return state
            state, touched = answered, []

    def _quickly(self, state: int, touched: list[int], path: list[Transition] | None) -> int:
        """Take eager steps in the cells that were touched."""
        candidates, violated = self._candidates, self._cells.violated
        while touched:
            at = touched[-1]
            known = candidates.get(at)
            for entry, watched in known[state >> at & MASK] if known is not None else ():
                if watched and self._shows(state, entry):
                    continue
                after = taken(state, entry[1], entry[2])
                # What a host receives is gone, and could be sent there again without end.
                if not (after ^ state) & (self._lasting if _kind(entry[4]) in (MATCH, NOMATCH) else -1):
                    continue
                state = after
                touched += [place for place, _ in entry[2]]
                if path is not None:
                    path.append(entry[4])
                if state >= violated:
                    return state
                break
            else:
                touched.pop()
        return state

    def _answered(self, state: int, path: list[Transition] | None) -> int:
        """Have a request answered, if then all is there that was there before, and more."""
        asked = state >> self._controller & MASK
        for at, entry in self._questions(state):
            if (id(entry), asked) in self._vain:
                continue
            steps = [entry[4]]
            touched = [at, *(place for place, _ in entry[2])]
            after = self._quickly(taken(state, entry[1], entry[2]), touched, steps)
            if after == state or after >= self._cells.violated or not self._dominates(after, state):
                # What the program makes of a request depends on nothing but the two.
                if self._program(after) != self._program(state):
                    self._vain.add((id(entry), asked))
                continue
            if self._readers and self.verdicts(after) != self.verdicts(state):
                continue
            if path is not None:
                path += steps
            return after
        return state

    def _program(self, state: int) -> object:
        """Return the state of the controller's program."""
        number = state >> self._controller & MASK
        known = self._programs.get(number)
        if known is None:
            queues = self._cells.component_states(state)[self._cells.names[self._controller // WIDTH]]
            known = self._programs[number] = queues.inner
        return known

    def _questions(self, state: int) -> Iterator[tuple[int, Entry]]:
        """Yield the transitions that ask the program something or have it answer, unseen by properties."""
        for at, asking in self._asking.items():
            for entry in asking[state >> at & MASK]:
                yield at, entry

    def _asked(self, at: int, number: int) -> tuple[Entry, ...]:
        """Return the transitions of a cell that ask the program something or have it answer."""
        found = []
        for entry in self._groups[at // WIDTH][3][number]:
            kind = _kind(entry[4])
            places = {at, *(place for place, _ in entry[2])}
            if kind in (NOMATCH, CONTROL) and not entry[3] and not places & self._unsure:
                found.append(entry)
        return tuple(found)

    def _dominates(self, after: int, before: int) -> bool:
        """Tell whether a state has all that another one has (see `grounds`), and else is the same."""
        cells = self._cells
        if (after ^ before) >> WIDTH * len(cells.names):
            return False
        for cell, name in enumerate(cells.names):
            shift = WIDTH * cell
            key = (shift, after >> shift & MASK, before >> shift & MASK)
            if key[1] == key[2]:
                continue
            known = self._more.get(key)
            if known is None:
                now, then = (cells.component_states(state)[name] for state in (after, before))
                under_way = [cells.value(state, cell)[1] for state in (after, before)]
                known = self._more[key] = under_way[0] == under_way[1] and _has_all(now, then)
            if not known:
                return False
        return True

    def _is_less(self, after: int, before: int) -> bool:
        """Tell whether a state is another one with nothing changed but requests gone."""
        at, cell = self._controller, self._controller // WIDTH
        if after == before or (after ^ before) & ~(MASK << at):
            return False
        key = (after >> at & MASK, before >> at & MASK)
        known = self._less.get(key)
        if known is None:
            now, then = (
                self._cells.component_states(state)[self._cells.names[cell]] for state in (after, before)
            )
            known = self._less[key] = now.requests <= then.requests and now == replace(
                then, requests=now.requests
            )
        return known

    def _sorted_out(self, at: int, number: int) -> tuple[tuple[Entry, bool], ...]:
        """Return the eager transitions of a cell, each with whether properties read what it changes."""
        found = []
        # Most cells are passed through: what is not eager there is not worked out.
        for entry in self._cells.acts(self._fabric, at // WIDTH, number, self._is_eager) if at else ():
            _, _, ops, seen, transition = entry
            kind = _kind(transition)
            places = {at, *(place for place, _ in ops)}
            # What the switch refuses is answered, which makes the refusal a matter of order.
            if seen or (kind == ADD and ops) or (kind == FORWARD and self._controller in places):
                continue
            if not places & self._unsure:
                self.used.add(kind)
                found.append((entry, bool(places & self._read)))
        return tuple(found)

    def _is_eager(self, action: str) -> bool:
        return action.partition(" ")[0] in self._eager

    def _shows(self, state: int, entry: Entry) -> bool:
        """Tell whether a property that reads components would notice a transition."""
        return self.verdicts(state) != self.verdicts(taken(state, entry[1], entry[2]))

    def verdicts(self, state: int) -> tuple[bool, ...]:
        """Return how the properties that read components judge a state."""
        part = state & self._read_mask
        known = self._verdicts.get(part)
        if known is None:
            states = self._cells.component_states(state)
            known = self._verdicts[part] = tuple(_upheld(watcher, states) for watcher in self._readers)
        return known


def _has_all(now: object, then: object) -> bool:
    """Tell whether a component's queues have all that they had, and else nothing has changed."""
    match now, then:
        case ControllerQueues(), ControllerQueues():
            return now.requests >= then.requests and then == replace(now, requests=then.requests)
        case SwitchQueues(), SwitchQueues():
            same = then == replace(now, packets=then.packets, forward=then.forward)
            return same and now.packets >= then.packets and now.forward >= then.forward
        case HostQueue(), HostQueue():
            return now.received >= then.received
        case _:
            return False


def _kind(transition: Transition) -> str:
    """Return what sort of step a transition is."""
    return str(transition.what).partition(" ")[0]


def _places(names: list[str], readers: list[Property]) -> set[int]:
    return {WIDTH * names.index(name) for watcher in readers for name in watcher.reads if name in names}


def _upheld(watcher: Property, states: dict[str, object]) -> bool:
    try:
        ask(watcher, "check", {name: states[name] for name in watcher.reads})
    except Violated:
        return False
    return True
