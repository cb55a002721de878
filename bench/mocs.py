"""MOCS's experiments: the paper's models counted to the state, and the same proofs by Penstock's own means.

    python -m bench.mocs [--only PROGRAM,SxH] [--mode MODE] [--long] [--json]

The programs are those of `examples/mocs`, run as they are.  `mocs` merges what the authors' models merge:
`nomatch`, `ctrl` and `fwd` into one step, `brepl` with what lets it happen, and `bsync` where it makes no
difference when it happens.
`ample` has the same steps unmerged, `off` all of them, `kuai` is the model that MOCS compares itself with.
`penstock` is what `verify` does by itself.

`reference` is the number of states of the authors' models, found by re-creating them; for `penstock` it is
that of `mocs`, to be compared with.  `over_start_mb` is what a search needs beyond the loaded program,
`over_interpreter_mb` what it needs with the program, beyond Python alone.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.separately import separately
from penstock._base.garbage import collect_seldom
from penstock._base.users_code import load_object
from penstock._controllers.controller import Controller
from penstock._controllers.native import NativeController
from penstock._engine.building import joined
from penstock._explore.search import peak_rss_mb
from penstock._properties.base import Property
from penstock._scenario.options import Method
from penstock._verify.invariants import NeverDropped, NeverReceives, NoLoops, NotDroppedOnceConfirmed
from penstock._verify.lifting import Lifting, Model, Traffic, lift
from penstock._verify.verification import verify
from penstock._world.assembly import build_network
from penstock._world.frame import Frame
from penstock._world.switch import SwitchOptions
from penstock._world.topology import HostNode, Topology, TopologyBuilder
from penstock.openflow.messages import V10
from penstock.packet import TCP, Ethernet, IPv4, TcpFlags, tcp_segment, udp_datagram

PROGRAMS: Final = Path(__file__).parents[1] / "examples" / "mocs"
SSH, WEB, CLIENT = 22, 80, 1024

Experiment = tuple[Model, list[Property]]


def program(text: str, *arguments: object) -> Controller:
    """Return a program of `examples/mocs`, by file and class."""
    made: Controller = load_object(text, PROGRAMS, "controller")(*arguments)
    return made


def _model(drawing: Topology, made: Controller, traffic: Traffic, how: Lifting) -> Model:
    names = tuple(switch.name for switch in drawing.switches)
    controller = NativeController(made, names, version=V10)
    # As `verify` has it: a program that sends packets on later than it was handed them would be noticed.
    controller.interrupts = True
    options = SwitchOptions(version=V10, counters=False)
    network = build_network(drawing, controllers=controller, switches=options)
    return lift(network, joined(network, controller.name).start, traffic, how)


# MAC learning: a chain of switches, a packet from each host to the next.


def mac_learning(switches: int, hosts: int, *, kuai: bool = False) -> Experiment:
    """CP3 on a chain; host i sends to host i + 1, the last to the first."""
    middle = switches // 2 + 1
    places = {
        2: [(1, 1), (switches, 2)],
        3: [(1, 1), (middle, 3), (switches, 2)],
        4: [(1, 1), (switches, 3), (middle, 3), (switches, 2)],
    }[hosts]
    drawing = chain(switches, places)
    nodes = drawing.hosts
    traffic = {
        node.name: (Frame(_datagram(node, nodes[(place + 1) % hosts]).to_bytes()),)
        for place, node in enumerate(nodes)
    }
    how = Lifting(receiving=False, history=True, kuai=kuai)
    return _model(drawing, program("mac_learning.py:MacLearning"), traffic, how), [NoLoops()]


def chain(switches: int, places: list[tuple[int, int]]) -> Topology:
    """Return switches in a row, port 2 of each wired to port 1 of the next, and hosts at certain ports."""
    canvas = TopologyBuilder()
    for number in range(1, switches + 1):
        canvas.add_switch(f"s{number}")
    for number, (switch, port) in enumerate(places, 1):
        canvas.add_host(f"h{number}")
        canvas.add_link(f"h{number}", f"s{switch}", port2=port)
    for number in range(1, switches):
        canvas.add_link(f"s{number}", f"s{number + 1}", 2, 1)
    return canvas.build()


def _datagram(sender: HostNode, receiver: HostNode) -> Ethernet:
    return udp_datagram(
        eth_src=sender.mac,
        eth_dst=receiver.mac,
        ip_src=sender.ip,
        ip_dst=receiver.ip,
        udp_src=CLIENT,
        udp_dst=WEB,
    )


def _segment(sender: HostNode, receiver: HostNode, port: int = WEB, source: int = CLIENT) -> Frame:
    segment = tcp_segment(
        eth_src=sender.mac,
        eth_dst=receiver.mac,
        ip_src=sender.ip,
        ip_dst=receiver.ip,
        tcp_src=source,
        tcp_dst=port,
        flags=TcpFlags.SYN,
    )
    return Frame(segment.to_bytes())


# Firewalls.


def stateless_firewall(switches: int, _hosts: int, *, kuai: bool = False, bug: bool = False) -> Experiment:
    """CP1 between a client and a server; ssh packets and others lie at both ports of every switch."""
    drawing = chain(switches, [(1, 1), (switches, 2)])
    client, server = drawing.hosts
    there = (_segment(client, server, SSH), _segment(client, server))
    back = (_segment(server, client, SSH), _segment(server, client))
    traffic: dict[str, tuple[Frame, ...]] = {}
    for switch in drawing.switches:
        traffic |= {f"{switch.name}:1": there, f"{switch.name}:2": back}
    made = program(f"stateless_firewall.py:{'Reordered' if bug else 'StatelessFirewall'}")
    unreached = NeverReceives(server.name, "an ssh packet", _is_ssh)
    return _model(drawing, made, traffic, Lifting(kuai=kuai)), [unreached]


def message_reordering(switches: int, hosts: int, *, kuai: bool = False) -> Experiment:
    """CP1 with its bug: a rule that forwards is sent before the barrier."""
    return stateless_firewall(switches, hosts, kuai=kuai, bug=True)


def stateful_firewall(switches: int, _hosts: int, *, kuai: bool = False) -> Experiment:
    """CP2 on replicas, each with a client and a server; one connection is allowed, another is not."""
    canvas = TopologyBuilder()
    for number in range(1, switches + 1):
        canvas.add_switch(f"s{number}", ports=(1, 2))
    client, server = canvas.add_host("h1"), canvas.add_host("h2")
    canvas.add_link(client, "s1", port2=1)
    canvas.add_link(server, "s1", port2=2)
    drawing = canvas.build()
    h1, h2 = drawing.hosts
    opening, answer = _segment(h1, h2), _segment(h2, h1, CLIENT, WEB)
    refused = _segment(h1, h2, SSH), _segment(h2, h1, CLIENT, SSH)
    traffic: dict[str, tuple[Frame, ...]] = {}
    for switch in drawing.switches:
        traffic |= {f"{switch.name}:1": (opening, refused[0]), f"{switch.name}:2": (answer, refused[1])}
    names = tuple(switch.name for switch in drawing.switches)
    allowed = ((h1.ip, CLIENT, h2.ip, WEB),)
    made = program("stateful_firewall.py:StatefulFirewall", names, allowed)
    confirmed = NotDroppedOnceConfirmed(1, "packet of the connection", _is_allowed)
    return _model(drawing, made, traffic, Lifting(kuai=kuai)), [confirmed]


def _is_allowed(packet: Ethernet) -> bool:
    return WEB in _tcp_ports(packet)


def _is_ssh(packet: Ethernet) -> bool:
    return SSH in _tcp_ports(packet)[1:]


def _tcp_ports(packet: Ethernet) -> tuple[int, ...]:
    """Return the TCP ports that a packet comes from and goes to, if it has any."""
    ip = packet.payload
    return (ip.payload.src, ip.payload.dst) if isinstance(ip, IPv4) and isinstance(ip.payload, TCP) else ()


# The other bugs of section 4.2: a client at s1, a server at s2.


def wrong_nesting(switches: int, _hosts: int, *, kuai: bool = False, bug: bool = True) -> Experiment:
    """CP4: ssh packets and others from the client to the server."""
    drawing = chain(switches, [(1, 1), (switches, 2)])
    client, server = drawing.hosts
    names = tuple(switch.name for switch in drawing.switches)
    made = program(f"wrong_nesting.py:{'WrongNesting' if bug else 'Policy'}", names, server.ip)
    traffic = {client.name: (_segment(client, server, SSH), _segment(client, server))}
    unreached = NeverReceives(server.name, "an ssh packet", _is_ssh)
    return _model(drawing, made, traffic, Lifting(kuai=kuai)), [unreached]


def right_nesting(switches: int, hosts: int, *, kuai: bool = False) -> Experiment:
    """CP4 without its bug."""
    return wrong_nesting(switches, hosts, kuai=kuai, bug=False)


def consistent_update(switches: int, _hosts: int, *, kuai: bool = False, bug: bool = False) -> Experiment:
    """CP5: packets to the server and to nobody in particular, from the client."""
    drawing = chain(switches, [(1, 1), (switches, 2)])
    client, server = drawing.hosts
    made = program(f"consistent_update.py:{'Hasty' if bug else 'ConsistentUpdate'}", server.ip)
    stray = tcp_segment(
        eth_src=client.mac,
        eth_dst=server.mac,
        ip_src=client.ip,
        ip_dst="10.0.0.99",
        tcp_src=CLIENT,
        tcp_dst=WEB,
        flags=TcpFlags.SYN,
    )
    traffic = {client.name: (_segment(client, server), Frame(stray.to_bytes()))}

    def to_server(packet: Ethernet) -> bool:
        return isinstance(packet.payload, IPv4) and packet.payload.dst == server.ip

    undropped = NeverDropped("a packet to the server", to_server)
    return _model(drawing, made, traffic, Lifting(kuai=kuai)), [undropped]


def hasty_update(switches: int, hosts: int, *, kuai: bool = False) -> Experiment:
    """CP5 with its bug: the controller does not wait for the barrier reply."""
    return consistent_update(switches, hosts, kuai=kuai, bug=True)


# What is measured, and against what.


@dataclass(frozen=True, slots=True)
class Case:
    """A program on a network of a size, by a method, and the states it is known to have."""

    program: str
    switches: int
    hosts: int
    mode: Method
    reference: int | None
    long: bool = False


BUILDERS: Final[dict[str, Callable[..., Experiment]]] = {
    made.__name__.replace("_", "-"): made
    for made in (
        mac_learning,
        stateless_firewall,
        stateful_firewall,
        message_reordering,
        wrong_nesting,
        right_nesting,
        hasty_update,
        consistent_update,
    )
}

_MAC: Final = {
    (2, 2): 82,
    (3, 2): 586,
    (4, 2): 4_115,
    (5, 2): 28_381,
    (6, 2): 192_616,
    (7, 2): 1_289_972,
    (8, 2): 8_545_921,
    (10, 2): 365_699_486,
    (3, 3): 6_280,
    (4, 3): 51_729,
    (5, 3): 443_151,
    (3, 4): 327_546,
}
_UNMERGED: Final = {2: 434, 3: 4_282, 4: 38_351, 5: 321_549, 6: 2_568_920}
_STATEFUL: Final = {1: 310, 2: 5_340, 3: 102_118}
_BUGS: Final = {
    "message-reordering": 54,
    "wrong-nesting": None,
    "right-nesting": None,
    "hasty-update": 6,
    "consistent-update": 10,
}
_LONG: Final = 60_000
"""From how many states on a case is left out unless asked for."""
_OUT_OF_REACH: Final = 100_000_000
"""From how many states on nobody can wait for MOCS's own method: it takes hours and more than 8 GB."""


