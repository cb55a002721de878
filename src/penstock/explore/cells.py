"""A network compiled for searching: interned cells and memoised steps.

A *cell* is a component together with the channels that lead to it; every property is a cell too.
The values a cell takes are interned to small numbers, and a global state is one whole number with
the cells' numbers side by side, 24 bits each (SPIN calls this collapse compression):

    | violated | property … property | component … component | fabric |

What a transition does is local: it changes the cell it happens in and puts messages into the
inboxes of others.  All of it is computed once per local situation and remembered as differences
between numbers, so that taking a transition is a few additions (see `expand`).  Real code - a
controller's handler, a flow-table look-up - runs only where a cell meets a value for the first time.

Where a channel leads is for the fabric to say, so there is one set of tables per fabric state.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import partial
from typing import Any, Final, NamedTuple

from penstock.errors import PenstockError
from penstock.properties.base import UPHELD, Property, Violated, ask
from penstock.world.channels import CHANNEL_FAULTS
from penstock.world.component import Collector, Endpoint, Event, Message, Port, Step
from penstock.world.network import ComponentRaised, GlobalState, Network, Routes, is_urgent
from penstock.world.signals import FABRIC
from penstock.world.transition import ACT, InFlight, Record, Transition

WIDTH: Final = 24
MASK: Final = (1 << WIDTH) - 1

Inbox = tuple[tuple[int, tuple[int, ...]], ...]
"""The channels that hold something, each with the numbers of its messages, oldest first."""

Value = tuple[int, Inbox]
"""A cell's value: the number of its component's state, and its inbox."""


Projection = Callable[[str, Any, Mapping[Endpoint, tuple[Message, ...]]], Hashable]
"""What counts of a component and its inbox when states are compared."""


class Full(Exception):
    """A cell took more values than its 24 bits can number."""


class Op(dict[int, int]):
    """What a transition does to another cell: from the cell's number to the difference it makes.

    A number that was not met before is worked out by `work`, once.
    """

    __slots__ = ("shift", "work")

    def __init__(self, shift: int, work: Callable[[int], int]) -> None:
        super().__init__()
        self.shift = shift
        self.work = work

    def __missing__(self, number: int) -> int:
        difference = self[number] = self.work(number)
        return difference


class Entry(NamedTuple):
    """One transition of a cell in one local situation, ready to be added to a state.

    `bit` identifies it to sleep sets; 0 where it must never sleep.  `seen` says what it shows the
    properties; 0 where nothing.
    """

    bit: int
    difference: int
    ops: tuple[tuple[int, Op], ...]
    seen: int
    transition: Transition


class Rows(dict[int, tuple[Entry, ...]]):
    """The transitions of one cell under one fabric state, by the cell's number."""

    __slots__ = ("work",)

    def __init__(self, work: Callable[[int], tuple[Entry, ...]]) -> None:
        super().__init__()
        self.work = work

    def __missing__(self, number: int) -> tuple[Entry, ...]:
        entries = self[number] = self.work(number)
        return entries


class _Local(NamedTuple):
    """What one action or delivery did to its component, before routing."""

    state: int
    sends: tuple[tuple[int, int], ...]
    events: tuple[Event, ...]
    cleared: tuple[int, ...]


class _Interned:
    """Values numbered in the order in which they were met."""

    __slots__ = ("numbers", "values")

    def __init__(self) -> None:
        self.numbers: dict[Any, int] = {}
        self.values: list[Any] = []

    def number(self, value: Any) -> int:
        number = self.numbers.get(value)
        if number is None:
            number = self.numbers[value] = len(self.values)
            self.values.append(value)
            if number > MASK:
                raise Full
        return number


