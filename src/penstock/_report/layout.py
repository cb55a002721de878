"""Where the nodes of a network are drawn: the same network always looks the same.

What is near in the network should be near in the picture.  So the places minimise the *stress*: the squared
differences between the distance of two nodes in the picture and the number of links between them, each
weighted by the inverse square of the latter (Gansner, Koren and North, "Graph Drawing by Stress
Majorization", 2004).  Nodes begin on a circle in the order of their names, and each in turn is put where its
distances to the others ask it to be.  Afterwards the picture is turned so that its longest side lies flat.
Networks that are too large for that stay on circles, switches inside and hosts outside.

Controllers are drawn above all else, since they are on no link.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from penstock._trace.scene import read_scene
from penstock._trace.trace import Trace
from penstock._verify.abstract_host import AbstractHost
from penstock._verify.abstract_switch import AbstractSwitch
from penstock._world.component import Endpoint
from penstock._world.hosts import Host
from penstock._world.network import Network
from penstock._world.signals import FABRIC
from penstock._world.switch import Switch
from penstock._world.topology import Topology, topology
from penstock._world.topology.value import natural
from penstock.errors import PenstockError

Point = tuple[float, float]

_LONGEST_NAME: Final = 100
"""How much of a name counts for the order: a stranger's may have more digits than a number can."""

MOST_BY_STRESS: Final = 120
"""How many nodes are placed by stress; the work grows with their square."""
_ROUNDS: Final = 80
_ABOVE: Final = 0.22
"""How much of the picture is kept for controllers."""
_APART: Final = 3.0
"""How many links two nodes are taken to be apart that no links connect."""


def in_turn(name: str) -> tuple[tuple[str | int, ...], str]:
    """Return the key that sorts names by their words and numbers."""
    return natural(name[:_LONGEST_NAME]), name


@dataclass(frozen=True, slots=True)
class Drawing:
    """What there is to draw: the kind of each node, the links, and who is controlled by whom."""

    kinds: Mapping[str, str]
    links: tuple[tuple[Endpoint, Endpoint], ...] = ()
    control: tuple[tuple[str, str], ...] = ()
    """Pairs of a switch and a controller."""

    def lanes(self, used: Iterable[str]) -> list[str]:
        """Return the nodes in the order in which their lines are drawn; `used` may have others, too."""
        found = [name for kind in ("host", "switch") for name in self.of(kind)]
        seen = set(used)
        others = sorted(seen - set(self.kinds) - {FABRIC}, key=in_turn)
        fabric = [FABRIC] if FABRIC in seen else []
        return [*found, *others, *fabric, *self.of("controller")]

    def of(self, kind: str) -> list[str]:
        """Return the nodes of a kind."""
        return sorted((name for name, is_a in self.kinds.items() if is_a == kind), key=in_turn)

    def as_json(self) -> dict[str, object]:
        """Return the picture as plain data."""
        places = place_nodes(self)
        return {
            "nodes": [
                {"name": name, "kind": self.kinds[name], "x": round(x, 4), "y": round(y, 4)}
                for name, (x, y) in places.items()
            ],
            "links": [{"a": a.node, "a_port": a.port, "b": b.node, "b_port": b.port} for a, b in self.links],
            "control": [{"switch": switch, "controller": name} for switch, name in self.control],
        }


def drawing_of(network: Network) -> Drawing:
    """Return what there is to draw of a network as it was built."""
    kinds = {made.name: _kind(made) for made in network.components if made.name != FABRIC}
    wiring = network.fabric.initial()
    links: list[tuple[Endpoint, Endpoint]] = []
    control: list[tuple[str, str]] = []
    for end in network.channels:
        peer = network.fabric.peer(wiring, end) if end.node != FABRIC else None
        if peer is None:
            continue
        if kinds.get(peer.node) == "controller":
            control.append((end.node, peer.node))
        elif kinds[end.node] != "controller" and _order(end) < _order(peer):
            links.append((end, peer))
    return Drawing(kinds, tuple(links), tuple(control))


def _kind(made: object) -> str:
    if isinstance(made, Host | AbstractHost):
        return "host"
    return "switch" if isinstance(made, Switch | AbstractSwitch) else "controller"


def _order(end: Endpoint) -> tuple[tuple[tuple[str | int, ...], str], str]:
    return (in_turn(end.node), str(end.port))


def drawing_of_shape(shape: Topology, controllers: Sequence[str]) -> Drawing:
    """Return what there is to draw of a topology with these controllers."""
    kinds = {node.name: "host" for node in shape.hosts} | {node.name: "switch" for node in shape.switches}
    kinds |= dict.fromkeys(controllers, "controller")
    control = tuple((node.name, name) for node in shape.switches for name in controllers)
    return Drawing(kinds, tuple((link.a, link.b) for link in shape.links), control)


def drawing_in(trace: Trace) -> Drawing | None:
    """Return the network that a trace tells of: as it was drawn, or by its scenario's name for it."""
    controllers = controllers_in(trace)
    try:
        if trace.network is not None:
            return drawing_of_shape(read_scene(trace.network).topology, controllers)
        shape = trace.scenario.get("topology", "single,2")
        return drawing_of_shape(topology(shape), controllers) if isinstance(shape, str) else None
    except PenstockError:
        return None


