"""States of components as lines of text, in sections: what a reader of a run looks at.

A switch has a section for each flow table, for its ports, groups, meters, buffers and sessions; a host its
memory and its ARP table; the fabric its wiring; a controller what its program remembers (see `minds`).
What merely counts, such as how often a rule was used, is in a section of its own, so that it does not
drown what changed.

A step changes little of a state, and states are immutable.  So a `Describer` keeps the lines of each part
by the part's identity: a part that is still the same object is not described again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from penstock._controllers.osken.binding import OsKenState
from penstock._controllers.tcp.remote import ELSEWHERE
from penstock._report.controller_state import remembered, written
from penstock._verify.abstract_controller import ControllerQueues
from penstock._verify.abstract_host import HostQueue
from penstock._verify.abstract_switch import SwitchQueues
from penstock._world.fabric import FabricState, Wiring
from penstock._world.hosts.host import HostState
from penstock._world.switch import SwitchState
from penstock._world.switch.flow_table import FlowEntry, FlowTable
from penstock._world.switch.state import PortStatus, Session
from penstock.addresses import ipv4_text, mac_text
from penstock.openflow.match import port_text
from penstock.openflow.messages import Role

Lines = tuple[str, ...]
Sections = Mapping[str, Lines]
"""The lines of a component's state, by section; a section that is empty is left out."""

IN_FLIGHT: Final = "in flight"
IN_ORDER: Final = frozenset({"pending", "to be carried out"})
"""The sections in which the order of the lines has a meaning; in others there is one order for all."""
MOST_LINES: Final = 2_000
"""How many lines a section may have; the rest is only counted."""


