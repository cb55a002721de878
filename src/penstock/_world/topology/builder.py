"""Drawing a topology by hand: `add_host`, `add_switch`, `add_link`, then `build`.

What is left out is filled in as `mn --mac` does.  Ports are numbered in the order of the links; a
switch's datapath id is the first number in its name; the n-th host, names sorted by their numbers,
gets the MAC address n and the IP address 10.0.0.n.  Mistakes in wiring are refused in the call that
makes them, clashing addresses in `build`, when all of them are known.

`topology_as_json` and `topology_from_json` give and take a topology as plain data, so that whoever reads it
needs neither the shape nor the file that drew it.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from penstock import addresses
from penstock._world.component import Endpoint
from penstock._world.signals import FABRIC
from penstock._world.topology.value import HostNode, Link, LinkOption, SwitchNode, Topology, natural
from penstock.addresses import ipv4_text, mac_text
from penstock.errors import PenstockError

NETWORK = addresses.ipv4("10.0.0.0")
PREFIX_LENGTH = 8

MAX_PORT = 0xFF00
"""The highest number a port can have in both OpenFlow versions (OFPP_MAX of 1.0)."""

_NAME = re.compile(r"[\w.-]{1,64}\Z")
_DPID = re.compile(r"[0-9a-fA-F]{1,16}\Z")


@dataclass(frozen=True, slots=True)
class _HostDraft:
    mac: int | None
    ip: int | None
    prefix_length: int


@dataclass(frozen=True, slots=True)
class _SwitchDraft:
    dpid: int
    spare_ports: frozenset[int]


@dataclass(slots=True)
class TopologyBuilder:
    """A topology that is still being drawn; `build` gives the finished value."""

    _hosts: dict[str, _HostDraft] = field(default_factory=dict, init=False)
    _switches: dict[str, _SwitchDraft] = field(default_factory=dict, init=False)
    _wired: dict[str, dict[int, Endpoint]] = field(default_factory=dict, init=False)
    _links: list[Link] = field(default_factory=list, init=False)

    def add_host(self, name: str, *, mac: str | int | None = None, ip: str | int | None = None) -> str:
        """Add a host and return its name; an `ip` may carry its prefix length, as in 10.0.0.1/24."""
        self._check_new_name(name)
        try:
            number, prefix_length = (None, PREFIX_LENGTH) if ip is None else _ip(ip)
            self._hosts[name] = _HostDraft(None if mac is None else _mac(mac), number, prefix_length)
        except PenstockError as error:
            raise PenstockError(f"Cannot add host {name!r}: {error}") from None
        self._wired[name] = {}
        return name

    def add_switch(self, name: str, *, dpid: str | int | None = None, ports: Iterable[int] = ()) -> str:
        """Add a switch and return its name; `ports` are there even if no link uses them."""
        self._check_new_name(name)
        number = _dpid(name, dpid)
        spare = frozenset(ports)
        for port in spare:
            _check_port(name, port, lowest=1)
        self._switches[name] = _SwitchDraft(number, spare)
        self._wired[name] = {}
        return name

    def add_link(
        self,
        node1: str,
        node2: str,
        port1: int | None = None,
        port2: int | None = None,
        **options: LinkOption,
    ) -> Link:
        """Wire two nodes together, by the given ports or else the next ones that are free."""
        check_ends(node1, node2, self._wired)
        ends = self._end(node1, port1, node2), self._end(node2, port2, node1)
        a, b = sorted(ends, key=_endpoint_order)
        link = Link(a, b, tuple(sorted(options.items())))
        self._links.append(link)
        for near, far in (ends, ends[::-1]):
            self._wired[near.node][_number(near)] = far
        return link

    def build(self) -> Topology:
        """Return the finished topology, every address filled in."""
        hosts = tuple(
            self._finished_host(name, order) for order, name in enumerate(sorted(self._hosts, key=natural), 1)
        )
        switches = tuple(
            SwitchNode(name, draft.dpid, tuple(sorted(draft.spare_ports | self._wired[name].keys())))
            for name, draft in sorted(self._switches.items(), key=lambda item: natural(item[0]))
        )
        _check_unique("MAC address", "mac", {host.name: addresses.mac_text(host.mac) for host in hosts})
        _check_unique(
            "IP address", "ip", {host.name: addresses.ipv4_text(host.ip) for host in hosts if host.ip}
        )
        _check_unique("datapath id", "dpid", {switch.name: f"{switch.dpid:x}" for switch in switches})
        links = sorted(self._links, key=lambda link: (_endpoint_order(link.a), _endpoint_order(link.b)))
        return Topology(hosts, switches, tuple(links))

    def _finished_host(self, name: str, order: int) -> HostNode:
        draft, wired = self._hosts[name], self._wired[name]
        return HostNode(
            name,
            mac=order if draft.mac is None else draft.mac,
            ip=NETWORK + order if draft.ip is None else draft.ip,
            prefix_length=draft.prefix_length,
            ports=tuple(sorted(wired)),
            attachment=wired[min(wired)] if wired else None,
        )

    def _check_new_name(self, name: str) -> None:
        if not isinstance(name, str) or not _NAME.match(name) or name == FABRIC:
            raise PenstockError(
                f"invalid name {name!r}: use up to 64 letters, digits, '_', '.' and '-', as in h1 (and "
                f"not {FABRIC!r}, which is Penstock's own)."
            )
        if name in self._wired:
            raise name_taken(name)

    def _end(self, node: str, port: int | None, peer: str) -> Endpoint:
        wired = self._wired[node]
        lowest = 1 if node in self._switches else 0
        if port is None:
            port = next_port(wired, lowest)
            while port in wired:
                port += 1
        _check_port(node, port, lowest)
        if port in wired:
            raise port_taken(Endpoint(node, port), wired[port], peer)
        return Endpoint(node, port)


def next_port(wired: Mapping[int, object], lowest: int) -> int:
    """Return the number Mininet gives a node's next port: how many it has, counted from the lowest."""
    return len(wired) + lowest


