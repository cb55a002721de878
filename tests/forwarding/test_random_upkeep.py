"""Small networks that change at random, against an interpreter of their rules, packet by packet.

The interpreter knows nothing of the pipeline, of classes or of what was there before.  Rules look at two bits
of each MAC address and at the port, write addresses, use groups and a second table; rules, groups, ports and
wires change.  After each change the model says of all packets what the interpreter does.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from itertools import product
from random import Random

import pytest

from penstock._forwarding.header_space import header_of
from penstock._forwarding.model import ForwardingModel, HostPort
from penstock._world.component import Endpoint
from penstock._world.hosts.host import Address
from penstock._world.switch import FlowEntry, PortSpec, Switch
from penstock._world.switch.state import GroupEntry, PortStatus, SwitchState
from penstock.openflow.actions import Action, ApplyActions, GotoTable, Group, Instruction, Output, SetField
from penstock.openflow.match import Match
from penstock.openflow.messages import Bucket, GroupType, PortConfig, PortNo

STATES = int(os.environ.get("PENSTOCK_RANDOM_STATES", "60"))
"""How many states are judged; 2,000 take some minutes."""

STATES_OF_A_NETWORK = 10
PORTS = (1, 2, 3)
PACKETS = [(dst, src) for dst, src in product(range(4), range(4))]
Packet = tuple[int, int]
Place = tuple[str, int]
Fate = tuple[str, str]


@dataclass
class Rule:
    """A rule as it was drawn: values and masks of two bits, a port, what it does, if table 1 follows."""

    priority: int
    dst: tuple[int, int]
    src: tuple[int, int]
    port: int
    does: tuple[tuple[str, int], ...]
    goes_on: bool

    def meets(self, packet: Packet, port: int) -> bool:
        return (
            packet[0] & self.dst[1] == self.dst[0]
            and packet[1] & self.src[1] == self.src[0]
            and self.port in (0, port)
        )

    def entry(self) -> FlowEntry:
        fields: dict[str, tuple[int, int] | int] = {"eth_dst": self.dst, "eth_src": self.src}
        if self.port:
            fields["in_port"] = self.port
        actions = tuple(map(action, self.does))
        instructions: tuple[Instruction, ...] = (ApplyActions(actions),) if actions else ()
        return FlowEntry(
            self.priority, Match.of(**fields), (*instructions, GotoTable(1)) if self.goes_on else instructions
        )


def action(does: tuple[str, int]) -> Action:
    name, value = does
    if name == "out":
        return Output(value)
    return Group(value) if name == "group" else SetField(f"eth_{name}", value)


@dataclass
class Net:
    """A network as plain lists, and how packets fare in it."""

    names: list[str]
    wires: dict[Place, Place]
    tables: dict[tuple[str, int], list[Rule]] = field(default_factory=dict)
    groups: dict[str, dict[int, tuple[int, list[tuple[int, tuple[tuple[str, int], ...]]]]]] = field(
        default_factory=dict
    )
    down: set[Place] = field(default_factory=set)
    no_flood: set[Place] = field(default_factory=set)

    def step(self, place: Place, packet: Packet) -> list[tuple[int, Packet]]:
        """Return what leaves a switch, by which ports; of a select group, all that it may choose."""
        switch, port = place
        sent: list[tuple[int, Packet]] = []
        for table in (0, 1):
            met = [rule for rule in self.tables.get((switch, table), ()) if rule.meets(packet, port)]
            if not met:
                break
            rule = max(met, key=lambda one: one.priority)
            packet = self.run(switch, port, packet, rule.does, sent)
            if not rule.goes_on:
                break
        return sent

    def run(
        self,
        switch: str,
        port: int,
        packet: Packet,
        does: tuple[tuple[str, int], ...],
        sent: list[tuple[int, Packet]],
    ) -> Packet:
        """Carry out actions on a packet, which is returned as it is after them."""
        for name, value in does:
            if name == "dst":
                packet = value, packet[1]
            elif name == "src":
                packet = packet[0], value
            elif name == "group":
                kind, buckets = self.groups[switch][value]
                live = [one for one in buckets if kind == GroupType.ALL or (switch, one[0]) not in self.down]
                if kind == GroupType.FAST_FAILOVER:
                    live = live[:1]
                for _, inner in live:
                    self.run(switch, port, packet, inner, sent)
            else:
                if value == PortNo.FLOOD:
                    ports = [one for one in PORTS if one != port and (switch, one) not in self.no_flood]
                else:
                    ports = [port] if value == PortNo.IN_PORT else [value] if value != port else []
                sent += ((one, packet) for one in ports if (switch, one) not in self.down)
        return packet

    def fates(self, host: str, packet: Packet) -> tuple[set[Fate], set[Place]]:
        """Return where copies of a packet arrive, and the places of circles that they run in."""
        found: set[Fate] = set()
        graph: dict[tuple[Place, Packet], list[tuple[Place, Packet]]] = {}
        start = self.wires[host, 0]
        left = [(start, packet)] if start not in self.down else []
        while left:
            state = left.pop()
            if state in graph:
                continue
            ways = graph[state] = []
            for port, after in self.step(*state):
                peer = self.wires.get((state[0][0], port))
                if peer is not None and peer[0].startswith("h"):
                    found.add(("delivered", peer[0]))
                elif peer is not None and peer not in self.down:
                    ways.append((peer, after))
            left += ways
        return found, {state[0] for state in graph if _comes_back(state, graph)}


def _comes_back(
    state: tuple[Place, Packet], graph: dict[tuple[Place, Packet], list[tuple[Place, Packet]]]
) -> bool:
    seen: set[tuple[Place, Packet]] = set()
    left = [*graph[state]]
    while left:
        here = left.pop()
        if here == state:
            return True
        if here not in seen:
            seen.add(here)
            left += graph[here]
    return False


class Case:
    """A network, the model of it, and changes to both."""

    def __init__(self, seed: int) -> None:
        random = self.random = Random(seed)
        names = [f"s{number}" for number in range(1, random.choice((2, 3, 3)) + 1)]
        self.net = Net(names, {})
        made = {
            name: Switch(name, number, tuple(PortSpec(port, f"{name}-eth{port}", port) for port in PORTS))
            for number, name in enumerate(names, 1)
        }
        self.state: dict[str, SwitchState] = {name: one.initial() for name, one in made.items()}
        hosts = [
            HostPort(Address(f"h{number}", number, number), Endpoint(f"h{number}", 0))
            for number in range(1, len(names) + 1)
        ]
        self.model = ForwardingModel([one.chassis for one in made.values()], hosts)
        for name in names:
            self.net.groups[name] = {1: self._draw_group(), 2: self._draw_group()}
            self._tell_state(name)
        self._wire()
        for name in names:
            for _ in range(random.randint(2, 6)):
                self._put(name, random.choice((0, 0, 1)))

    def _wire(self) -> None:
        wires: dict[Place, Place] = {}
        for number, name in enumerate(self.net.names, 1):
            wires[f"h{number}", 0] = name, 1
        names = self.net.names
        ends = [(name, port) for name in names for port in (2, 3)]
        self.random.shuffle(ends)
        while len(ends) > 1:
            a = ends.pop()
            b = next((one for one in ends if one[0] != a[0]), None)
            if b is not None and self.random.random() < 0.9:
                ends.remove(b)
                wires[a] = b
        self.net.wires = {**wires, **{b: a for a, b in wires.items()}}
        self.model.rewire({Endpoint(*a): Endpoint(*b) for a, b in self.net.wires.items()})

    def _draw(self) -> tuple[tuple[str, int], ...]:
        random = self.random
        kinds = ("out", "out", "out", "out", "dst", "src", "group", "group")
        found: list[tuple[str, int]] = []
        for _ in range(random.choice((0, 1, 1, 1, 2, 2, 3))):
            name = random.choice(kinds)
            value = random.randrange(4)
            if name == "out":
                value = random.choice((1, 2, 2, 3, 3, int(PortNo.IN_PORT), int(PortNo.FLOOD)))
            found.append((name, random.choice((1, 2)) if name == "group" else value))
        return tuple(found)

    def _draw_group(self) -> tuple[int, list[tuple[int, tuple[tuple[str, int], ...]]]]:
        random = self.random
        kind = random.choice((GroupType.ALL, GroupType.SELECT, GroupType.FAST_FAILOVER))
        buckets = []
        for _ in range(random.randint(1, 2)):
            # A bucket is an action set: what it writes comes first, and it has one output.
            writes = ((random.choice(("dst", "src")), random.randrange(4)),) if random.random() < 0.5 else ()
            out = ("out", random.choice((2, 3, 2, 3, 1, int(PortNo.FLOOD))))
            buckets.append((random.choice(PORTS), (*writes, out)))
        return int(kind), buckets

    def _put(self, name: str, table: int) -> None:
        random = self.random
        rules = self.net.tables.setdefault((name, table), [])
        if len(rules) > 7:
            return
        masks = random.choice((0, 0, 1, 2, 3)), random.choice((0, 0, 0, 1, 3))
        taken = {rule.priority for rule in rules}
        rule = Rule(
            random.choice([one for one in range(1, 20) if one not in taken]),
            (random.randrange(4) & masks[0], masks[0]),
            (random.randrange(4) & masks[1], masks[1]),
            random.choice((0, 0, 0, 0, 0, *PORTS)),
            self._draw(),
            table == 0 and random.random() < 0.3,
        )
        rules.append(rule)
        self.model.put(name, table, rule.entry())

    def _tell_state(self, name: str) -> None:
        begun = self.state[name]
        ports = {}
        for port in PORTS:
            config = int(PortConfig.NO_FLOOD) if (name, port) in self.net.no_flood else 0
            ports[port] = PortStatus(config, link=(name, port) not in self.net.down)
        groups = {}
        for number, (kind, buckets) in self.net.groups[name].items():
            watch = kind != GroupType.ALL
            groups[number] = GroupEntry(
                kind,
                tuple(
                    Bucket(tuple(map(action, does)), weight=1, watch_port=port if watch else PortNo.ANY)
                    for port, does in buckets
                ),
            )
        state = SwitchState(ports=type(begun.ports)(ports), groups=type(begun.groups)(groups))
        self.model.set_state(name, state)

    def change(self) -> None:
        """Change something in both."""
        random, net = self.random, self.net
        name = random.choice(net.names)
        roll = random.random()
        if roll < 0.4:
            self._put(name, random.choice((0, 0, 1)))
        elif roll < 0.65:
            places = [place for place, rules in net.tables.items() if rules]
            if places:
                place = random.choice(places)
                rule = net.tables[place].pop(random.randrange(len(net.tables[place])))
                entry = rule.entry()
                self.model.remove(*place, entry.priority, entry.match)
        elif roll < 0.75:
            net.groups[name][random.choice((1, 2))] = self._draw_group()
            self._tell_state(name)
        elif roll < 0.92:
            some = net.down if roll < 0.86 else net.no_flood
            some ^= {(name, random.choice(PORTS))}
            self._tell_state(name)
        else:
            self._wire()

    def judge(self) -> tuple[int, int]:
        """Compare what both say of all packets; return how many loops and black holes there are."""
        net, model = self.net, self.model
        circles: set[Place] = set()
        for host in (name for name, _ in net.wires if name.startswith("h")):
            for packet in PACKETS:
                delivered, places = net.fates(host, packet)
                circles |= places
                header = header_of({"eth_dst": packet[0], "eth_src": packet[1], "eth_type": 0x9000})
                told = model.trace(host, header)
                assert {(one.fate, one.node) for one in told if one.fate == "delivered"} == delivered
                assert any(one.fate == "loop" for one in told) == bool(places)
                exact = Match.of(eth_dst=packet[0], eth_src=packet[1], eth_type=0x9000, vlan_vid=0)
                classes = model.outcomes(host, exact)
                assert {(one.fate, one.node) for one in classes if one.fate == "delivered"} == delivered
        loops = model.loops()
        told_places = {(s.switch, s.port) for one in loops for s in one.path[one.cycle :] if s.table == 0}
        assert told_places == circles
        holes = {(one.source, one.node, one.why) for one in model.black_holes()}
        assert holes == self.vanishing()
        return len(loops), len(holes)

    def vanishing(self) -> set[tuple[str, str, str]]:
        """Return the black holes that single packets, one of each class, fall into."""
        model, found = self.model, set[tuple[str, str, str]]()
        for host in model.hosts:
            for packet in PACKETS:
                header = header_of({"eth_dst": packet[0], "eth_src": packet[1], "eth_type": 0x9000})
                told = model.trace(host, header)
                delivered, places = self.net.fates(host, packet)
                bad = all(one.fate in ("lost", "dropped", "missed") for one in told)
                assert bad == (not delivered and not places)
                found |= {
                    (host, one.node, one.why)
                    for one in told
                    if one.fate == "lost" and one.path and (bad or one.alone)
                }
        return found


@pytest.mark.parametrize("seed", range(-(-STATES // STATES_OF_A_NETWORK)))
def test_after_each_change_the_model_says_what_single_packets_do(seed: int) -> None:
    case = Case(seed)
    for _ in range(STATES_OF_A_NETWORK):
        case.judge()
        for _ in range(2):
            case.change()


def test_the_networks_that_are_drawn_have_loops_and_black_holes() -> None:
    judged = [Case(seed).judge() for seed in range(12)]
    assert any(loops for loops, _ in judged) and any(holes for _, holes in judged)
