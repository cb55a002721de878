"""What a trace carries so that it can be looked at without running anything: the network, and its actors.

Switches and the usual hosts are Penstock's own; what they do can be worked out again from what reaches them.
Controllers, and hosts that are a user's or go by what a controller knows, are **actors**: to take them again,
their code would have to run.  So a trace has the network as it was drawn and the messages of its actors byte
by byte, and whoever looks at it puts those in where the actors are silent (see `inert`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from penstock._world.component import Component, Message
from penstock._world.frame import Frame
from penstock._world.hosts import SymbolicHost
from penstock._world.signals import FABRIC
from penstock._world.switch import Switch
from penstock._world.topology import Topology
from penstock._world.topology.builder import topology_as_json, topology_from_json
from penstock._world.transition import InFlight, Record
from penstock.errors import PenstockError
from penstock.openflow.error_codes import OpenFlowError
from penstock.openflow.messages import V13, VERSIONS, OpenFlowMessage, PacketOut
from penstock.openflow.wire import decode, encode

_OWN: Final = "penstock."
"""What the names of our own modules begin with."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The network of a run as it was drawn, the version of OpenFlow in it, who acted, and how it began."""

    topology: Topology
    version: int
    actors: frozenset[str]
    joining: tuple[Record, ...] = ()
    """How the switches joined, where the run begins after that."""

    def as_json(self) -> dict[str, object]:
        """Return the scene as plain data, but for how it began."""
        return {**topology_as_json(self.topology), "version": self.version, "actors": sorted(self.actors)}


def scene_of(
    components: Iterable[Component],
    topology: Topology,
    hosts: Mapping[str, object],
    joining: tuple[Record, ...] = (),
) -> Scene:
    """Return the scene of a network that was made from a topology and from what is given of its hosts."""
    made = {each.name: each for each in components}
    usual = {node.name for node in topology.hosts if _is_usual(made[node.name], hosts.get(node.name, {}))}
    switches = {node.name for node in topology.switches}
    versions = (each.options.version for each in made.values() if isinstance(each, Switch))
    actors = frozenset(made) - usual - switches - {FABRIC}
    return Scene(topology, next(versions, V13), actors, joining)


def _is_usual(host: Component, given: object) -> bool:
    """Tell whether a host is one of ours that looks at nobody, and was given as plain data."""
    ours = type(host).__module__.startswith(_OWN) and not isinstance(host, SymbolicHost)
    return ours and isinstance(given, Mapping)


def read_scene(given: object) -> Scene:
    """Return the scene that the header of a trace tells of, whoever wrote it."""
    if not isinstance(given, Mapping):
        raise PenstockError("The trace has no network in it, as those of older versions.")
    version, actors = given.get("version"), given.get("actors")
    if not isinstance(version, int) or version not in VERSIONS.values() or not isinstance(actors, list):
        raise PenstockError("The trace is damaged: its network is invalid.")
    return Scene(topology_from_json(given), version, frozenset(map(str, actors)))


# What actors say.


class Said(NamedTuple):
    """A message of an actor: the channel that it went on, its bytes and their version, and its packet's name.

    Version 0 is a frame; a message that has no form on the wire has no bytes.
    """

    channel: str
    version: int
    wire: bytes | None
    tag: str = ""

    def as_json(self) -> list[object]:
        """Return it as plain data."""
        return [self.channel, self.version, None if self.wire is None else self.wire.hex(), self.tag]

    @property
    def message(self) -> Message:
        """The message again."""
        if self.wire is None:
            raise PenstockError(f"The message sent on {self.channel} has no wire format.")
        if not self.version:
            return Frame(self.wire, self.tag)
        try:
            found = decode(self.wire, self.version)
        except OpenFlowError as error:
            raise PenstockError(
                f"The bytes sent on {self.channel} are not an OpenFlow message: {error}"
            ) from None
        return replace(found, tag=self.tag) if isinstance(found, PacketOut) else found


def said_in(record: Record, version: int) -> tuple[Said, ...]:
    """Return what an actor said in a step: what it sent, and what it sent into the void."""
    void = (flight for flight in record.lost if flight.channel.node == record.node)
    return tuple(said(flight, version) for flight in (*record.sends, *void))


def said(flight: InFlight, version: int) -> Said:
    """Return a message on its way as its bytes."""
    channel, message = flight
    if isinstance(message, Frame):
        return Said(str(channel), 0, message.data, message.tag)
    wire = None
    if isinstance(message, OpenFlowMessage):
        with suppress(PenstockError):  # what no session can carry, nobody needs to see again
            wire = encode(message, version)
    return Said(str(channel), version, wire, getattr(message, "tag", ""))
