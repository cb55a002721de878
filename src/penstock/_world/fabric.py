"""The fabric: links, control sessions, host attachments and power, and how they change.

Nobody but the fabric knows where a wire leads.  A component sends on a port of its own; the
channel that leaves it leads to whatever the fabric's state says is at the other end: `peer`.
Link failures, lost control sessions, power cuts and moving hosts are actions of the fabric, so
they are scheduled, recorded and searched like anything else.  Their step clears the channels
that died with what was in flight, and tells the components at the ends (see `signals`).

The state holds only what differs from the network as it was built, so it stays small whatever
the size of the network, and one wiring is one value.  What one action does is found by its name and
reaches only the wires it touches, so cutting one link of a hundred thousand costs what one of ten does.

A component that is switched on knows its ports only as dead: `Power` is followed by a `Carrier`
for each link and control session that is up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Final, NamedTuple

from penstock._base.typed import Checked, Count
from penstock._world.component import Endpoint, Event, Port, Send, Step
from penstock._world.faults import CHANNEL_BUDGETS, NO_FAULTS, Faults
from penstock._world.signals import FABRIC, Carrier, Power
from penstock.errors import PenstockError


class Wire(NamedTuple):
    """Two ends that hear each other: a link, or a control session (switch first).

    A host's link begins at the host; where it ends changes when the host moves.
    """

    a: Endpoint
    b: Endpoint


@dataclass(frozen=True, slots=True)
class Mobility(Checked):
    """Where a host may move, and how often; it may also move back."""

    SECTION: ClassVar[str] = "mobility of a host"

    places: tuple[str, ...]
    """Where it may move: `s2:3` is port 3 of s2."""
    moves: Count = 1
    """How often it may move."""
    carrier: bool = False
    """Ports go down and up as it moves; otherwise a move is silent, as behind an access point."""


class Roaming(NamedTuple):
    """A mobile host's wire, its places as ports that are there, and how it moves."""

    wire: Wire
    places: tuple[Endpoint, ...]
    rule: Mobility


@dataclass(frozen=True, slots=True)
class Wiring:
    """How the wires differ from those built: which are cut, who has no power, who moved where.

    A wire is named by its first end; a host that is back home is not listed.
    """

    cut: frozenset[Endpoint] = frozenset()
    off: frozenset[str] = frozenset()
    moved: tuple[tuple[Endpoint, Endpoint], ...] = ()


AS_BUILT: Final = Wiring()


@dataclass(frozen=True, slots=True)
class FabricState:
    """The wiring, the faults that may still come, and the moves each mobile host has left."""

    wiring: Wiring
    budget: Faults
    moves: tuple[int, ...] = ()


class _Mishap(NamedTuple):
    """A way to fail: the words for it and for its mending, and the budget it draws on."""

    fail: str
    mend: str
    budget: str


_LINK_CUT: Final = _Mishap("fail", "recover", "link_failures")
_SESSION_CUT: Final = _Mishap("disconnect", "reconnect", "disconnects")
_SWITCH_OFF: Final = _Mishap("fail", "recover", "switch_failures")
_CONTROLLER_OFF: Final = _Mishap("crash", "restart", "controller_crashes")


