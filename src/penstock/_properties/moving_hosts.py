"""No packet vanishes on its way to a host that exists, but for what must be lost when a host moves.

NICE (§6.2) leaves out the packets lost "in the period from when the host moves to when the
controller can realize that the host moved".  A controller can realise it from a packet that the
host sends at its new place, or from the signals of its link if it moves with them.  The period
ends when that news has run its course: no copy of the packet is under way any more, and no other
message or signal either, so that whatever the controller did about it has been done.  Packets sent
to the host before that are not judged, nor those it sends while its new port is not yet known to be
up.  From a host that says nothing after it moved, no controller can know.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple

from penstock._base.frozen import FrozenMap
from penstock._properties.black_holes import NOTHING, NoBlackHoles, Pending, Sight, after
from penstock._properties.packets import Packet, fabric_action, frames_sent, is_move
from penstock._world.frame import Frame
from penstock._world.hosts import Host
from penstock._world.network import Network
from penstock._world.switch import Switch
from penstock._world.transition import ACT, Record
from penstock.openflow.messages import FlowMod, PacketOut


class News(NamedTuple):
    """That a host has moved is under way: in this packet, if it takes one, with so many copies left."""

    tag: str
    copies: int


SIGNALS: Final = News("", 0)
"""That a host has moved is under way as signals of its link."""


class Moved(Enum):
    """A host has moved: nobody has heard of it yet, or all that follows from it has been done."""

    SILENTLY = "silently"
    FOUND = "found"


class Moves(NamedTuple):
    """The packets still to be explained, how many messages and signals are under way, who moved."""

    pending: Pending = Pending()
    control: int = 0
    moved: FrozenMap[str, News | Moved] = FrozenMap()


class MoveSight(NamedTuple):
    """What a step showed of packets, by how much the messages under way changed, who spoke or moved.

    `announced` means that the host moved with signals of its link.
    """

    packets: Sight = NOTHING
    control: int = 0
    speaker: str = ""
    tag: str = ""
    moved: str = ""
    announced: bool = False


NO_MOVE: Final = MoveSight()


@dataclass(eq=False)
class NoBlackHolesMobile(NoBlackHoles):
    """Every packet for an existing host arrives there, once the controller can know where it is.

    Left out are the packets to and from a host that are under way when it moves, those sent to it
    until the news has run its course, and those it sends while its new port may not be up yet.
    """

    sentence = (
        "Every packet that is sent to an existing host arrives there, moved or not, "
        "once the controller can know where it is."
    )
    needs = "a host that moves, sends a packet from its new place, and is sent one after that"

    _mobile: bool = field(init=False, repr=False, default=False)
    _reordering: frozenset[str] = field(init=False, repr=False, default=frozenset())

    def start(self, network: Network, /) -> Moves:
        """Begin with no packet on its way and every host at home."""
        super().start(network)
        self._mobile = any(isinstance(part, Host) and part.mobility for part in network.components)
        switches = [part for part in network.components if isinstance(part, Switch)]
        self._reordering = frozenset(part.name for part in switches if part.options.reorder != "none")
        return Moves()

    def see(self, record: Record, /) -> Hashable | None:
        """See also hosts move and speak, and messages come and go, if hosts can move at all."""
        if not self._mobile:
            seen = MoveSight(self.sight(record))
            return None if seen == NO_MOVE else seen
        action, control = fabric_action(record), self._control(record)
        if is_move(action):
            announced = any(channel.port not in self._hosts.names for channel, _ in record.sends)
            return MoveSight(control=control, moved=action.split(" ")[1], announced=announced)
        speaker, tag = next(((host, frame.tag) for host, frame in frames_sent(record)), ("", ""))
        seen = MoveSight(self.sight(record), control, speaker, tag)
        return None if seen == NO_MOVE else seen

    def _control(self, record: Record) -> int:
        """Return by how much a step changed the number of messages and signals under way.

        Where a switch may carry out messages in another order, they are under way until it does.
        """
        change = sum(not isinstance(message, Frame) for _, message in record.sends)
        reorders = record.node in self._reordering
        if record.message is not None and not isinstance(record.message, Frame):
            change -= not (reorders and isinstance(record.message, FlowMod | PacketOut))
        if reorders and record.transition.verb == ACT:
            change -= str(record.transition.what).startswith("apply ")
        return change

    def next(self, state: Moves, seen: MoveSight, /) -> Moves:
        """Follow also each move until all that follows from it has been done."""
        # What was under way before the first sight is not in the count.
        control = max(0, state.control + seen.control)
        moved = state.moved
        if seen.moved:
            flying = state.pending.flying
            kept = flying.without(*(tag for tag in flying if flying[tag].packet.concerns(seen.moved)))
            told = SIGNALS if seen.announced else Moved.SILENTLY
            return Moves(state.pending._replace(flying=kept), control, moved.set(seen.moved, told))
        judged = [packet for packet in seen.packets.sent if _is_judged(packet, moved)]
        pending = after(state.pending, seen.packets._replace(sent=tuple(judged)))
        for host, known in moved.items():
            moved = moved.set(host, _followed(host, known, seen, control))
        return Moves(pending, control, moved)

    def judges(self, state: Moves, seen: MoveSight, /) -> bool:
        """A packet to a host that has moved is what puts this property to the test."""
        flying = state.pending.flying.get(seen.packets.reached)
        return flying is not None and flying.packet.receiver in state.moved

    def at_rest(self, state: Moves, states: Mapping[str, Any], /) -> bool:
        """Judge what has not arrived when nothing moves any more."""
        return super().at_rest(state.pending, states)


def _is_judged(packet: Packet, moved: FrozenMap[str, News | Moved]) -> bool:
    """Tell whether a packet that is sent now has to arrive."""
    waits_for_signals = moved.get(packet.sender) == SIGNALS
    return moved.get(packet.receiver, Moved.FOUND) is Moved.FOUND and not waits_for_signals


def _followed(host: str, known: News | Moved, seen: MoveSight, control: int) -> News | Moved:
    """Return how things stand with a host that has moved after another step."""
    if known is Moved.SILENTLY and seen.speaker == host:
        return News(seen.tag, 1)
    if isinstance(known, Moved):
        return known
    copies = known.copies + sum(change for tag, change, _ in seen.packets.changes if tag == known.tag)
    return Moved.FOUND if copies <= 0 and control == 0 else News(known.tag, copies)
