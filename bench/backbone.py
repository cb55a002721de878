"""Routing tables of a backbone, as files or generated, kept up as classes of packets.

The files are those published with APKeep (NSDI'20): `updates` has one rule a line, `topo.txt` the directed
edges, `vlan.txt` the ports of each VLAN.

    + fwd ROUTER ADDRESS LENGTH PORT PRIORITY
    + acl ELEMENT access-list LIST permit P0 P1 SRC WILD S0 S1 DST WILD D0 D1 PRIORITY

A port `self` delivers, and a port of `vlan.txt` stands for several.  A port may have several peers (a shared
segment); what came in by a port does not leave by it.  Of rules for one prefix, the first one stands.  Access
lists are guards on wires.
"""

from __future__ import annotations

import multiprocessing
import resource
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, Final, NamedTuple

from penstock._forwarding.classes import PacketClass, Partition
from penstock._forwarding.header_space import field_mask, packed
from penstock._forwarding.loops import Loops, Onward, Place, Way
from penstock._forwarding.sets import PacketSet, packet_space
from penstock._forwarding.tables import Rule, RuleTable
from penstock.errors import PenstockError

PERMIT: Final = "permit"
_ETH_IPV4: Final = 0x0800
_IPV4_MASK: Final = field_mask("eth_type")
_IPV4_VALUE: Final = packed("eth_type", _ETH_IPV4)


class Backbone(NamedTuple):
    """A network and the updates to its tables, as words."""

    name: str
    edges: list[list[str]]
    vlans: dict[tuple[str, str], list[str]]
    updates: list[list[str]]


def read_backbone(folder: Path) -> Backbone:
    """Return the network that files of a folder describe."""

    def words(name: str) -> list[list[str]]:
        try:
            return [line.split() for line in (folder / name).read_text().splitlines() if line.strip()]
        except OSError as error:
            raise PenstockError(f"{folder / name} cannot be read: {error.strerror}.") from error

    vlans = (
        {(line[0], line[1]): line[2:] for line in words("vlan.txt")} if (folder / "vlan.txt").exists() else {}
    )
    return Backbone(folder.name, words("topo.txt"), vlans, words("updates"))


