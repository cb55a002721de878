"""How fast the single-run world is: hosts of a fat tree ping each other through a static controller.

    python -m bench.world [--topology fattree,8] [--pings 10] [--openflow 1.3] [--json]

Every host pings the host half the network away, first asking for its address by ARP.  The rate is
that of all transitions after the rules are in place; installing them is counted apart, because
there a transition is one flow-mod.

The peer in the same run is the engine itself: as many components, each passing on whatever it
gets to the next without looking, so that nothing is measured but scheduling and bookkeeping.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from penstock._controllers.static import StaticController
from penstock._world.assembly import build_network
from penstock._world.component import Endpoint, Port, Send, Step
from penstock._world.fabric import Fabric, Wire
from penstock._world.frame import Frame
from penstock._world.hosts import host
from penstock._world.network import Network
from penstock._world.switch import SwitchOptions
from penstock._world.topology import Topology, topology
from penstock._world.world import World
from penstock.errors import PenstockError
from penstock.openflow.messages import V10, V13

VERSIONS = {"1.0": V10, "1.3": V13}
RELAYED = 200_000


class Relay:
    """Passes on whatever comes in by port 1 through port 2."""

    def __init__(self, name: str) -> None:
        self.name = name

    def initial(self) -> None:
        return None

    def actions(self, state: None) -> tuple[str, ...]:
        return () if state is None else ("never",)

    def act(self, state: None, action: str) -> Step:
        return Step(state, (Send(2, Frame(b"", action)),))

    def receive(self, state: None, port: Port, message: Frame) -> Step:
        return Step(state, (Send(3 - int(port), message),))


def timed(run: Callable[[], int]) -> tuple[int, float]:
    begin = time.perf_counter()
    count = run()
    return count, time.perf_counter() - begin


def pinging(shape: Topology, pings: int, version: int) -> World:
    names = [node.name for node in shape.hosts]
    far = len(names) // 2
    makers = {
        name: host("ping", to=names[(number + far) % len(names)], count=pings)
        for number, name in enumerate(names)
    }
    options = SwitchOptions(version=version)
    return World(build_network(shape, hosts=makers, controllers=StaticController(shape), switches=options))


def install(world: World, shape: Topology) -> int:
    """Let every switch get its rules, before any host begins."""
    done = 0
    for switch in shape.switches:
        record = world.take(f"c0 install {switch.name}")
        done += 1 + world.run(limit=len(record.sends))
    return done


def relaying(size: int) -> World:
    names = [f"r{number}" for number in range(size)]
    wires = [Wire(Endpoint(a, 2), Endpoint(b, 1)) for a, b in zip(names, names[1:] + names[:1], strict=True)]
    network = Network(
        [Relay(name) for name in names], Fabric(cables=wires), [e for wire in wires for e in wire]
    )
    world = World(network)
    start = world.snapshot()
    frame = (Frame(b"x"),)
    queues = tuple(
        frame if end.port == 2 else queue for end, queue in zip(network.channels, start.queues, strict=True)
    )
    world.restore(start._replace(queues=queues))
    return world


def measure(shape: str, pings: int, version: int) -> dict[str, Any]:
    drawn = topology(shape)
    world = pinging(drawn, pings, version)
    installs, install_seconds = timed(lambda: install(world, drawn))
    transitions, seconds = timed(world.run)
    engine = relaying(len(world.network.components))
    relayed, relay_seconds = timed(lambda: engine.run(limit=RELAYED))
    rate, engine_rate = transitions / seconds, relayed / relay_seconds
    return {
        "topology": shape,
        "hosts": len(drawn.hosts),
        "switches": len(drawn.switches),
        "channels": len(world.network.channels),
        "transitions": transitions,
        "transitions_per_second": round(rate),
        "seconds": round(seconds, 3),
        "pings": pings * len(drawn.hosts),
        "answered": sum(world.state(node.name).memory.answered for node in drawn.hosts),
        "install_transitions": installs,
        "install_transitions_per_second": round(installs / install_seconds),
        "install_seconds": round(install_seconds, 3),
        "engine_transitions_per_second": round(engine_rate),
        "engine_share": round(rate / engine_rate, 3),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
    }


def story(found: dict[str, Any]) -> str:
    return (
        "{topology}: {switches} switches, {hosts} hosts, {channels} channels\n"
        "  rules  {install_transitions:>8} transitions in {install_seconds} s, "
        "{install_transitions_per_second} per second\n"
        "  pings  {transitions:>8} transitions in {seconds} s, {transitions_per_second} per second; "
        "{answered} of {pings} answered\n"
        "  engine {engine_transitions_per_second} transitions per second with components that do nothing: "
        "{engine_share:.0%} of the time is the engine's\n"
        "  peak memory {peak_rss_mb} MB"
    ).format(**found)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.world", description=__doc__.splitlines()[0])
    parser.add_argument("--topology", default="fattree,8")
    parser.add_argument("--pings", type=int, default=10, help="how many each host sends")
    parser.add_argument("--openflow", choices=VERSIONS, default="1.3")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        found = measure(options.topology, options.pings, VERSIONS[options.openflow])
    except PenstockError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(found) if options.json else story(found))
    return 0 if found["answered"] == found["pings"] else 1


if __name__ == "__main__":
    sys.exit(main())
