"""No packet vanishes on its way to a host that exists, whether hosts move or not.

No packet vanishes on its way to a host that exists.

The safe time to judge a packet is when it cannot arrive any more.  That is when its last copy ends
at a switch, at a host, or on a wire to nowhere.  If it ends at a controller, which may keep the
packet in its memory and send it on at any time, the safe time is when the network has come to rest;
a packet in a switch's buffer waits for that too.

What is no black hole:
- a packet that was dropped on purpose (`_world.switch.drops` says what that is), unless `drops = "lost"`;
- one that a lossy wire or a meter dropped, and everything from the moment on at which a link, switch, control
  session or controller failed: that is nobody's fault;
- one that a controller answered in its receiver's place, as ARP proxies do, if the answer arrives.

A packet that a controller changes is followed as far as it can be known again (`_controllers.held`).  Where
it sent packets of its own making to either end instead, it cannot be told what became of the packet.

No packet vanishes on its way to a host that exists, but for what must be lost when a host moves.

NICE (§6.2) leaves out the packets lost "in the period from when the host moves to when the
controller can realize that the host moved".  A controller can realise it from a packet that the
host sends at its new place, or from the signals of its link if it moves with them.  The period
ends when that news has run its course: no copy of the packet is under way any more, and no other
message or signal either, so that whatever the controller did about it has been done.  Packets sent
to the host before that are not judged, nor those it sends while its new port is not yet known to be
up.  From a host that says nothing after it moved, no controller can know.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple

from penstock._base.frozen import FrozenMap
from penstock._controllers.held import KEEPS, RELEASES
from penstock._properties.base import Property, Undecided, Violated
from penstock._properties.packets import (
    Fate,
    Hosts,
    Key,
    Packet,
    affected_tag,
    answer,
    changes,
    fabric_action,
    fate,
    frames_sent,
    is_move,
    metered_out,
    unheard,
)
from penstock._world.component import Event
from penstock._world.frame import Frame
from penstock._world.hosts import Host
from penstock._world.network import Network
from penstock._world.switch import Switch, SwitchState
from penstock._world.switch.drops import LOST, MEANT, Ended, given_drops, is_black_hole, kind_of
from penstock._world.switch.headers import read
from penstock._world.transition import ACT, Record
from penstock.errors import PenstockError
from penstock.openflow.messages import FlowMod, PacketIn, PacketOut
from penstock.packet import ARP_REQUEST, Ethernet, parse


class Given(NamedTuple):
    """A packet as a switch gave it to a controller, and the port that it had come in by."""

    switch: str
    port: int
    tag: str
    data: bytes


class Flying(NamedTuple):
    """A packet that has not arrived yet, and how many copies there are outside of controllers.

    `answered`: a controller has spoken in its receiver's place.  `unclear`: it has sent something to the
    packet's sender or receiver that may stand for it.  `ended` is the worst end of a copy so far that says
    something of the packet: `DROPPED`, or `LOST` and why.
    """

    packet: Packet
    copies: int
    answered: bool = False
    unclear: bool = False
    ended: Fate = Fate()
    given: Given | None = None
    kept: bool = False
    """Whether the controller has sent it on and may send more of it."""


Flyings = FrozenMap[str, Flying]


class Pending(NamedTuple):
    """The packets still to be explained, by their tags; or nothing is judged any more."""

    flying: Flyings = FrozenMap()
    stopped: bool = False


STOPPED: Final = Pending(stopped=True)


class Sight(NamedTuple):
    """What a step showed.

    `reached` arrived; `ignored` came to its receiver, who did not take it in; `excused` was dropped by a
    wire or a meter, or never heard by a controller; `answered` is what a host got an answer to that no host
    sent; `made` are packets that a controller made, each with the hosts that it is for and what it answers;
    `handed` is what it had just been given; `changes` says by how much the copies of a packet changed and
    how they ended; `sent` is new.
    """

    reached: str = ""
    ignored: str = ""
    excused: str = ""
    answered: Key = ()
    made: tuple[tuple[tuple[str, ...], Key], ...] = ()
    handed: Given | None = None
    kept: tuple[str, ...] = ()
    released: tuple[str, ...] = ()
    changes: tuple[tuple[str, int, Fate], ...] = ()
    sent: tuple[Packet, ...] = ()
    failed: bool = False


NOTHING: Final = Sight()


@dataclass(eq=False)
class NoBlackHoles(Property):
    """Every packet for an existing host arrives there.

    An ARP question is a packet for the host it asks after.  Other broadcasts are for nobody in particular and
    not judged.  `drops` says what a packet is that a rule drops on purpose, as a firewall's do: "meant", or
    "lost" like any other.  `may_vanish` tells of packets that may be lost in whatever way.  A controller that
    sends a packet on and keeps it as well is not given the benefit of the doubt.

    A packet that is lost because its host moves is a violation; see `NoBlackHolesMobile`.
    """

    may_vanish: Callable[[Ethernet], object] | None = None
    drops: str = MEANT

    sentence = "Every packet that is sent to an existing host arrives there."
    needs = "a packet with a name (as h1#1) that is sent to an existing host"
    unjudged_after_faults = "what becomes of packets"

    _hosts: Hosts = field(init=False, repr=False)
    _switches: Mapping[str, Switch] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        given_drops({"drops": self.drops}, self.name)
        if self.may_vanish is not None and not callable(self.may_vanish):
            raise PenstockError(
                f"invalid may_vanish = {self.may_vanish!r} of {self.name}: must be a function of a "
                "packet, or the file.py:name of one."
            )

    def start(self, network: Network, /) -> Any:
        """Begin with no packet on its way."""
        self._hosts = Hosts(network)
        self._switches = {part.name: part for part in network.components if isinstance(part, Switch)}
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
        change = tuple(
            (tag, n, self._end(record, tag, n))
            for tag, n in sorted(changes(record).items())
            if tag not in new
        )
        made = self._created_packets(record)
        return Sight(
            reached=self._hosts.reached(record),
            ignored=self._hosts.ignored(record),
            excused=affected_tag(record, "drop") or metered_out(record) or unheard(record),
            answered=self._answered_packet(record),
            made=made,
            handed=_packet_in_of(record) if made or change else None,
            kept=_tags(record, KEEPS),
            released=_tags(record, RELEASES),
            changes=change,
            sent=self._watched_packets(record),
        )

    def _end(self, record: Record, tag: str, change: int) -> Fate:
        """Return how copies of a packet ended in a step, if there are fewer after it."""
        end = fate(record, tag) if change < 0 else Fate()
        counts = end.kind is Ended.DROPPED and self.drops == LOST
        return end._replace(kind=Ended.LOST) if counts else end

    def _watched_packets(self, record: Record) -> tuple[Packet, ...]:
        sent = self._hosts.sent(record)
        if self.may_vanish is None or not sent:
            return sent
        frames = {m.tag: m.data for _, m in (*record.sends, *record.lost) if isinstance(m, Frame)}
        return tuple(packet for packet in sent if not self.may_vanish(parse(frames[packet.tag])))

    def _answered_packet(self, record: Record) -> Key:
        """Return what the packet answers that a host received in a step and no host had sent."""
        for event in record.events:
            match event:
                case Event("received", (_, Frame(data, ""))):
                    return answer(data)
        return ()

    def _created_packets(self, record: Record) -> tuple[tuple[tuple[str, ...], Key], ...]:
        """Return the packets that a controller made in a step: not LLDP, and not to look for a host."""
        found = []
        for _, message in record.sends:
            if isinstance(message, PacketOut) and message.data and not message.tag:
                asks_by_arp = read(message.data).fields.get("arp_op") == ARP_REQUEST
                hosts = () if asks_by_arp else self._hosts.concerned(message.data)
                if hosts:
                    found.append((hosts, answer(message.data)))
        return tuple(found)

    def next(self, state: Any, seen: Any, /) -> Any:
        """Follow each packet until it arrives, or nothing of it is left."""
        return after(state, seen)

    def judges(self, state: Any, seen: Any, /) -> bool:
        """A packet is judged when it arrives, is answered or vanishes."""
        return arrived(state, seen)

    def at_rest(self, state: Any, states: Mapping[str, Any], /) -> bool:
        """Judge what has not arrived when nothing moves any more."""
        if not state.flying:
            return False
        missing = [each for each in state.flying.values() if not self._would_drop(each, states)]
        if not missing:
            return True
        lost = next((each for each in missing if not each.unclear), None)
        if lost is None:
            raise Undecided(_untold(missing[0].packet))
        raise Violated(
            f"{lost.packet} from {lost.packet.sender} never reached {lost.packet.receiver}: "
            f"{_last_seen(lost, states)}, and nothing more happens."
        )

    def _would_drop(self, flying: Flying, states: Mapping[str, Any]) -> bool:
        """Tell whether a controller that did not send a packet on had the switch drop such packets instead.

        That is how a reactive firewall decides: what it was handed is the first of those that its rule drops.
        """
        given = flying.given
        if given is None or self.drops == LOST:
            return False
        frame = Frame(given.data, given.tag)
        events = self._switches[given.switch].receive(states[given.switch], given.port, frame).events
        reasons = [event.detail[2] for event in events if event.kind == "dropped"]
        return bool(reasons) and kind_of(str(reasons[0])) is Ended.DROPPED


def _packet_in_of(record: Record) -> Given | None:
    """Return the packet that a controller was given in a step."""
    message = record.message
    if not isinstance(message, PacketIn) or not message.tag or record.at is None:
        return None
    return Given(str(record.at.port), message.in_port, message.tag, message.data)


def _tags(record: Record, kind: str) -> tuple[str, ...]:
    """Return the packets of which a controller said something in a step."""
    return tuple(str(event.detail[1]) for event in record.events if event.kind == kind)


def _untold(packet: Packet) -> str:
    return (
        f"whether {packet} from {packet.sender} reached {packet.receiver} cannot be told: the controller was "
        "handed it, did not send it on, and sent others of its own making to one of them"
    )


def arrived(state: Pending, seen: Sight) -> bool:
    """Tell whether a packet arrived, an answer to it did, or it was dropped on purpose."""
    if seen.reached in state.flying:
        return True
    ignored = state.flying.get(seen.ignored)
    if ignored is not None and ignored.packet.ignorable:
        return True
    if any(end.kind is Ended.DROPPED and tag in state.flying for tag, _, end in seen.changes):
        return True
    return bool(seen.answered) and any(each.packet.asks == seen.answered for each in state.flying.values())


def after(state: Pending, seen: Sight) -> Pending:
    """Return what is still to be explained after a step."""
    if state.stopped or seen.failed:
        return STOPPED
    flying = state.flying.without(seen.reached, seen.excused)
    ignored = flying.get(seen.ignored)
    if ignored is not None and ignored.packet.ignorable:
        flying = flying.without(seen.ignored)
    if seen.answered:
        flying = flying.without(*(tag for tag in flying if flying[tag].packet.asks == seen.answered))
    for tag in seen.kept:
        flying = flying.set(tag, flying[tag]._replace(kept=True)) if tag in flying else flying
    for tag, change, end in seen.changes:
        if tag in flying:
            flying = _after_copies(flying, tag, change, end)
    for tag in seen.released:
        flying = _after_release(flying, tag) if tag in flying else flying
    if seen.handed is not None and seen.handed.tag in flying:
        handed = flying[seen.handed.tag]
        flying = flying.set(seen.handed.tag, handed._replace(given=seen.handed))
    for hosts, answers in seen.made:
        flying = _after_substitute(flying, hosts, answers, seen.handed.tag if seen.handed else "")
    for packet in seen.sent:
        flying = flying.set(packet.tag, Flying(packet, 1))
    return Pending(flying)


def _after_copies(flying: Flyings, tag: str, change: int, end: Fate) -> Flyings:
    """Return the packets still to be explained after copies of one came or went."""
    before = flying[tag]
    packet, left = before.packet, before.copies + change
    ended = _worse(before.ended, end)
    if left <= 0 and before.kept:
        return flying.set(tag, before._replace(copies=0, ended=end if ended.kind is Ended.KEPT else ended))
    if left <= 0 and end.kind is not Ended.KEPT:
        if not is_black_hole((ended.kind, end.kind) if ended.kind is not Ended.KEPT else (end.kind,)):
            return flying.without(tag)
        why = (ended if ended.kind is Ended.LOST else end).why
        raise Violated(f"{packet} from {packet.sender} never reached {packet.receiver}: {why}.")
    return flying.set(tag, before._replace(copies=max(0, left), ended=ended))


def _after_release(flying: Flyings, tag: str) -> Flyings:
    """Return the packets still to be explained after a controller has done with one."""
    each = flying[tag]
    packet, ended = each.packet, each.ended
    if each.copies or ended.kind is Ended.KEPT:
        return flying.set(tag, each._replace(kept=False))
    if not is_black_hole((ended.kind,)):
        return flying.without(tag)
    raise Violated(f"{packet} from {packet.sender} never reached {packet.receiver}: {ended.why}.")


def _worse(before: Fate, end: Fate) -> Fate:
    """Return which of two ends of a packet's copies says more of the packet.

    That a copy went astray says nothing; whether one was lost or dropped counts, in whatever order.
    """
    if end.kind is Ended.DROPPED and before.kind is not Ended.LOST:
        return Fate(Ended.DROPPED)
    if end.kind is Ended.LOST:
        return min(before, end, key=lambda each: each.why) if before.kind is Ended.LOST else end
    return before


def _after_substitute(flying: Flyings, hosts: tuple[str, ...], answers: Key, handed: str) -> Flyings:
    """Return the packets still to be explained after a controller made one that may stand for them."""
    for tag, each in flying.items():
        if each.copies and tag != handed:
            continue
        if answers and each.packet.asks == answers:
            flying = flying.set(tag, each._replace(answered=True))
        elif any(map(each.packet.concerns, hosts)):
            flying = flying.set(tag, each._replace(unclear=True))
    return flying


def _last_seen(flying: Flying, states: Mapping[str, Any]) -> str:
    for name, state in states.items():
        if isinstance(state, SwitchState):
            for number, kept in state.buffers.items():
                if kept.frame.tag == flying.packet.tag:
                    return f"it lies in buffer {number} of {name}, for the controller to release"
    if flying.copies:
        return "it was lost with the link it was on"
    if flying.answered:
        return f"the controller answered it, and the answer did not reach {flying.packet.sender}"
    return flying.ended.why or "the controller has not sent it on"


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
            moved = moved.set(host, _follow_move(host, known, seen, control))
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


def _follow_move(host: str, known: News | Moved, seen: MoveSight, control: int) -> News | Moved:
    """Return how things stand with a host that has moved after another step."""
    if known is Moved.SILENTLY and seen.speaker == host:
        return News(seen.tag, 1)
    if isinstance(known, Moved):
        return known
    copies = known.copies + sum(change for tag, change, _ in seen.packets.changes if tag == known.tag)
    return Moved.FOUND if copies <= 0 and control == 0 else News(known.tag, copies)