class Tables:
    """The tables of a backbone, its classes and their loops."""

    def __init__(self, backbone: Backbone) -> None:
        self._vlans = backbone.vlans
        space = self._space = packet_space()
        self._peers: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for near, port, far, other in backbone.edges:
            self._peers.setdefault((near, port), []).append((far, other))
        names = dict.fromkeys(name for edge in backbone.edges for name in (edge[0], edge[2]))
        names.update(dict.fromkeys(words[2] for words in backbone.updates if words[1] == "fwd"))
        ipv4 = self._ipv4 = space.term("eth_type", _ETH_IPV4, 0xFFFF)
        self.partition = Partition(space, ipv4)
        self._routers = [name for name in names if not _is_list(name)]
        self._element = {name: self.partition.new_element() for name in self._routers}
        self._name = {element: name for name, element in self._element.items()}
        self._tables: dict[str, RuleTable[Rule]] = {name: RuleTable(space, ipv4) for name in self._routers}
        self._lists: dict[str, RuleTable[Rule]] = {}
        self._permitted: dict[str, PacketSet] = {}
        self._sequence = 0
        self._ways: dict[tuple[str, Any], list[tuple[str, list[Onward]]]] = {}
        self.loops = Loops(space, self, lambda name: self._permitted.get(str(name), space.nothing))

    def apply(self, words: Sequence[str]) -> tuple[list[Way], list[Way]]:
        """Carry out an update; return the loops that come with it and those that go."""
        self._sequence += 1
        if words[1] == "fwd":
            self._route(words)
        else:
            self._access(words)
        journal = self.partition.journal
        if journal:
            self.loops.note(journal)
            journal.clear()
        told = self.loops.settle()
        if not self._sequence & 255:
            self._space.tidy()
        return told

    def _route(self, words: Sequence[str]) -> None:
        sign, _, router, address, length_text, port = words[:6]
        length, table = int(length_text), self._tables[router]
        mask = ((1 << length) - 1) << 32 - length
        prefix = int(address) & mask
        cube = packed("ipv4_dst", prefix) | _IPV4_VALUE, packed("ipv4_dst", mask) | _IPV4_MASK
        if sign == "+":
            packets = self._space.meet(self._ipv4, self._space.term("ipv4_dst", prefix, mask))
            changes = table.add(Rule((-length, self._sequence), cube, packets, port))
        else:
            same = (rule for rule in table.overlapping(cube) if rule.cube == cube and rule.behaviour == port)
            rule = min(same, default=None)
            changes = [] if rule is None else table.remove(rule)
        element = self._element[router]
        for change in changes:
            self.partition.move(element, change.behaviour, change.packets)

    def _access(self, words: Sequence[str]) -> None:
        name = words[2]
        table = self._lists.get(name)
        if table is None:
            table = self._lists[name] = RuleTable(self._space, self._ipv4)
        key = tuple(words[5:])
        if words[0] == "+":
            packets = self._accessed(words)
            changes = table.add(_AccessRule((-int(words[16]), self._sequence), packets, words[5], key))
        else:
            rule = min(
                (one for one in table if isinstance(one, _AccessRule) and one.key == key), default=None
            )
            changes = [] if rule is None else table.remove(rule)
        space = self._space
        permitted = self._permitted.get(name, space.nothing)
        for change in changes:
            operation = space.join if change.behaviour == PERMIT else space.less
            permitted = operation(permitted, change.packets)
        self._permitted[name] = permitted
        self.loops.guard_changed(name)

    def _accessed(self, words: Sequence[str]) -> PacketSet:
        space = self._space
        least, most, src, src_wild, s0, s1, dst, dst_wild, d0, d1 = words[6:16]
        found = self._ipv4
        if (least, most) != ("0", "255"):
            found = space.meet(found, space.span("ip_proto", int(least), int(most)))
        for field, address, wild in (("ipv4_src", src, src_wild), ("ipv4_dst", dst, dst_wild)):
            if address != "any":
                mask = 0xFFFFFFFF ^ (_address(wild) if wild != "null" else 0)
                found = space.meet(found, space.term(field, _address(address) & mask, mask))
        for field, low, high in (("tcp_src", s0, s1), ("tcp_dst", d0, d1)):
            if low != "null":
                found = space.meet(found, space.span(field, int(low), int(high if high != "null" else low)))
        return found

    # What loops ask of a network.

    def nodes_of(self, element: int, _packets: PacketClass, /) -> Iterable[str]:
        return (self._name[element],)

    def leaving(self, node: str, packets: PacketClass, /) -> Iterable[Onward]:
        ways = self._out(node, packets.behaviours.get(self._element[node]))
        return [Onward(step.place, packets, step.guards) for _, steps in ways for step in steps]

    def onward(self, place: Place, packets: PacketClass, /) -> Sequence[Onward]:
        node, came_by = place
        ways = self._out(node, packets.behaviours.get(self._element[node]))
        return [
            Onward(step.place, packets, step.guards)
            for port, steps in ways
            if port != came_by
            for step in steps
        ]

    def _out(self, router: str, port: Any) -> list[tuple[str, list[Onward]]]:
        """Return the ports behind one that a rule names, and where each leads."""
        found = self._ways.get((router, port))
        if found is None:
            ports = (
                [] if port is None else self._vlans.get((router, port), [] if port[:4] == "vlan" else [port])
            )
            found = [(one, self._beyond((router, one), ())) for one in dict.fromkeys(ports)]
            found = self._ways[router, port] = [(one, steps) for one, steps in found if steps]
        return found

    def _beyond(self, end: tuple[str, str], guards: tuple[str, ...]) -> list[Onward]:
        found: list[Onward] = []
        for node, port in self._peers.get(end, ()):
            if _is_list(node):
                name = "_".join(node.split("_")[:3])
                found += self._beyond((node, PERMIT), (*guards, name))
            else:
                found.append(Onward((node, port), _NO_CLASS, guards))
        return found


class _AccessRule(Rule):
    """A line of an access list."""

    __slots__ = ("key",)

    def __init__(self, order: tuple[int, int], packets: PacketSet, action: str, key: tuple[str, ...]) -> None:
        super().__init__(order, (0, 0), packets, action)
        self.key = key


_NO_CLASS: Final = PacketClass(-1, packet_space().nothing, {}, 0)
"""Where a class will be put in."""


def _is_list(name: str) -> bool:
    return name.endswith(("_in", "_out"))


def _address(text: str) -> int:
    return sum(int(part) << 24 - 8 * place for place, part in enumerate(text.split(".")))


# Tables of the same shape, where the published ones are not at hand.

ZONES: Final = 7
LENGTHS: Final = {
    0: 1,
    8: 1,
    16: 8,
    20: 6,
    21: 6,
    22: 10,
    23: 12,
    24: 60,
    26: 20,
    27: 30,
    28: 60,
    30: 50,
    32: 90,
}
"""How many prefixes of each length a campus has, in proportion."""


