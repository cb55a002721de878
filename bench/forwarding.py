"""What a table change costs the forwarding model, beside working everything out anew.

    python -m bench.forwarding [--rules 100 1000 10000 100000] [--updates 400] [--json]
    python -m bench.forwarding --data FOLDER [--json]

With `--data` it is the routing tables of backbones that are measured, as `bench.backbone` reads them: each
rule comes and goes, and loops are told when they come and when they go.  Where the folder has none, tables
of the same shape are generated.

Otherwise the network is a ring of eight switches with two chords and a host at each switch. Its tables are
made as a routing system would fill them: IPv4 prefixes, as many of each length as a routing table of the
internet has in proportion (most are /24, some /16 to /23, few shorter), one in three drawn inside another
so that they overlap; each belongs to a host, and every switch has a rule for it that points along a
shortest path, longer prefixes first. The prefix of each host's own address is among them. One rule in ten
is an access rule at a random switch, above all prefixes: it drops packets by source prefix, destination
prefix, protocol and port. What nothing matches goes to the controller.

An update is one rule taken away or put back, drawn at random.  It is measured to the end: the model brought
in step, and then the loops, the black holes and the reachability of all pairs asked for.  A full
recomputation is the same for a new model of the same tables.  After the updates the model must answer as the
new one does.  Exits with 1 if that fails, or if the median update at 10,000 rules takes more than 1 ms.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from collections import deque
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from bench.backbone import measured
from penstock._forwarding.invariants import AllPairsReachability, NoBlackHoles, NoForwardingLoops
from penstock._forwarding.model import ForwardingModel, HostPort
from penstock._world.component import Endpoint
from penstock._world.hosts.host import Address
from penstock._world.switch import FlowEntry, PortSpec, Switch
from penstock._world.switch.turn import Chassis
from penstock.errors import PenstockError
from penstock.openflow.actions import ApplyActions, Output
from penstock.openflow.match import Match
from penstock.openflow.messages import PortNo

SIZES = (100, 1_000, 10_000, 100_000)
SWITCHES = 8
CHORDS = ((0, 4), (2, 6))
HOST_PORT = 1
LENGTHS = {8: 1, 12: 1, 14: 1, 16: 7, 17: 4, 18: 7, 19: 12, 20: 20, 21: 25, 22: 55, 23: 45, 24: 300, 28: 4}
"""How many prefixes of each length there are, in proportion."""

COMMONEST = 24

TARGET_RULES, TARGET_US = 10_000, 1_000
BACKBONES = (
    "On the Stanford backbone (7,680 updates, 20 loops), when packets were searched for: 11 loops, "
    "16.0 s of CPU, median 187 µs, p99 7,894 µs, 122 MB",
    "APKeep (NSDI'20, Java) there: 20 loops, 4.3 s of CPU, median 113 µs, p99 17,275 µs, 371 MB",
)
PUBLISHED = (
    "VeriFlow (HotSDN'12): hundreds of microseconds per rule inserted (C++, IP prefixes)",
    "Delta-net (NSDI'17): about 40 µs on average per rule inserted or removed (C++, IP prefixes)",
)


class Placed(NamedTuple):
    """An entry of table 0 of a switch."""

    switch: str
    entry: FlowEntry


class Plan(NamedTuple):
    """A network and its tables."""

    chassis: tuple[Chassis, ...]
    hosts: tuple[HostPort, ...]
    wires: dict[Endpoint, Endpoint]
    entries: tuple[Placed, ...]


def wired() -> tuple[dict[Endpoint, Endpoint], list[list[tuple[int, int]]]]:
    """Return the wires, and each switch's neighbours with the port that leads there."""
    wires: dict[Endpoint, Endpoint] = {}
    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(SWITCHES)]
    links = [(n, (n + 1) % SWITCHES) for n in range(SWITCHES)] + list(CHORDS)
    for a, b in links:
        ends = []
        for near, far in ((a, b), (b, a)):
            port = HOST_PORT + 1 + len(neighbours[near])
            neighbours[near].append((far, port))
            ends.append(Endpoint(f"s{near + 1}", port))
        wires[ends[0]], wires[ends[1]] = ends[1], ends[0]
    for n in range(SWITCHES):
        host, edge = Endpoint(f"h{n + 1}", 0), Endpoint(f"s{n + 1}", HOST_PORT)
        wires[host], wires[edge] = edge, host
    return wires, neighbours


