"""A system and an automaton side by side: what the searches walk through.

A node is (state, label, automaton state, flag).  The label is that of the transition which has just
happened if the formula has ears for it, else None: an event holds for one moment, and then the same
state is there without it (see `syntax`).  The automaton reads the node's letter when it leaves it.
Where nothing can happen any more the last state repeats for ever, so finite runs count as infinite ones.

Weak fairness (Choueka's flags): an actor that can act in every state from some moment on does act again
and again.  The flag counts, round after round, what has been seen since the last round: an accepting
state, then for each actor in turn a moment at which it could not act or did.  Without fairness only
the automaton counts.

The label of a transition is what it is called and the events it emitted that the formula has ears for.
Cells show events to properties only, so a property listens for them: what it heard in a step becomes
part of the label, and is taken out of the state again, so that there are no more states for it.

Whoever acts is the component in which a transition happens; what befalls a channel is the fabric's.
Faults need not happen, so fairness is for the others (`actors`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.interning import MASK, WIDTH
from penstock._explore.tables import taken
from penstock._properties.base import Property
from penstock._verify.ltl.automaton import Automaton
from penstock._verify.ltl.grounding import Grounded
from penstock._verify.ltl.meaning import Interpretation
from penstock._world.channels import CHANNEL_FAULTS
from penstock._world.component import Event
from penstock._world.network import GlobalState, Network
from penstock._world.signals import FABRIC
from penstock._world.transition import Record, Transition


class System(Protocol):
    """What is checked: states are hashable values."""

    def initial(self) -> Hashable:
        """Return the first state."""
        ...

    def successors(self, state: Any, /) -> Iterable[tuple[Any, Hashable, Hashable]]:
        """Return what can happen in a state: the label of each transition, its actor, the next state."""
        ...


class Move(NamedTuple):
    """One transition of a run."""

    label: Any
    actor: Hashable
    state: Any

    def __str__(self) -> str:
        return str(self.label)


Node = tuple[Any, Any, int, int]
"""A state, the label of an event that has just happened or None, an automaton state, and the flag."""

Step = tuple[Move | None, Node]
"""What was done (None where an event faded or a state at rest repeats) and where it leads."""

_MOST_REMEMBERED: Final = 1 << 16


class Product:
    """The runs of a system of which an automaton accepts the words."""

    def __init__(
        self,
        system: System,
        grounded: Grounded,
        automaton: Automaton,
        *,
        fair: Sequence[Hashable] = (),
        situation: Callable[[Any], Hashable] | None = None,
    ) -> None:
        self._system = system
        self._grounded = grounded
        self._listens = bool(grounded.events)
        self.automaton = automaton
        self._fair = tuple(fair)
        self._full = 1 + len(self._fair)
        self._situation = situation
        self._letters: dict[Hashable, int] = {}
        self._moves: dict[Hashable, tuple[Move, ...]] = {}
        self._reads: dict[tuple[int, int], list[int]] = {}

    def initial(self) -> Node:
        """Return the node in which all runs begin."""
        return self._system.initial(), None, self.automaton.initial, 0

    def is_accepting(self, node: Node) -> bool:
        """Tell whether runs that pass through this node for ever are those that are looked for."""
        return node[3] == self._full if self._fair else node[2] in self.automaton.accepting

    def letter(self, state: Any, label: Any = None) -> int:
        """Return the truth of the propositions in a moment."""
        if label is not None:
            return self._grounded.letter(state, label)
        key = state if self._situation is None else self._situation(state)
        found = self._letters.get(key)
        if found is None:
            found = self._letters[key] = self._grounded.letter(state)
        return found

    def reads(self, node: Node) -> list[int]:
        """Return the automaton states that a node's letter leads to."""
        state, label, place, _ = node
        key = (place, self.letter(state, label))
        found = self._reads.get(key)
        if found is None:
            found = self._reads[key] = self.automaton.successors(*key)
        return found

    def moves(self, state: Any) -> tuple[Move, ...]:
        """Return what can happen in a state of the system."""
        found = self._moves.get(state)
        if found is None:
            if len(self._moves) >= _MOST_REMEMBERED:
                self._moves.clear()
            found = self._moves[state] = tuple(Move(*move) for move in self._system.successors(state))
        return found

    def moments(self, move: Move) -> tuple[tuple[Any, Any], ...]:
        """Return the moments, states with or without an event, that a transition brings about."""
        if self._listens and self._grounded.hears(move.label):
            return (move.state, move.label), (move.state, None)
        return ((move.state, None),)

    def successors(self, node: Node) -> Iterator[Step]:
        """Yield the ways on from a node."""
        places = self.reads(node)
        if not places:
            return
        state, label, here, flag = node
        if label is not None:
            flag = self._flag(flag, here, None, None)
            for place in places:
                yield None, (state, None, place, flag)
            return
        moves = self.moves(state)
        able = {move.actor for move in moves} if self._fair else None
        if not moves:
            flag = self._flag(flag, here, None, able)
            for place in places:
                yield None, (state, None, place, flag)
        for move in moves:
            flag_after = 0 if able is None else self._flag(flag, here, move.actor, able)
            event = move.label if self._listens and self._grounded.hears(move.label) else None
            for place in places:
                yield move, (move.state, event, place, flag_after)

    def _flag(self, flag: int, place: int, actor: Hashable, able: set[Hashable] | None) -> int:
        """Return how far the round has come after a step; `able` is None where actors do not count."""
        if not self._fair:
            return 0
        flag = 0 if flag == self._full else flag
        if flag == 0 and place in self.automaton.accepting:
            flag = 1
        if able is not None and flag:
            while flag < self._full and (self._fair[flag - 1] == actor or self._fair[flag - 1] not in able):
                flag += 1
        return flag


