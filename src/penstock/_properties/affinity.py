"""The packets of a TCP connection all reach the same replica of a service (NICE §9.2)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from penstock._base.frozen import FrozenMap
from penstock._properties.base import Property, Violated
from penstock._properties.packets import Hosts, accepted, called
from penstock._world.network import Network
from penstock._world.switch.headers import read
from penstock._world.transition import Record
from penstock.errors import PenstockError


class Connection(NamedTuple):
    """A TCP connection as every replica sees it: the client's address and port, and the service's port."""

    client: int
    client_port: int
    service_port: int


class Arrival(NamedTuple):
    """A segment that a replica took in."""

    connection: Connection
    replica: str
    packet: str


@dataclass(eq=False)
class FlowAffinity(Property):
    """All segments of a TCP connection reach the same one of the `replicas`.

    The address that the client connected to does not count, since a load balancer rewrites it.  So a
    connection from the same address and port to the same port is the same connection, also when it
    is opened anew or to another address.
    """

    blames_arrival = True
    replicas: Sequence[str]

    sentence = "All packets of a TCP connection reach the same replica."
    needs = "a connection of which a second packet reaches a replica"

    def __post_init__(self) -> None:
        given = self.replicas
        if isinstance(given, str) or len(set(given)) < 2:
            raise PenstockError(
                f'{self.name} cannot compare {given!r}: give replicas two hosts or more, as in ["h2", "h3"].'
            )
        self.replicas = tuple(given)

    def start(self, network: Network, /) -> FrozenMap[Connection, str]:
        """Begin with no connection."""
        hosts = Hosts(network).names
        for replica in self.replicas:
            if replica not in hosts:
                raise PenstockError(
                    f"{self.name} names the replica {replica!r}, which is no host here: "
                    f"the hosts are {', '.join(hosts)}."
                )
        return FrozenMap()

    def see(self, record: Record, /) -> Hashable | None:
        """See a replica take in a segment."""
        taken = accepted(record)
        if taken is None or taken[0] not in self.replicas:
            return None
        replica, frame = taken
        fields = read(frame.data).fields
        if "tcp_dst" not in fields:
            return None
        connection = Connection(
            fields.get("ipv4_src") or fields.get("ipv6_src", 0), fields.get("tcp_src", 0), fields["tcp_dst"]
        )
        return Arrival(connection, replica, called(frame.tag, frame.data))

    def next(self, state: FrozenMap[Connection, str], seen: Arrival, /) -> FrozenMap[Connection, str]:
        """Remember which replica a connection went to first."""
        first = state.get(seen.connection, seen.replica)
        if first != seen.replica:
            raise Violated(
                f"{seen.packet} reached {seen.replica}, but earlier packets of that connection "
                f"reached {first}."
            )
        return state.set(seen.connection, seen.replica)

    def judges(self, state: FrozenMap[Connection, str], seen: Arrival, /) -> bool:
        """The first packet of a connection could go anywhere."""
        return seen.connection in state