def next_ports(neighbours: list[list[tuple[int, int]]], egress: int) -> list[int]:
    """Return the port of each switch that is on a shortest path to one of them, where it is the host's."""
    ports = [0] * SWITCHES
    ports[egress] = HOST_PORT
    ahead = deque([egress])
    while ahead:
        here = ahead.popleft()
        for other, _ in neighbours[here]:
            if not ports[other]:
                ports[other] = next(port for far, port in neighbours[other] if far == here)
                ahead.append(other)
    return ports


def prefixes(random: Random, count: int) -> list[tuple[int, int]]:
    """Return distinct prefixes, each an address and a length."""
    lengths, weights = list(LENGTHS), list(LENGTHS.values())
    found: dict[tuple[int, int], None] = {}
    roomy: list[tuple[int, int]] = []
    while len(found) < count:
        length = random.choices(lengths, weights)[0]
        address = random.randrange(1 << 24, 224 << 24)
        if roomy and random.random() < 1 / 3:
            inside, above = random.choice(roomy)
            if above < length:
                address = inside | random.randrange(1 << 32 - above)
        prefix = address >> 32 - length << 32 - length, length
        found[prefix] = None
        if length < COMMONEST:
            roomy.append(prefix)
    return list(found)


def mask(length: int) -> int:
    return (1 << 32) - (1 << 32 - length)


