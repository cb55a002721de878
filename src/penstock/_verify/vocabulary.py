"""What formulas may say of a lifted network, and what it means (MOCS §2.4).

| name | what it is |
| --- | --- |
| `hosts`, `switches`, `h1`, `s1`, … | the nodes; each has a `name`, a host also `mac` and `ip` |
| `h.rcvq` | the packets that have reached a host and that it has not yet received |
| `s.pktq`, `s.fq` | the packets that lie at a switch, and those that the controller had it send on |
| `controller.x` | the variable x of the controller program |
| `p.src`, `p.dst` | the hosts that a packet's addresses name: its IP addresses, else its MAC addresses |
| `p.port` | the port that it has come in by, where it lies |
| `p.ssh` | whether it goes to TCP port 22 |
| `p.eth_type`, `p.ipv4_dst`, `p.tcp_dst`, … | header fields by OpenFlow's names; 0 or "" if it has none |

Events, for `[α(…)] P` and `<α(…)> P`: `send(h, p)`, `recv(h, p)`, `match(s, p, ports)`, `nomatch(s, p)`,
`fwd(s, p, ports)`, `drop(s, p)` (a match or fwd with no ports), `ctrl(s, p)`, `add(s)`, `del(s)`,
`expire(s)`, `brepl(s, xid)`, `bsync(s, xid)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from penstock._verify.abstract_controller import CONTROL, SYNCHRONISE, AbstractController, ControllerQueues
from penstock._verify.abstract_host import RECEIVE, SEND, AbstractHost, HostQueue
from penstock._verify.abstract_switch import (
    ADD,
    DELETE,
    EXPIRE,
    FORWARD,
    MATCH,
    NOMATCH,
    REPLY,
    AbstractSwitch,
    Arrival,
    SwitchQueues,
)
from penstock._verify.ltl.signature import NUMBER, TEXT, TRUTH, VALUE, Kind, Signature, many, one
from penstock._verify.variables import variables_of
from penstock._world.component import Event
from penstock._world.hosts import Host
from penstock._world.network import GlobalState, Network
from penstock._world.switch.headers import read
from penstock.addresses import ipv4_text, mac_text
from penstock.openflow.fields import BY_NAME
from penstock.openflow.match import value_text
from penstock.openflow.messages import OpenFlowMessage, PacketIn, PacketOut
from penstock.packet import describe

HOSTS, SWITCHES, CONTROLLER = "hosts", "switches", "controller"
RECEIVED, LYING, ORDERED = "rcvq", "pktq", "fq"
DROP: Final = "drop"
SSH: Final = 22

FIELDS: Final = (
    *("eth_src", "eth_dst", "eth_type", "vlan_vid", "arp_op", "arp_spa", "arp_tpa"),
    *("ip_proto", "ipv4_src", "ipv4_dst", "tcp_src", "tcp_dst", "udp_src", "udp_dst"),
    *("icmpv4_type", "icmpv4_code"),
)
"""The header fields that formulas may ask for."""

ADDRESSED: Final = {"src": ("eth_src", "ipv4_src"), "dst": ("eth_dst", "ipv4_dst")}
"""The header fields by which a packet's sender and receiver are told."""

_WITH_PORTS: Final = frozenset({MATCH, FORWARD})


class Node(NamedTuple):
    """A host or switch, as formulas know it."""

    sort: str
    name: str

    def __str__(self) -> str:
        return self.name


class Packet(NamedTuple):
    """A packet, as formulas know it, and the port that it has come in by."""

    data: bytes
    port: int

    def __str__(self) -> str:
        return f"[{describe(self.data)}]"


class Program(NamedTuple):
    """The controller, as formulas know it."""

    name: str

    def __str__(self) -> str:
        return self.name


def is_text(field: str) -> bool:
    """Tell whether a header field is written as text, as addresses are."""
    return BY_NAME[field].kind in ("mac", "ipv4", "ipv6")