class Cells:
    """The compiled form of a network and the properties that watch it."""

    def __init__(
        self, network: Network, properties: Sequence[Property] = (), start: GlobalState | None = None
    ) -> None:
        self.network = network
        self.properties = _own(properties)
        self._start = start or network.initial()
        self.fabric_place = network.places[FABRIC]
        order = [self.fabric_place, *(p for p in range(len(network.components)) if p != self.fabric_place)]
        self.order = order
        """The components' places in the order of their cells; the fabric comes first."""
        self._cell_of = {place: cell for cell, place in enumerate(order)}
        components = [network.components[place] for place in order]
        self._collectors = [made if isinstance(made, Collector) else None for made in components]
        self.collects = any(self._collectors)
        """Whether a component keeps its own queues; then sends to it need not commute."""
        self._states = [_Interned() for _ in order]
        self._cells = [_Interned() for _ in order]
        self._messages = _Interned()
        self._monitors = [_Interned() for _ in properties]
        self._seen = _Interned()
        self._seen.number(())
        self._bits: dict[tuple[int, str], int] = {}
        self.cell_bits = [0] * len(order)
        """Per cell, the bits of all its transitions met so far."""
        self._acted: dict[tuple[int, int, str], _Local] = {}
        self._received: dict[tuple[int, int, Any, int], _Local] = {}
        self._routes: dict[int, Routes] = {}
        self._appending: dict[tuple[int, int, int, Port], Op] = {}
        self._clearing: dict[tuple[int, int], Op] = {}
        self._watching: dict[tuple[int, Hashable], Op] = {}
        self._commuting: dict[tuple[int, int, int], bool] = {}
        self.exercised = [0] * len(properties)
        """Per property, how many different situations it has judged."""
        self.monitor_shift = WIDTH * len(order)
        self.violated_shift = self.monitor_shift + WIDTH * len(properties)
        self.violated = 1 << self.violated_shift
        """A state from here on has a broken property in it."""
        self.tables: dict[int, tuple[tuple[int, int, Rows], ...]] = _Tables(self._table)

    # States.

    def initial(self) -> int:
        """Return the number of the network's first state."""
        first = self._start
        fabric: Any = first.states[self.fabric_place]
        routes = self.network.routes(fabric)
        inboxes: list[list[tuple[int, tuple[int, ...]]]] = [[] for _ in self.order]
        for channel, queue in enumerate(first.queues):
            route = routes[channel]
            if queue and route is not None:
                numbers = tuple(self._messages.number(message) for message in queue)
                inboxes[self._cell_of[route[0]]].append((channel, numbers))
        state = 0
        for cell, place in enumerate(self.order):
            value = (self._states[cell].number(first.states[place]), tuple(inboxes[cell]))
            state |= self._cells[cell].number(value) << WIDTH * cell
        for index, watcher in enumerate(self.properties):
            number = self._monitors[index].number(ask(watcher, "start", self.network))
            state |= number << self.monitor_shift + WIDTH * index
        return state

    def component_states(self, state: int) -> dict[str, Any]:
        """Return the states of the components by name."""
        found = {}
        for cell, place in enumerate(self.order):
            number, _ = self._cells[cell].values[state >> WIDTH * cell & MASK]
            found[self.network.names[place]] = self._states[cell].values[number]
        return found

    def inbox(self, state: int, cell: int) -> tuple[tuple[Endpoint, tuple[Message, ...]], ...]:
        """Return what waits for a cell, by channel."""
        _, inbox = self._cells[cell].values[state >> WIDTH * cell & MASK]
        messages = self._messages.values
        return tuple(
            (self.network.channels[channel], tuple(messages[number] for number in numbers))
            for channel, numbers in inbox
        )

    def monitor_state(self, state: int, index: int) -> Any:
        """Return the state of a property, or the `Violated` that broke it."""
        return self._monitors[index].values[state >> self.monitor_shift + WIDTH * index & MASK]

    def projection(self, project: Projection) -> Callable[[int], int]:
        """Return the key of states that are the same wherever `project` makes no difference.

        `project` is given a component's name, its state and the channels that hold something for it,
        and returns what counts.
        """
        interned = [_Interned() for _ in self.order]
        known: list[dict[int, int]] = [{} for _ in self.order]
        names = [self.network.names[place] for place in self.order]

        def part(cell: int, number: int) -> int:
            state_number, _ = self._cells[cell].values[number]
            state = self._states[cell].values[state_number]
            counted = project(names[cell], state, dict(self.inbox(number << WIDTH * cell, cell)))
            return interned[cell].number(counted)

        def key(state: int) -> int:
            total = 0
            for cell, memo in enumerate(known):
                number = state >> WIDTH * cell & MASK
                found = memo.get(number)
                if found is None:
                    found = memo[number] = part(cell, number)
                total |= found << WIDTH * cell
            return total | state >> self.monitor_shift << self.monitor_shift

        return key

    def size(self) -> dict[str, int]:
        """Return how many values each cell has taken, by name."""
        names = [self.network.names[place] for place in self.order]
        return dict(zip(names, (len(cell.values) for cell in self._cells), strict=True))

    def steps(self, state: int) -> Iterator[tuple[int, Entry]]:
        """Yield the successors of a state with the transitions that lead to them, in order."""
        for shift, _, rows in self.tables[state & MASK]:
            for entry in rows[state >> shift & MASK]:
                after = state + entry.difference
                for at, op in entry.ops:
                    after += op[after >> at & MASK]
                yield after, entry

    # Tables.

    def _table(self, fabric: int) -> tuple[tuple[int, int, Rows], ...]:
        """Return for every cell its shift, its place in the order, and its transitions."""
        return tuple(
            (WIDTH * cell, cell, Rows(partial(self._entries, fabric, cell)))
            for cell in range(len(self.order))
        )

    def _entries(self, fabric: int, cell: int, number: int) -> tuple[Entry, ...]:
        """Return what can happen in a cell, given the fabric's cell (by number) and its own value."""
        if cell == 0:
            return tuple(self._fabric_entries(number))
        state_number, inbox = self._cells[cell].values[number]
        routes = self._routes_of(fabric)
        name = self.network.names[self.order[cell]]
        entries = []
        urgent = self._urgent(inbox)
        for position, (channel, numbers) in enumerate(inbox):
            route = routes[channel]
            assert route is not None
            if urgent and route[1] != FABRIC:
                continue
            local = self._receive(cell, state_number, route[1], numbers[0], channel)
            rest = _replaced(inbox, position, numbers[1:])
            transition = self.network.delivery(channel)
            at = Endpoint(name, route[1])
            message = self._messages.values[numbers[0]]
            entries.append(self._entry(cell, number, local, rest, transition, routes, at, message))
        state = self._states[cell].values[state_number]
        for action in () if urgent else self._actions(cell, state):
            local = self._act(cell, state_number, action)
            entries.append(self._entry(cell, number, local, inbox, Transition(ACT, name, action), routes))
        entries += self._channel_faults(fabric, cell, number)
        return tuple(entries)

    def _urgent(self, inbox: Inbox) -> bool:
        """Tell whether a cell must take in a signal of the fabric before anything else."""
        return any(
            self.network.channels[channel].node == FABRIC
            and is_urgent(tuple(self._messages.values[number] for number in numbers))
            for channel, numbers in inbox
        )

    def _actions(self, cell: int, state: Any) -> tuple[str, ...]:
        place = self.order[cell]
        name = self.network.names[place]
        try:
            return self.network.components[place].actions(state)
        except Exception as error:
            raise ComponentRaised(name, Transition(ACT, name, "…"), error) from error

    def _routes_of(self, fabric: int) -> Routes:
        state_number, _ = self._cells[0].values[fabric]
        found = self._routes.get(state_number)
        if found is None:
            found = self._routes[state_number] = self.network.routes(self._states[0].values[state_number])
        return found

    def _entry(
        self,
        cell: int,
        number: int,
        local: _Local,
        inbox: Inbox,
        transition: Transition,
        routes: Routes,
        at: Endpoint | None = None,
        message: Message | None = None,
    ) -> Entry:
        """Turn what happened in a cell into differences between numbers."""
        own: dict[int, list[int]] = {}
        ops: list[tuple[int, Op]] = []
        sent, lost = [], []
        for channel, sending in local.sends:
            flight = InFlight(self.network.channels[channel], self._messages.values[sending])
            route = routes[channel]
            if route is None:
                lost.append(flight)
                continue
            sent.append(flight)
            target = self._cell_of[route[0]]
            if target == cell:
                own.setdefault(channel, []).append(sending)
            else:
                ops.append((WIDTH * target, self._append_op(target, channel, sending, route[1])))
        for channel, numbers in own.items():
            inbox = _appended(inbox, channel, tuple(numbers))
        after = self._number(cell, local.state, inbox, own, routes)
        events = local.events
        if lost:
            events = (*events, *(Event("lost", flight) for flight in lost))
        name = self.network.names[self.order[cell]]
        record = Record(transition, name, at, message, tuple(sent), events, tuple(lost))
        watching, seen = self._watch(record)
        bit = self._bit(cell, transition)
        return Entry(bit, after - number << WIDTH * cell, (*ops, *watching), seen, transition)

    def _bit(self, cell: int, transition: Transition) -> int:
        key = (cell, str(transition))
        bit = self._bits.get(key)
        if bit is None:
            bit = self._bits[key] = 1 << len(self._bits)
            self.cell_bits[cell] |= bit
        return bit

    # Steps of components, each computed once.

    def _act(self, cell: int, state: int, action: str) -> _Local:
        key = (cell, state, action)
        local = self._acted.get(key)
        if local is None:
            place = self.order[cell]
            name = self.network.names[place]
            transition = Transition(ACT, name, action)
            try:
                step = self.network.components[place].act(self._states[cell].values[state], action)
            except Exception as error:
                raise ComponentRaised(name, transition, error) from error
            local = self._acted[key] = self._localised(cell, step, transition)
        return local

    def _receive(self, cell: int, state: int, port: Any, message: int, channel: int) -> _Local:
        key = (cell, state, port, message)
        local = self._received.get(key)
        if local is None:
            place = self.order[cell]
            transition = self.network.delivery(channel)
            component = self.network.components[place]
            try:
                step = component.receive(
                    self._states[cell].values[state], port, self._messages.values[message]
                )
            except Exception as error:
                raise ComponentRaised(self.network.names[place], transition, error) from error
            local = self._received[key] = self._localised(cell, step, transition)
        return local

    def _localised(self, cell: int, step: Step, transition: Transition) -> _Local:
        outlets, name = self.network.outlets, self.network.names[self.order[cell]]
        sends = []
        for port, message in step.sends:
            channel = outlets.get((name, port))
            if channel is None:
                raise ComponentRaised(name, transition, LookupError(f"it has no port {port} to send on"))
            sends.append((channel, self._messages.number(message)))
        cleared = tuple(outlets[end] for end in step.cleared)
        return _Local(self._states[cell].number(step.state), tuple(sends), step.events, cleared)

    # Effects on other cells.

    def _append_op(self, cell: int, channel: int, message: int, port: Port) -> Op:
        key = (cell, channel, message, port)
        op = self._appending.get(key)
        if op is None:
            shift = WIDTH * cell
            interned = self._cells[cell]

            def work(number: int) -> int:
                state, inbox = interned.values[number]
                inbox = _appended(inbox, channel, (message,))
                state, inbox = self._collected(cell, state, inbox, channel, port)
                return interned.number((state, inbox)) - number << shift

            op = self._appending[key] = Op(shift, work)
        return op

    def _number(self, cell: int, state: int, inbox: Inbox, filled: Iterable[int], routes: Routes) -> int:
        """Return the number of a cell's value after some of its own channels were filled."""
        for channel in filled:
            route = routes[channel]
            assert route is not None
            state, inbox = self._collected(cell, state, inbox, channel, route[1])
        return self._cells[cell].number((state, inbox))

    def _collected(self, cell: int, state: int, inbox: Inbox, channel: int, port: Port) -> tuple[int, Inbox]:
        """Let a collector take what it wants out of one of its channels."""
        collector = self._collectors[cell]
        if collector is None:
            return state, inbox
        position = next(index for index, item in enumerate(inbox) if item[0] == channel)
        numbers = inbox[position][1]
        while numbers:
            after = collector.collect(
                self._states[cell].values[state], port, self._messages.values[numbers[0]]
            )
            if after is None:
                break
            state, numbers = self._states[cell].number(after), numbers[1:]
        return state, _replaced(inbox, position, numbers)

    def _clear_op(self, cell: int, channel: int) -> Op:
        key = (cell, channel)
        op = self._clearing.get(key)
        if op is None:
            shift = WIDTH * cell
            interned = self._cells[cell]

            def work(number: int) -> int:
                state, inbox = interned.values[number]
                kept = tuple(item for item in inbox if item[0] != channel)
                return interned.number((state, kept)) - number << shift

            op = self._clearing[key] = Op(shift, work)
        return op

    # Properties.

    def _watch(self, record: Record) -> tuple[list[tuple[int, Op]], int]:
        """Return what a step shows the properties: how their cells change, and a number for it."""
        ops, shown = [], []
        for index, watcher in enumerate(self.properties):
            seen = ask(watcher, "see", record)
            if seen is UPHELD:
                self.exercised[index] += 1
            elif seen is not None:
                ops.append((self.monitor_shift + WIDTH * index, self._watch_op(index, seen)))
                shown.append((index, seen))
        return ops, self._seen.number(tuple(shown))

    def _watch_op(self, index: int, seen: Hashable) -> Op:
        key = (index, seen)
        op = self._watching.get(key)
        if op is None:
            shift = self.monitor_shift + WIDTH * index
            interned, watcher = self._monitors[index], self.properties[index]

            def work(number: int) -> int:
                before, broken = interned.values[number], 0
                try:
                    after: Any = ask(watcher, "next", before, seen)
                    judged = ask(watcher, "judges", before, seen)
                except Violated as violated:
                    after, broken, judged = _Broken(str(violated)), self.violated, True
                self.exercised[index] += bool(judged)
                return (interned.number(after) - number << shift) + broken

            op = self._watching[key] = Op(shift, work)
        return op

    def commute(self, state: int, one: int, other: int) -> bool:
        """Tell whether the properties come to the same whichever of two sights they have first."""
        watching = state >> self.monitor_shift << self.monitor_shift
        key = (watching, one, other)
        known = self._commuting.get(key)
        if known is None:
            known = self._commuting[key] = self._tried(watching, one, other)
        return known

    def _tried(self, watching: int, one: int, other: int) -> bool:
        after_one, after_other = self._shown(watching, one), self._shown(watching, other)
        if after_one >= self.violated or after_other >= self.violated:
            return False
        return self._shown(after_one, other) == self._shown(after_other, one)

    def _shown(self, state: int, seen: int) -> int:
        for index, sight in self._seen.values[seen]:
            shift = self.monitor_shift + WIDTH * index
            state += self._watch_op(index, sight)[state >> shift & MASK]
        return state

    def broken(self, state: int) -> list[tuple[Property, str]]:
        """Return the properties that a state breaks, each with its sentence."""
        found = []
        for index, watcher in enumerate(self.properties):
            value = self.monitor_state(state, index)
            if isinstance(value, _Broken):
                found.append((watcher, value.message))
        return found

    # The fabric: its own actions, and what befalls channels.  None of these may sleep.

    def _fabric_entries(self, number: int) -> Iterator[Entry]:
        state_number, _ = self._cells[0].values[number]
        state = self._states[0].values[state_number]
        for action in self.network.fabric.actions(state):
            yield self._fabric_entry(number, state_number, action)

    def _fabric_entry(self, number: int, state_number: int, action: str) -> Entry:
        local = self._act(0, state_number, action)
        before = self._routes_of(number)
        after_number = self._cells[0].number((local.state, ()))
        routes = self._routes_of(after_number)
        ops: list[tuple[int, Op]] = []
        for channel in local.cleared:
            route = before[channel]
            if route is not None:
                cell = self._cell_of[route[0]]
                ops.append((WIDTH * cell, self._clear_op(cell, channel)))
        sent = []
        for channel, sending in local.sends:
            route = routes[channel]
            assert route is not None
            cell = self._cell_of[route[0]]
            ops.append((WIDTH * cell, self._append_op(cell, channel, sending, route[1])))
            sent.append(InFlight(self.network.channels[channel], self._messages.values[sending]))
        transition = Transition(ACT, FABRIC, action)
        record = Record(transition, FABRIC, None, None, tuple(sent), local.events, ())
        watching, seen = self._watch(record)
        return Entry(0, after_number - number, (*ops, *watching), seen, transition)

    def _channel_faults(self, fabric: int, cell: int, number: int) -> list[Entry]:
        fabric_state_number, _ = self._cells[0].values[fabric]
        fabric_state = self._states[0].values[fabric_state_number]
        state_number, inbox = self._cells[cell].values[number]
        messages = self._messages.values
        entries = []
        for position, (channel, numbers) in enumerate(inbox):
            queue = tuple(messages[n] for n in numbers)
            for transition in self.network.channel_faults(fabric_state, channel, queue):
                fault = transition.verb
                end = self.network.channels[channel]
                lost = (InFlight(end, queue[0]),) if fault == "drop" else ()
                event = Event(fault, (end, queue[0]))
                record = Record(transition, FABRIC, None, None, (), (event,), lost)
                watching, seen = self._watch(record)
                spent = self._states[0].number(self.network.fabric.suffered(fabric_state, fault))
                fabric_after = self._cells[0].number((spent, ()))
                changed = tuple(self._messages.number(m) for m in CHANNEL_FAULTS[fault](queue))
                after = self._cells[cell].number((state_number, _replaced(inbox, position, changed)))
                difference = (after - number << WIDTH * cell) + fabric_after - fabric
                entries.append(Entry(0, difference, tuple(watching), seen, transition))
        return entries


