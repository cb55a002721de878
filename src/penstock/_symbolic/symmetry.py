"""Hosts that nothing tells apart: what differs only in which of them is meant is tried once.

Where a scenario says that it is symmetric, hosts on one switch, of one kind and with the same options,
are *alike*.  As long as two of them are *untouched* - they have sent nothing, and nobody has sent
anything that names them - every run has a twin in which the two have changed places, and a search
that keeps to one of the twins loses nothing:

- of classes of packets that become each other when untouched hosts change places, one is kept;
- of untouched hosts that are alike, only the first sends.

Whatever has befallen a link or a host ends that, because the fabric's state is then another.

The twins are twins only if the controller treats the hosts and their ports alike.  What can be seen
of that is looked at: its source must not name their addresses; in the state at hand its handlers
must tell apart as many classes of packets from either port, on the same lines and with the same kinds
of answers; and two classes are twins only if they go the same way.  The rest is what the scenario
says, and whoever reads the result is told so.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from itertools import combinations
from typing import Any, Final

from penstock._concolic.space import Inputs, Space
from penstock._symbolic.classes import PacketClass
from penstock._world.component import Endpoint
from penstock._world.hosts import Host, SymbolicHost
from penstock._world.hosts.host import HostState
from penstock._world.network import Network
from penstock._world.signals import FABRIC
from penstock.addresses import ipv4_text, mac_text

_OWN: Final = ("name", "mac", "ip", "directory", "port", "source", "remembers")
"""What hosts that are alike may differ in."""

_SMALL: Final = 0xFFFF
"""Whole numbers up to this are no address, even if a host's happens to be one."""

Group = tuple[SymbolicHost, ...]


def alike(network: Network, sources: Sequence[str], *, numbers: bool) -> tuple[Group, ...]:
    """Return the hosts that nothing tells apart, in groups of two or more, in the network's order.

    `numbers` says that the program sees addresses as whole numbers, so that any may be one.
    """
    hosts = [made for made in network.components if isinstance(made, Host)]
    if not all(isinstance(made, SymbolicHost) for made in hosts):
        # Whom the others would send to cannot be seen.
        return ()
    fabric = network.fabric.initial()
    constants = [value for source in sources for value in _constants(source)]
    groups: defaultdict[tuple[object, ...], list[SymbolicHost]] = defaultdict(list)
    for made in hosts:
        assert isinstance(made, SymbolicHost)
        if made.mobility is None and not _is_named(made, constants, numbers):
            end = network.fabric.peer(fabric, Endpoint(made.name, made.port))
            options = tuple(getattr(made, item.name) for item in fields(made) if item.name not in _OWN)
            groups[type(made), end and end.node, *options].append(made)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _is_named(host: SymbolicHost, constants: Iterable[object], numbers: bool) -> bool:
    """Tell whether a program's constants name a host's address."""
    texts = re.compile(rf"(?<![\w.:])({mac_text(host.mac)}|{re.escape(ipv4_text(host.ip))})(?![\w.:])", re.I)
    for value in constants:
        if isinstance(value, str) and texts.search(value):
            return True
        if isinstance(value, bytes) and _names(value, host):
            return True
        if isinstance(value, int) and value in (host.mac, host.ip) and (numbers or value > _SMALL):
            return True
    return False


@lru_cache
def _constants(source: str) -> tuple[object, ...]:
    """Return the constants in a program's source."""
    return tuple(node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))


def untouched(group: Group, states: Mapping[str, Any]) -> list[SymbolicHost]:
    """Return the hosts of a group that have done nothing and that nobody has named."""
    packets = [
        data
        for state in states.values()
        if isinstance(state, HostState)
        for data in getattr(state.memory, "sent", ())
    ]
    quiet = (made for made in group if states[made.name] == made.initial())
    return [made for made in quiet if not any(_names(data, made) for data in packets)]


def _names(data: bytes, host: SymbolicHost) -> bool:
    return host.mac.to_bytes(6) in data or host.ip.to_bytes(4) in data


def swapped(inputs: Inputs, space: Space, one: SymbolicHost, other: SymbolicHost) -> dict[str, int]:
    """Return a packet's fields with two hosts' addresses in each other's place."""
    places: Mapping[str, Mapping[int, int]] = {
        "mac": {one.mac: other.mac, other.mac: one.mac},
        "ipv4": {one.ip: other.ip, other.ip: one.ip},
    }
    return {
        name: places.get(space.by_name[name].kind, {}).get(value, value) for name, value in inputs.items()
    }


class Symmetry:
    """Leaves out what only the name of a host makes different."""

    def __init__(self, network: Network, groups: tuple[Group, ...]) -> None:
        self.groups = groups
        """The hosts that nothing tells apart."""
        self.reads = tuple(made.name for made in network.components if isinstance(made, SymbolicHost))
        """The hosts whose states show who is untouched."""
        self._fabric = network.fabric.initial()
        self._merged: dict[Group, None] = {}

    def distinct(
        self,
        host: SymbolicHost,
        found: tuple[PacketClass, ...],
        seen: Mapping[str, Any],
        classes: Callable[[SymbolicHost], tuple[PacketClass, ...]],
    ) -> tuple[PacketClass, ...]:
        """Return the classes of a host without those that another name makes of what is tried anyway."""
        if seen[FABRIC] != self._fabric:
            return found
        for group in self.groups:
            free = untouched(group, seen)
            if host in free and free[0] is not host and _signature(classes(free[0])) == _signature(found):
                self._merged[group] = None
                return ()
            kept = _without_twins(found, [made for made in free if made is not host])
            if len(kept) < len(found):
                self._merged[group] = None
            found = kept
        return found

    def sentences(self) -> Iterator[str]:
        """Yield what was assumed, for whoever reads the result."""
        for group in self._merged:
            names = " and ".join(made.name for made in group)
            yield (
                f"{names} are alike here: of packets that differ only in which of them is meant, one was "
                f"sent, since [symbolic] says that the scenario is symmetric. A controller that does not "
                f"treat them and their ports alike may do what this search has not seen."
            )


def _way(known: PacketClass) -> tuple[object, ...]:
    """Return which way a class goes: the lines that decide, and the kinds of answers."""
    result = known.path.result
    if result is None:
        return ("cut",)
    return (
        *((decision.place.line, decision.taken) for decision in known.path.decisions),
        *(type(send.message).__name__ for send in result.sends),
        *(event.kind for event in result.events),
    )


def _signature(classes: Iterable[PacketClass]) -> list[str]:
    """Return the ways that a handler tells apart."""
    return sorted(str(_way(known)) for known in classes)


def _without_twins(found: Iterable[PacketClass], hosts: Sequence[SymbolicHost]) -> tuple[PacketClass, ...]:
    """Return classes without those that become an earlier one when two hosts change places."""
    kept: dict[tuple[bytes, tuple[object, ...]], PacketClass] = {}
    for known in found:
        way = _way(known)
        twins = (
            known.frames.data(swapped(known.inputs, known.space, *pair)) for pair in combinations(hosts, 2)
        )
        if not any((twin, way) in kept and twin != known.data for twin in twins):
            kept[known.data, way] = known
    return tuple(kept.values())
