"""What can happen next, in words, and by whose hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from penstock._story.story import headline
from penstock._world.channels import CHANNEL_FAULTS
from penstock._world.component import Component, Endpoint
from penstock._world.frame import retell_packets
from penstock._world.hosts import Host
from penstock._world.network import Network
from penstock._world.signals import FABRIC
from penstock._world.switch import Switch
from penstock._world.transition import ACT, DELIVER, InFlight, Record, Transition
from penstock._world.world import World

KINDS: Final = ("host", "switch", "fabric", "controller")
"""The kinds of components, in the order in which people are shown them."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A transition that can be taken: whose step it is, and what it is in words."""

    transition: Transition
    node: str
    words: str

    def fits(self, words: Sequence[str]) -> bool:
        """Tell whether all these words, in small letters, are in what is shown or in the transition."""
        text = f"{self.node} {self.words} {self.transition}".lower()
        return all(word in text for word in words)


def is_misfortune(transition: Transition) -> bool:
    """Tell whether something only happens if somebody wants it to: a failure, a loss, a move."""
    return transition.verb in CHANNEL_FAULTS or transition[:2] == (ACT, FABRIC)


def kind_of(component: Component) -> str:
    """Return what kind of component it is."""
    if component.name == FABRIC:
        return "fabric"
    return (
        "host" if isinstance(component, Host) else "switch" if isinstance(component, Switch) else "controller"
    )


def in_order(network: Network) -> list[str]:
    """Return the components in the order in which people are shown them."""
    kinds = [KINDS.index(kind_of(component)) for component in network.components]
    return [name for _, name in sorted(zip(kinds, network.names, strict=True), key=lambda pair: pair[0])]


def choices_of(world: World) -> list[Choice]:
    """Return what can happen now, those of one component together."""
    places = {name: place for place, name in enumerate(in_order(world.network))}
    found = [_choice(world, transition) for transition in world.enabled()]
    return sorted(found, key=lambda choice: places[choice.node])


def _choice(world: World, transition: Transition) -> Choice:
    record = _foreseen(world, transition)
    # The list is by component and the packets have names, so neither need be said again.
    words = retell_packets(headline(record).removesuffix("."), lambda found: found[1])
    begins = (f"{record.node}: ", f"{record.node} ", f"Controller {record.node} ")
    shown = next((words.removeprefix(begin) for begin in begins if words.startswith(begin)), words)
    return Choice(transition, record.node, shown)


def _foreseen(world: World, transition: Transition) -> Record:
    """Return what is known of a step before it is taken."""
    verb, node, what = transition
    if verb == ACT:
        return Record(transition, node)
    channel = Endpoint(node, what)
    head = world.queue(channel)[0]
    if verb == DELIVER:
        at = world.network.fabric.peer(world.state(FABRIC), channel)
        return Record(transition, at.node if at is not None else node, at, head)
    return Record(transition, FABRIC, lost=(InFlight(channel, head),))