# A compiled network as a system for temporal logic.


class Label(NamedTuple):
    """A transition and those of its events that are listened for."""

    transition: Transition
    events: tuple[Event, ...] = ()

    def __str__(self) -> str:
        return str(self.transition)


class _Ears(Property):
    """Listens for events of some kinds; its state is what the last step let it hear."""

    def __init__(self, kinds: Iterable[str]) -> None:
        self._kinds = frozenset(kinds)

    def see(self, record: Record, /) -> Hashable | None:
        return tuple(event for event in record.events if event.kind in self._kinds) or None

    def next(self, _state: Any, seen: Any, /) -> Any:
        return seen


class NetworkRuns:
    """The runs of a network, as a `System` whose states are those of its `cells`."""

    def __init__(
        self, network: Network, events: Iterable[str] = (), start: GlobalState | None = None
    ) -> None:
        self.cells = CompiledNetwork(network, [_Ears(events)], start)
        self._heard = MASK << self.cells.watching.shift
        names = self.cells.names
        self._actors = [*names, *(names[reader.cell] for reader in self.cells.readers.values())]

    @property
    def actors(self) -> tuple[str, ...]:
        """The components, without the fabric: those to whom fairness may apply."""
        return tuple(name for name in self.cells.names if name != FABRIC)

    def initial(self) -> int:
        """Return the first state."""
        return self.cells.initial()

    def successors(self, state: int) -> Iterator[tuple[Label, str, int]]:
        """Yield what can happen in a state: label, actor, next state."""
        cells, heard = self.cells, self._heard
        for shift, mask, place, rows in cells.tables[state & MASK]:
            for _, difference, ops, _, transition in rows[state >> shift & mask]:
                after = taken(state, difference, ops)
                actor = FABRIC if transition.verb in CHANNEL_FAULTS else self._actors[place]
                if after & heard:
                    yield Label(transition, cells.watching.state(after, 0)), actor, after & ~heard
                else:
                    yield Label(transition), actor, after

    def situation(self, components: Iterable[str]) -> Callable[[int], int]:
        """Return what of a state decides the propositions that look at some components only."""
        mask = sum(MASK << WIDTH * self.cells.names.index(name) for name in set(components))
        return lambda state: state & mask


class ComponentView:
    """An `Interpretation` of a network's runs, made of one that is given components' states by name.

    Events are those that components emit: their kinds are the names, their details the arguments.
    """

    def __init__(self, runs: NetworkRuns, inner: Interpretation) -> None:
        self._cells = runs.cells
        self._inner = inner
        self._last: tuple[int, dict[str, Any]] = (-1, {})

    def _states(self, state: int) -> dict[str, Any]:
        if self._last[0] != state:
            self._last = (state, self._cells.component_states(state))
        return self._last[1]

    def named(self, state: int, name: str, /) -> Any:
        """Return what a name stands for in a state."""
        return self._inner.named(self._states(state), name)

    def field(self, state: int, owner: Any, name: str, /) -> Any:
        """Return a field of a thing in a state."""
        return self._inner.field(self._states(state), owner, name)

    def happened(self, label: Label, event: str, /) -> Iterator[tuple[Any, ...]]:
        """Yield the arguments of each event of a kind."""
        return (emitted.detail for emitted in label.events if emitted.kind == event)
