"""From a network that runs to its abstraction for unboundedly many packets.

    model = lift(built.network, built.start, {"h1": (frame,), "s2:3": (other,)})

The components are exchanged one by one for their abstract counterparts; links, sessions, channels and
names stay.  A lifted network is a network like any other: whatever searches one can search the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock._verify.abstract_controller import AbstractController, ControllerQueues
from penstock._verify.abstract_host import AbstractHost, HostQueue
from penstock._verify.abstract_switch import AbstractSwitch, Arrival, SwitchQueues
from penstock._verify.observations import Experience
from penstock._world.component import Component, Endpoint
from penstock._world.fabric import Fabric
from penstock._world.frame import Frame
from penstock._world.hosts import Host
from penstock._world.network import GlobalState, Network
from penstock._world.signals import FABRIC
from penstock._world.switch import Switch
from penstock.errors import PenstockError

Traffic = Mapping[str, tuple[Frame, ...]]
"""Which packets a host may send, or come in by a port (`s2:3`) from nowhere, any number of times."""


@dataclass(frozen=True, slots=True)
class Lifting:
    """How a network is lifted.

    `sending` as an action is the paper's model; without it all that hosts can send lies in the first
    switch's queue from the start, which comes to the same sooner.  `receiving` gives hosts a queue;
    without it what reaches a host is gone.  `history` has packets remember the switches they left.
    `timeouts` lets rules that have one vanish at any moment.  `kuai` makes the switches those of Kuai
    (see `abstract_switch`).
    """

    sending: bool = False
    receiving: bool = True
    history: bool = False
    timeouts: bool = False
    kuai: bool = False


@dataclass(frozen=True, slots=True)
class Model:
    """A lifted network, where its runs begin, and how it was lifted."""

    network: Network
    start: GlobalState
    experience: Experience
    how: Lifting

    def remembering(self) -> Model:
        """Return the same model with switches that remember in which order rules were sent."""
        components = [
            made.remembering() if isinstance(made, AbstractSwitch) else made
            for made in self.network.components
            if made.name != FABRIC
        ]
        network = Network(components, self.network.fabric, self.network.channels[len(components) :])
        return replace(self, network=network)


def lift(network: Network, start: GlobalState, traffic: Traffic, how: Lifting | None = None) -> Model:
    """Return the abstraction of a network that is in a certain state and in which nothing is under way."""
    how = how or Lifting()
    _check(network, start, traffic)
    experience = Experience()
    components = [
        _lifted(component, traffic, how, experience)
        for component in network.components
        if component.name != FABRIC
    ]
    lifted = Network(components, network.fabric, network.channels[len(components) :])
    states = [
        _state(component, state) for component, state in zip(network.components, start.states, strict=True)
    ]
    for source, frames in traffic.items():
        if ":" in source or not how.sending:
            _put_in_queue(network, states, source, frames)
    return Model(lifted, GlobalState(tuple(states), start.queues, start.clock), experience, how)


def _check(network: Network, start: GlobalState, traffic: Traffic) -> None:
    for source in traffic:
        _source(network, source)
    for channel, queue in zip(network.channels, start.queues, strict=True):
        if queue:
            raise PenstockError(
                f"{queue[0]} is under way on {channel} where a proof begins: let all messages arrive first."
            )
    programs = [made for made in network.components if not isinstance(made, Switch | Host | Fabric)]
    if len(programs) != 1:
        raise PenstockError(f"A proof needs one controller, and here are {len(programs)}: name one.")
    for made in network.components:
        if not isinstance(made, Switch):
            continue
        options = made.options
        if options.counters or options.buffers or options.reorder != "none":
            raise PenstockError(
                f"{made.name} counts or keeps packets, or reorders messages by itself: set counters = false, "
                'buffers = 0 and reorder = "none" for a proof.'
            )


def _unlimited(switch: Switch) -> Switch:
    """Return a switch whose meters limit nothing: packets that come any number of times have no rate."""
    made = switch.chassis
    options = replace(made.options, meters="pass", overruns=0, overlaps=0)
    return Switch(made.name, made.dpid, made.ports, options, made.controllers)


def _lifted(component: Component, traffic: Traffic, how: Lifting, experience: Experience) -> Component:
    if isinstance(component, Switch):
        return AbstractSwitch(
            _unlimited(component), experience, history=how.history, flush=how.kuai, timeouts=how.timeouts
        )
    if isinstance(component, Host):
        sent = traffic.get(component.name, ()) if how.sending else ()
        return AbstractHost(component.name, component.port, sent, queues=how.receiving)
    return AbstractController(component, experience)


def _state(component: Component, state: Any) -> Any:
    if isinstance(component, Switch):
        return SwitchQueues(replace(state, overruns=0, overlaps=0))
    if isinstance(component, Host):
        return HostQueue()
    return state if component.name == FABRIC else ControllerQueues(state)


def _source(network: Network, source: str) -> Endpoint:
    """Return the port that packets come out of (a host) or into (a switch)."""
    name, _, port = source.partition(":")
    place = network.places.get(name)
    component = None if place is None else network.components[place]
    if isinstance(component, Host) and not port:
        return Endpoint(name, component.port)
    if isinstance(component, Switch) and port.isdecimal() and (name, int(port)) in network.outlets:
        return Endpoint(name, int(port))
    hosts = [made.name for made in network.components if isinstance(made, Host)]
    raise PenstockError(
        f"No packets can come from {source!r}: name a host ({', '.join(hosts)}) or a port as in s1:2."
    )


def _put_in_queue(network: Network, states: list[Any], source: str, frames: tuple[Frame, ...]) -> None:
    end: Endpoint | None = _source(network, source)
    if ":" not in source:
        end = network.fabric.peer(states[network.places[FABRIC]], Endpoint(*_source(network, source)))
    if end is None:
        raise PenstockError(f"{source} is attached nowhere and cannot send: link it to a switch.")
    place = network.places[end.node]
    arrivals = frozenset(Arrival(int(end.port), frame) for frame in frames)
    states[place] = replace(states[place], packets=states[place].packets | arrivals)