def generated(rules: int = 4_000, seed: int = 1, lists: bool = True) -> Backbone:
    """Return a backbone of zones with two routers each and two routers in the middle, and updates to it.

    A zone's routers share segments with each other and lead to both routers in the middle; each middle router
    has one port for all zones, so that what it sends arrives at every router there.  Rules come in the order
    of routers, and go in the order in which they came; until all are there, defaults lead in circles.
    """
    random = Random(seed)
    zones = [(f"z{zone}a_rtr", f"z{zone}b_rtr") for zone in range(ZONES)]
    middle = ("m1_rtr", "m2_rtr")
    edges: list[list[str]] = []
    vlans: dict[tuple[str, str], list[str]] = {}
    guarded: list[str] = []

    def connect(near: str, port: str, far: str, other: str) -> None:
        edges.append([near, port, far, other])
        name = f"{far}_{other}"
        if lists and far in guarded:
            edges[-1] = [near, port, f"{name}_in", "inport"]
            edges.append([f"{name}_in", PERMIT, far, other])

    guarded += [pair[0] for pair in zones[::2]]
    for pair in zones:
        for here, there in (pair, pair[::-1]):
            connect(here, "te1", there, "te1")
            connect(here, "te1", there, "te2")
            vlans[here, "vlan1"] = ["te1", "up1", "up2"]
            for number, centre in enumerate(middle, 1):
                connect(here, f"up{number}", centre, f"down{there}")
                connect(centre, f"down{there}", here, f"up{number}")
    connect("m1_rtr", "te9", "m2_rtr", "te9")
    connect("m2_rtr", "te9", "m1_rtr", "te9")
    rules_of = _generated_rules(random, zones, middle, rules)
    updates = _generated_lists(random, edges) if lists else []
    updates += [["+", *rule] for rule in rules_of]
    updates += [["-", *rule] for rule in rules_of]
    return Backbone(f"generated{'' if lists else '-noacl'}", edges, vlans, updates)


def _generated_rules(
    random: Random, zones: list[tuple[str, str]], middle: tuple[str, str], count: int
) -> list[list[str]]:
    lengths, weights = list(LENGTHS), list(LENGTHS.values())
    prefixes: dict[tuple[int, int], int] = {(0, 0): 0}
    while len(prefixes) * (2 * ZONES + 2) < count:
        length = random.choices(lengths, weights)[0]
        zone = random.randrange(ZONES)
        address = 172 << 24 | zone << 20 | random.randrange(1 << 20)
        prefixes[address >> 32 - length << 32 - length, length] = zone
    rules: list[list[str]] = []
    for router in [*middle, *(name for pair in zones for name in pair)]:
        for (address, length), zone in prefixes.items():
            if router in middle:
                port = f"down{random.choice(zones[zone])}"
            elif router in zones[zone] and length:
                port = random.choice(("self", "self", "self", "vlan1" if length < 22 else "te1"))
            else:
                port = random.choice(("up1", "up2"))
            rules.append(["fwd", router, str(address), str(length), port, str(length)])
    return rules


def _generated_lists(random: Random, edges: list[list[str]]) -> list[list[str]]:
    names = dict.fromkeys("_".join(edge[0].split("_")[:3]) for edge in edges if edge[0].endswith("_in"))
    updates = []
    for name in names:
        for number in range(12):
            action = PERMIT if number == 11 or random.random() < 0.3 else "deny"
            protocol = random.choice((("0", "255"), ("6", "6"), ("17", "17")))
            src, dst = (
                ("any", "null")
                if random.random() < 0.5 or number == 11
                else (f"172.{random.randrange(112)}.0.0", "0.0.255.255")
                for _ in range(2)
            )
            ports = str(random.randrange(1, 9_000))
            span = (ports, ports) if protocol[0] != "0" and number != 11 else ("null", "null")
            if number == 11:
                protocol = ("0", "255")
            line = [*protocol, *src, "null", "null", *dst, *span, str(65_535 - number)]
            updates.append(["+", "acl", name, "access-list", "in", action, *line])
    return updates


# What it costs.


def networks(folder: Path | None) -> list[Backbone]:
    """Return the networks below a folder, or such as are generated where there are none."""
    found: list[Backbone] = []
    if folder is not None and folder.is_dir():
        places = [folder, *sorted(one for one in folder.iterdir() if one.is_dir())]
        found = [read_backbone(place) for place in places if (place / "updates").is_file()]
    return found or [generated(lists=False), generated()]


def measure(backbone: Backbone) -> dict[str, Any]:
    """Return what the updates to a backbone cost in this process, loops told after each of them."""
    begin = time.process_time()
    tables = Tables(backbone)
    built = time.process_time() - begin
    come, gone = Counter[Way](), Counter[Way]()
    costs: list[float] = []
    most = 0
    for words in backbone.updates:
        begin = time.process_time()
        new, old = tables.apply(words)
        costs.append(time.process_time() - begin)
        come.update(new)
        gone.update(old)
        most = max(most, len(tables.partition.classes))
    spent = built + sum(costs)
    costs.sort()
    return {
        "network": backbone.name,
        "updates": len(costs),
        "loops": len(come),
        "told_as_come": sum(come.values()),
        "told_as_gone": sum(gone.values()),
        "loops_at_end": len(tables.loops),
        "most_classes": most,
        "cpu_s": round(spent, 3),
        "median_us": round(statistics.median(costs) * 1e6, 1),
        "p99_us": round(costs[int(len(costs) * 0.99)] * 1e6, 1),
        "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "partial": tables.loops.partial,
    }


def measured(folder: Path | None) -> list[dict[str, Any]]:
    """Return a row for each network, each measured in a process of its own."""
    rows = []
    for backbone in networks(folder):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            rows.append(pool.submit(measure, backbone).result())
    return rows