class Vocabulary:
    """The signature and the interpretation of one lifted network; states are components' states by name."""

    def __init__(self, network: Network, start: GlobalState, hosts: Iterable[Host]) -> None:
        self._addresses = {made.name: (made.mac, made.ip) for made in hosts}
        self._by_address = {("eth", made): name for name, (made, _) in self._addresses.items()}
        self._by_address |= {("ipv4", made): name for name, (_, made) in self._addresses.items()}
        self.hosts = _nodes(network, AbstractHost, "host")
        self.switches = _nodes(network, AbstractSwitch, "switch")
        self.controller = next(
            made.name for made in network.components if isinstance(made, AbstractController)
        )
        first: Any = start.states[network.places[self.controller]]
        self._nodes = {node.name: node for node in (*self.hosts, *self.switches)}
        self._variables: dict[Any, Mapping[str, Any]] = {}
        self.signature = self._signature(self._variables_in(first.inner))

    def _signature(self, variables: Iterable[str]) -> Signature:
        named = {"name": Kind("text", fixed=True)}
        packet = {name: TEXT if is_text(name) else NUMBER for name in FIELDS}
        packet |= {"src": one("host"), "dst": one("host"), "port": NUMBER, "ssh": TRUTH}
        switch, host, seen = one("switch", fixed=True), one("host", fixed=True), one("packet")
        ports = many("number")
        return Signature(
            names={
                HOSTS: many("host", fixed=True),
                SWITCHES: many("switch", fixed=True),
                CONTROLLER: one("controller"),
                **{node.name: one(node.sort, fixed=True) for node in self._nodes.values()},
            },
            sorts={
                "host": {**named, "mac": TEXT, "ip": TEXT, RECEIVED: many("packet")},
                "switch": {**named, LYING: many("packet"), ORDERED: many("packet")},
                "packet": packet,
                "controller": dict.fromkeys(variables, VALUE),
            },
            events={
                **dict.fromkeys((SEND, RECEIVE), (host, seen)),
                **dict.fromkeys((MATCH, FORWARD), (switch, seen, ports)),
                **dict.fromkeys((NOMATCH, CONTROL, DROP), (switch, seen)),
                **dict.fromkeys((ADD, DELETE, EXPIRE), (switch,)),
                **dict.fromkeys((REPLY, SYNCHRONISE), (switch, NUMBER)),
            },
        )

    # The interpretation.

    def named(self, _states: Mapping[str, Any], name: str, /) -> Any:
        """Return what a name stands for."""
        match name:
            case "hosts":
                return self.hosts
            case "switches":
                return self.switches
            case "controller":
                return Program(self.controller)
            case _:
                return self._nodes[name]

    def field(self, states: Mapping[str, Any], owner: Any, name: str, /) -> Any:
        """Return a field of a thing."""
        match owner:
            case Packet():
                return self._of_packet(owner, name)
            case Program():
                queues: ControllerQueues = states[self.controller]
                return self._variables_in(queues.inner).get(name)
            case Node(_, node):
                return self._of_node(states, node, name)
            case None:
                return ""
            case _:
                return getattr(owner, name, None)

    def _of_node(self, states: Mapping[str, Any], node: str, name: str) -> Any:
        match name:
            case "name":
                return node
            case "mac":
                return mac_text(self._addresses[node][0])
            case "ip":
                return ipv4_text(self._addresses[node][1])
            case "rcvq":
                queue: HostQueue = states[node]
                return [Packet(each.frame.data, each.port) for each in queue.received]
            case _:
                queues: SwitchQueues = states[node]
                if name == ORDERED:
                    return [Packet(each.data, int(each.in_port)) for each in queues.forward]
                return [Packet(each.frame.data, each.port) for each in queues.packets]

    def _of_packet(self, packet: Packet, name: str) -> Any:
        fields = read(packet.data).fields
        match name:
            case "port":
                return packet.port
            case "ssh":
                return fields.get("tcp_dst") == SSH
            case "src" | "dst":
                link, network = ADDRESSED[name]
                known = ("ipv4", fields[network]) if network in fields else ("eth", fields.get(link, -1))
                owner = self._by_address.get(known)
                return None if owner is None else self._nodes[owner]
            case _:
                value = fields.get(name)
                if is_text(name):
                    return "" if value is None else value_text(BY_NAME[name], value)
                return 0 if value is None else value

    def happened(self, label: Any, event: str, /) -> Iterator[tuple[Any, ...]]:
        """Yield the arguments of each event of a kind that a step was; a label is whatever has `events`."""
        for emitted in label.events:
            if event == DROP and emitted.kind in _WITH_PORTS and not emitted.detail[2]:
                yield self._arguments(emitted)[:2]
            elif emitted.kind == event:
                yield self._arguments(emitted)

    def _arguments(self, event: Event) -> tuple[Any, ...]:
        node, subject = self._nodes[str(event.detail[0])], event.detail[1]
        match event.kind:
            case "match" | "fwd":
                return node, _packet(subject), event.detail[2]
            case "add" | "del" | "expire":
                return (node,)
            case "brepl" | "bsync":
                assert isinstance(subject, OpenFlowMessage)
                return node, subject.xid
            case _:
                return node, _packet(subject)

    # What formulas depend on.

    def components_read(self, paths: Iterable[str]) -> frozenset[str]:
        """Return the components whose states decide what is at some paths (see `ltl.visibility`)."""
        found: set[str] = set()
        for path in paths:
            first, *rest = path.split(".")
            if first == CONTROLLER and rest:
                found.add(self.controller)
            if RECEIVED in rest:
                found |= {first} if first in self._nodes else {node.name for node in self.hosts}
            elif {LYING, ORDERED} & set(rest):
                found |= {first} if first in self._nodes else {node.name for node in self.switches}
        return frozenset(found)

    def _variables_in(self, program: Any) -> Mapping[str, Any]:
        known = self._variables.get(program)
        if known is None:
            known = self._variables[program] = variables_of(program)
        return known


def kinds_heard(events: Iterable[str]) -> frozenset[str]:
    """Return the kinds of components' events that formulas with ears for some events listen to."""
    return frozenset(kind for event in events for kind in (_WITH_PORTS if event == DROP else (event,)))


def _packet(subject: object) -> Packet:
    match subject:
        case Arrival(port=port, frame=frame):
            return Packet(frame.data, port)
        case PacketOut(in_port=port, data=data):
            return Packet(data, int(port))
        case PacketIn() as message:
            return Packet(message.data, message.in_port)
    raise AssertionError(f"{subject!r} is no packet")


def _nodes(network: Network, kind: type, sort: str) -> tuple[Node, ...]:
    return tuple(Node(sort, made.name) for made in network.components if isinstance(made, kind))