def controllers_in(trace: Trace) -> list[str]:
    """Return the names of the controllers of a trace."""
    named = trace.scenario.get("controllers")
    return [str(name) for name in named] if isinstance(named, Mapping) and named else ["c0"]


def place_nodes(drawing: Drawing) -> dict[str, Point]:
    """Return where each node is, in a square from 0 to 1."""
    controllers = drawing.of("controller")
    others = [*drawing.of("switch"), *drawing.of("host")]
    near = _neighbours(others, drawing.links)
    small = len(others) <= MOST_BY_STRESS
    places = _flat(_by_stress(others, near)) if small else _on_circles(drawing, near)
    top = _ABOVE if controllers else 0.0
    fitted = _fit(places, top)
    for number, name in enumerate(controllers, 1):
        fitted[name] = (number / (len(controllers) + 1), 0.04)
    return fitted


Neighbours = Mapping[str, Sequence[str]]


def _neighbours(nodes: Iterable[str], links: Iterable[tuple[Endpoint, Endpoint]]) -> Neighbours:
    near: dict[str, list[str]] = {name: [] for name in nodes}
    for a, b in links:
        if a.node in near and b.node in near:
            near[a.node].append(b.node)
            near[b.node].append(a.node)
    return near


def _distances(start: str, near: Neighbours) -> dict[str, int]:
    """Return how many links it is to every node that can be reached."""
    found = {start: 0}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        for other in near[here]:
            if other not in found:
                found[other] = found[here] + 1
                waiting.append(other)
    return found


def _circle(names: Sequence[str], radius: float) -> dict[str, Point]:
    turn = 2 * math.pi / max(1, len(names))
    return {
        name: (radius * math.cos(turn * place), radius * math.sin(turn * place))
        for place, name in enumerate(names)
    }


def _by_stress(names: Sequence[str], near: Neighbours) -> dict[str, Point]:
    places = _circle(sorted(names, key=in_turn), max(1.0, len(names) / 4))
    apart = {name: _distances(name, near) for name in names}
    for _ in range(_ROUNDS):
        for name in names:
            places[name] = _target(name, places, apart[name])
    return places


def _target(name: str, places: Mapping[str, Point], apart: Mapping[str, int]) -> Point:
    """Return where a node's distances to the others ask it to be."""
    x, y = places[name]
    weights = across = down = 0.0
    for other, (there_x, there_y) in places.items():
        if other == name:
            continue
        wanted = apart.get(other, _APART)
        weight = 1 / (wanted * wanted)
        off_x, off_y = x - there_x, y - there_y
        length = math.hypot(off_x, off_y) or 1e-9
        across += weight * (there_x + wanted * off_x / length)
        down += weight * (there_y + wanted * off_y / length)
        weights += weight
    return (across / weights, down / weights) if weights else (x, y)


def _on_circles(drawing: Drawing, near: Neighbours) -> dict[str, Point]:
    """Return switches on a circle, and the hosts of each outside of it."""
    switches = drawing.of("switch")
    places = _circle(switches, 1.0)
    rank = {name: place for place, name in enumerate(switches)}
    hosts = sorted(
        drawing.of("host"),
        key=lambda name: (
            min((rank[other] for other in near[name] if other in rank), default=0),
            in_turn(name),
        ),
    )
    return places | _circle(hosts, 1.5)


def _flat(places: dict[str, Point]) -> dict[str, Point]:
    """Turn a picture so that its longest side lies flat."""
    if len(places) < 2:
        return places
    many = len(places)
    mid_x = sum(x for x, _ in places.values()) / many
    mid_y = sum(y for _, y in places.values()) / many
    moved = {name: (x - mid_x, y - mid_y) for name, (x, y) in places.items()}
    wide = sum(x * x for x, _ in moved.values())
    high = sum(y * y for _, y in moved.values())
    both = sum(x * y for x, y in moved.values())
    angle = 0.5 * math.atan2(2 * both, wide - high)
    cosine, sine = math.cos(angle), math.sin(angle)
    turned = {name: (x * cosine + y * sine, y * cosine - x * sine) for name, (x, y) in moved.items()}
    first = min(turned, key=in_turn)
    # The first node is on the left and not at the bottom, whichever way it came out.
    flip_x = -1 if turned[first][0] > 0 else 1
    flip_y = -1 if turned[first][1] > 1e-6 else 1
    return {name: (x * flip_x, y * flip_y) for name, (x, y) in turned.items()}


def _fit(places: Mapping[str, Point], top: float) -> dict[str, Point]:
    """Return places moved and scaled into the picture, below what is kept free; both axes alike."""
    if not places:
        return {}
    left, right = min(x for x, _ in places.values()), max(x for x, _ in places.values())
    upper, lower = min(y for _, y in places.values()), max(y for _, y in places.values())
    room_x, room_y = 0.92, 0.96 - top - 0.04
    wide, high = right - left, lower - upper
    scale = min(room_x / wide if wide > 1e-9 else math.inf, room_y / high if high > 1e-9 else math.inf)
    scale = 0.0 if math.isinf(scale) else scale
    middle_x, middle_y = 0.5, top + 0.04 + room_y / 2
    return {
        name: (
            middle_x + (x - (left + right) / 2) * scale,
            middle_y + (y - (upper + lower) / 2) * scale,
        )
        for name, (x, y) in places.items()
    }
