"""The OpenFlow switch as a component of the world.

It takes frames on its numbered ports, messages of controllers on ports named after them, and
what the physical world signals on the fabric's port.  Its session with each controller exists
from the start; one that went down and comes up again begins with a HELLO.

A switch may misbehave when the physical world says so: its tables are limited from one moment on, it
forgets an entry, it does nothing about flow-mods.  Nobody is told, apart from whoever follows the run.

Which of several entries of one priority it uses is its own choice (§5.3); it has an order of its own, and
`overlaps` lets it change its mind so many times.

With `reorder="between-barriers"` flow-mods and packet-outs wait in the state and may be applied
in any order until a barrier, as the specification allows (§6.2); each application is an action.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from penstock._base.frozen import FrozenMap
from penstock._world.component import Port, Step
from penstock._world.frame import Frame
from penstock._world.signals import (
    FABRIC,
    Carrier,
    EntryForgotten,
    FlowModsIgnored,
    Power,
    TableFault,
    TableLimit,
)
from penstock._world.switch import control, expiry, pipeline
from penstock._world.switch.flow_table import FlowEntry
from penstock._world.switch.state import PortSpec, PortStatus, Session, SwitchOptions, SwitchState
from penstock._world.switch.turn import DOWN, Chassis, Turn
from penstock.errors import PenstockError
from penstock.openflow.messages import (
    BarrierRequest,
    FlowMod,
    FlowRemovedReason,
    OpenFlowMessage,
    PacketOut,
    PortNo,
    greeting,
)

_EXCEED: Final = "exceed meter "
_PREFER: Final = "prefer "


class Switch:
    """A modelled OpenFlow switch, version 1.0 or 1.3."""

    def __init__(
        self,
        name: str,
        dpid: int,
        ports: tuple[PortSpec, ...],
        options: SwitchOptions | None = None,
        controllers: tuple[str, ...] = ("c0",),
    ) -> None:
        numbers = [port.number for port in ports]
        for number in numbers:
            if not 1 <= number < 0xFF00:
                raise PenstockError(f"Port {number} of {name} is out of range: ports are 1 to 65279.")
            if numbers.count(number) > 1:
                raise PenstockError(f"Port {number} of {name} is there twice: number the ports apart.")
        self.name = name
        self.chassis = Chassis(name, dpid, ports, options or SwitchOptions(), controllers)

    @property
    def options(self) -> SwitchOptions:
        """How the switch behaves."""
        return self.chassis.options

    def initial(self) -> SwitchState:
        """Return the state of a switch with empty tables, all links up and its sessions open."""
        return self._fresh(PortStatus(), connected=True)

    def _session(self, controller: str, *, up: bool) -> Session:
        if controller in self.options.services:
            return Session(up=up, miss_send_len=0, service=True)
        return Session(up=up)

    def _fresh(self, port: PortStatus, *, connected: bool) -> SwitchState:
        ports = {spec.number: port for spec in self.chassis.ports}
        ports[PortNo.LOCAL] = DOWN
        return SwitchState(
            ports=FrozenMap(ports),
            sessions=FrozenMap(
                {name: self._session(name, up=connected) for name in self.chassis.controllers}
            ),
            expiries=self.options.expiries,
            overruns=self.options.overruns,
            overlaps=self.options.overlaps,
        )

    def actions(self, state: SwitchState) -> tuple[str, ...]:
        """Return what may happen by itself: messages take effect, rules expire, rates are exceeded …"""
        return (
            *self._applicable(state),
            *self._expirable(state),
            *self._exceedable(state),
            *self._preferable(state),
        )

    def _applicable(self, state: SwitchState) -> dict[str, int]:
        """Return the pending messages that may be applied next, by the action's name."""
        found: dict[str, int] = {}
        fenced: set[str] = set()
        for index, (controller, message) in enumerate(state.pending):
            if isinstance(message, BarrierRequest):
                fenced.add(controller)
            elif controller not in fenced:
                name = f"apply {message} from {controller}"
                alike = [state.pending[at][1] for known, at in found.items() if known.startswith(name)]
                if message not in alike:
                    found[f"{name} #{len(alike) + 1}" if alike else name] = index
        return found

    def _expirable(self, state: SwitchState) -> dict[str, tuple[int, FlowEntry]]:
        """Return the entries that may time out now, by the action's name."""
        if not state.expiries or not state.powered:
            return {}
        found = expiry.expirable(Turn(self.chassis, state))
        return {f"expire {number} {entry.priority} {entry.match}": (number, entry) for number, entry in found}

    def _exceedable(self, state: SwitchState) -> dict[str, int]:
        """Return the meters whose rate the next packet may exceed, by the action's name."""
        if not state.overruns or not state.powered:
            return {}
        return {f"{_EXCEED}{number}": number for number in state.meters if number not in state.overrun}

    def _preferable(self, state: SwitchState) -> dict[str, tuple[int, FlowEntry]]:
        """Return the entries that the switch may come to use before others, by the action's name."""
        if not state.overlaps or not state.powered:
            return {}
        return {
            f"{_PREFER}{number} {entry.priority} {entry.match}": (number, entry)
            for number, table in state.tables.items()
            for entry in table.contested
        }

    def act(self, state: SwitchState, action: str) -> Step:
        """Apply a pending message, let an entry expire, a rate be exceeded, or an entry be preferred."""
        turn = Turn(self.chassis, state)
        if action.startswith(_EXCEED):
            number = self._exceedable(state)[action]
            turn.change(overruns=state.overruns - 1, overrun=state.overrun | {number})
            return turn.finish()
        if action.startswith(_PREFER):
            number, entry = self._preferable(state)[action]
            turn.change(overlaps=state.overlaps - 1)
            turn.put_table(number, turn.table(number).preferring(entry))
            turn.note("preferred", number, entry)
            return turn.finish()
        index = self._applicable(state).get(action)
        if index is not None:
            controller, message = state.pending[index]
            turn.change(pending=state.pending[:index] + state.pending[index + 1 :])
            self._handle(turn, controller, message)
            self._drain(turn, controller)
            return turn.finish()
        number, entry = self._expirable(state)[action]
        turn.change(expiries=state.expiries - 1)
        reason = FlowRemovedReason.IDLE_TIMEOUT if entry.idle_timeout else FlowRemovedReason.HARD_TIMEOUT
        turn.remove_entries(number, [entry], reason)
        return turn.finish()

    def receive(self, state: SwitchState, port: Port, message: Any) -> Step:
        """Take a frame, a controller's message or a signal."""
        turn = Turn(self.chassis, state)
        if port == FABRIC:
            return self._signal(turn, message)
        if not state.powered:
            return Step(state)
        if isinstance(message, Frame):
            pipeline.receive(turn, int(port), message)
        elif state.sessions[str(port)].up:
            self._take(turn, str(port), message)
        return turn.finish()

    def _take(self, turn: Turn, controller: str, message: OpenFlowMessage) -> None:
        """Handle a message, or let it wait its turn where messages may overtake each other."""
        if self.options.reorder == "between-barriers":
            waiting = [known for name, known in turn.state.pending if name == controller]
            behind_barrier = any(isinstance(known, BarrierRequest) for known in waiting)
            overtakes = isinstance(message, FlowMod | PacketOut)
            if overtakes or behind_barrier or (waiting and isinstance(message, BarrierRequest)):
                turn.change(pending=_sorted((*turn.state.pending, (controller, message))))
                return
        self._handle(turn, controller, message)

    def _handle(self, turn: Turn, controller: str, message: OpenFlowMessage) -> None:
        """Carry out a message, unless it is a flow-mod that comes to nothing."""
        faults = turn.state.table_faults
        if faults.ignoring and isinstance(message, FlowMod):
            turn.change(table_faults=replace(faults, ignoring=faults.ignoring - 1))
            turn.note("flow-mod-ignored", message)
            return
        control.handle(turn, controller, message)

    def _drain(self, turn: Turn, controller: str) -> None:
        """Answer a controller's barriers that nothing is left before, and take what waited behind them."""
        while True:
            waiting = [known for name, known in turn.state.pending if name == controller]
            if not waiting or not isinstance(waiting[0], BarrierRequest):
                return
            turn.change(pending=tuple(item for item in turn.state.pending if item[0] != controller))
            control.handle(turn, controller, waiting[0])
            for message in waiting[1:]:
                self._take(turn, controller, message)

    def _signal(self, turn: Turn, signal: Carrier | Power | TableFault) -> Step:
        """Hear of the physical world: power, links, control sessions, what is wrong with the tables."""
        if isinstance(signal, Power):
            # What is connected, the fabric tells next.
            fresh = self._fresh(PortStatus(link=False), connected=False)
            kept = turn.state
            return Step(
                replace(
                    fresh,
                    powered=signal.on,
                    now=kept.now,
                    expiries=kept.expiries,
                    overruns=kept.overruns,
                    overlaps=kept.overlaps,
                    table_faults=kept.table_faults,
                )
            )
        if isinstance(signal, TableFault):
            _misbehave(turn, signal)
            return turn.finish()
        if not turn.state.powered:
            return Step(turn.state)
        if isinstance(signal.port, int):
            status = turn.port_status(signal.port)
            turn.set_port(signal.port, replace(status, link=signal.up))
            return turn.finish()
        sessions = turn.state.sessions
        # What the old session still waited for is nobody's any more; its orders have been received.
        pending = tuple(
            item
            for item in turn.state.pending
            if item[0] != signal.port or isinstance(item[1], FlowMod | PacketOut)
        )
        session = self._session(signal.port, up=signal.up)
        turn.change(sessions=sessions.set(signal.port, session), pending=_sorted(pending))
        if signal.up:
            turn.reply(signal.port, greeting(turn.version))
        return turn.finish()

    def deadline(self, state: SwitchState) -> int | None:
        """Return when the next entry times out."""
        return expiry.deadline(Turn(self.chassis, state))

    def advance(self, state: SwitchState, now: int) -> Step:
        """Let time pass; entries time out at their moments, in order."""
        turn = Turn(self.chassis, state)
        expiry.expire(turn, now)
        turn.change(now=max(now, turn.state.now))
        return turn.finish()


