"""A topology as a value: what is there before anything moves or fails.

Everything is kept in one canonical order (names by their numbers, so h2 comes before h10; each
link with its smaller end first), so two ways of drawing the same network give equal values.
Host ports count from 0 and switch ports from 1, as in Mininet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from penstock._base.text import meant_instead
from penstock._world.component import Endpoint
from penstock.addresses import ipv4_text, mac_text
from penstock.errors import PenstockError

if TYPE_CHECKING:
    import networkx as nx

LinkOption = str | int | float | bool | None
"""What a link may be told about itself, as with Mininet's TCLink: `bw=10`, `delay="5ms"`, `loss=1`."""

_NUMBER = re.compile(r"(\d+)")


def natural(name: str) -> tuple[str | int, ...]:
    """Return the key that sorts names as Mininet does: by their words and numbers in turn."""
    return tuple(int(part) if part.isdecimal() else part for part in _NUMBER.split(name))


@dataclass(frozen=True, slots=True)
class HostNode:
    """A host, its addresses, and where its first network card is plugged in (None: nowhere).

    An `ip` of 0 (0.0.0.0) means that the host starts without an address.
    """

    name: str
    mac: int
    ip: int
    prefix_length: int = 8
    ports: tuple[int, ...] = ()
    attachment: Endpoint | None = None

    def __str__(self) -> str:
        place = f"at {self.attachment}" if self.attachment else "not attached"
        return f"{self.name}  {mac_text(self.mac)}  {ipv4_text(self.ip)}/{self.prefix_length}  {place}"


@dataclass(frozen=True, slots=True)
class SwitchNode:
    """A switch, its datapath id, and the numbers of its ports, wired or not."""

    name: str
    dpid: int
    ports: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}  dpid {self.dpid:016x}"


@dataclass(frozen=True, slots=True)
class Link:
    """A cable between two ports, with its options sorted by name."""

    a: Endpoint
    b: Endpoint
    options: tuple[tuple[str, LinkOption], ...] = ()

    def __str__(self) -> str:
        return f"{self.a} -- {self.b}"


@dataclass(frozen=True, slots=True)
class Topology:
    """Hosts, switches and links; made by `topology`, `TopologyBuilder` or `load_mininet`, which check it."""

    hosts: tuple[HostNode, ...]
    switches: tuple[SwitchNode, ...]
    links: tuple[Link, ...]
    _hosts: dict[str, HostNode] = field(init=False, repr=False, compare=False)
    _switches: dict[str, SwitchNode] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hosts", {node.name: node for node in self.hosts})
        object.__setattr__(self, "_switches", {node.name: node for node in self.switches})

    def host(self, name: str) -> HostNode:
        """Return the host of that name."""
        return _find("host", name, self._hosts)

    def switch(self, name: str) -> SwitchNode:
        """Return the switch of that name."""
        return _find("switch", name, self._switches)

    def with_port(self, switch: str, port: int) -> Topology:
        """Return this network with a port, wired or not, on a switch."""
        node = self.switch(switch)
        if port in node.ports:
            return self
        grown = replace(node, ports=tuple(sorted((*node.ports, port))))
        switches = tuple(grown if known is node else known for known in self.switches)
        return replace(self, switches=switches)

    def peers(self) -> dict[Endpoint, Endpoint]:
        """Return, for every wired port, the port at the other end of its cable."""
        return {near: far for link in self.links for near, far in ((link.a, link.b), (link.b, link.a))}

    def graph(self) -> nx.MultiGraph:
        """Return the network as a networkx graph, for path computations.

        A node has the attribute `kind` (`host` or `switch`); an edge has `link` and `ports`, which
        maps each of its two nodes to the port the link leaves it by.
        """
        import networkx as nx  # half of a short run's start-up time, so only for those who ask

        graph = nx.MultiGraph()
        graph.add_nodes_from((host.name for host in self.hosts), kind="host")
        graph.add_nodes_from((switch.name for switch in self.switches), kind="switch")
        for link in self.links:
            ports = {link.a.node: link.a.port, link.b.node: link.b.port}
            graph.add_edge(link.a.node, link.b.node, link=link, ports=ports)
        return graph

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterable[str]:
        counts = ((self.hosts, "host"), (self.switches, "switch"), (self.links, "link"))
        yield ", ".join(_count(len(things), word) for things, word in counts)
        yield from map(str, self.hosts)
        peers = self.peers()
        for switch in self.switches:
            ends = (f"{port}: {peers.get(Endpoint(switch.name, port), 'free')}" for port in switch.ports)
            yield "  ".join([str(switch), *ends])


def _count(number: int, word: str) -> str:
    plural = "es" if word.endswith("ch") else "s"
    return f"{number} {word}{plural if number != 1 else ''}"


_Node = TypeVar("_Node", HostNode, SwitchNode)


def _find(kind: str, name: str, nodes: dict[str, _Node]) -> _Node:
    if name in nodes:
        return nodes[name]
    known = ", ".join(list(nodes)[:8]) + (", …" if len(nodes) > 8 else "")
    otherwise = f"this topology's {kind} names are {known or 'none'}."
    near = meant_instead(name, nodes)
    hint = otherwise if near is None else f"did you mean {near!r}, or another of {known}?"
    raise PenstockError(f"unknown {kind} {name!r}: {hint}")
