"""Which kinds of transitions there are, to a strategy: packets, orders, questions, what hosts begin.

Strategies go by how a network is built, not by what is said in it.  A channel that leaves a numbered
port carries frames, one that leaves a port with a name carries what switches and controllers tell
each other; a component with names for ports only is a controller, one with both is a switch.

What is of which kind in one local situation is found once and kept as a set of bits, so that a
state's options are put together by a few shifts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.interning import MASK
from penstock._explore.tables import Entry
from penstock._world.network import Network
from penstock._world.signals import FABRIC
from penstock._world.transition import ACT, DELIVER, Transition


class TransitionKind(IntEnum):
    """What a transition is about, in the order in which things happen where nothing is delayed."""

    SIGNAL = 0
    """A component hears of its links, sessions or power."""
    EFFECT = 1
    """An order that a switch has received takes effect."""
    ORDER = 2
    """A controller's message reaches a switch."""
    REPORT = 3
    """A switch's message reaches a controller, or is heard by its program."""
    RACE = 4
    """A frame reaches a switch that has an order before it: on its way there, or to take effect."""
    FRAME = 5
    """A frame reaches another switch."""
    ARRIVAL = 6
    """A frame reaches a host."""
    OWN = 7
    """A controller or a switch does something by itself: a timer goes off, a rule expires."""
    SEND = 8
    """A host does something by itself."""
    FAULT = 9
    """The fabric does something, or a frame is befallen on its way."""


CONTROL: Final = (TransitionKind.EFFECT, TransitionKind.ORDER, TransitionKind.REPORT)
"""The kinds of which communication between switches and controllers consists."""


class Roles(NamedTuple):
    """Who is what in a network."""

    controllers: frozenset[str]
    switches: frozenset[str]


def roles(network: Network) -> Roles:
    """Tell controllers and switches by the ports they have; all others are hosts."""
    talking = {end.node for end in network.channels if isinstance(end.port, str)}
    forwarding = {end.node for end in network.channels if isinstance(end.port, int)}
    return Roles(frozenset(talking - forwarding - {FABRIC}), frozenset(talking & forwarding))


def kind_of(transition: Transition, cell: str, known: Roles) -> TransitionKind:
    """Return what a transition is about, given the component whose cell it happens in.

    Whether a frame is in a race is not for one transition alone to say: here it is simply a frame.
    """
    verb, node, what = transition
    if verb == DELIVER:
        if node == FABRIC:
            return TransitionKind.SIGNAL
        if isinstance(what, int):
            return TransitionKind.FRAME if cell in known.switches else TransitionKind.ARRIVAL
        return TransitionKind.ORDER if node in known.controllers else TransitionKind.REPORT
    if verb != ACT or node == FABRIC:
        return TransitionKind.FAULT
    if node in known.controllers:
        return TransitionKind.REPORT if str(what).startswith("hear ") else TransitionKind.OWN
    if node in known.switches:
        return TransitionKind.EFFECT if str(what).startswith("apply ") else TransitionKind.OWN
    return TransitionKind.SEND


class Options(NamedTuple):
    """What can happen in a state: transitions in a fixed order, and which of them are of which kind.

    A set of options is a whole number with one bit per transition, the first transition's lowest.
    """

    entries: list[Entry]
    of_kind: list[int]
    at_rest: bool

    @property
    def every(self) -> int:
        """All options, as a set."""
        return (1 << len(self.entries)) - 1

    def of(self, *kinds: TransitionKind) -> int:
        """Return the options of some kinds, as a set."""
        found = 0
        for kind in kinds:
            found |= self.of_kind[kind]
        return found

    def in_order(self, kinds: Sequence[TransitionKind], options: int) -> list[Entry]:
        """Return the transitions of a set by the order of their kinds."""
        found: list[Entry] = []
        for kind in kinds:
            if some := self.of_kind[kind] & options:
                found += self.within(some)
        return found

    def within(self, options: int) -> list[Entry]:
        """Return the transitions of a set, in order."""
        return [entry for place, entry in enumerate(self.entries) if options >> place & 1]


def options_in(cells: CompiledNetwork) -> Callable[[int], Options]:
    """Return the function from a state to what can happen in it."""
    tables, known = cells.tables, roles(cells.network)
    owners = [*cells.names, *(cells.names[reader.cell] for reader in cells.readers.values())]
    """The component that each group of transitions belongs to."""
    sorted_out: dict[int, tuple[tuple[Entry, ...], list[tuple[TransitionKind, int]]]] = {}
    """By the identity of a table's row, the row itself and its sets of each kind."""

    def sets_of(place: int, entries: tuple[Entry, ...]) -> list[tuple[TransitionKind, int]]:
        found = dict.fromkeys(TransitionKind, 0)
        for index, entry in enumerate(entries):
            found[kind_of(entry[4], owners[place], known)] |= 1 << index
        if found[TransitionKind.ORDER] or found[TransitionKind.EFFECT]:
            found[TransitionKind.RACE], found[TransitionKind.FRAME] = found[TransitionKind.FRAME], 0
        sets = [(kind, options) for kind, options in found.items() if options]
        sorted_out[id(entries)] = (entries, sets)
        return sets

    def options(state: int) -> Options:
        found: list[Entry] = []
        of_kind = [0] * len(TransitionKind)
        at_rest = True
        for shift, mask, place, rows in tables[state & MASK]:
            entries = rows[state >> shift & mask]
            if not entries:
                continue
            if place:
                at_rest = False
            kept = sorted_out.get(id(entries))
            for kind, here in sets_of(place, entries) if kept is None else kept[1]:
                of_kind[kind] |= here << len(found)
            found += entries
        return Options(found, of_kind, at_rest)

    return options
