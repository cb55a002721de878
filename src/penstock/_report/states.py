"""States of components as lines of text, in sections: what a reader of a run looks at.

A switch has a section for each flow table, for its ports, groups, meters, buffers and sessions; a host its
memory and its ARP table; the fabric its wiring; a controller what its program remembers.
What merely counts, such as how often a rule was used, is in a section of its own, so that it does not
drown what changed.

A step changes little of a state, and states are immutable.  So a `Describer` keeps the lines of each part
by the part's identity: a part that is still the same object is not described again.

What a controller's program remembers are lines such as `mac_to_port[1]['00:00:00:00:00:01'] = 2`.  Its state
is a `Snapshot`: for each object that can change, a copy of what was in it.  The lines are written from these
copies, never from the objects themselves, which have moved on since; no code of the program runs for it, not
even a `repr` of its own.  Of an os-ken app its own attributes are shown, without those of the framework, and
the framework's objects are only named.  Of a native controller all attributes of the program are.  Variables
of modules and classes are not shown, nor is what is deeper than a few levels or more than can be looked at.
"""

from __future__ import annotations

import collections
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from functools import cache
from itertools import islice
from typing import Any, Final

from penstock._controllers.osken.binding import OsKenState
from penstock._controllers.snapshot import Snapshot
from penstock._controllers.tcp.remote import ELSEWHERE
from penstock._verify.abstract_controller import ControllerQueues
from penstock._verify.abstract_host import HostQueue
from penstock._verify.abstract_switch import SwitchQueues
from penstock._world.fabric import FabricState, Wiring
from penstock._world.frame import Frame
from penstock._world.hosts.host import HostState
from penstock._world.switch import SwitchState
from penstock._world.switch.flow_table import FlowEntry, FlowTable
from penstock._world.switch.mac_learning import Addresses
from penstock._world.switch.state import Buffered, GroupEntry, MeterEntry, PortStatus, Session, TableFaults
from penstock.addresses import ipv4_text, mac_text
from penstock.openflow.match import port_text
from penstock.openflow.messages import Role
from penstock.packet import Ethernet, describe

Lines = tuple[str, ...]
Sections = Mapping[str, Lines]
"""The lines of a component's state, by section; a section that is empty is left out."""

IN_FLIGHT: Final = "in flight"
IN_ORDER: Final = frozenset({"pending", "to be executed"})
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
                yield "to be executed", self._part("control", state.control, _batches)
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
        lines = limit_lines(describe(part))
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
        yield "learned addresses", self._part("addresses", state.addresses, _addresses)
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
        yield "state", self._part("memory", state.memory, lambda memory: value_lines("memory", memory))
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
            yield "state", self._part("program", state.snapshot, memory_lines)
            yield "sessions", self._part("joined", state.joined, _session_lines)
            timers = (state.due, state.hung)
            yield "timers", self._part("timers", timers, _timers)
        else:
            yield "state", self._part("program", state, memory_lines)


def limit_lines(lines: Iterable[str], most: int = MOST_LINES) -> Lines:
    """Return lines, of which no more than can be looked at."""
    found = tuple(lines)
    return found if len(found) <= most else (*found[:most], f"… and {len(found) - most:,} more")


@dataclass(frozen=True, slots=True)
class Change:
    """What a step changed in one section of one component."""

    component: str
    section: str
    removed: Lines
    added: Lines


def difference(before: Lines, after: Lines) -> tuple[Lines, Lines]:
    """Return which lines are gone and which are new, each as often as it is."""
    first, shorter = 0, min(len(before), len(after))
    while first < shorter and before[first] == after[first]:
        first += 1
    last = 0
    while last < shorter - first and before[-1 - last] == after[-1 - last]:
        last += 1
    old, new = before[first : len(before) - last], after[first : len(after) - last]
    if not old or not new:
        return old, new
    kept = Counter(old) & Counter(new)
    return _without(old, Counter(kept)), _without(new, kept)


def in_order(before: Lines, after: Lines) -> tuple[Lines, Lines]:
    """Return the same for lines whose order matters: what is new comes after what stays."""
    removed, added = difference(before, after)
    kept = _without(before, Counter(removed))
    return (removed, added) if (*kept, *added) == after else (before, after)


def _without(lines: Lines, kept: Counter[str]) -> Lines:
    found = []
    for line in lines:
        if kept[line]:
            kept[line] -= 1
        else:
            found.append(line)
    return tuple(found)


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


def _condition(state: tuple[bool, TableFaults]) -> Iterator[str]:
    powered, faults = state
    if not powered:
        yield "is powered off"
    if faults.limit is not None:
        yield f"is limited to {faults.limit} entries"
    if faults.ignoring:
        yield f"ignores the next {faults.ignoring} flow-mods"


def _groups(groups: Mapping[int, GroupEntry]) -> Iterator[str]:
    for number, group in groups.items():
        yield f"group {number}: {' | '.join(map(str, group.buckets)) or 'drop'}"


