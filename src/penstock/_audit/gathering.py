"""Where an audit's tables and wires come from: files, switches that run, shapes and drawings.

A drawing is a TOML file:

    links = [["h1", "s1:1"], ["s1:2", "s2:2"], ["s2:1", "h2"]]
    [hosts.h1]                     # only if it has addresses of its own
    mac = "52:54:00:00:00:01"
    ip = "10.0.0.1"
    [flows]                        # may as well be given as s1=FILE
    s1 = "s1.flows"
    s2 = "tcp:192.0.2.2:6653"

Whatever a link names that is under `[hosts]`, or whose end has no port, is a host; the rest are switches.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final, NamedTuple

from penstock._audit.dumps import Dump, Names, Unread, read_dump
from penstock._base.files import open_to_read
from penstock._base.reading import read_toml
from penstock._base.typed import refuse_unknown
from penstock._doctor import find_program
from penstock._world.topology import Topology, TopologyBuilder, topology
from penstock.errors import PenstockError

LIVE: Final = ("tcp:", "unix:", "ssl:")
_PATIENCE_S: Final = 15
_VERSIONS: Final = "OpenFlow10,OpenFlow11,OpenFlow12,OpenFlow13,OpenFlow14,OpenFlow15"
_ASKED: Final = ("dump-flows", "dump-groups", "dump-ports-desc")


class Drawn(NamedTuple):
    """A network as it is wired, and where the tables of its switches are."""

    network: Topology
    flows: Mapping[str, str]


def drawn(given: str, sources: Sequence[str]) -> Drawn:
    """Return the network of a shape or of a drawing, with the source of each switch's tables."""
    path = Path(given)
    flows: dict[str, str] = {}
    if path.suffix == ".toml":
        network, flows = _drawing(path)
    else:
        network = topology(given)
    for source in sources:
        name, equals, place = source.partition("=")
        if not equals or not name or not place:
            raise PenstockError(f"{source!r} names no switch: write s1=FILE, or s1=tcp:ADDRESS:PORT.")
        flows[name] = place
    known = [node.name for node in network.switches]
    for name in flows:
        if name not in known:
            raise PenstockError(f"There is no switch {name!r}: the switches are {', '.join(known)}.")
    missing = [name for name in known if name not in flows]
    if missing:
        raise PenstockError(
            f"The tables of {', '.join(missing)} are not given: write {missing[0]}=FILE with the output of "
            f"ovs-ofctl dump-flows, or {missing[0]}=tcp:ADDRESS:PORT."
        )
    return Drawn(network, flows)


def _drawing(path: Path) -> tuple[Topology, dict[str, str]]:
    _, table = read_toml(path)
    refuse_unknown(table, ("topology", "links", "hosts", "flows"), path.name)
    flows = _strings(table.get("flows", {}), f"[flows] of {path.name}")
    flows = {name: _beside(path, place) for name, place in flows.items()}
    shape = table.get("topology")
    if isinstance(shape, str):
        return topology(shape), flows
    links, hosts = table.get("links"), table.get("hosts", {})
    if not isinstance(links, list) or not isinstance(hosts, dict):
        raise PenstockError(f'{path.name} has no links: write links = [["h1", "s1:1"], ["s1:2", "s2:2"]].')
    builder = TopologyBuilder()
    ends = [_ends(link, path) for link in links]
    names = dict.fromkeys(name for pair in ends for name, _ in pair)
    at_host = {name for pair in ends for name, port in pair if port is None} | set(hosts)
    for name in {**names, **dict.fromkeys(hosts)}:
        if name in at_host:
            builder.add_host(name, **_strings(hosts.get(name, {}), f"[hosts.{name}] of {path.name}"))
        else:
            builder.add_switch(name, dpid=list(names).index(name) + 1)
    for (a, port_a), (b, port_b) in ends:
        builder.add_link(a, b, port_a, port_b)
    return builder.build(), flows


def _ends(link: Any, path: Path) -> list[tuple[str, int | None]]:
    if not isinstance(link, list) or len(link) != 2 or not all(isinstance(end, str) for end in link):
        raise PenstockError(f'{link!r} in {path.name} is no link: write it as ["h1", "s1:1"].')
    found: list[tuple[str, int | None]] = []
    for end in link:
        name, colon, port = end.partition(":")
        if colon and not port.isdecimal():
            raise PenstockError(f"{end!r} in {path.name} names no port: write it as s1:1.")
        found.append((name, int(port) if colon else None))
    return found


def _strings(table: Any, where: str) -> dict[str, str]:
    if not isinstance(table, dict) or not all(isinstance(value, str) for value in table.values()):
        raise PenstockError(f"{where} must be a table of texts.")
    return table


def _beside(path: Path, place: str) -> str:
    """Return where a drawing means that tables are: files are beside it."""
    return place if place.startswith(LIVE) else str(path.parent / place)


def gathered(place: str, named: Names) -> Dump:
    """Return what a file, or a switch that runs, says of its tables."""
    if not place.startswith(LIVE):
        with open_to_read(Path(place)) as file:
            return read_dump(TextIOWrapper(file, encoding="utf-8-sig", errors="replace"), named)
    answers = [_asked(place, question) for question in _ASKED]
    flows, *others = answers
    if isinstance(flows, Unread):
        raise PenstockError(f"The switch at {place} does not tell its tables: {flows.why}.")
    lines = flows.splitlines()
    unread = []
    for answer in others:
        if isinstance(answer, Unread):
            unread.append(answer)
        else:
            lines += answer.splitlines()
    dump = read_dump(lines, named)
    dump.unread += unread
    return dump


def _asked(place: str, question: str) -> str | Unread:
    program = find_program("ovs-ofctl")
    if program is None:
        raise PenstockError(
            "ovs-ofctl, which asks switches for their tables, is not installed: "
            "install the Debian package openvswitch-switch, or give files."
        )
    command = [str(program), "-O", _VERSIONS, "--no-names", f"--timeout={_PATIENCE_S}", question, place]
    done = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace")
    if not done.returncode:
        return done.stdout
    said = (done.stderr.strip().splitlines() or [f"ovs-ofctl ended with status {done.returncode}"])[-1]
    return Unread(0, question, said.rpartition("ovs-ofctl: ")[2].rstrip("."))