class Describer:
    """Puts the states of one component into lines, and remembers those of parts that stay."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, Lines]] = {}
        """For each part, the object that it was last and its lines."""
        self._rules: dict[int, tuple[FlowEntry, str]] = {}

    def sections(self, state: object) -> dict[str, Lines]:
        """Return a state as lines, by section."""
        return {name: lines for name, lines in self._all(state) if lines}

    def _all(self, state: object) -> Iterator[tuple[str, Lines]]:
        match state:
            case SwitchState():
                yield from self._switch(state)
            case HostState():
                yield from self._host(state)
            case FabricState():
                yield "wiring", self._part("wiring", state.wiring, _wiring)
            case SwitchQueues():
                yield from self._switch(state.inner)
                yield "packets", self._part("packets", state.packets, _texts)
                yield "to be carried out", self._part("control", state.control, _batches)
                yield "to be sent on", self._part("forward", state.forward, _texts)
            case ControllerQueues():
                yield from self._all(state.inner)
                yield "requests", self._part("requests", state.requests, _texts)
                yield "barrier replies", self._part("replies", state.replies, _texts)
                yield "news", self._part("news", state.news, _texts)
            case HostQueue():
                yield "to be received", self._part("received", state.received, _texts)
            case _:
                yield from self._controller(state)

    def _part(self, name: str, part: Any, describe: Callable[[Any], Iterable[str]]) -> Lines:
        """Return the lines of a part, which are described only if it is another object than last time."""
        known = self._known.get(name)
        if known is not None and known[0] is part:
            return known[1]
        lines = bounded(describe(part))
        self._known[name] = (part, lines)
        return lines

    # Switches.

    def _switch(self, state: SwitchState) -> Iterator[tuple[str, Lines]]:
        yield "state", self._part("faults", (state.powered, state.table_faults), _condition)
        for number, table in state.tables.items():
            name = f"flow table {number}"
            yield name, self._part(name, table, self._table)
        yield "groups", self._part("groups", state.groups, _groups)
        yield "meters", self._part("meters", state.meters, _meters)
        yield "ports", self._part("ports", state.ports, _ports)
        yield "buffers", self._part("buffers", state.buffers, _buffers)
        yield "sessions", self._part("sessions", state.sessions, _sessions)
        yield "pending", self._part("pending", state.pending, _pending)
        yield "counters", self._part("counters", state.rule_usage, _usage)

    def _table(self, table: FlowTable) -> Iterator[str]:
        kept = self._rules
        for entry in table.entries:
            known = kept.get(id(entry))
            if known is None or known[0] is not entry:
                known = kept[id(entry)] = (entry, rule_text(entry))
            yield known[1]

    # Hosts.

    def _host(self, state: HostState) -> Iterator[tuple[str, Lines]]:
        yield "state", self._part("memory", state.memory, lambda memory: written("memory", memory))
        yield "ARP table", self._part("known", state.neighbours.known, _neighbours)
        yield "waiting for an address", self._part("waiting", state.neighbours.waiting, _texts)
        yield (
            "counters",
            self._part("sent", state.sent, lambda sent: (f"frames sent: {sent}",) if sent else ()),
        )

    # Controllers.

    def _controller(self, state: object) -> Iterator[tuple[str, Lines]]:
        if state == ELSEWHERE:
            return
        if isinstance(state, OsKenState):
            yield "state", self._part("program", state.snapshot, remembered)
            yield "sessions", self._part("joined", state.joined, _joined)
            timers = (state.due, state.hung)
            yield "timers", self._part("timers", timers, _timers)
        else:
            yield "state", self._part("program", state, remembered)


def bounded(lines: Iterable[str], most: int = MOST_LINES) -> Lines:
    """Return lines, of which no more than can be looked at."""
    found = tuple(lines)
    return found if len(found) <= most else (*found[:most], f"… and {len(found) - most:,} more")


def difference(before: Lines, after: Lines) -> tuple[list[str], list[str]]:
    """Return which lines are gone and which are new, each as often as it is."""
    first, shorter = 0, min(len(before), len(after))
    while first < shorter and before[first] == after[first]:
        first += 1
    last = 0
    while last < shorter - first and before[-1 - last] == after[-1 - last]:
        last += 1
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    if not old or not new:
        return list(old), list(new)
    kept = Counter(old) & Counter(new)
    return _without(old, Counter(kept)), _without(new, kept)


def in_order(before: Lines, after: Lines) -> tuple[list[str], list[str]]:
    """Return the same for lines whose order matters: what is new comes after what stays."""
    removed, added = difference(before, after)
    kept = _without(before, Counter(removed))
    return (removed, added) if (*kept, *added) == after else (list(before), list(after))


def _without(lines: Lines, kept: Counter[str]) -> list[str]:
    found = []
    for line in lines:
        if kept[line]:
            kept[line] -= 1
        else:
            found.append(line)
    return found


def rule_text(entry: FlowEntry) -> str:
    """Return a flow entry with all that makes it the rule it is, and nothing that it counts."""
    text = str(entry)
    if entry.idle_timeout:
        text += f" (idle {entry.idle_timeout} s)"
    if entry.hard_timeout:
        text += f" (hard {entry.hard_timeout} s)"
    if entry.cookie:
        text += f" (cookie {entry.cookie:#x})"
    return text


def _texts(values: Iterable[object]) -> Iterator[str]:
    return iter(sorted(map(str, values)))


def _condition(state: tuple[bool, Any]) -> Iterator[str]:
    powered, faults = state
    if not powered:
        yield "has no power"
    if faults.limit is not None:
        yield f"takes no more than {faults.limit} entries"
    if faults.ignoring:
        yield f"ignores the next {faults.ignoring} flow-mods"


def _groups(groups: Mapping[int, Any]) -> Iterator[str]:
    for number, group in groups.items():
        yield f"group {number}: {' | '.join(map(str, group.buckets)) or 'drop'}"


def _meters(meters: Mapping[int, Any]) -> Iterator[str]:
    for number, meter in meters.items():
        yield f"meter {number}: {' | '.join(map(str, meter.bands)) or 'no bands'}"


def _ports(ports: Mapping[int, PortStatus]) -> Iterator[str]:
    for number, status in ports.items():
        config = f", configuration {status.config:#x}" if status.config else ""
        yield f"port {port_text(number)}: {'up' if status.usable else 'down'}{config}"


def _buffers(buffers: Mapping[int, Any]) -> Iterator[str]:
    for number, kept in buffers.items():
        yield f"buffer {number}: {kept.frame}, from port {kept.in_port}"


def _sessions(sessions: Mapping[str, Session]) -> Iterator[str]:
    for name, session in sessions.items():
        role = "" if session.role == Role.EQUAL else f", {Role(session.role).name.lower()}"
        yield f"{name}: {'open' if session.up else 'closed'}{role}"


def _pending(pending: Iterable[tuple[str, object]]) -> Iterator[str]:
    for controller, message in pending:
        yield f"from {controller}: {message}"


def _usage(usage: Mapping[Any, Any]) -> Iterator[str]:
    for (table, priority, match), used in usage.items():
        yield f"table {table} priority={priority} {match}: {used.packets} packets, {used.octets} bytes"


def _batches(batches: Iterable[Any]) -> Iterator[str]:
    for batch in batches:
        yield from _texts(batch if isinstance(batch, frozenset) else (batch,))


def _neighbours(known: Mapping[int, int]) -> Iterator[str]:
    for ip, mac in known.items():
        yield f"{ipv4_text(ip)} is at {mac_text(mac)}"


def _wiring(wiring: Wiring) -> Iterator[str]:
    for end in sorted(wiring.cut, key=str):
        session = isinstance(end.port, str)
        yield f"the control session {end.node}-{end.port} is cut" if session else f"the link at {end} is cut"
    yield from sorted(f"{name} has no power" for name in wiring.off)
    yield from (f"{end.node} is at {place}" for end, place in wiring.moved)


def _joined(joined: Iterable[str]) -> Iterator[str]:
    return (f"{name}: open" for name in sorted(joined))


def _timers(state: tuple[tuple[str, ...], bool]) -> Iterator[str]:
    due, hung = state
    if hung:
        yield "does not come to an end any more"
    yield from (f"next: {timer}" for timer in due)