def planned(rules: int, seed: int = 1) -> Plan:
    """Return a network whose tables have about so many rules."""
    random = Random(seed)
    wires, neighbours = wired()
    chassis, hosts = [], []
    for n in range(SWITCHES):
        ports = [PortSpec(HOST_PORT, f"s{n + 1}-eth1", n + 1)]
        ports += (PortSpec(port, f"s{n + 1}-eth{port}", n + 1 << 8 | port) for _, port in neighbours[n])
        chassis.append(Switch(f"s{n + 1}", n + 1, tuple(ports)).chassis)
        address = Address(f"h{n + 1}", n + 1, 10 << 24 | n << 16 | 1)
        hosts.append(HostPort(address, Endpoint(f"h{n + 1}", 0)))
    entries = [
        Placed(one.name, FlowEntry(0, Match(), (ApplyActions((Output(PortNo.CONTROLLER),)),)))
        for one in chassis
    ]
    ways = [next_ports(neighbours, n) for n in range(SWITCHES)]
    access = rules // 10
    drawn = [(10 << 24 | n << 16, 24) for n in range(SWITCHES)]
    drawn += prefixes(random, max(0, (rules - access - len(entries)) // SWITCHES - len(drawn)))
    for index, (start, length) in enumerate(drawn):
        egress = index if index < SWITCHES else random.randrange(SWITCHES)
        match = Match.of(eth_type=0x0800, ipv4_dst=(start, mask(length)))
        for n, port in enumerate(ways[egress]):
            entries.append(Placed(f"s{n + 1}", FlowEntry(length, match, (ApplyActions((Output(port),)),))))
    for number in range(access):
        destination, length = random.choice(drawn)
        match = Match.of(
            eth_type=0x0800,
            ip_proto=6,
            ipv4_src=(random.randrange(1, 224) << 24 | random.randrange(256) << 16, mask(16)),
            ipv4_dst=(destination, mask(length)),
            tcp_dst=random.randrange(1, 1024),
        )
        entries.append(Placed(random.choice(chassis).name, FlowEntry(100 + number % 100, match)))
    return Plan(tuple(chassis), tuple(hosts), wires, tuple(entries))


class Checked:
    """A model of a plan and what is asked of it after each update."""

    def __init__(self, plan: Plan) -> None:
        self.model = ForwardingModel(plan.chassis, plan.hosts)
        self._loops, self._holes, self._pairs = NoForwardingLoops(), NoBlackHoles(), AllPairsReachability()
        with self.model.batch():
            for one in plan.chassis:
                self.model.set_state(one.name, Switch(one.name, one.dpid, one.ports).initial())
            self.model.rewire(plan.wires)
            for switch, entry in plan.entries:
                self.model.put(switch, 0, entry)

    def answers(self) -> tuple[Any, ...]:
        """Return the keys of all that is wrong, and what is undecided."""
        checked = (self._loops, self._holes, self._pairs)
        keys = tuple(tuple(finding.key for finding in one.check(self.model)) for one in checked)
        return (*keys, self._pairs.undecided(self.model))


def measure(rules: int, updates: int) -> dict[str, Any]:
    """Return what updates and a full recomputation cost for tables of one size."""
    plan = planned(rules)
    begin = time.perf_counter()
    checked = Checked(plan)
    first = checked.answers()
    full = time.perf_counter() - begin
    costs: list[float] = []
    random = Random(2)
    broken = 0
    for placed in random.choices(plan.entries[SWITCHES:], k=updates // 2):
        switch, entry = placed
        begin = time.perf_counter()
        checked.model.remove(switch, 0, entry.priority, entry.match)
        found = checked.answers()
        costs.append(time.perf_counter() - begin)
        broken += any(found[:3])
        begin = time.perf_counter()
        checked.model.put(switch, 0, entry)
        checked.answers()
        costs.append(time.perf_counter() - begin)
    costs.sort()
    last = checked.answers()
    del checked
    return {
        "rules": len(plan.entries),
        "switches": SWITCHES,
        "hosts": len(plan.hosts),
        "updates": len(costs),
        "median_update_us": round(statistics.median(costs) * 1e6, 1),
        "p99_update_us": round(costs[int(len(costs) * 0.99)] * 1e6, 1),
        "full_us": round(full * 1e6),
        "checked": ["loops", "black holes", "reachability of all pairs"],
        "with_findings": broken,
        "same_as_full": last == first == Checked(plan).answers(),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def passes(rows: list[dict[str, Any]]) -> bool:
    """Tell whether every answer was right, and those at the size of the target quick enough."""
    near = [row for row in rows if abs(row["rules"] - TARGET_RULES) <= TARGET_RULES // 100]
    quick = all(row["median_update_us"] <= TARGET_US for row in near)
    return quick and all(row["same_as_full"] for row in rows)


def table(rows: list[dict[str, Any]]) -> str:
    columns = ("rules", "median_update_us", "p99_update_us", "full_us", "with_findings", "same_as_full")
    lines = [" ".join(f"{name:>16}" for name in columns)]
    lines += (" ".join(f"{row[name]!s:>16}" for name in columns) for row in rows)
    lines.append("Checked after every update: loops, black holes, reachability of all pairs.")
    lines.append("Published for peers, on other tables and machines:")
    return "\n".join([*lines, *(f"  {one}" for one in PUBLISHED)])


def backbones(folder: Path, as_json: bool) -> int:
    """Print what the updates to backbones cost; return 0 if each loop was told as come and as gone."""
    rows = measured(folder)
    right = all(
        row["told_as_come"] - row["loops_at_end"] == row["told_as_gone"] and not row["partial"]
        for row in rows
    )
    if as_json:
        print(json.dumps({"rows": rows, "passes": right}))
    else:
        columns = ("network", "updates", "loops", "cpu_s", "median_us", "p99_us", "rss_mb")
        print(" ".join(f"{name:>16}" for name in columns))
        for row in rows:
            print(" ".join(f"{row[name]!s:>16}" for name in columns))
        print(*BACKBONES, sep="\n")
    return 0 if right else 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.forwarding", description=__doc__.splitlines()[0])
    parser.add_argument("--rules", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--updates", type=int, default=400)
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="measure the backbones below a folder")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if min(options.rules) < 100 or options.updates < 2:
        print(
            "Give at least 100 rules and 2 updates: below that there is nothing to measure.", file=sys.stderr
        )
        return 2
    try:
        if options.data is not None:
            return backbones(options.data, options.json)
        rows = [measure(rules, options.updates) for rules in options.rules]
    except PenstockError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps({"rows": rows, "passes": passes(rows)}) if options.json else table(rows))
    return 0 if passes(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