def name_taken(name: str) -> PenstockError:
    """Return the complaint about a name that is used twice."""
    return PenstockError(f"duplicate name {name!r}: every host and every switch needs a name of its own.")


def port_taken(port: Endpoint, far: Endpoint, peer: str) -> PenstockError:
    """Return the complaint about a port that is to have two links."""
    return PenstockError(
        f"Port {port.port} of {port.node} already leads to {far}, so it cannot lead to {peer} too: "
        f"give this link a port of its own."
    )


def check_ends(node1: str, node2: str, known: Container[str]) -> None:
    """Refuse a link unless it joins two different nodes that are there."""
    for node in (node1, node2):
        if node not in known:
            raise PenstockError(
                f"The link {node1} -- {node2} needs {node!r}, which is not a host or switch: add "
                f"{node!r} before the link."
            )
    if node1 == node2:
        raise PenstockError(
            f"The link {node1} -- {node2} joins a node to itself: give it two different ends."
        )


def _number(end: Endpoint) -> int:
    assert isinstance(end.port, int)
    return end.port


def _endpoint_order(end: Endpoint) -> tuple[tuple[str | int, ...], int]:
    return natural(end.node), _number(end)


def _check_port(node: str, port: int, lowest: int) -> None:
    if not isinstance(port, int) or not lowest <= port <= MAX_PORT:
        raise PenstockError(
            f"invalid port {port!r} of {node}: must be an integer from {lowest} to {MAX_PORT}."
        )


def _check_unique(what: str, keyword: str, values: Mapping[str, str]) -> None:
    owners: dict[str, str] = {}
    for name, value in values.items():
        owner = owners.setdefault(value, name)
        if owner != name:
            raise PenstockError(
                f"{owner} and {name} both have the {what} {value}: give one of them another {keyword}=."
            )


