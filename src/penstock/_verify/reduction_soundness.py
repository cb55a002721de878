"""On what grounds steps may be eager, and the check of it on every state that a search has found.

MOCS takes an action for safe if it commutes with all others (Table 1).  Taken by the letter that rules
out `ctrl` for nearly every program, since one that learns is order-sensitive; and where requests are sets,
not even `nomatch` and `ctrl` of one packet commute.  Here the argument is another one.

**Domination.**  Say that m dominates s if the program is in the same state in both, and whatever is in a
queue of packets, of requests or of barrier replies in s is there in m as well; the tables and control
queues are the same.  Every step from s must be answered by steps from m, or by none, to a state that
dominates again.  Then whatever a run can bring anywhere shows in the states that are visited; and as all
of those can really be reached, nothing shows that could not happen.  (Properties see single packets and
single steps, so more packets do not hide any.)

- Packets never leave a queue of a switch, so `fwd`, `send`, `match` and `nomatch` may be done as soon as they
  can: what results dominates what was before.  A request that is there takes nothing away.
- `ctrl`, `add`, `del`, `bsync` of s can be done in m too, for m has the packet, message and rule.
- `brepl` may be done at once if the same reply is not waiting already (two would become one, which is
  less); `recv` if no property minds the packet.

**Requests.**  To do `nomatch` and `ctrl` in one leaves fewer states than to have all requests waiting.  What
is lost is the *late* request: asked when there was no rule for the packet, handled when there is one.  So
that must make no difference to m: the program stays as it is, and what it sends is there already.

**Rules.**  Let now m's tables have all rules that the tables *or the control queues* of s have, and nothing
be in m's control queues.  Then `add` may be done at once.  What s can do that m cannot is to have a packet
meet fewer rules: to ask about it though m has a rule for it and the request is handled, or to treat it by a
rule that is not the best in m.  Again that must make no difference to m.

Both are **checked** here, for each packet in each queue of each state: all that could have become of it
under fewer rules.  Those are the rules of the start with what is certainly carried out, namely what was
sent before a barrier whose reply the program has handled; and then each further rule, with all that
a barrier keeps before it.  (If a rule decides in s, then it also decides where only those are there.)  If
the check fails anywhere, the search is repeated with fewer kinds of eager steps, and in the end with none
that needs it.  Rules that replace or delete others, timeouts, groups and more tables than one are not
considered in this argument: then neither `add` nor `ctrl` is eager.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from penstock._base.frozen import FrozenMap
from penstock._explore.compiled_network import CompiledNetwork
from penstock._properties.base import UPHELD, Violated, sight_of
from penstock._verify.abstract_controller import CONTROL, AbstractController, ControllerQueues, Request
from penstock._verify.abstract_host import AbstractHost, HostQueue
from penstock._verify.abstract_switch import AbstractSwitch, Arrival, SwitchQueues
from penstock._verify.invariants import PerPacket
from penstock._verify.lifting import Model
from penstock._world.component import Endpoint, Event, Send, Step
from penstock._world.frame import Frame
from penstock._world.signals import FABRIC
from penstock._world.switch import FlowTable, SwitchState
from penstock._world.transition import ACT, InFlight, Record, Transition
from penstock.openflow.messages import BarrierRequest, FlowMod, PacketIn, PacketOut

INSTEAD: Final = "instead"
"""What a step that was left out is called in the records that properties are shown."""


class Landing(NamedTuple):
    """A packet that would come in at a component."""

    node: str
    arrival: Arrival


class Effects(NamedTuple):
    """What something would do besides changing a component's own state."""

    landings: tuple[Landing, ...]
    requests: tuple[Request, ...]
    orders: tuple[Send, ...]
    seen: tuple[tuple[int, Any], ...]
    """What properties would see of it, by their places."""
    harmless: bool
    """Whether nothing else would happen."""


