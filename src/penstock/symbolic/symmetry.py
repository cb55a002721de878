"""Hosts that nothing tells apart: what differs only in which of them is meant is tried once.

Hosts on one switch, of one kind and with the same options, are *alike*.  As long as two of them are
*untouched* - they have sent nothing, and nobody has sent anything that names them - every run has a
twin in which the two have changed places, and a search that keeps to one of the twins loses nothing:

- of classes of packets that become each other when untouched hosts change places, one is kept;
- of untouched hosts that are alike, only the first sends.

Whatever has befallen a link or a host ends that, because the fabric's state is then another.

The twins are twins only if the controller treats the hosts and their ports alike.  What can be seen
of that is looked at: its source must not name their addresses, and its handlers must tell apart as
many classes of packets, on the same lines, from either port.  The rest is an assumption, and
whoever reads the result is told so.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from typing import Any, Final

from penstock.addresses import ipv4_text, mac_text
from penstock.symbolic.space import Inputs, Space
from penstock.world.component import Endpoint
from penstock.world.fabric import FabricState
from penstock.world.hosts import CuriousHost
from penstock.world.hosts.host import HostState
from penstock.world.network import Network

_OWN: Final = ("name", "mac", "ip", "directory", "port", "source", "remembers")
"""What hosts that are alike may differ in."""

_SMALL: Final = 0xFFFF
"""Whole numbers up to this are no address, even if a host's happens to be one."""

Group = tuple[CuriousHost, ...]


def alike(network: Network, fabric: FabricState, sources: Sequence[str]) -> tuple[Group, ...]:
    """Return the hosts that nothing tells apart, in groups of two or more, in the network's order."""
    groups: defaultdict[tuple[object, ...], list[CuriousHost]] = defaultdict(list)
    for made in network.components:
        if isinstance(made, CuriousHost) and made.mobility is None and not _is_named(made, sources):
            end = network.fabric.peer(fabric, Endpoint(made.name, made.port))
            options = tuple(getattr(made, item.name) for item in fields(made) if item.name not in _OWN)
            groups[type(made), end and end.node, *options].append(made)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _is_named(host: CuriousHost, sources: Iterable[str]) -> bool:
    """Tell whether a program's source names a host's address."""
    texts = re.compile(rf"(?<![\w.:])({mac_text(host.mac)}|{re.escape(ipv4_text(host.ip))})(?![\w.:])", re.I)
    return any(
        (isinstance(value, str) and texts.search(value))
        or (isinstance(value, int) and value > _SMALL and value in (host.mac, host.ip))
        for source in sources
        for value in _constants(source)
    )


@lru_cache
def _constants(source: str) -> tuple[object, ...]:
    """Return the constants in a program's source."""
    return tuple(node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))


def untouched(group: Group, states: Mapping[str, Any]) -> list[CuriousHost]:
    """Return the hosts of a group that have done nothing and that nobody has named."""
    packets = [
        data
        for state in states.values()
        if isinstance(state, HostState)
        for data in getattr(state.memory, "sent", ())
    ]
    quiet = (made for made in group if states[made.name] == made.initial())
    return [made for made in quiet if not any(_names(data, made) for data in packets)]


def _names(data: bytes, host: CuriousHost) -> bool:
    return host.mac.to_bytes(6) in data or host.ip.to_bytes(4) in data


def swapped(inputs: Inputs, space: Space, one: CuriousHost, other: CuriousHost) -> dict[str, int]:
    """Return a packet's fields with two hosts' addresses in each other's place."""
    places: Mapping[str, Mapping[int, int]] = {
        "mac": {one.mac: other.mac, other.mac: one.mac},
        "ipv4": {one.ip: other.ip, other.ip: one.ip},
    }
    return {
        name: places.get(space.by_name[name].kind, {}).get(value, value) for name, value in inputs.items()
    }
