"""The fabric: links, control sessions, host attachments and power, and how they change.

Nobody but the fabric knows where a wire leads.  A component sends on a port of its own; the
channel that leaves it leads to whatever the fabric's state says is at the other end: `peer`.
Link failures, lost control sessions, power cuts and moving hosts are actions of the fabric, so
they are scheduled, recorded and searched like anything else.  Their step clears the channels
that died with what was in flight, and tells the components at the ends (see `signals`).

The state holds only what differs from the network as it was built, so it stays small whatever
the size of the network, and one wiring is one value.

A component that is switched on knows its ports only as dead: `Power` is followed by a `Carrier`
for each link and control session that is up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from penstock.errors import PenstockError
from penstock.world.component import Endpoint, Event, Port, Send, Step
from penstock.world.faults import CHANNEL_BUDGETS, NO_FAULTS, Faults
from penstock.world.signals import FABRIC, Carrier, Power


class Wire(NamedTuple):
    """Two ends that hear each other: a link, or a control session (switch first).

    A host's link begins at the host; where it ends changes when the host moves.
    """

    a: Endpoint
    b: Endpoint


@dataclass(frozen=True, slots=True)
class Mobility:
    """Where a host may move (`s2:3` is port 3 of s2), and how often; it may also move back.

    A move is silent unless `carrier` is set: no port goes down or up, as behind an access point.
    """

    places: tuple[str, ...]
    moves: int = 1
    carrier: bool = False

    def __post_init__(self) -> None:
        if self.moves < 0:
            raise PenstockError(f"A host cannot move {self.moves} times: give moves a number from 0 up.")


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
        self._links, self._sessions = (*attachments, *cables), tuple(sessions)
        self._wires = (*self._links, *self._sessions)
        self._switches, self._controllers = tuple(switches), tuple(controllers)
        self._roaming = tuple(roaming)
        self._wire_at = {end: wire for wire in self._wires for end in wire}
        places = [place for roamer in roaming for place in roamer.places]
        self._ends_and_places = tuple(dict.fromkeys([end for wire in self._wires for end in wire] + places))
        self._control = frozenset(end for wire in self._sessions for end in wire)
        self._announced = {r.wire.a: (r.wire.b, *r.places) for r in roaming if r.rule.carrier}
        self._ambiguous = _ambiguous(attachments, cables)
        self._check_targets()

    def _check_targets(self) -> None:
        names = {name for wire in self._wires for name in self._names(wire)}
        names.update(
            name for r in self._roaming for place in r.places for name in self._names(Wire(r.wire.a, place))
        )
        names.update(self._switches, self._controllers)
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
        wire = self._wire_at.get(endpoint)
        return wire if wire and (not wiring.moved or self._now(wiring, wire) == wire) else None

    def _live(self, wiring: Wiring, wire: Wire) -> bool:
        """Tell whether a wire, as it now runs, carries anything."""
        return wire.a not in wiring.cut and wire.a.node not in wiring.off and wire.b.node not in wiring.off

    def _carrier(self, wiring: Wiring, end: Endpoint) -> bool:
        """Tell whether the component at this end, while it has power, sees its link up."""
        wire = self._wire_now(wiring, end)
        if wire is None:
            return not any(end in places for places in self._announced.values())
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
            for end in self._ends_and_places
            if not self._carrier(AS_BUILT, end)
        )

    def actions(self, state: FabricState) -> tuple[str, ...]:
        """Return the moves, failures and recoveries that are possible now."""
        return tuple(action for action, _ in self._offers(state))

    def act(self, state: FabricState, action: str) -> Step:
        """Move a host, or fail or mend something."""
        for offered, after in self._offers(state):
            if offered == action:
                return self._change(state.wiring, after, action)
        raise PenstockError(f"The fabric cannot {action!r} now: choose one of its actions.")

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

    # What may happen next, each with the state it leads to.

    def _offers(self, state: FabricState) -> Iterator[tuple[str, FabricState]]:
        yield from self._offered_moves(state)
        yield from self._offered_cuts(state, "fail", "recover", "link_failures", self._links)
        yield from self._offered_cuts(state, "disconnect", "reconnect", "disconnects", self._sessions)
        yield from self._offered_outages(state, "fail", "recover", "switch_failures", self._switches)
        yield from self._offered_outages(state, "crash", "restart", "controller_crashes", self._controllers)

    def _offered_moves(self, state: FabricState) -> Iterator[tuple[str, FabricState]]:
        wiring = state.wiring
        for index, (wire, places, _) in enumerate(self._roaming):
            if not state.moves[index]:
                continue
            left = (*state.moves[:index], state.moves[index] - 1, *state.moves[index + 1 :])
            others = [(end, place) for end, place in wiring.moved if end != wire.a]
            for place in dict.fromkeys((wire.b, *places)):
                if self._wire_now(wiring, place) is not None:
                    continue
                moved = others if place == wire.b else sorted([*others, (wire.a, place)])
                # A cut cable stays behind: the host plugs into another.
                after = Wiring(wiring.cut - {wire.a}, wiring.off, tuple(moved))
                yield f"move {wire.a.node} to {place}", FabricState(after, state.budget, left)

    def _offered_cuts(
        self, state: FabricState, cut: str, mend: str, budget: str, wires: Sequence[Wire]
    ) -> Iterator[tuple[str, FabricState]]:
        wiring = state.wiring
        may_cut = getattr(state.budget, budget) > 0
        if not may_cut and not wiring.cut:
            return
        for built in wires:
            wire = self._now(wiring, built)
            names = self._names(wire)
            if wire.a in wiring.cut:
                if self.faults.recovery:
                    mended = replace(wiring, cut=wiring.cut - {wire.a})
                    yield f"{mend} {names[0]}", replace(state, wiring=mended)
            elif may_cut and self._live(wiring, wire) and self.faults.may_hit(*names):
                after = replace(wiring, cut=wiring.cut | {wire.a})
                yield f"{cut} {names[0]}", FabricState(after, state.budget.spend(budget), state.moves)

    def _offered_outages(
        self, state: FabricState, fail: str, mend: str, budget: str, nodes: Sequence[str]
    ) -> Iterator[tuple[str, FabricState]]:
        wiring = state.wiring
        for node in nodes:
            if node in wiring.off:
                if self.faults.recovery:
                    yield f"{mend} {node}", replace(state, wiring=replace(wiring, off=wiring.off - {node}))
            elif getattr(state.budget, budget) and self.faults.may_hit(node):
                after = replace(wiring, off=wiring.off | {node})
                yield f"{fail} {node}", FabricState(after, state.budget.spend(budget), state.moves)

    def _change(self, before: Wiring, state: FabricState, action: str) -> Step:
        """Return what follows from a change of the wiring."""
        after = state.wiring
        booted = before.off - after.off
        sends = [Send(node, Power(on=False)) for node in sorted(after.off - before.off)]
        sends += [Send(node, Power(on=True)) for node in sorted(booted)]
        cleared: list[Endpoint] = []
        for wire in self._wires:
            was, now = self._now(before, wire), self._now(after, wire)
            if was != now and was.a in self._announced:
                # The host's own port is up before and after, but was pulled out in between.
                sends += (Send(now.a.node, Carrier(now.a.port, up)) for up in (False, True))
            if self._live(before, was) and (was != now or not self._live(after, now)):
                cleared += was
        for end in self._ends_and_places:
            believed = end.node not in booted and self._carrier(before, end)
            up = self._carrier(after, end)
            if up != believed and end.node not in after.off:
                sends.append(Send(end.node, Carrier(end.port, up)))
        return Step(state, tuple(sends), (Event("fabric", (action,)),), tuple(cleared))


def _ambiguous(attachments: Sequence[Wire], cables: Sequence[Wire]) -> frozenset[Endpoint]:
    """Return the wires whose nodes do not name them: parallel cables, and those of a host with several."""
    hosts = Counter(wire.a.node for wire in attachments)
    pairs = Counter(frozenset((wire.a.node, wire.b.node)) for wire in cables)
    parallel = (wire.a for wire in cables if pairs[frozenset((wire.a.node, wire.b.node))] > 1)
    return frozenset([*parallel, *(wire.a for wire in attachments if hosts[wire.a.node] > 1)])
