"""A network compiled for searching: interned cells and memoised steps.

A *cell* is a component together with the channels that lead to it; every property is a cell too.
The values a cell takes are interned to small numbers, and a global state is one whole number with
the cells' numbers side by side, 24 bits each (SPIN calls this collapse compression):

    | violated | property … property | component … component | fabric |

What a transition does is local: it changes the cell it happens in and puts messages into the
inboxes of others.  All of it is computed once per local situation and remembered as differences
between numbers, so that taking a transition is a few additions (see `expand`).  Real code - a
controller's handler, a flow-table look-up - runs only where a cell meets a value for the first time.

Where a channel leads is for the fabric to say, so there is one set of tables per fabric state.  A
table's rows are found by a cell's own number.  Only what an aware component may do depends on more:
its actions are a group apart, found by the numbers of its own cell and of those it looks at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from penstock._explore.fabric_steps import FabricSteps
from penstock._explore.inboxes import Inbox, Inboxes, Sent, appended, replaced
from penstock._explore.interning import MASK, WIDTH
from penstock._explore.local_steps import Local, LocalSteps
from penstock._explore.projection import Projection, projected
from penstock._explore.property_cells import Watching
from penstock._explore.reexecution import Remembered
from penstock._explore.tables import Entry, Group, Rows, Tables, taken
from penstock._properties.base import Property
from penstock._world.component import Endpoint, Event, Message
from penstock._world.network import GlobalState, Network, Routes
from penstock._world.signals import FABRIC
from penstock._world.transition import ACT, InFlight, Record, Transition


@dataclass(slots=True)
class Looker:
    """An aware cell, the groups of the cells it looks at, and the bits of its actions met so far."""

    cell: int
    reads: tuple[int, ...]
    groups: tuple[int, ...]
    bits: int = 0

    @property
    def mask(self) -> int:
        """The part of a state that decides what the cell may do by itself."""
        return sum(MASK << WIDTH * cell for cell in {self.cell, *self.reads})


class CompiledNetwork:
    """The compiled form of a network and the properties that watch it."""

    def __init__(
        self, network: Network, properties: Sequence[Property] = (), start: GlobalState | None = None
    ) -> None:
        self.network = network
        self._start = start or network.initial()
        self._local = LocalSteps(network)
        self._inboxes = Inboxes(self._local)
        self.names = self._local.names
        """The components in the order of their cells; the fabric comes first."""
        self.watching = Watching(properties, WIDTH * len(self.names))
        self._fabric = FabricSteps(self._local, self._inboxes, self.watching)
        self.readers = _lookers(self._local)
        """The groups of aware cells' actions; they come after all cells' own."""
        self.bits = [0] * (len(self.names) + len(self.readers))
        """Per group, the bits of all transitions of its cell met so far."""
        self._bits: dict[tuple[int, str], int] = {}
        self._offered: dict[tuple[int, int, int, str], Entry] = {}
        """The actions of aware cells met so far: the same one is offered in many situations."""
        self.tables: dict[int, tuple[Group, ...]] = Tables(self._table)

    @property
    def properties(self) -> tuple[Property, ...]:
        """The properties, as copies of those given."""
        return self.watching.properties

    @property
    def violated(self) -> int:
        """The number from which on a state has a broken property in it."""
        return self.watching.violated

    @property
    def collects(self) -> bool:
        """Whether a component keeps its own queues; then sends to it need not commute."""
        return self._inboxes.collects

    # States.

    def initial(self) -> int:
        """Return the number of the network's first state."""
        first, local = self._start, self._local
        fabric: Any = first.states[self.network.places[FABRIC]]
        routes = self.network.routes(fabric)
        inboxes: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in self.names]
        for channel, queue in enumerate(first.queues):
            route = routes[channel]
            if queue and route is not None:
                numbers = tuple(local.messages.number(message) for message in queue)
                inboxes[local.cell_of[route[0]]].append((channel, numbers))
        state = self.watching.start(self.network)
        for cell, place in enumerate(local.order):
            value = (local.states[cell].number(first.states[place]), tuple(inboxes[cell]))
            state |= self._inboxes.values[cell].number(value) << WIDTH * cell
        return state

    def component_states(self, state: int) -> dict[str, Any]:
        """Return the states of the components by name."""
        return {name: self._inboxes.state_in(state, cell) for cell, name in enumerate(self.names)}

    def waiting(self, state: int, cell: int) -> tuple[tuple[Endpoint, tuple[Message, ...]], ...]:
        """Return what is on its way to a component, given the place of its cell, by channel."""
        return self._inboxes.waiting_in(state, cell)

    def value(self, state: int, cell: int) -> tuple[int, Inbox]:
        """Return a cell's value in a state: the number of its component's state, and what waits for it."""
        value: tuple[int, Inbox] = self._inboxes.values[cell].values[state >> WIDTH * cell & MASK]
        return value

    def leading_to(self, fabric: int, cell: int) -> frozenset[int]:
        """Return the channels that lead to a cell under a fabric state, the fabric's own signals apart."""
        place, signals = self._local.order[cell], self.network.outlets[FABRIC, self.names[cell]]
        routes = enumerate(self._fabric.routes(fabric))
        return frozenset(c for c, route in routes if route and route[0] == place and c != signals)

    def is_settled(self, fabric: int) -> bool:
        """Tell whether a fabric state is the last: nothing can fail, move or befall a channel any more."""
        return self._fabric.is_settled(fabric)

    def projection(self, project: Projection) -> Callable[[int], int]:
        """Return the key of states that are the same wherever `project` makes no difference."""
        return projected(project, self.names, self._inboxes)

    def remembered(self) -> list[Remembered]:
        """Return the steps of programs under test that the search remembers."""
        return self._local.remembered()

    def has_noted(self, kind: str) -> bool:
        """Tell whether a component noted an event of a kind in any step so far."""
        return self._local.has_noted(kind)

    def size(self) -> dict[str, int]:
        """Return how many values each cell has taken, by name."""
        return dict(zip(self.names, (len(cell.values) for cell in self._inboxes.values), strict=True))

    def steps(self, state: int) -> Iterator[tuple[int, int, Transition]]:
        """Yield the successors of a state, each with the transition that leads to it and its bit."""
        for shift, mask, _, rows in self.tables[state & MASK]:
            for bit, difference, ops, _, transition in rows[state >> shift & mask]:
                yield taken(state, difference, ops), bit, transition

    # Tables.

    def _table(self, fabric: int) -> tuple[Group, ...]:
        """Return the groups of transitions under a fabric state, each at its place."""
        cells = (
            (WIDTH * cell, MASK, cell, Rows(partial(self._entries, fabric, cell)))
            for cell in range(len(self.names))
        )
        aware = (
            (0, reader.mask, place, self._aware_rows(fabric, reader))
            for place, reader in self.readers.items()
        )
        return (*cells, *aware)

    def _entries(self, fabric: int, cell: int, number: int) -> tuple[Entry, ...]:
        """Return what can happen in a cell, given the fabric's cell (by number) and its own value."""
        if cell == 0:
            return tuple(self._fabric.own(number))
        state_number, inbox = self._inboxes.values[cell].values[number]
        routes = self._fabric.routes(fabric)
        entries = []
        urgent = self._inboxes.is_urgent(inbox)
        for position, (channel, numbers) in enumerate(inbox):
            route = routes[channel]
            assert route is not None
            if urgent and route[1] != FABRIC:
                continue
            local = self._local.receive(cell, state_number, route[1], numbers[0], channel)
            rest = replaced(inbox, position, numbers[1:])
            at = Endpoint(self.names[cell], route[1])
            message = self._local.messages.values[numbers[0]]
            transition = self.network.delivery(channel)
            entries.append(self._entry(cell, number, local, rest, transition, routes, at, message))
        entries += self.acts(fabric, cell, number)
        entries += self._fabric.channel_faults(fabric, cell, number)
        return tuple(entries)

    def acts(
        self, fabric: int, cell: int, number: int, wanted: Callable[[str], bool] | None = None
    ) -> Iterator[Entry]:
        """Yield what a component that is not aware may do by itself, as far as it is wanted."""
        state_number, inbox = self._inboxes.values[cell].values[number]
        if cell in self._local.readers or self._inboxes.is_urgent(inbox):
            return
        for action in self._local.actions(cell, state_number):
            if wanted is None or wanted(action):
                yield self._action(fabric, cell, number, action)

    def _aware_rows(self, fabric: int, reader: Looker) -> Rows:
        """Return what an aware cell may do by itself, by the part of a state that decides it.

        There are many such parts, since they say what waits for the others; so each is taken down to
        the cell's own number and the numbers of the others' states, and no more is done for it.
        """
        known: dict[tuple[int, ...], tuple[Entry, ...]] = {}
        own_shift = WIDTH * reader.cell
        others = [(WIDTH * other, self._inboxes.values[other].values) for other in reader.reads]

        def work(part: int) -> tuple[Entry, ...]:
            key = (part >> own_shift & MASK, *[values[part >> shift & MASK][0] for shift, values in others])
            entries = known.get(key)
            if entries is None:
                entries = known[key] = self._aware_entries(fabric, reader, key[0], key[1:])
            return entries

        return Rows(work)

    def _aware_entries(
        self, fabric: int, reader: Looker, number: int, seen: tuple[int, ...]
    ) -> tuple[Entry, ...]:
        """Return what an aware cell may do by itself, given its value and the states of the others."""
        state_number, inbox = self._inboxes.values[reader.cell].values[number]
        if self._inboxes.is_urgent(inbox):
            return ()
        actions = self._local.actions_given(reader.cell, state_number, seen)
        entries = []
        for action in actions:
            key = (fabric, reader.cell, number, action)
            entry = self._offered.get(key)
            if entry is None:
                entry = self._offered[key] = self._action(fabric, reader.cell, number, action)
                reader.bits |= entry[0]
            entries.append(entry)
        return tuple(entries)

    def _action(self, fabric: int, cell: int, number: int, action: str) -> Entry:
        state_number, inbox = self._inboxes.values[cell].values[number]
        local = self._local.act(cell, state_number, action)
        transition = Transition(ACT, self.names[cell], action)
        return self._entry(cell, number, local, inbox, transition, self._fabric.routes(fabric))

    def _entry(
        self,
        cell: int,
        number: int,
        local: Local,
        inbox: Inbox,
        transition: Transition,
        routes: Routes,
        at: Endpoint | None = None,
        message: Message | None = None,
    ) -> Entry:
        """Turn what happened in a cell into differences between numbers."""
        own: dict[int, list[int]] = {}
        onward: list[Sent] = []
        sent, lost = [], []
        for channel, sending in local.sends:
            flight = InFlight(self.network.channels[channel], self._local.messages.values[sending])
            route = routes[channel]
            if route is None:
                lost.append(flight)
                continue
            sent.append(flight)
            target = self._local.cell_of[route[0]]
            if target == cell:
                own.setdefault(channel, []).append(sending)
            else:
                onward.append((target, channel, sending, route[1]))
        for channel, numbers in own.items():
            inbox = appended(inbox, channel, tuple(numbers))
        after = self._inboxes.number(cell, local.state, inbox, own, routes)
        events = local.events
        if lost:
            events = (*events, *(Event("lost", flight) for flight in lost))
        record = Record(transition, self.names[cell], at, message, tuple(sent), events, tuple(lost))
        watching, seen = self.watching.watch(record, self._local.states[cell].values[local.state])
        bit = self._bit(cell, transition)
        ops = self._inboxes.append_ops(onward)
        return (bit, after - number << WIDTH * cell, (*ops, *watching), seen, transition)

    def _bit(self, cell: int, transition: Transition) -> int:
        key = (cell, str(transition))
        bit = self._bits.get(key)
        if bit is None:
            bit = self._bits[key] = 1 << len(self._bits)
            self.bits[cell] |= bit
            for place, reader in self.readers.items():
                if reader.cell == cell:
                    self.bits[place] |= bit
        return bit


def _lookers(local: LocalSteps) -> dict[int, Looker]:
    """Return the aware cells by the place of their actions' group."""
    place_of = {cell: place for place, cell in enumerate(local.readers, len(local.names))}
    found = {}
    for cell, place in place_of.items():
        _, reads = local.readers[cell]
        others = [other for other in reads if other not in (0, cell)]
        actions = [place_of[other] for other in others if other in place_of]
        found[place] = Looker(cell, reads, (*others, *actions))
    return found