def _meters(meters: Mapping[int, MeterEntry]) -> Iterator[str]:
    for number, meter in meters.items():
        yield f"meter {number}: {' | '.join(map(str, meter.bands)) or 'no bands'}"


def _ports(ports: Mapping[int, PortStatus]) -> Iterator[str]:
    for number, status in ports.items():
        config = f", configuration {status.config:#x}" if status.config else ""
        yield f"port {port_text(number)}: {'up' if status.usable else 'down'}{config}"


def _buffers(buffers: Mapping[int, Buffered]) -> Iterator[str]:
    for number, kept in buffers.items():
        yield f"buffer {number}: {kept.frame}, from port {kept.in_port}"


def _addresses(addresses: Addresses) -> Iterator[str]:
    for (vlan, address), known in addresses.items():
        within = f" in VLAN {vlan}" if vlan else ""
        yield f"{mac_text(address)}{within}: port {port_text(known.port)}"


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


def _batches(batches: Iterable[object]) -> Iterator[str]:
    for batch in batches:
        yield from _texts(batch if isinstance(batch, frozenset) else (batch,))


def _neighbours(known: Mapping[int, int]) -> Iterator[str]:
    for ip, mac in known.items():
        yield f"{ipv4_text(ip)} is at {mac_text(mac)}"


def _wiring(wiring: Wiring) -> Iterator[str]:
    for end in sorted(wiring.cut, key=str):
        session = isinstance(end.port, str)
        yield f"the control session {end.node}-{end.port} is cut" if session else f"the link at {end} is cut"
    yield from sorted(f"{name} is powered off" for name in wiring.off)
    yield from (f"{end.node} is at {place}" for end, place in wiring.moved)


def _session_lines(joined: Iterable[str]) -> Iterator[str]:
    return (f"{name}: open" for name in sorted(joined))


def _timers(state: tuple[tuple[str, ...], bool]) -> Iterator[str]:
    due, hung = state
    if hung:
        yield "does not return"
    yield from (f"next: {timer}" for timer in due)


# What a controller's program remembers.


MOST_REMEMBERED: Final = 500
"""How many lines there may be of one program."""
DEEPEST: Final = 6
_LONGEST: Final = 160
"""How much is shown of one value."""
_PLAIN: Final = (bool, int, float, complex, str, bytes, type(None))
_FRAMEWORKS: Final = frozenset({"os_ken", "ryu", "eventlet", "greenlet", "logging", "threading", "penstock"})
_APPS: Final = ("os_ken.app.", "ryu.app.")
"""Where the frameworks keep apps, whose own classes are a program's."""

Line = tuple[str, str]
"""A path such as `hosts['h1']` and the value there, or all there is to say and nothing."""
MEMBER: Final = object()
"""Stands for a member of a set, of which the path has told all."""


def memory_lines(state: object) -> Iterable[str]:
    """Return what a controller's program remembers in a state."""
    if isinstance(state, Snapshot):
        return _program(state)
    if isinstance(state, tuple) and len(state) > 1 and isinstance(state[1], Snapshot):
        waiting, snapshot = state[:2]
        return (*(f"waits for {name} to join" for name in waiting), *_program(snapshot))
    return value_lines("state", state)


def _program(snapshot: Snapshot) -> tuple[str, ...]:
    looking = _Looking(snapshot)
    found = [_line(*each) for each in islice(looking.program(), MOST_REMEMBERED + 1)]
    return (*found[:MOST_REMEMBERED], *(["… and more"] if len(found) > MOST_REMEMBERED else []))


def value_lines(name: str, value: object) -> tuple[str, ...]:
    """Return an immutable value as lines."""
    if value is None or value == ():
        return ()
    looking = _Looking(None)
    return tuple(_line(*each) for each in islice(looking.within(name, value, 0), MOST_REMEMBERED))


def _line(path: str, text: str) -> str:
    return f"{path} = {text}" if text else path