def _mac(given: str | int) -> int:
    number = addresses.mac(given) if isinstance(given, str) else given
    if not 0 < number <= addresses.BROADCAST_MAC or addresses.is_multicast_mac(number):
        raise PenstockError(f"invalid MAC address {given!r}: must be that of one host, as 00:00:00:00:00:01.")
    return number


def _ip(given: str | int) -> tuple[int, int]:
    if isinstance(given, int):
        if not 0 <= given < 1 << 32:
            raise PenstockError(
                f"invalid IPv4 address {given}: must be a number of 32 bits, or written as 10.0.0.1."
            )
        return given, PREFIX_LENGTH
    text, slash, length = given.partition("/")
    if slash and not (length.isascii() and length.isdigit() and int(length) <= 32):
        raise PenstockError(f"invalid IPv4 address {given!r}: write its prefix length as in 10.0.0.1/24.")
    return addresses.ipv4(text), int(length) if slash else PREFIX_LENGTH


def _dpid(name: str, given: str | int | None) -> int:
    if given is None:
        first = re.search(r"\d+", name)
        if first is None:
            raise PenstockError(
                f"Cannot derive the datapath id of switch {name!r} from its name: pass dpid=, or put a "
                "number in the name, as in s1."
            )
        given = int(first.group())
    number = given if isinstance(given, int) else _hexadecimal(name, given)
    if not 0 <= number < 1 << 64:
        raise PenstockError(f"invalid datapath id {number} of switch {name!r}: must fit in 64 bits.")
    return number


def _hexadecimal(name: str, given: str) -> int:
    digits = given.replace(":", "")
    if not _DPID.match(digits):
        raise PenstockError(
            f"invalid datapath id {given!r} of switch {name!r}: write up to 16 hexadecimal digits, as in "
            "dpid='1a'."
        )
    return int(digits, 16)


MOST_PARTS: Final = 100_000
"""How large a network may be that a stranger describes."""


def topology_as_json(drawing: Topology) -> dict[str, Any]:
    """Return a topology as plain data."""
    return {
        "hosts": [
            {"name": node.name, "mac": mac_text(node.mac), "ip": f"{ipv4_text(node.ip)}/{node.prefix_length}"}
            for node in drawing.hosts
        ],
        "switches": [asdict(node) for node in drawing.switches],
        "links": [_link_as_json(link) for link in drawing.links],
    }


def _link_as_json(link: Link) -> dict[str, Any]:
    found: dict[str, Any] = {"a": list(link.a), "b": list(link.b)}
    return {**found, "options": dict(link.options)} if link.options else found


def topology_from_json(given: object) -> Topology:
    """Return the topology that plain data describes; a stranger may have written it."""
    builder = TopologyBuilder()
    try:
        assert isinstance(given, Mapping)
        if sum(len(given[part]) for part in ("hosts", "switches", "links")) > MOST_PARTS:
            raise PenstockError(f"The network of the trace has more than {MOST_PARTS:,} parts.")
        for node in given["hosts"]:
            builder.add_host(_text(node["name"]), mac=_text(node["mac"]), ip=_text(node["ip"]))
        for node in given["switches"]:
            ports = map(_whole, node["ports"])
            builder.add_switch(_text(node["name"]), dpid=_whole(node["dpid"]), ports=ports)
        for link in given["links"]:
            (a, a_port), (b, b_port) = link["a"], link["b"]
            options: Any = {_text(name): _option(value) for name, value in _options(link).items()}
            builder.add_link(_text(a), _text(b), _whole(a_port), _whole(b_port), **options)
        return builder.build()
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError):
        raise PenstockError("The trace is damaged: its network is invalid.") from None


def _options(link: Any) -> Mapping[str, Any]:
    options = link.get("options", {})
    assert isinstance(options, Mapping)
    return options


def _text(value: object) -> str:
    assert isinstance(value, str)
    return value


def _whole(value: object) -> int:
    assert type(value) is int
    return value


def _option(value: object) -> LinkOption:
    assert value is None or isinstance(value, str | int | float | bool)
    return value