def _cases() -> list[Case]:
    found = []
    for (switches, hosts), states in _MAC.items():
        if states < _OUT_OF_REACH:
            found.append(Case("mac-learning", switches, hosts, "mocs", states, states > _LONG))
        found.append(Case("mac-learning", switches, hosts, "penstock", states, hosts > 3 or switches > 8))
    found += [Case("mac-learning", n, 2, "ample", states, states > _LONG) for n, states in _UNMERGED.items()]
    found.append(Case("mac-learning", 2, 2, "off", 61_648, long=True))
    for n in range(1, 6):
        found.append(Case("stateless-firewall", n, 2, "mocs", 6**n))
        found.append(Case("stateless-firewall", n, 2, "kuai", 5**n))
        found.append(Case("stateless-firewall", n, 2, "penstock", 6**n))
    for n, states in _STATEFUL.items():
        found.append(Case("stateful-firewall", n, 2, "mocs", states, states > _LONG))
        found.append(Case("stateful-firewall", n, 2, "penstock", states, states > _LONG))
    for program, known in _BUGS.items():
        found.append(Case(program, 2, 2, "mocs", known))
        found.append(Case(program, 2, 2, "penstock", known))
        found.append(Case(program, 2, 2, "kuai", None))
    return found


CASES: Final = _cases()


