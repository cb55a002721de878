"""A network whose switches are set up at will, probed by frames both for real and symbolically."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from penstock._concolic.terms import Term, evaluate, var
from penstock._symbolic.forwarding.arrivals import Arrival, arrivals
from penstock._world.assembly import build_network
from penstock._world.component import Endpoint, Port, Step
from penstock._world.frame import Frame
from penstock._world.network import GlobalState
from penstock._world.signals import FABRIC
from penstock._world.switch import SwitchOptions
from penstock._world.switch.headers import TRANSPORT_PORTS, read
from penstock._world.topology import topology
from penstock._world.world import World
from penstock.openflow.fields import BY_NAME
from penstock.openflow.messages import V13, Error, OpenFlowMessage, PacketIn

PROBE = "probe"
MOST_TRANSITIONS = 400

WIDTHS = {**{name: field.bits for name, field in BY_NAME.items()}, "ip_ttl": 8, "fragment": 2}
NOT_SENT = ("in_port", "in_phy_port", "metadata", "tunnel_id", "pbb_isid", "ipv6_exthdr")

WITH_FRAGMENTS: Mapping[str, Term] = {
    name: var(name, width) for name, width in WIDTHS.items() if name not in NOT_SENT
}
"""Every header field of a packet, each an input."""

FIELDS: Mapping[str, Term] = {name: term for name, term in WITH_FRAGMENTS.items() if name != "fragment"}
"""Those of packets that are no fragments."""


class Mute:
    """A controller that hears everything and says nothing."""

    name = "c0"

    def initial(self) -> int:
        return 0

    def actions(self, state: int) -> tuple[str, ...]:
        return ()

    def act(self, state: int, action: str) -> Step:
        raise NotImplementedError

    def receive(self, state: int, port: Port, message: Any) -> Step:
        return Step(state)


class Seen(NamedTuple):
    """A packet_in, as far as an arrival speaks of it."""

    switch: str
    port: int | None
    reason: int
    table: int
    cookie: int
    match: Any


class Observed(NamedTuple):
    """The packet_ins of a probe with the bytes they hold, and whether the network came to rest."""

    found: frozenset[tuple[Seen, bytes]]
    at_rest: bool


def values_of(frame: bytes, absent: int = 0) -> dict[str, int]:
    """Return what a switch reads in a frame, a value per field; `absent` is for fields it has not."""
    headers = read(frame)
    fields = {"ip_ttl" if name == "nw_ttl" else name: value for name, value in headers.fields.items()}
    fields["fragment"] = headers.fragment
    return {
        name: fields.get(name, 0) if is_there(name, fields) else absent & (1 << WIDTHS[name]) - 1
        for name in WITH_FRAGMENTS
    }


def is_there(name: str, fields: Mapping[str, int]) -> bool:
    """Tell whether a packet with these fields is of the kind that has a field."""
    if name == "vlan_pcp":
        return bool(fields.get("vlan_vid"))
    if name.startswith("ipv6_nd") and fields.get("icmpv6_code"):
        return False
    needs = BY_NAME["ip_dscp" if name == "ip_ttl" else name].needs if name != "fragment" else ()
    return all(fields.get(needed, 0) in kinds for needed, kinds in needs)


class Lab:
    """A network with a mute controller."""

    def __init__(self, shape: str, version: int = V13) -> None:
        options = SwitchOptions(version=version, counters=False)
        self.network = build_network(topology(shape), controllers=Mute(), switches=options)
        self.states: dict[str, Any] = dict(
            zip(self.network.names, self.network.initial().states, strict=True)
        )

    def tell(self, switch: str, *messages: OpenFlowMessage) -> list[Error]:
        """Have a switch take messages of the controller; return what it refuses."""
        component = self.network.components[self.network.places[switch]]
        refused: list[Error] = []
        for message in messages:
            step = component.receive(self.states[switch], "c0", message)
            self.states[switch] = step.state
            refused += (sent for _, sent in step.sends if isinstance(sent, Error))
        return refused

    def disturb(self, component: str, port: Port, message: Any) -> None:
        """Have a component take any message."""
        taker = self.network.components[self.network.places[component]]
        self.states[component] = taker.receive(self.states[component], port, message).state

    def entrance(self, host: str) -> Endpoint:
        """Return where a host is attached."""
        end = self.network.fabric.peer(self.states[FABRIC], Endpoint(host, 0))
        assert end is not None
        return end

    def send(self, host: str, data: bytes) -> Observed:
        """Have a host send a frame, and return the packet_ins of it."""
        network = self.network
        queues: list[tuple[Any, ...]] = [()] * len(network.channels)
        queues[network.outlets[Endpoint(host, 0)]] = (Frame(data, PROBE),)
        found: set[tuple[Seen, bytes]] = set()
        world = World(network)
        world.restore(GlobalState(tuple(self.states[name] for name in network.names), tuple(queues)))

        def note(record: Any) -> None:
            for (switch, _), message in record.sends:
                if isinstance(message, PacketIn) and message.tag == PROBE:
                    port = message.match.value("in_port")
                    told = Seen(switch, port, message.reason, message.table_id, message.cookie, message.match)
                    found.add((told, message.data))

        world.observe(note)
        taken = world.run(limit=MOST_TRANSITIONS)
        return Observed(frozenset(found), taken < MOST_TRANSITIONS)

    def arrivals(
        self, host: str, fields: Mapping[str, Term] = FIELDS, feasible: Any = lambda _: True, hops: int = 64
    ) -> tuple[Arrival, ...]:
        """Return what the analysis says of a host's packets."""
        switch, port = self.entrance(host)
        assert isinstance(port, int)
        return arrivals(self.network, self.states, switch, port, fields, feasible, hops=hops)


def seen(arrival: Arrival) -> Seen:
    """Return what an arrival says about a packet_in."""
    return Seen(arrival.switch, arrival.port, arrival.reason, arrival.table, arrival.cookie, arrival.match)


def holding(found: tuple[Arrival, ...], values: Mapping[str, int]) -> list[Arrival]:
    """Return the arrivals whose condition a packet satisfies."""
    return [arrival for arrival in found if evaluate(arrival.condition, values)]


def tells(arrival: Arrival, values: Mapping[str, int], data: bytes) -> bool:
    """Tell whether an arrival's header is what the bytes of a packet_in say, as far as it is known."""
    found = values_of(data)
    ignored = TRANSPORT_PORTS if found["fragment"] else ()
    return all(
        evaluate(arrival.fields[name], values) == value
        for name, value in found.items()
        if name in arrival.fields and name not in ignored and is_there(name, found)
    )


def uncovered(
    found: tuple[Arrival, ...], observed: Observed, values: Mapping[str, int]
) -> list[tuple[Seen, bytes]]:
    """Return the packet_ins of a packet that no arrival speaks of."""
    hold = holding(found, values)
    return [
        (what, data)
        for what, data in observed.found
        if not any(seen(one) == what and tells(one, values, data) for one in hold)
    ]


def unconfirmed(found: tuple[Arrival, ...], observed: Observed, values: Mapping[str, int]) -> list[Arrival]:
    """Return the arrivals that claim to be exact, but are not seen to happen to a packet."""
    return [
        one
        for one in holding(found, values)
        if one.exact
        and not any(seen(one) == what and tells(one, values, data) for what, data in observed.found)
    ]