class Checker:
    """Checks the states of a search.

    `rules` says whether adding rules was eager, else it was only handling requests.  `confirming` says that
    barrier replies are handled in their time, so that one that was handled proves its barrier passed.
    """

    def __init__(self, model: Model, cells: CompiledNetwork, *, rules: bool, confirming: bool) -> None:
        self._rules = rules
        self._confirming = confirming
        self._model = model
        self._cells = cells
        network = model.network
        self._switches = [made for made in network.components if isinstance(made, AbstractSwitch)]
        self._controller = next(made for made in network.components if isinstance(made, AbstractController))
        self._hosts = {made.name for made in network.components if isinstance(made, AbstractHost)}
        fabric: Any = model.start.states[network.places[FABRIC]]
        self._peer = {end: network.fabric.peer(fabric, end) for end in network.channels}
        self._start = {made.name: _start(model, made.name) for made in self._switches}
        self._alternatives: dict[tuple[int, int], tuple[Effects, ...] | None] = {}
        self._judged: dict[tuple[int, Any, Any], bool] = {}
        self._handled: dict[tuple[int, Request], Effects | None] = {}
        self._ordered: dict[tuple[int, Send], Effects | None] = {}

    def failing(self, states: Iterable[int]) -> bool:
        """Tell whether there is a state in which something that is left out would make a difference."""
        return any(state < self._cells.violated and not self._holds(state) for state in states)

    def _holds(self, state: int) -> bool:
        states = self._cells.component_states(state)
        for switch in self._switches:
            queues: SwitchQueues = states[switch.name]
            effects = self._alternatives_of(switch, queues, self._passed(switch, queues, states))
            if effects is None:
                return False
            for each in effects:
                if not self._changes_nothing(each, states) or not self._is_unseen(each.seen, state):
                    return False
        return True

    def _passed(self, switch: AbstractSwitch, queues: SwitchQueues, states: Mapping[str, Any]) -> int:
        """Return how much of what a switch was sent is certainly carried out: up to a confirmed barrier."""
        if not self._confirming:
            return 0
        waiting = {
            reply.message.xid
            for reply in states[self._controller.name].replies
            if reply.switch == switch.name
        }
        for place in range(len(queues.sent), 0, -1):
            batch = queues.sent[place - 1]
            if isinstance(batch, BarrierRequest) and batch.xid not in waiting:
                return place
        return 0

    def _is_unseen(self, seen: tuple[tuple[int, Any], ...], state: int) -> bool:
        """Tell whether properties would go on unchanged if they saw something."""
        for index, sight in seen:
            own = self._cells.watching.state(state, index)
            key = (index, own, sight)
            if key not in self._judged:
                self._judged[key] = self._judgement(index, own, sight)
            if not self._judged[key]:
                return False
        return True

    def _judgement(self, index: int, own: Any, sight: Any) -> bool:
        try:
            return bool(self._cells.properties[index].next(own, sight) == own)
        except Violated:
            return False

    def _changes_nothing(self, effects: Effects, states: Mapping[str, Any]) -> bool:
        return (
            effects.harmless
            and all(self._is_there(landing, states) for landing in effects.landings)
            and all(self._is_stale(request, states) for request in effects.requests)
        )

    def _is_there(self, landing: Landing, states: Mapping[str, Any]) -> bool:
        node, arrival = landing
        if node in self._hosts:
            return arrival in states[node].received or self._is_unnoticed(node, arrival)
        queues: SwitchQueues = states[node]
        return arrival in queues.packets

    def _is_unnoticed(self, host: str, arrival: Arrival) -> bool:
        """Tell whether no property would mind a packet that comes to a host."""
        for watcher in self._cells.properties:
            if host not in watcher.reads:
                continue
            if not isinstance(watcher, PerPacket) or not self._hosts.issuperset(watcher.reads):
                return False
            queues = {name: HostQueue() for name in watcher.reads}
            try:
                watcher.check({**queues, host: HostQueue(frozenset({arrival}))})
            except Violated:
                return False
        return True

    def _is_stale(self, request: Request, states: Mapping[str, Any]) -> bool:
        """Tell whether handling a request would make no difference."""
        program: ControllerQueues = states[self._controller.name]
        if request in program.requests:
            return True
        key = (id(program), request)
        if key not in self._handled:
            self._handled[key] = self._handling(program, request)
        effects = self._handled[key]
        if effects is None:
            return False
        return all(self._is_obeyed(order, states) for order in effects.orders)

    def _handling(self, program: ControllerQueues, request: Request) -> Effects | None:
        step = self._controller.handled(program.inner, request)
        # What the program makes of such a request may tell packets apart.
        self._model.experience.subjects.add(request)
        if step.state != program.inner or step.events:
            return None
        handling = step._replace(events=(Event(CONTROL, (request.switch, request.message)),))
        return None if self._seen(self._controller.name, handling) else Effects((), (), step.sends, (), True)

    def _is_obeyed(self, order: Send, states: Mapping[str, Any]) -> bool:
        """Tell whether carrying out a message would make no difference."""
        switch = next(made for made in self._switches if made.name == order.port)
        queues: SwitchQueues = states[switch.name]
        key = (id(queues), order)
        if key not in self._ordered:
            self._ordered[key] = self._obeying(switch, queues, order)
        effects = self._ordered[key]
        return effects is not None and not effects.seen and self._changes_nothing(effects, states)

    def _obeying(self, switch: AbstractSwitch, queues: SwitchQueues, order: Send) -> Effects | None:
        message = order.message
        if not isinstance(message, PacketOut) and not (self._rules and isinstance(message, FlowMod)):
            return None
        step = switch.carried_out(queues.inner, message)
        return None if step.state != queues.inner else self._effects(switch, step)

    def _alternatives_of(
        self, switch: AbstractSwitch, queues: SwitchQueues, passed: int
    ) -> tuple[Effects, ...] | None:
        """Return all that could have become of the packets in a switch's queue under fewer rules."""
        key = (id(queues), passed)
        if key not in self._alternatives:
            self._alternatives[key] = self._worked_out(switch, queues, passed)
        return self._alternatives[key]

    def _worked_out(
        self, switch: AbstractSwitch, queues: SwitchQueues, passed: int
    ) -> tuple[Effects, ...] | None:
        start = self._start[switch.name]
        if queues.inner.groups or any(number for number, table in queues.inner.tables.items() if len(table)):
            return None
        found = []
        for inner in self._fewer(switch, start, queues, passed):
            for arrival in queues.packets:
                now = self._effects(switch, switch.processed(queues, arrival))
                then = self._effects(switch, switch.processed(replace(queues, inner=inner), arrival))
                if not self._rules:
                    then = then._replace(landings=(), seen=(), harmless=True)
                    now = now._replace(landings=(), seen=(), harmless=True)
                if then != now:
                    found.append(then)
        return tuple(dict.fromkeys(found))

    def _fewer(
        self, switch: AbstractSwitch, start: SwitchState, queues: SwitchQueues, passed: int
    ) -> Iterator[SwitchState]:
        """Yield the switch with the rules that may have decided instead.

        Those are the rules of the start and all that is certainly carried out; and each later rule with
        all that a barrier keeps before it.
        """
        if not self._rules:
            yield start
            for entry in queues.inner.tables.get(0) or ():
                table = (start.tables.get(0) or FlowTable()).put(entry)
                yield replace(start, tables=FrozenMap({0: table}))
            return
        certain = start
        for place, batch in enumerate(queues.sent):
            if place == passed:
                yield certain
            if isinstance(batch, BarrierRequest):
                continue
            after = certain
            for change in batch:
                if place >= passed:
                    yield switch.carried_out(certain, change).state
                after = switch.carried_out(after, change).state
            certain = after
        if passed >= len(queues.sent):
            yield certain

    def _effects(self, switch: AbstractSwitch, step: Step) -> Effects:
        """Return what a switch's step would do to others, and whether a property would notice."""
        landings, requests, flights = [], [], []
        harmless = True
        for port, message in step.sends:
            end = self._peer[Endpoint(switch.name, port)]
            flights.append(InFlight(Endpoint(switch.name, port), message))
            if end is None:
                continue
            if isinstance(message, Frame):
                landings.append(Landing(end.node, Arrival(int(end.port), message)))
            elif isinstance(message, PacketIn):
                requests.append(Request(switch.name, message))
            else:
                harmless = False
        seen = self._seen(switch.name, step, tuple(flights))
        return Effects(tuple(landings), tuple(requests), (), seen, harmless)

    def _seen(self, node: str, step: Step, flights: tuple[InFlight, ...] = ()) -> tuple[tuple[int, Any], ...]:
        """Return what properties would see of a step that was left out, by their places."""
        record = Record(Transition(ACT, node, INSTEAD), node, None, None, flights, step.events)
        watchers = enumerate(self._cells.properties)
        sights = ((index, sight_of(watcher, record, step.state)) for index, watcher in watchers)
        return tuple((index, sight) for index, sight in sights if sight not in (None, UPHELD))


def _start(model: Model, switch: str) -> SwitchState:
    """Return the real switch's state where runs begin."""
    queues = model.start.states[model.network.places[switch]]
    assert isinstance(queues, SwitchQueues)
    return queues.inner
