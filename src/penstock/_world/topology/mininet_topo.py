"""Mininet's `Topo` classes again, for files that are loaded without Mininet.

They number ports, sort names and keep attributes as Mininet 2.3 does, and have its methods, hence
the camel case.  They differ in refusing at once a name, a node or a port that Mininet would trip over later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from penstock._world.component import Endpoint
from penstock._world.topology import shapes
from penstock._world.topology.builder import check_ends, name_taken, next_port, port_taken
from penstock._world.topology.value import natural

Info = dict[str, Any]


def natural_seq(parts: Sequence[object]) -> list[tuple[str | int, ...]]:
    """Mininet's `naturalSeq`: the key that sorts sequences of names by their numbers."""
    return [natural(str(part)) for part in parts]


class MultiGraph:
    """The graph behind `Topo.g`: nodes with attributes, and keyed parallel edges between them."""

    def __init__(self) -> None:
        self.node: dict[str, Info] = {}
        self.edge: dict[str, dict[str, dict[Any, Info]]] = {}

    def add_node(self, node: str, attr_dict: Info | None = None, **attrs: Any) -> None:
        """Add a node with its attributes."""
        self.node[node] = {**(attr_dict or {}), **attrs}

    def add_edge(
        self, src: str, dst: str, key: Any = None, attr_dict: Info | None = None, **attrs: Any
    ) -> Any:
        """Add an edge and return its key, the next free number (from 1) if none is given."""
        between = self.edge.setdefault(src, {}).setdefault(dst, {})
        self.edge.setdefault(dst, {})[src] = between
        if key is None:
            key = max((taken for taken in between if isinstance(taken, int)), default=0) + 1
        between[key] = {**(attr_dict or {}), **attrs}
        return key

    def nodes(self, data: bool = False) -> Iterable[Any]:
        """Return the nodes, with `data` as (node, attributes)."""
        return self.node.items() if data else self.node.keys()

    def edges_iter(self, data: bool = False, keys: bool = False) -> Iterator[tuple[Any, ...]]:
        """Give each edge once, as (src, dst), then its key and its attributes if they are asked for."""
        for src, neighbours in self.edge.items():
            for dst, between in neighbours.items():
                if src <= dst:
                    for key, info in between.items():
                        yield (src, dst, *([key] if keys else []), *([info] if data else []))

    def edges(self, data: bool = False, keys: bool = False) -> list[tuple[Any, ...]]:
        """Return the edges of `edges_iter` as a list."""
        return list(self.edges_iter(data, keys))

    def convertTo(self, cls: Callable[[], Any], data: bool = False, keys: bool = False) -> Any:
        """Return the same graph as an object of a networkx-like class."""
        graph = cls()
        graph.add_nodes_from(self.nodes(data))
        graph.add_edges_from(self.edges(data or keys, keys))
        return graph

    def __getitem__(self, node: str) -> dict[str, dict[Any, Info]]:
        return self.edge[node]

    def __len__(self) -> int:
        return len(self.node)


