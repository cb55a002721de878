"""A compiled network as a system for temporal logic.

The label of a transition is what it is called and the events it emitted that the formula has ears for.
Cells show events to properties only, so a property listens for them: what it heard in a step becomes
part of the label, and is taken out of the state again, so that there are no more states for it.

Whoever acts is the component in which a transition happens; what befalls a channel is the fabric's.
Faults need not happen, so fairness is for the others (`actors`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple

from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.interning import MASK, WIDTH
from penstock._explore.tables import taken
from penstock._properties.base import Property
from penstock._verify.ltl.meaning import Interpretation
from penstock._world.channels import CHANNEL_FAULTS
from penstock._world.component import Event
from penstock._world.network import GlobalState, Network
from penstock._world.signals import FABRIC
from penstock._world.transition import Record, Transition


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