def measure(case: Case) -> dict[str, Any]:
    """Search one case to the end, every violation counted."""
    gc.enable()  # a process that measures begins without, and handlers leave cycles behind
    collect_seldom()  # as in the processes that proofs are made in
    model, properties = BUILDERS[case.program](case.switches, case.hosts, kuai=case.mode == "kuai")
    before = peak_rss_mb()
    found = verify(model, properties, case.mode, every_violation=True, shortest=False)
    return {
        "program": case.program,
        "switches": case.switches,
        "hosts": case.hosts,
        "mode": case.mode,
        "verdict": found.verdict,
        "states": found.states,
        "violating": found.violating,
        "seconds": round(found.seconds, 3),
        "peak_rss_mb": peak_rss_mb(),
        "over_start_mb": peak_rss_mb() - before,
        "over_interpreter_mb": peak_rss_mb() - interpreter_mb(),
        "reference": case.reference,
    }


def interpreter_mb() -> int:
    """Return the most memory that Python has had with nothing loaded, in megabytes."""
    # What getrusage says of a new process includes what the one that started it had.
    asking = "print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
    asked = subprocess.run([sys.executable, "-c", asking], check=True, capture_output=True)
    return int(asked.stdout) // 1024


def agrees(row: dict[str, Any]) -> bool:
    """Tell whether a row has the states it should have; Penstock's own method should need no more."""
    if row["reference"] is None:
        return True
    return bool(
        row["states"] <= row["reference"] if row["mode"] == "penstock" else row["states"] == row["reference"]
    )


