"""No packet goes in a circle."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from penstock._base.frozen import FrozenMap
from penstock._properties.base import Property, Violated
from penstock._properties.packets import affected_tag, changes, fabric_action, frames_sent, packet_label
from penstock._world.frame import Frame
from penstock._world.network import Network
from penstock._world.switch import Switch
from penstock._world.transition import Record

RESET: Final = "reset"


class Seen(NamedTuple):
    """What a step showed of one packet: where it came in, how its copies changed, if it was doubled."""

    tag: str
    change: int = 0
    switch: str = ""
    port: int = 0
    packet: str = ""
    doubled: bool = False


class Trail(NamedTuple):
    """Where a packet in flight has come in so far, and how many copies of it there are.

    `places` is None for a packet of which a wire made a second copy: that may come by again.
    """

    copies: int
    places: frozenset[tuple[str, int]] | None


Trails = FrozenMap[str, Trail]


@dataclass(eq=False)
class NoForwardingLoops(Property):
    """Every packet comes in by each port of each switch at most once.

    A packet is forgotten with its last copy; one that a controller keeps in its own memory and sends
    out later begins anew.  When a wire changes, all packets begin anew, since those on it may be
    gone: a packet that really goes in a circle will come by twice again.
    """

    blames_arrival = True
    sentence = "No packet comes into a switch by the same port twice."
    needs = "a packet with a name (as h1#1) that arrives at a switch"

    _switches: frozenset[str] = field(init=False, repr=False, default=frozenset())

    def start(self, network: Network, /) -> Trails:
        """Begin with no packet in flight."""
        self._switches = frozenset(part.name for part in network.components if isinstance(part, Switch))
        return FrozenMap()

    def see(self, record: Record, /) -> Hashable | None:
        """See packets come into switches, and copies come and go."""
        if fabric_action(record):
            return RESET
        if doubled := affected_tag(record, "duplicate"):
            return (Seen(doubled, 1, doubled=True),)
        # What a host sends is a packet only from its first switch on.
        change = changes(record)
        for _, frame in frames_sent(record):
            change.pop(frame.tag, None)
        found = []
        if isinstance(record.message, Frame) and record.message.tag and record.node in self._switches:
            tag, data = record.message.tag, record.message.data
            assert record.at is not None
            found.append(
                Seen(tag, change.pop(tag, 0), record.node, int(record.at.port), packet_label(tag, data))
            )
        found += (Seen(tag, number) for tag, number in sorted(change.items()))
        return tuple(found) or None

    def next(self, state: Trails, seen: tuple[Seen, ...] | str, /) -> Trails:
        """Follow each packet until its last copy is gone."""
        if isinstance(seen, str):
            return FrozenMap()
        for sight in seen:
            trail = state.get(sight.tag)
            if trail is None:
                if not (sight.switch or sight.doubled):
                    continue
                trail = Trail(1, frozenset())
            places = None if sight.doubled else trail.places
            if places is not None and sight.switch:
                place = (sight.switch, sight.port)
                if place in places:
                    raise Violated(
                        f"{sight.packet} came into {sight.switch} on port {sight.port} for the "
                        f"second time: it is forwarded in a loop."
                    )
                places |= {place}
            copies = trail.copies + sight.change
            state = state.set(sight.tag, Trail(copies, places)) if copies > 0 else state.without(sight.tag)
        return state

    def judges(self, _state: Trails, seen: tuple[Seen, ...] | str, /) -> bool:
        """Every arrival at a switch is judged."""
        return not isinstance(seen, str) and any(sight.switch for sight in seen)
