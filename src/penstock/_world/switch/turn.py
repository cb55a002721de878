"""One step of a switch in the making.

The switch's state is immutable; while one message or frame is handled, what changes is gathered
here and frozen into the next state at the end.  This is the one place where a switch mutates
anything.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, fields
from typing import Final

from penstock._world.component import Event, Send, Step
from penstock._world.component import Port as ComponentPort
from penstock._world.frame import Frame
from penstock._world.switch.flow_table import EMPTY_TABLE, FlowEntry, FlowTable
from penstock._world.switch.state import (
    PortSpec,
    PortStatus,
    PortUsage,
    Session,
    SwitchOptions,
    SwitchState,
    Usage,
)
from penstock.openflow.actions import ApplyActions, Enqueue, Group, Output, WriteActions
from penstock.openflow.messages import (
    ANY_GROUP,
    V10,
    FlowFlag,
    FlowRemoved,
    FlowRemovedReason,
    OpenFlowMessage,
    Port,
    PortConfig,
    PortNo,
    PortReason,
    PortState,
)
from penstock.openflow.messages import PortStatus as PortStatusMessage


@dataclass(frozen=True, slots=True)
class Chassis:
    """What never changes about a switch."""

    name: str
    dpid: int
    ports: tuple[PortSpec, ...]
    options: SwitchOptions
    controllers: tuple[str, ...]

    def spec(self, number: int) -> PortSpec | None:
        """Return the port of a number."""
        for port in self.ports:
            if port.number == number:
                return port
        return None


_set: Final = object.__setattr__
_MEMBERS: Final = [getattr(SwitchState, field.name) for field in fields(SwitchState)]
_SLOTS: Final = tuple((member.__get__, member.__set__) for member in _MEMBERS)
"""How each field of a state is read and written; a copy by these takes half the time of one by names."""


_UNUSED: Final = PortUsage()
_FEW: Final = 8
"""How many entries are taken out of a table one by one rather than by going through all of it."""


class Turn:
    """The switch's state while it changes, and what the change makes visible."""

    def __init__(self, chassis: Chassis, state: SwitchState) -> None:
        self.chassis = chassis
        self.options = chassis.options
        self.version = chassis.options.version
        self._before = state
        self.state = state
        self.sends: list[Send] = []
        self.events: list[Event] = []

    def change(self, **values: object) -> None:
        """Give fields of the state new values.

        The first change makes a copy; later ones write into it, which is safe because nobody
        else has it before the turn is over, and several times cheaper than a copy per change.
        """
        state = self.state
        if state is self._before:
            state = object.__new__(SwitchState)
            before = self._before
            for get, put in _SLOTS:
                put(state, get(before))
            self.state = state
        for name, value in values.items():
            _set(state, name, value)

    def finish(self) -> Step:
        """Return what this turn came to."""
        return Step(self.state, tuple(self.sends), tuple(self.events))

    def note(self, kind: str, *detail: Hashable) -> None:
        """Record something that properties and stories may want to know."""
        self.events.append(Event(kind, detail))

    def send_frame(self, port: int, frame: Frame) -> None:
        """Put a frame on the wire."""
        self.sends.append(Send(port, frame))

    def reply(self, controller: ComponentPort, message: OpenFlowMessage) -> None:
        """Send a message to one controller."""
        self.sends.append(Send(controller, message))

    def tell(self, wants: Callable[[Session], bool], message: Callable[[Session], OpenFlowMessage]) -> None:
        """Send a message to every controller that wants it."""
        for name, session in self.state.sessions.items():
            if wants(session):
                self.sends.append(Send(name, message(session)))

    @property
    def table_size(self) -> int:
        """How many entries a table takes: as it was built, or fewer where that went wrong."""
        built, limit = self.options.table_size, self.state.table_faults.limit
        return built if limit is None else min(built, limit)

    def table(self, number: int) -> FlowTable:
        """Return a flow table."""
        return self.state.tables.get(number, EMPTY_TABLE)

    def put_table(self, number: int, table: FlowTable) -> None:
        """Replace a flow table; empty ones are not kept."""
        tables = self.state.tables
        self.change(tables=tables.set(number, table) if len(table) else tables.without(number))

    def count_rule(self, table: int, entry: FlowEntry, size: int) -> None:
        """Count a packet that met a flow entry."""
        usage, key = self.state.rule_usage, (table, entry.priority, entry.match)
        if not self.options.counters:
            # An idle timeout still has to know; where time stands still, as in a search, nothing changes.
            if entry.idle_timeout and self.state.now != entry.modified:
                self.change(rule_usage=usage.set(key, Usage(used=self.state.now)))
        else:
            before = usage.get(key) or Usage(used=entry.created)
            self.change(rule_usage=usage.set(key, before.plus(size, self.state.now)))

    def last_used(self, table: int, entry: FlowEntry) -> int:
        """Return when a flow entry was last used, or else made."""
        usage, key = self.state.rule_usage, (table, entry.priority, entry.match)
        return usage[key].used if key in usage else entry.created

    def usage_of(self, table: int, entry: FlowEntry) -> Usage:
        """Return what a flow entry has counted."""
        key = (table, entry.priority, entry.match)
        return self.state.rule_usage.get(key) or Usage(used=entry.created)

    def count_received(self, number: int, size: int) -> None:
        """Have a port count a packet that came in."""
        if self.options.counters:
            counted = self.state.port_usage
            self.change(port_usage=counted.set(number, (counted.get(number) or _UNUSED).received(size)))

    def count_sent(self, number: int, size: int) -> None:
        """Have a port count a packet that went out."""
        if self.options.counters:
            counted = self.state.port_usage
            self.change(port_usage=counted.set(number, (counted.get(number) or _UNUSED).sent(size)))

    def remove_entries(
        self, table: int, entries: Iterable[FlowEntry], reason: FlowRemovedReason, wish: int | None = None
    ) -> None:
        """Take flow entries out of a table and tell whoever asked to be told.

        `wish` is the reason that a controller must have asked for, where it is not the one told.
        """
        gone = list(entries)
        for entry in gone:
            self.tell_removal(table, entry, reason, wish)
        if gone:
            self.drop_entries(table, gone)

    def tell_removal(
        self, table: int, entry: FlowEntry, reason: FlowRemovedReason, wish: int | None = None
    ) -> None:
        """Tell whoever asked to be told that a flow entry goes, before it is dropped."""
        self.note("rule-removed", table, entry, reason.name.lower())
        if entry.flags & FlowFlag.SEND_FLOW_REM:
            self._tell_removed(table, entry, reason, reason if wish is None else wish)

    def drop_entries(self, table: int, entries: Iterable[FlowEntry]) -> None:
        """Take flow entries out of a table, and what they counted, without a word."""
        leaving = {(entry.priority, entry.match): entry for entry in entries}
        kept = self.table(table)
        if len(leaving) <= _FEW:
            for entry in leaving.values():
                kept = kept.without_entry(entry)
        else:
            kept = kept.without(lambda entry: (entry.priority, entry.match) in leaving)
        self.put_table(table, kept)
        self.change(rule_usage=self.state.rule_usage.without(*((table, *rule) for rule in leaving)))

    def _tell_removed(self, table: int, entry: FlowEntry, reason: FlowRemovedReason, wish: int) -> None:
        usage = self.usage_of(table, entry)
        seconds, milliseconds = divmod(self.state.now - entry.created, 1000)
        message = FlowRemoved(
            match=entry.match,
            cookie=entry.cookie,
            priority=entry.priority,
            reason=reason,
            table_id=table,
            duration_sec=seconds,
            duration_nsec=milliseconds * 1_000_000,
            idle_timeout=entry.idle_timeout,
            hard_timeout=entry.hard_timeout,
            packet_count=usage.packets,
            byte_count=usage.octets,
        )
        self.tell(lambda session: session.wants(session.flow_removed, wish), lambda _: message)

    def port_status(self, number: int) -> PortStatus:
        """Return how a port stands."""
        return self.state.ports[number]

    def set_port(self, number: int, status: PortStatus, by: str = "") -> None:
        """Change how a port stands, and tell the controllers when that is a change.

        The controller that configured the port is told only of what follows from it: the state.
        """
        before = self.describe_port(number)
        self.change(ports=self.state.ports.set(number, status))
        after = self.describe_port(number)
        if after == before:
            return
        message = PortStatusMessage(PortReason.MODIFY, after)
        for name, session in self.state.sessions.items():
            if session.wants(session.port_status, PortReason.MODIFY) and (
                name != by or after.state != before.state
            ):
                self.reply(name, message)

    def describe_port(self, number: int) -> Port:
        """Return a port as controllers see it."""
        status = self.state.ports[number]
        state = 0 if status.usable else PortState.LINK_DOWN
        spec = self.chassis.spec(number)
        if spec is None:
            hw_addr = self.chassis.dpid & 0xFFFFFFFFFFFF
            return Port(PortNo.LOCAL, hw_addr, self.chassis.name, status.config, state)
        if self.version != V10 and status.usable:
            state |= PortState.LIVE
        return Port(number, spec.hw_addr, spec.name, status.config, state)


def outputs_to(entry: FlowEntry, port: int, group: int) -> bool:
    """Tell whether a flow entry sends to a port and to a group, where these are asked for."""
    lists = [i.actions for i in entry.instructions if isinstance(i, ApplyActions | WriteActions)]
    actions = [action for some in lists for action in some]
    to_port = port == PortNo.ANY or any(
        isinstance(action, Output | Enqueue) and action.port == port for action in actions
    )
    to_group = group == ANY_GROUP or any(
        isinstance(action, Group) and action.group_id == group for action in actions
    )
    return to_port and to_group


DOWN: Final = PortStatus(config=PortConfig.DOWN, link=False)
"""How the local port stands: switched off, as on a switch that is not a host too."""