def _chosen(only: str | None, mode: str | None, *, long: bool) -> list[Case]:
    wanted = [case for case in CASES if mode in (None, case.mode)]
    if only is None:
        return [case for case in wanted if long or not case.long]
    program, _, size = only.partition(",")
    sizes = size.split("x")
    return [
        case
        for case in wanted
        if case.program == program and (not size or [str(case.switches), str(case.hosts)] == sizes)
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m bench.mocs", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", metavar="PROGRAM,SxH", help="one program, or one size of it: mac-learning,6x2"
    )
    parser.add_argument("--mode", choices=["mocs", "penstock", "ample", "off", "kuai"])
    parser.add_argument("--long", action="store_true", help="also the cases that take minutes or hours")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    chosen = _chosen(options.only, options.mode, long=options.long)
    if not chosen:
        programs = ", ".join(BUILDERS)
        print(
            f"There is no case {options.only!r}: the programs are {programs}, sizes as in 3x2.",
            file=sys.stderr,
        )
        return 2
    rows = []
    for case in chosen:
        rows.append(separately(measure, case))
        if not options.json:
            print(line(rows[-1]), flush=True)
    if options.json:
        print(json.dumps({"rows": rows}))
    return 0 if all(map(agrees, rows)) else 1


def line(row: dict[str, Any]) -> str:
    """Return a row as a line of text."""
    reference = f" (MOCS {row['reference']:,})" if row["reference"] is not None else ""
    return (
        f"{row['program']:19} {row['switches']}x{row['hosts']} {row['mode']:8} {row['verdict']:8} "
        f"{row['states']:>11,} states{reference}, {row['violating']} violating, {row['seconds']:.2f} s, "
        f"{row['peak_rss_mb']} MB{'' if agrees(row) else '  ***'}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
