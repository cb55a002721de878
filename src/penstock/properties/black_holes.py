"""No packet vanishes on its way to a host that exists.

The safe time to judge a packet is when it cannot arrive any more.  That is when its last copy ends
at a switch, at a host, or on a wire to nowhere.  If it ends at a controller, which may keep the
packet in its memory and send it on at any time, the safe time is when the network has come to rest;
a packet in a switch's buffer waits for that too.

Losses that are nobody's fault are not judged: a packet that a lossy wire dropped, and everything
from the moment on at which a link, switch, control session or controller failed.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from penstock.errors import PenstockError
from penstock.frozen import FrozenMap
from penstock.openflow.messages import PacketOut
from penstock.properties.base import Property, Violated
from penstock.properties.packets import (
    Hosts,
    Packet,
    changes,
    fabric_action,
    fate,
    frames_sent,
    is_move,
    suffered,
)
from penstock.world.frame import Frame
from penstock.world.network import Network
from penstock.world.packet import ARP_REPLY, Ethernet, parse
from penstock.world.switch import SwitchState
from penstock.world.switch.headers import read
from penstock.world.transition import Record


class Flying(NamedTuple):
    """A packet that has not arrived yet, and how many copies there are outside of controllers."""

    packet: Packet
    copies: int


Flyings = FrozenMap[str, Flying]


class Pending(NamedTuple):
    """The packets still to be explained, by their tags; or nothing is judged any more."""

    flying: Flyings = FrozenMap()
    stopped: bool = False


STOPPED: Final = Pending(stopped=True)


class Sight(NamedTuple):
    """What a step showed.

    `reached` arrived; `excused` was dropped by a wire; `answered` are the asker and the owner of an
    address that a controller told; `changes` says by how much the copies of a packet changed and
    what became of them, which is nothing if a controller took them; `sent` is new.
    """

    reached: str = ""
    excused: str = ""
    answered: tuple[tuple[str, str], ...] = ()
    changes: tuple[tuple[str, int, str], ...] = ()
    sent: tuple[Packet, ...] = ()
    failed: bool = False


NOTHING: Final = Sight()


@dataclass(eq=False)
class NoBlackHoles(Property):
    """Every packet for an existing host arrives there.

    An ARP question is a packet for the host it asks after, and settled too when a controller answers
    it.  Other broadcasts are for nobody in particular and not judged.  `may_vanish` tells of packets
    that are taken out of the network on purpose, as a firewall does.  A controller that sends a
    packet on and keeps it as well is not given the benefit of the doubt.

    A packet that is lost because its host moves is a violation; see `NoBlackHolesMobile`.
    """

    may_vanish: Callable[[Ethernet], object] | None = None

    sentence = "Every packet that is sent to an existing host arrives there."
    needs = "a tagged packet that is sent to an existing host"

    _hosts: Hosts = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.may_vanish is not None and not callable(self.may_vanish):
            raise PenstockError(
                f"{self.name} cannot ask {self.may_vanish!r} which packets may vanish: give may_vanish a "
                f"function of a packet, or file.py:name of one."
            )

    def start(self, network: Network, /) -> Any:
        """Begin with no packet on its way."""
        self._hosts = Hosts(network)
        return Pending()

    def see(self, record: Record, /) -> Hashable | None:
        """See packets sent, arrive and end."""
        sight = self.sight(record)
        return None if sight == NOTHING else sight

    def sight(self, record: Record) -> Sight:
        """Return what a step showed of packets."""
        action = fabric_action(record)
        if action:
            return NOTHING if is_move(action) else Sight(failed=True)
        new = {frame.tag for _, frame in frames_sent(record)}
        change = [(tag, n, fate(record, tag) if n < 0 else "") for tag, n in sorted(changes(record).items())]
        return Sight(
            self._hosts.reached(record),
            suffered(record, "drop"),
            self._answered(record),
            tuple(entry for entry in change if entry[0] not in new),
            self._sent(record),
        )

    def _sent(self, record: Record) -> tuple[Packet, ...]:
        sent = self._hosts.sent(record)
        if self.may_vanish is None or not sent:
            return sent
        frames = {m.tag: m.data for _, m in (*record.sends, *record.lost) if isinstance(m, Frame)}
        return tuple(packet for packet in sent if not self.may_vanish(parse(frames[packet.tag])))

    def _answered(self, record: Record) -> tuple[tuple[str, str], ...]:
        """Return who was told whose address by a controller in a step."""
        found = []
        for _, message in record.sends:
            fields = read(message.data).fields if isinstance(message, PacketOut) else {}
            if fields.get("arp_op") == ARP_REPLY:
                asker = self._hosts.by_ip(fields.get("arp_tpa", 0))
                owner = self._hosts.by_ip(fields.get("arp_spa", 0))
                if asker and owner:
                    found.append((asker, owner))
        return tuple(found)

    def next(self, state: Any, seen: Any, /) -> Any:
        """Follow each packet until it arrives, or nothing of it is left."""
        return after(state, seen)

    def judges(self, state: Any, seen: Any, /) -> bool:
        """A packet is judged when it arrives or vanishes."""
        return seen.reached in state.flying

    def at_rest(self, state: Any, states: Mapping[str, Any], /) -> bool:
        """Judge what has not arrived when nothing moves any more."""
        if not state.flying:
            return False
        lost = next(iter(state.flying.values()))
        raise Violated(
            f"{lost.packet} from {lost.packet.sender} never reached {lost.packet.receiver}: "
            f"{_last_seen(lost, states)}, and nothing more happens."
        )


def after(state: Pending, seen: Sight) -> Pending:
    """Return what is still to be explained after a step."""
    if state.stopped or seen.failed:
        return STOPPED
    flying = state.flying.without(seen.reached, seen.excused)
    for pair in seen.answered:
        flying = flying.without(*(tag for tag in flying if _is_question(flying[tag].packet, *pair)))
    for tag, change, end in seen.changes:
        if tag in flying:
            packet, copies = flying[tag]
            if copies + change <= 0 and end:
                raise Violated(f"{packet} from {packet.sender} never reached {packet.receiver}: {end}.")
            flying = flying.set(tag, Flying(packet, max(0, copies + change)))
    for packet in seen.sent:
        flying = flying.set(packet.tag, Flying(packet, 1))
    return Pending(flying)


def _is_question(packet: Packet, asker: str, owner: str) -> bool:
    """Tell whether a packet is the ARP question of one host after another."""
    return (packet.sender, packet.receiver) == (asker, owner) and " (ARP who has " in packet.called


def _last_seen(flying: Flying, states: Mapping[str, Any]) -> str:
    for name, state in states.items():
        if isinstance(state, SwitchState):
            for number, kept in state.buffers.items():
                if kept.frame.tag == flying.packet.tag:
                    return f"it lies in buffer {number} of {name}, for the controller to release"
    return "it was lost with the wire it was on" if flying.copies else "the controller has not sent it on"