class _Looking:
    """A look at one state."""

    def __init__(self, snapshot: Snapshot | None) -> None:
        self._entries: dict[int, Any] = {}
        if snapshot is not None:
            self._entries = {id(entry[0]): entry for entry in snapshot.entries}
        self._above: set[int] = set()
        """The objects that the present one is in."""

    def program(self) -> Iterator[Line]:
        """Yield what the apps among the objects remember, or else the first object."""
        apps = [entry[0] for entry in self._entries.values() if _is_app(_kind(entry[0]))]
        prefix = len(apps) > 1
        for app in sorted(apps, key=lambda app: type(app).__name__):
            before = f"{type(app).__name__}." if prefix else ""
            own = {key: item for key, item in self._attributes(app).items() if key not in _framework_names()}
            yield from self._items(((f"{before}{key}", item) for key, item in own.items()), 0)
        if not apps and self._entries:
            first = next(iter(self._entries.values()))[0]
            own = {key: item for key, item in self._attributes(first).items() if key != "_outbox"}
            yield from self._items(own.items(), 0)

    def _attributes(self, value: object) -> dict[str, object]:
        """Return an object's attributes as they were; they are the last parts of what it holds."""
        entry = self._entries.get(id(value))
        if entry is None:
            return {}
        _, _, contents, _, _ = entry
        found: dict[str, object] = {}
        for content in contents if not isinstance(value, _CONTAINERS) else contents[1:]:
            if isinstance(content, dict):
                found |= content
        return found

    def _items(self, items: Iterable[tuple[str, Any]], depth: int) -> Iterator[Line]:
        for path, item in items:
            yield from self.within(path, item, depth)

    def within(self, path: str, value: Any, depth: int) -> Iterator[Line]:
        """Yield a value, part by part where it has parts."""
        kind = _kind(value)
        if value is MEMBER:
            yield path, ""
            return
        if _is_whole(kind) or depth > DEEPEST or id(value) in self._above:
            yield path, self._short(value)
            return
        parts = self._parts(path, value)
        if parts is None:
            yield path, self._short(value)
            return
        self._above.add(id(value))
        empty = True
        for inner, item in parts:
            empty = False
            yield from self.within(inner, item, depth + 1)
        self._above.discard(id(value))
        if empty:
            yield path, next((text for base, text in _EMPTY if issubclass(kind, base)), "empty")

    def _parts(self, path: str, value: Any) -> Iterable[tuple[str, Any]] | None:
        """Return what a value is made of, each with the path that leads there; None if it is shown whole."""
        kind = _kind(value)
        entry = self._entries.get(id(value))
        content = entry[2][0] if entry is not None and entry[2] else value
        if issubclass(kind, collections.abc.Mapping) and isinstance(content, Mapping):
            pairs = sorted(((self._short(key), item) for key, item in content.items()), key=lambda p: p[0])
            return [(f"{path}[{key}]", item) for key, item in pairs]
        if issubclass(kind, set | frozenset):
            return [(f"{path} has {member}", MEMBER) for member in sorted(map(self._short, content))]
        if issubclass(kind, tuple) and hasattr(kind, "_fields"):
            return [(f"{path}.{name}", item) for name, item in zip(kind._fields, value, strict=True)]
        if issubclass(kind, list | tuple | collections.deque):
            return [(f"{path}[{place}]", item) for place, item in enumerate(content)]
        if _is_framework(kind) and not is_dataclass(kind):
            return None
        if is_dataclass(kind) and entry is None:
            return [(f"{path}.{each.name}", getattr(value, each.name)) for each in fields(kind)]
        if entry is not None:
            own = self._attributes(value)
            return [(f"{path}.{name}", item) for name, item in sorted(own.items())]
        return None

    def _short(self, value: Any, depth: int = 0) -> str:
        """Return a value in a few words."""
        kind = type(value)
        if depth > DEEPEST:
            text = "…"
        elif issubclass(kind, Enum):
            text = f"{kind.__name__}.{value.name}"
        elif kind in _PLAIN:
            text = repr(value)
        elif kind in (tuple, list, frozenset):
            entry = self._entries.get(id(value))
            items = entry[2][0] if entry is not None else value
            inner = ", ".join(self._short(item, depth + 1) for item in islice(items, 20))
            text = f"({inner})"
        elif kind.__name__ == "Datapath":
            text = f"datapath {self._attributes(value).get('id')}"
        elif issubclass(kind, Ethernet):
            text = f"[{describe(value.to_bytes())}]"
        elif kind.__module__.startswith("penstock.") and _tells_itself(_kind(value)):
            text = str(value)
        else:
            text = f"a {kind.__name__}"
        return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


_CONTAINERS: Final = (dict, list, set, tuple, frozenset, collections.deque)
_EMPTY: Final = (((dict, set, frozenset), "{}"), ((list, collections.deque), "[]"), (tuple, "()"))


def _kind(value: object) -> Any:
    """Return a value's type, as something that can be a key."""
    return type(value)


@cache
def _is_whole(kind: type) -> bool:
    """Tell whether values of a type are shown as they are, and not part by part."""
    return issubclass(kind, Enum | Ethernet | Frame) or kind in _PLAIN


@cache
def _tells_itself(kind: type) -> bool:
    """Tell whether objects of a class have words for themselves, and not only a place in memory."""
    return any({"__str__", "__repr__"} & vars(base).keys() for base in kind.__mro__[:-1])


@cache
def _is_app(kind: type) -> bool:
    """Tell whether objects of a class are os-ken apps of the program, and not the framework's own."""
    bases = {f"{base.__module__}.{base.__qualname__}" for base in kind.__mro__}
    return "os_ken.base.app_manager.OSKenApp" in bases and not _is_framework(kind)


@cache
def _is_framework(kind: type) -> bool:
    """Tell whether a class is none of the program's."""
    module = kind.__module__
    return module.partition(".")[0] in _FRAMEWORKS and not f"{module}.".startswith(_APPS)


@cache
def _framework_names() -> frozenset[str]:
    """Return the attributes that every os-ken app has."""
    from os_ken.base.app_manager import OSKenApp

    return frozenset(OSKenApp.__init__.__code__.co_names)