class Topo:
    """Mininet's base class of topologies: `build` is overridden, or `__init__` extended."""

    def __init__(self, *args: Any, **params: Any) -> None:
        self.g = MultiGraph()
        self.hopts: Info = params.pop("hopts", {})
        self.sopts: Info = params.pop("sopts", {})
        self.lopts: Info = params.pop("lopts", {})
        self.ports: dict[str, dict[int, tuple[str, int]]] = {}
        self.build(*args, **params)

    def build(self, *args: Any, **params: Any) -> None:
        """Draw the topology; here, nothing."""

    def addNode(self, name: str, **opts: Any) -> str:
        """Add a node; a name that is taken is refused, where Mininet would forget its first owner."""
        if name in self.g.node:
            raise name_taken(name)
        self.g.add_node(name, **opts)
        return name

    def addHost(self, name: str, **opts: Any) -> str:
        """Add a host."""
        return self.addNode(name, **(opts or self.hopts))

    def addSwitch(self, name: str, **opts: Any) -> str:
        """Add a switch."""
        return self.addNode(name, isSwitch=True, **(opts or self.sopts))

    def addLink(
        self,
        node1: str,
        node2: str,
        port1: int | None = None,
        port2: int | None = None,
        key: Any = None,
        **opts: Any,
    ) -> Any:
        """Add a link and return its key."""
        port1, port2 = self.addPort(node1, node2, port1, port2)
        ends = {"node1": node1, "node2": node2, "port1": port1, "port2": port2}
        return self.g.add_edge(node1, node2, key, {**(opts or self.lopts), **ends})

    def addPort(
        self, src: str, dst: str, sport: int | None = None, dport: int | None = None
    ) -> tuple[int, int]:
        """Note which ports a new link uses and return their numbers."""
        check_ends(src, dst, self.g.node)
        near, far = self.ports.setdefault(src, {}), self.ports.setdefault(dst, {})
        sport = next_port(near, int(self.isSwitch(src))) if sport is None else sport
        dport = next_port(far, int(self.isSwitch(dst))) if dport is None else dport
        for taken, node, number, peer in ((near, src, sport, dst), (far, dst, dport, src)):
            if number in taken:
                raise port_taken(Endpoint(node, number), Endpoint(*taken[number]), peer)
        near[sport], far[dport] = (dst, dport), (src, sport)
        return sport, dport

    def port(self, src: str, dst: str) -> Any:
        """Return the ports (at src, at dst) of the link between two nodes, or a list if there are several."""
        pairs = [(sport, dport) for sport, (node, dport) in self.ports[src].items() if node == dst]
        return pairs[0] if len(pairs) == 1 else pairs

    def nodes(self, sort: bool = True) -> list[str]:
        """Return the names of all nodes."""
        return self.sorted(self.g.node) if sort else list(self.g.node)

    def isSwitch(self, n: str) -> bool:
        """Tell whether a node is a switch."""
        return bool(self.g.node[n].get("isSwitch", False))

    def switches(self, sort: bool = True) -> list[str]:
        """Return the names of the switches."""
        return [name for name in self.nodes(sort) if self.isSwitch(name)]

    def hosts(self, sort: bool = True) -> list[str]:
        """Return the names of the hosts."""
        return [name for name in self.nodes(sort) if not self.isSwitch(name)]

    def iterLinks(self, withKeys: bool = False, withInfo: bool = False) -> Iterator[tuple[Any, ...]]:
        """Give each link as (node1, node2), then its key and its info if they are asked for."""
        for _, _, key, info in self.g.edges_iter(data=True, keys=True):
            yield (info["node1"], info["node2"], *([key] if withKeys else []), *([info] if withInfo else []))

    def links(
        self, sort: bool = False, withKeys: bool = False, withInfo: bool = False
    ) -> list[tuple[Any, ...]]:
        """Return the links of `iterLinks` as a list."""
        links = list(self.iterLinks(withKeys, withInfo))
        return sorted(links, key=lambda link: natural_seq(link[: 2 + withKeys])) if sort else links

    def linkInfo(self, src: str, dst: str, key: Any = None) -> Info:
        """Return the attributes of a link."""
        between = self.g[src][dst]
        return between[min(between) if key is None else key]

    def setlinkInfo(self, src: str, dst: str, info: Info, key: Any = None) -> None:
        """Replace the attributes of a link."""
        between = self.g[src][dst]
        between[min(between) if key is None else key] = info

    def nodeInfo(self, name: str) -> Info:
        """Return the attributes of a node."""
        return self.g.node[name]

    def setNodeInfo(self, name: str, info: Info) -> None:
        """Replace the attributes of a node."""
        self.g.node[name] = info

    def convertTo(self, cls: Callable[[], Any], data: bool = True, keys: bool = True) -> Any:
        """Return the graph as an object of a networkx-like class."""
        return self.g.convertTo(cls, data, keys)

    @staticmethod
    def sorted(items: Iterable[str]) -> list[str]:
        """Return names sorted by their numbers."""
        return sorted(items, key=natural)


class _TopoCanvas:
    """Lets a named shape be drawn on a Topo, through whatever its subclass overrides."""

    def __init__(self, topo: Topo) -> None:
        self.add_host = topo.addHost
        self.add_link = topo.addLink
        self._topo = topo

    def add_switch(self, name: str, *, dpid: str | None = None) -> str:
        return self._topo.addSwitch(name) if dpid is None else self._topo.addSwitch(name, dpid=dpid)


class SingleSwitchTopo(Topo):
    """One switch with k hosts."""

    def build(self, k: int = 2, **_opts: Any) -> None:
        """Draw it."""
        self.k = k
        shapes.single(_TopoCanvas(self), k)


class SingleSwitchReversedTopo(Topo):
    """One switch with k hosts, the first on the highest port."""

    def build(self, k: int = 2) -> None:
        """Draw it."""
        self.k = k
        shapes.single_reversed(_TopoCanvas(self), k)


class MinimalTopo(Topo):
    """One switch with two hosts."""

    def build(self) -> None:
        """Draw it."""
        shapes.single(_TopoCanvas(self), 2)


class LinearTopo(Topo):
    """A row of k switches with n hosts each."""

    def build(self, k: int = 2, n: int = 1, **_opts: Any) -> None:
        """Draw it."""
        self.k, self.n = k, n
        shapes.linear(_TopoCanvas(self), k, n)


class TreeTopo(Topo):
    """A tree of switches with hosts as leaves."""

    def build(self, depth: int = 1, fanout: int = 2) -> None:
        """Draw it."""
        shapes.tree(_TopoCanvas(self), depth, fanout)


class TorusTopo(Topo):
    """A grid of x by y switches, closed into rings, with n hosts each."""

    def build(self, x: int, y: int, n: int = 1) -> None:
        """Draw it."""
        shapes.torus(_TopoCanvas(self), x, y, n)