def _misbehave(turn: Turn, fault: TableFault) -> None:
    """Take in what is wrong with the tables."""
    faults = turn.state.table_faults
    match fault:
        case TableLimit(entries):
            turn.change(table_faults=replace(faults, limit=entries))
        case FlowModsIgnored(count):
            turn.change(table_faults=replace(faults, ignoring=count))
        case EntryForgotten(number):
            there = [(table, entry) for table in turn.state.tables for entry in turn.table(table)]
            if 0 < number <= len(there):
                _forget(turn, *there[number - 1])


def _forget(turn: Turn, table: int, entry: FlowEntry) -> None:
    """Lose an entry without telling any controller."""
    key = (table, entry.priority, entry.match)
    turn.put_table(table, turn.table(table).without(lambda other: other is entry))
    turn.change(rule_usage=turn.state.rule_usage.without(key))
    turn.note("rule-removed", table, entry, "forgotten")


Pending = tuple[tuple[str, OpenFlowMessage], ...]


def _sorted(pending: Pending) -> Pending:
    """Return pending messages in one order for all that come to the same.

    By controller; between barriers, where the order is open, by what they say.
    """
    ordered: list[tuple[str, OpenFlowMessage]] = []
    for controller in sorted({name for name, _ in pending}):
        segment: list[tuple[str, OpenFlowMessage]] = []
        for item in pending:
            if item[0] != controller:
                continue
            if isinstance(item[1], FlowMod | PacketOut):
                segment.append(item)
                continue
            ordered += [*sorted(segment, key=repr), item]
            segment = []
        ordered += sorted(segment, key=repr)
    return tuple(ordered)
