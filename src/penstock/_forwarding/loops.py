"""The loops of every class of packets, counted: told when they come and when they go.

A state is a place (a node and the port that packets came in by) and a class.  A loop is a way round through
states, told by its places; the same way round may be open to many classes, and it is there as long as one
of them takes it.  After a change only ways round through the nodes and classes concerned are looked for.

*Guards* are sets of packets that wires let pass, such as access lists.  They are no factor of the
partition: a way round has the guards on it, and is taken by a class if some packets of it pass them all.
On a way round that changes packets, guards are held against what they are where it begins.

How many ways round a search tells is bounded (`MOST_ROUNDS`, `MOST_STEPS`).  Of states that lie on any, one
way round is always told; `partial` says whether others may not have been.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from penstock._forwarding.classes import Changed, Event, Joined, PacketClass, Split
from penstock._forwarding.sets import PacketSet, PacketSpace

MOST_ROUNDS: Final = 1_000
MOST_STEPS: Final = 20_000

Place = tuple[Any, Any]
"""A node, and the port that packets came in by."""

State = tuple[Place, PacketClass]
Guards = tuple[Hashable, ...]


class Onward(NamedTuple):
    """Where packets go next, as which class, past which guards."""

    place: Place
    packets: PacketClass
    guards: Guards = ()


class Steps(Protocol):
    """What a network does with classes of packets."""

    def onward(self, place: Place, packets: PacketClass, /) -> Sequence[Onward]:
        """Return where packets of a class that came to a place go next."""
        ...

    def leaving(self, node: Any, packets: PacketClass, /) -> Iterable[Onward]:
        """Return where packets of a class go next from any port of a node."""
        ...

    def nodes_of(self, element: int, packets: PacketClass, /) -> Iterable[Any]:
        """Return the nodes at which an element has a say for packets of a class."""
        ...


Round = tuple[State, ...]
Way = tuple[Place, ...]


@dataclass(slots=True)
class _Rounds:
    """The ways round that begin and end in one class: each with its guards, and those that packets take."""

    guards: dict[Round, Guards] = field(default_factory=dict)
    taken: dict[Round, None] = field(default_factory=dict)


class Loops:
    """The loops that there are."""

    def __init__(self, space: PacketSpace, steps: Steps, passes: Callable[[Hashable], PacketSet]) -> None:
        self._space, self._steps, self._passes = space, steps, passes
        self._of: dict[PacketClass, _Rounds] = {}
        self._count: dict[Way, int] = {}
        self._before: dict[Way, bool] = {}
        self._dirty: dict[PacketClass, dict[int, None]] = {}
        self._again: dict[PacketClass, dict[Any, None]] = {}
        self._grown: dict[PacketClass, None] = {}
        self._mixed: dict[Round, PacketClass] = {}
        """The ways round on which packets change their class, each with the class that it is kept under."""
        self._touched: dict[Way, None] = {}
        self.partial = False
        """Whether some search came upon more ways round than are told."""

    def __iter__(self) -> Iterator[Way]:
        return iter(self._count)

    def __len__(self) -> int:
        return len(self._count)

    def rounds(self) -> dict[Way, list[Round]]:
        """Return the loops, each with the states by which classes take it."""
        found: dict[Way, list[Round]] = {}
        for rounds in self._of.values():
            for one in rounds.taken:
                found.setdefault(way_of(one), []).append(one)
        return found

    @property
    def has_changed(self) -> bool:
        """Whether something has happened that `settle` and `take_touched` have not told yet."""
        return bool(self._dirty or self._again or self._grown or self._touched)

    def take_touched(self) -> list[Way]:
        """Return the loops that other classes take than when this was asked before."""
        touched, self._touched = list(self._touched), {}
        return touched

    # What happened.

    def note(self, events: Iterable[Event]) -> None:
        """Take in what happened to classes."""
        for event in events:
            match event:
                case Changed(where, element):
                    self._dirty.setdefault(where, {})[element] = None
                case Split(new, old):
                    self._split(new, old)
                case Joined(left, joined, whole):
                    if whole:
                        self._forget(left)
                        self._dirty.pop(left, None)
                        self._again.pop(left, None)
                    elif left in self._of:
                        self._grown[left] = None
                    if joined in self._of:
                        self._grown[joined] = None

    def _split(self, new: PacketClass, old: PacketClass) -> None:
        if old in self._dirty:
            self._dirty[new] = dict(self._dirty[old])
        if old in self._again:
            self._again[new] = dict(self._again[old])
        rounds = self._of.get(old)
        if rounds is None:
            return
        self._grown[old] = self._grown[new] = None
        copy = _Rounds()
        for one, guards in rounds.guards.items():
            if all(state[1] is old for state in one):
                renamed = tuple((place, new) for place, _ in one)
                copy.guards[renamed] = guards
                if one in rounds.taken:
                    copy.taken[renamed] = None
                    self._tell(way_of(one), 1)
        if copy.guards:
            self._of[new] = copy

    def guard_changed(self, guard: Hashable) -> None:
        """Look again at the ways round past a guard."""
        for packets, rounds in self._of.items():
            if any(guard in guards for guards in rounds.guards.values()):
                self._grown[packets] = None

    def node_changed(self, node: Any, classes: Iterable[PacketClass]) -> None:
        """Look again at the ways round through a node, which does other things with all packets."""
        for packets in classes:
            self._again.setdefault(packets, {})[node] = None

    def settle(self) -> tuple[list[Way], list[Way]]:
        """Return the loops that have come since the last time, and those that have gone."""
        # Whoever is asked may not be able to answer yet; then the rest is done the next time.
        while self._dirty:
            packets, elements = next(iter(self._dirty.items()))
            nodes = {node: None for element in elements for node in self._steps.nodes_of(element, packets)}
            self._look_again(packets, list(nodes))
            del self._dirty[packets]
        while self._again:
            packets, places = next(iter(self._again.items()))
            self._look_again(packets, list(places))
            del self._again[packets]
        for packets in self._grown:
            rounds = self._of.get(packets)
            if rounds is not None:
                self._take(rounds)
        self._grown.clear()
        if not self._before:
            return [], []
        come = [way for way, was in self._before.items() if not was and way in self._count]
        gone = [way for way, was in self._before.items() if was and way not in self._count]
        self._before.clear()
        return come, gone

    def _tell(self, way: Way, by: int) -> None:
        count = self._count.get(way, 0)
        self._before.setdefault(way, count > 0)
        self._touched[way] = None
        if count + by:
            self._count[way] = count + by
        else:
            self._count.pop(way, None)

    def _drop_mixed(self, packets: PacketClass, nodes: set[Any] | None = None) -> None:
        """Forget the ways round by which a class goes through nodes, or at all."""
        gone = [
            one
            for one in self._mixed
            if any(of is packets and (nodes is None or place[0] in nodes) for place, of in one)
        ]
        for one in gone:
            rounds = self._of[self._mixed.pop(one)]
            del rounds.guards[one]
            if one in rounds.taken:
                del rounds.taken[one]
                self._tell(way_of(one), -1)

    def _forget(self, packets: PacketClass) -> None:
        if self._mixed:
            self._drop_mixed(packets)
        rounds = self._of.pop(packets, None)
        if rounds is not None:
            for one in rounds.taken:
                self._tell(way_of(one), -1)

    def _take(self, rounds: _Rounds) -> None:
        """Work out which ways round packets of a class take."""
        taken = {one: None for one, guards in rounds.guards.items() if self._is_open(one, guards)}
        for one in taken:
            if one not in rounds.taken:
                self._tell(way_of(one), 1)
        for one in rounds.taken:
            if one not in taken:
                self._tell(way_of(one), -1)
        rounds.taken = taken

    def _is_open(self, one: Round, guards: Guards) -> bool:
        if not guards:
            return True
        packets = one[0][1].packets
        for guard in guards:
            packets = self._space.meet(packets, self._passes(guard))
            if packets == self._space.nothing:
                return False
        return True

    def _look_again(self, packets: PacketClass, nodes: list[Any]) -> None:
        searched: dict[Round, Guards] = {}
        for node in nodes:
            searched.update(self._search(packets, node))
        concerned = {*nodes}
        if self._mixed:
            self._drop_mixed(packets, concerned)
        rounds = self._of.get(packets)
        found: dict[Round, Guards] = {}
        if rounds is not None:
            found = {
                one: guards
                for one, guards in rounds.guards.items()
                if not any(state[1] is packets and state[0][0] in concerned for state in one)
            }
        for one, guards in searched.items():
            mixed = any(of is not packets for _, of in one)
            if not mixed or self._mixed.setdefault(one, packets) is packets:
                found[one] = guards
        if rounds is None:
            if not found:
                return
            rounds = self._of[packets] = _Rounds()
        rounds.guards = found
        self._take(rounds)
        if not found:
            del self._of[packets]

    # Searching.

    def _search(self, packets: PacketClass, node: Any) -> dict[Round, Guards]:
        """Return the ways round of a class through a node."""
        onward = self._steps.onward
        graph: dict[State, Sequence[Onward]] = {}
        left = [(step.place, step.packets) for step in self._steps.leaving(node, packets)]
        seen = set(left)
        here: list[State] = []
        while left:
            state = left.pop()
            place, of = state
            steps = graph[state] = onward(place, of)
            for step in steps:
                following = step[:2]
                if following not in seen:
                    seen.add(following)
                    left.append(following)
            if place[0] == node and of is packets:
                here.append(state)
        if not here:
            return {}
        search = _Search(graph)
        for state in here:
            search.rounds_through(state)
        self.partial = self.partial or search.partial
        return search.found


class _Search:
    """The simple ways round in a graph of states."""

    def __init__(self, graph: Mapping[State, Sequence[Onward]]) -> None:
        self._graph = graph
        self._back: dict[State, list[State]] = {}
        for state, steps in graph.items():
            for step in steps:
                self._back.setdefault(step[:2], []).append(state)
        self._done: set[State] = set()
        self.found: dict[Round, Guards] = {}
        self.partial = False

    def rounds_through(self, start: State) -> None:
        """Find the ways round through a state that go through none of the states asked for before."""
        leads_back = {start}
        left = [start]
        while left:
            for state in self._back.get(left.pop(), ()):
                if state not in leads_back and state not in self._done:
                    leads_back.add(state)
                    left.append(state)
        if any(step[:2] in leads_back for step in self._graph[start]):
            self._shortest(start, leads_back)
            self._all(start, leads_back)
        self._done.add(start)

    def _shortest(self, start: State, among: set[State]) -> None:
        came: dict[State, tuple[State, Guards]] = {}
        left = [start]
        for state in left:
            for place, packets, guards in self._graph[state]:
                following = place, packets
                if following == start:
                    way, all_guards = [state], list(guards)
                    while way[-1] != start:
                        before, more = came[way[-1]]
                        way.append(before)
                        all_guards += more
                    self._keep(way[::-1], all_guards)
                    return
                if following in among and following not in came:
                    came[following] = state, guards
                    left.append(following)

    def _all(self, start: State, among: set[State]) -> None:
        steps_left = MOST_STEPS
        path, on_path, guards = [start], {start}, list[Guards]()
        ahead = [iter(self._graph[start])]
        while ahead:
            step = next(ahead[-1], None)
            if step is None:
                ahead.pop()
                on_path.discard(path.pop())
                if guards:
                    guards.pop()
                continue
            following = step[:2]
            if following == start:
                self._keep(path, [one for some in (*guards, step.guards) for one in some])
                if len(self.found) >= MOST_ROUNDS:
                    self.partial = True
                    return
            elif following in among and following not in on_path:
                steps_left -= 1
                if not steps_left:
                    self.partial = True
                    return
                path.append(following)
                on_path.add(following)
                guards.append(step.guards)
                ahead.append(iter(self._graph[following]))

    def _keep(self, path: list[State], guards: Iterable[Hashable]) -> None:
        least = min(range(len(path)), key=lambda at: (path[at][0], path[at][1].number))
        self.found[(*path[least:], *path[:least])] = tuple(dict.fromkeys(guards))


def way_of(one: Round) -> Way:
    """Return the places of a way round, told from the least on."""
    places = [place for place, _ in one]
    least = places.index(min(places))
    return (*places[least:], *places[:least])
