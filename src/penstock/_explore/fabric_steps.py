"""What the fabric does in a compiled network: its own actions, and what befalls channels.

Both may change anybody's routes, or what may still befall other channels, so none of them may sleep.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock._explore.inboxes import Inboxes, Sent, replaced
from penstock._explore.interning import WIDTH
from penstock._explore.local_steps import LocalSteps
from penstock._explore.property_cells import Watching
from penstock._explore.tables import Entry, Op
from penstock._world.channels import CHANNEL_FAULTS
from penstock._world.component import Event
from penstock._world.fabric import FabricState
from penstock._world.faults import CHANNEL_BUDGETS
from penstock._world.network import Routes
from penstock._world.signals import FABRIC
from penstock._world.transition import ACT, InFlight, Record, Transition


class FabricSteps:
    """The transitions of the fabric, whose cell is the first and has no inbox."""

    def __init__(self, local: LocalSteps, inboxes: Inboxes, watching: Watching) -> None:
        self._network = local.network
        self._local = local
        self._cells = inboxes.values
        self._inboxes = inboxes
        self._watching = watching
        self._routes: dict[int, Routes] = {}

    def routes(self, fabric: int) -> Routes:
        """Return where each channel leads, given the number of the fabric's cell."""
        state_number, _ = self._cells[0].values[fabric]
        found = self._routes.get(state_number)
        if found is None:
            found = self._routes[state_number] = self._network.routes(self._state(fabric))
        return found

    def is_settled(self, fabric: int) -> bool:
        """Tell whether nothing can fail, move or befall a channel any more."""
        state = self._state(fabric)
        budgets = (getattr(state.budget, kind) for kind in CHANNEL_BUDGETS.values())
        return not any(budgets) and not self._network.fabric.actions(state)

    def _state(self, fabric: int) -> FabricState:
        state: FabricState = self._inboxes.state_in(fabric, 0)
        return state

    def own(self, number: int) -> Iterator[Entry]:
        """Yield the fabric's own actions."""
        state_number, _ = self._cells[0].values[number]
        for action in self._network.fabric.actions(self._state(number)):
            yield self._entry(number, state_number, action)

    def _entry(self, number: int, state_number: int, action: str) -> Entry:
        local = self._local.act(0, state_number, action)
        before = self.routes(number)
        after_number = self._cells[0].number((local.state, ()))
        routes = self.routes(after_number)
        ops: list[tuple[int, Op]] = []
        for channel in local.cleared:
            route = before[channel]
            if route is not None:
                cell = self._local.cell_of[route[0]]
                ops.append((WIDTH * cell, self._inboxes.clear_op(cell, channel)))
        sent = []
        onward: list[Sent] = []
        for channel, sending in local.sends:
            route = routes[channel]
            assert route is not None
            onward.append((self._local.cell_of[route[0]], channel, sending, route[1]))
            sent.append(InFlight(self._network.channels[channel], self._local.messages.values[sending]))
        ops += self._inboxes.append_ops(onward)
        transition = Transition(ACT, FABRIC, action)
        record = Record(transition, FABRIC, None, None, tuple(sent), local.events, ())
        watching, seen = self._watching.watch(record)
        return (0, after_number - number, (*ops, *watching), seen, transition)

    def channel_faults(self, fabric: int, cell: int, number: int) -> Iterator[Entry]:
        """Yield what may befall the channels that lead to a cell, given its number and the fabric's."""
        fabric_state = self._state(fabric)
        state_number, inbox = self._cells[cell].values[number]
        messages = self._local.messages
        for position, (channel, numbers) in enumerate(inbox):
            queue = tuple(messages.values[n] for n in numbers)
            for transition in self._network.channel_faults(fabric_state, channel, queue):
                fault = transition.verb
                end = self._network.channels[channel]
                lost = (InFlight(end, queue[0]),) if fault == "drop" else ()
                event = Event(fault, (end, queue[0]))
                record = Record(transition, FABRIC, None, None, (), (event,), lost)
                watching, seen = self._watching.watch(record)
                spent = self._local.states[0].number(self._network.fabric.suffered(fabric_state, fault))
                fabric_after = self._cells[0].number((spent, ()))
                changed = tuple(messages.number(m) for m in CHANNEL_FAULTS[fault](queue))
                after = self._cells[cell].number((state_number, replaced(inbox, position, changed)))
                difference = (after - number << WIDTH * cell) + fabric_after - fabric
                yield (0, difference, watching, seen, transition)