class Fabric:
    """The component that holds links, attachments and power.

    `attachments` join hosts (first) to their places, `cables` join switches, `sessions` join
    switches (first) to controllers.
    """

    name = FABRIC

    def __init__(
        self,
        *,
        attachments: Sequence[Wire] = (),
        cables: Sequence[Wire] = (),
        sessions: Sequence[Wire] = (),
        switches: Sequence[str] = (),
        controllers: Sequence[str] = (),
        roaming: Sequence[Roaming] = (),
        faults: Faults = NO_FAULTS,
    ) -> None:
        self.faults = faults
        self.attachments = tuple(attachments)
        """Where hosts are at first."""
        links = (*attachments, *cables)
        self._wires = (*links, *sessions)
        self._cuts = (
            (_LINK_CUT, range(len(links))),
            (_SESSION_CUT, range(len(links), len(self._wires))),
        )
        """The wires that a mishap can befall, by their places."""
        self._outages = (
            (_SWITCH_OFF, dict.fromkeys(switches)),
            (_CONTROLLER_OFF, dict.fromkeys(controllers)),
        )
        self._roaming = tuple(roaming)
        places_to_go = dict.fromkeys(place for r in roaming for place in r.places)
        self._roaming_places = {place: number for number, place in enumerate(places_to_go)}
        self._wire_at = {end: place for place, wire in enumerate(self._wires) for end in wire}
        self._wires_of: dict[str, list[int]] = {}
        for place, wire in enumerate(self._wires):
            for node in (wire.a.node, wire.b.node):
                self._wires_of.setdefault(node, []).append(place)
        self._control = frozenset(end for wire in sessions for end in wire)
        self._announced = {r.wire.a for r in roaming if r.rule.carrier}
        self._announced_places = {place for r in roaming if r.rule.carrier for place in (r.wire.b, *r.places)}
        self._ambiguous = _ambiguous(attachments, cables)
        self._called: dict[str, list[int]] = {}
        for place, wire in enumerate(self._wires):
            self._called.setdefault(self._names(wire)[0], []).append(place)
        if faults.targets:
            self._check_targets()

    def _check_targets(self) -> None:
        names = {name for wire in self._wires for name in self._names(wire)}
        names.update(
            name for r in self._roaming for place in r.places for name in self._names(Wire(r.wire.a, place))
        )
        names.update(node for _, nodes in self._outages for node in nodes)
        for target in self.faults.targets:
            if target not in names:
                raise PenstockError(
                    f"The fault target {target!r} is nothing that can fail here: name a link as in "
                    f"{min(names, default='s1-s2')}, a switch or a controller."
                )

    # The wiring.

    def peer(self, state: FabricState, endpoint: Endpoint) -> Endpoint | None:
        """Return the endpoint that hears what leaves this one, or None where nobody does."""
        if endpoint.node == FABRIC:
            return Endpoint(str(endpoint.port), FABRIC)
        wire = self._wire_now(state.wiring, endpoint)
        if wire is None or not self._live(state.wiring, wire):
            return None
        return wire.b if endpoint == wire.a else wire.a

    def _now(self, wiring: Wiring, wire: Wire) -> Wire:
        """Return a wire as it now runs."""
        for end, place in wiring.moved:
            if end == wire.a:
                return Wire(end, place)
        return wire

    def _wire_now(self, wiring: Wiring, endpoint: Endpoint) -> Wire | None:
        """Return the wire that is now plugged into a port."""
        for end, place in wiring.moved:
            if endpoint in (end, place):
                return Wire(end, place)
        number = self._wire_at.get(endpoint)
        if number is None:
            return None
        wire = self._wires[number]
        return wire if not wiring.moved or self._now(wiring, wire) == wire else None

    def _live(self, wiring: Wiring, wire: Wire) -> bool:
        """Tell whether a wire, as it now runs, carries anything."""
        return wire.a not in wiring.cut and wire.a.node not in wiring.off and wire.b.node not in wiring.off

    def _carrier(self, wiring: Wiring, end: Endpoint) -> bool:
        """Tell whether the component at this end, while it has power, sees its link up."""
        wire = self._wire_now(wiring, end)
        if wire is None:
            return end not in self._announced_places
        return self._live(wiring, wire)

    def _names(self, wire: Wire) -> tuple[str, ...]:
        """Return what a wire, as it now runs, may be called; the first name is the one used."""
        long = f"{wire.a}-{wire.b}"
        return (long,) if wire.a in self._ambiguous else (f"{wire.a.node}-{wire.b.node}", long)

    # The component.

    def initial(self) -> FabricState:
        """Return the network as it was built."""
        return FabricState(AS_BUILT, self.faults, tuple(roamer.rule.moves for roamer in self._roaming))

    def first_signals(self) -> tuple[Send, ...]:
        """Return what is on its way when a run begins: that announced places are still empty."""
        return tuple(
            Send(end.node, Carrier(end.port, up=False))
            for end in self._in_order([*self._announced_places])
            if not self._carrier(AS_BUILT, end)
        )

    def actions(self, state: FabricState) -> tuple[str, ...]:
        """Return the moves, failures and recoveries that are possible now."""
        return tuple(self._offers(state))

    def allows(self, state: FabricState, action: str) -> bool:
        """Tell whether an action is possible now, without listing them all."""
        return self._after(state, action) is not None

    def act(self, state: FabricState, action: str) -> Step:
        """Move a host, or fail or mend something."""
        after = self._after(state, action)
        if after is None:
            raise PenstockError(f"The fabric cannot {action!r} now: choose one of its actions.")
        return self._change(state.wiring, after, action)

    def receive(self, state: FabricState, port: Port, message: object) -> Step:
        """Refuse: nobody talks to the fabric."""
        raise NotImplementedError(f"{message} was sent to the fabric, which takes no messages")

    # Faults of the channels.

    def may_suffer(self, state: FabricState, fault: str, channel: Endpoint) -> bool:
        """Tell whether a fault may befall the head of this channel: only where frames travel."""
        if not getattr(state.budget, CHANNEL_BUDGETS[fault]) or channel in self._control:
            return False
        wire = self._wire_now(state.wiring, channel)
        return wire is not None and self.faults.may_hit(*self._names(wire))

    def suffered(self, state: FabricState, fault: str) -> FabricState:
        """Return the state after one fault of a channel."""
        return replace(state, budget=state.budget.spend(CHANNEL_BUDGETS[fault]))

    # What may happen next.

    def _offers(self, state: FabricState) -> Iterator[str]:
        wiring = state.wiring
        for index, (wire, _, _) in enumerate(self._roaming):
            yield from (f"move {wire.a.node} to {place}" for place in self._free_places(state, index))
        for mishap, places in self._cuts:
            if wiring.cut or getattr(state.budget, mishap.budget):
                found = (self._cut_offer(state, mishap, self._wires[place]) for place in places)
                yield from (offer for offer in found if offer)
        for mishap, nodes in self._outages:
            yield from (offer for node in nodes if (offer := self._outage_offer(state, mishap, node)))

    def _free_places(self, state: FabricState, index: int) -> Iterator[Endpoint]:
        """Yield where a mobile host may move now."""
        if state.moves[index]:
            wire, places, _ = self._roaming[index]
            for place in dict.fromkeys((wire.b, *places)):
                if self._wire_now(state.wiring, place) is None:
                    yield place

    def _cut_offer(self, state: FabricState, mishap: _Mishap, built: Wire) -> str | None:
        """Return what may happen to a wire now, as an action's name."""
        wire = self._now(state.wiring, built)
        if wire.a in state.wiring.cut:
            return f"{mishap.mend} {self._names(wire)[0]}" if self.faults.recovery else None
        if not getattr(state.budget, mishap.budget) or not self._live(state.wiring, wire):
            return None
        names = self._names(wire)
        return f"{mishap.fail} {names[0]}" if self.faults.may_hit(*names) else None

    def _outage_offer(self, state: FabricState, mishap: _Mishap, node: str) -> str | None:
        """Return what may happen to a component's power now, as an action's name."""
        if node in state.wiring.off:
            return f"{mishap.mend} {node}" if self.faults.recovery else None
        may_fail = getattr(state.budget, mishap.budget) and self.faults.may_hit(node)
        return f"{mishap.fail} {node}" if may_fail else None

    # What happens then.

    def _after(self, state: FabricState, action: str) -> FabricState | None:
        """Return the state that an action leads to, or None where it is not possible now."""
        verb, _, name = action.partition(" ")
        if verb == "move":
            return self._after_move(state, action)
        for mishap, places in self._cuts:
            if verb in (mishap.fail, mishap.mend):
                for built in self._wires_called(state.wiring, name, places):
                    if self._cut_offer(state, mishap, built) == action:
                        return self._after_cut(state, mishap, built)
        for mishap, nodes in self._outages:
            if name in nodes and self._outage_offer(state, mishap, name) == action:
                return self._after_outage(state, mishap, name)
        return None

    def _wires_called(self, wiring: Wiring, name: str, places: range) -> list[Wire]:
        """Return the wires among some that may now have a name; a moved one is called by its new place."""
        moved = (self._wire_at[end] for end, _ in wiring.moved)
        found = sorted({*self._called.get(name, ()), *moved})
        return [self._wires[place] for place in found if place in places]

    def _after_move(self, state: FabricState, action: str) -> FabricState | None:
        wiring = state.wiring
        for index, (wire, _, _) in enumerate(self._roaming):
            if not action.startswith(f"move {wire.a.node} to "):
                continue
            for place in self._free_places(state, index):
                if action == f"move {wire.a.node} to {place}":
                    left = (*state.moves[:index], state.moves[index] - 1, *state.moves[index + 1 :])
                    others = [(end, known) for end, known in wiring.moved if end != wire.a]
                    moved = others if place == wire.b else sorted([*others, (wire.a, place)])
                    # A cut cable stays behind: the host plugs into another.
                    after = Wiring(wiring.cut - {wire.a}, wiring.off, tuple(moved))
                    return FabricState(after, state.budget, left)
        return None

    def _after_cut(self, state: FabricState, mishap: _Mishap, wire: Wire) -> FabricState:
        wiring = state.wiring
        if wire.a in wiring.cut:
            return replace(state, wiring=replace(wiring, cut=wiring.cut - {wire.a}))
        after = replace(wiring, cut=wiring.cut | {wire.a})
        return FabricState(after, state.budget.spend(mishap.budget), state.moves)

    def _after_outage(self, state: FabricState, mishap: _Mishap, node: str) -> FabricState:
        wiring = state.wiring
        if node in wiring.off:
            return replace(state, wiring=replace(wiring, off=wiring.off - {node}))
        after = replace(wiring, off=wiring.off | {node})
        return FabricState(after, state.budget.spend(mishap.budget), state.moves)

    def rewired(self, before: Wiring, after: Wiring) -> list[Endpoint]:
        """Return the ends whose peers may differ between two wirings, in order."""
        return self._in_order(self._ends_of(self._touched(before, after), before, after))

    def _ends_of(self, wires: Iterable[Wire], *wirings: Wiring) -> Iterator[Endpoint]:
        """Yield the ends that wires have, as they run in some wirings."""
        for wire in wires:
            for wiring in wirings:
                yield from self._now(wiring, wire)

    def _touched(self, before: Wiring, after: Wiring) -> list[Wire]:
        """Return the wires, as built, that may not be the same in two wirings, in order."""
        places = {self._wire_at[end] for end in before.cut ^ after.cut}
        for node in before.off ^ after.off:
            places.update(self._wires_of.get(node, ()))
        if before.moved or after.moved:
            was, now = set(before.moved), set(after.moved)
            # A wire that moved may end at whoever lost or has power; without such it is as it was.
            moved = was ^ now if before.off == after.off else was | now
            places.update(self._wire_at[end] for end, _ in moved)
        return [self._wires[place] for place in sorted(places)]

    def _in_order(self, ends: Iterable[Endpoint]) -> list[Endpoint]:
        """Return ends, each once, in the order of the wires, the places where nothing was built last."""

        def order(end: Endpoint) -> tuple[int, int]:
            place = self._wire_at.get(end)
            if place is None:
                return len(self._wires), self._roaming_places[end]
            return place, end != self._wires[place].a

        return sorted(set(ends), key=order)

    def _change(self, before: Wiring, state: FabricState, action: str) -> Step:
        """Return what follows from a change of the wiring."""
        after = state.wiring
        booted = before.off - after.off
        sends = [Send(node, Power(on=False)) for node in sorted(after.off - before.off)]
        sends += [Send(node, Power(on=True)) for node in sorted(booted)]
        cleared: list[Endpoint] = []
        touched = self._touched(before, after)
        for wire in touched:
            was, now = self._now(before, wire), self._now(after, wire)
            if was != now and was.a in self._announced:
                # The host's own port is up before and after, but was pulled out in between.
                sends += (Send(now.a.node, Carrier(now.a.port, up)) for up in (False, True))
            if self._live(before, was) and (was != now or not self._live(after, now)):
                cleared += was
        ends = [*self._ends_of(touched, before, after), *self._ends_at(booted)]
        for end in self._in_order(ends):
            believed = end.node not in booted and self._carrier(before, end)
            up = self._carrier(after, end)
            if up != believed and end.node not in after.off:
                sends.append(Send(end.node, Carrier(end.port, up)))
        return Step(state, tuple(sends), (Event("fabric", (action,)),), tuple(cleared))

    def _ends_at(self, nodes: frozenset[str]) -> Iterator[Endpoint]:
        """Yield every end, wired or a place to move to, that some components have."""
        for node in nodes:
            for place in self._wires_of.get(node, ()):
                yield from (end for end in self._wires[place] if end.node == node)
        yield from (place for place in self._roaming_places if place.node in nodes)


def _ambiguous(attachments: Sequence[Wire], cables: Sequence[Wire]) -> frozenset[Endpoint]:
    """Return the wires whose nodes do not name them: parallel cables, and those of a host with several."""
    hosts = Counter(wire.a.node for wire in attachments)
    pairs = Counter(frozenset((wire.a.node, wire.b.node)) for wire in cables)
    parallel = (wire.a for wire in cables if pairs[frozenset((wire.a.node, wire.b.node))] > 1)
    return frozenset([*parallel, *(wire.a for wire in attachments if hosts[wire.a.node] > 1)])