def _own(properties: Sequence[Property]) -> tuple[Property, ...]:
    """Return copies of the properties, which may keep in them what they learn of this network."""
    names = [watcher.name for watcher in properties]
    for name in names:
        if names.count(name) > 1:
            raise PenstockError(f"Two properties are called {name}: leave one out, or give it another name.")
    return tuple(copy(watcher) for watcher in properties)


class _Broken:
    """The state of a property that has been broken: the sentence of how."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Broken) and self.message == other.message

    def __hash__(self) -> int:
        return hash(self.message)


class _Tables(dict[int, tuple[tuple[int, int, Rows], ...]]):
    """The tables of each fabric state, made when it is met."""

    __slots__ = ("work",)

    def __init__(self, work: Callable[[int], tuple[tuple[int, int, Rows], ...]]) -> None:
        super().__init__()
        self.work = work

    def __missing__(self, fabric: int) -> tuple[tuple[int, int, Rows], ...]:
        made = self[fabric] = self.work(fabric)
        return made


def _appended(inbox: Inbox, channel: int, messages: tuple[int, ...]) -> Inbox:
    """Return an inbox with messages put at the end of one of its channels."""
    for position, (known, numbers) in enumerate(inbox):
        if known == channel:
            return (*inbox[:position], (channel, numbers + messages), *inbox[position + 1 :])
        if known > channel:
            return (*inbox[:position], (channel, messages), *inbox[position:])
    return (*inbox, (channel, messages))


def _replaced(inbox: Inbox, position: int, messages: tuple[int, ...]) -> Inbox:
    """Return an inbox with the content of one of its channels replaced; empty ones are not kept."""
    if messages:
        return (*inbox[:position], (inbox[position][0], messages), *inbox[position + 1 :])
    return inbox[:position] + inbox[position + 1 :]
