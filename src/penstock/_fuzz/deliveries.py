"""Whether packets arrive: why none did in a run, and where one would go now.

Whether any packet of a host arrived in a run, and if none did, why.

A run in which nothing arrives shows little: the controller does not forward, or nobody sent anything, and
no invariant about what happens to packets had much to judge.  What is counted here until the first packet
arrives tells the usual causes apart; `reasons` says them as bounds of the run's verdict.

Where a packet would go now: tried out on a copy of the network, of which the run itself knows nothing.

The copy has the tables, ports and wires of this moment and nothing in flight.  What would go to a
controller ends there: nobody can say what a running controller would answer.  Hosts do not answer
either.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from typing import Final

from penstock._fuzz.building import FuzzContext
from penstock._verdict.verdict import Bound, Why
from penstock._world.component import Endpoint
from penstock._world.frame import Frame
from penstock._world.hosts import Host
from penstock._world.transition import DELIVER, INJECT, Record, Transition
from penstock._world.world import World
from penstock.openflow.fields import ETH_IPV4
from penstock.openflow.messages import (
    NO_BUFFER,
    EchoReply,
    EchoRequest,
    Error,
    FlowMod,
    GroupMod,
    Hello,
    OpenFlowMessage,
    PacketIn,
    PacketOut,
)

NOTHING: Final = "no packet of any host arrived"
_HOLDING_DOWN_MS: Final = 60_000
"""How long spanning trees and discovery take at most until packets are forwarded: 50 s by IEEE 802.1D."""
_BRIDGES: Final = bytes.fromhex("0180c2")
"""How the addresses of frames begin that go no further than the next bridge: BPDUs, LLDP."""
_LLDP: Final = bytes.fromhex("88cc")
_MOST_REASONS: Final = 3


class Deliveries:
    """Counts what becomes of packets, until the first of them arrives."""

    def __init__(self, setting: FuzzContext) -> None:
        self._setting = setting
        self._controllers = frozenset(setting.controllers)
        self._hosts = frozenset(setting.addresses)
        self._macs = {station.mac.to_bytes(6, "big"): name for name, station in setting.addresses.items()}
        self._ips = {station.ip.to_bytes(4, "big"): name for name, station in setting.addresses.items()}
        self.arrived = False
        """Whether a host got a packet that another host sent."""
        self._sent = 0
        # A controller in this process has no handshake to fail.
        self._joined = not setting.commands
        self._packet_ins = 0
        self._packet_outs = 0
        self._empty = 0
        self._without_actions = 0
        self._changes = 0
        """How many flow-mods and group-mods came after the first packet_in."""
        self._probes = 0
        """How many frames of a spanning tree or of discovery the controllers had sent."""
        self._refused: Counter[str] = Counter()
        self._missed = 0
        self._dropped: Counter[str] = Counter()

    @property
    def something_was_sent(self) -> bool:
        """Whether hosts sent anything."""
        return self._sent > 0

    def observe(self, record: Record) -> None:
        """Take in what happened."""
        if self.arrived:
            return
        node, verb = record.node, record.transition.verb
        if node in self._hosts:
            self._sent += verb == INJECT
            self._see_host(record)
        elif verb == DELIVER and isinstance(record.message, OpenFlowMessage):
            self._see_control(record.message, is_heard=node in self._controllers)
        for event in record.events:
            match event.kind:
                case "missed":
                    self._missed += 1
                case "refused":
                    self._refused[" of a ".join(map(str, event.detail[:2]))] += 1
                case "dropped" if event.detail[1:]:
                    self._dropped[str(event.detail[-1])] += 1

    def _see_host(self, record: Record) -> None:
        for event in record.events:
            if event.kind == "sent":
                self._sent += 1
            elif event.kind == "received" and self._is_anothers(event.detail[-1], record.node):
                self.arrived = True

    def _is_anothers(self, frame: object, host: str) -> bool:
        """Tell whether a frame comes from another host, and not from a controller."""
        if not isinstance(frame, Frame):
            return False
        data = frame.data
        owner = self._macs.get(data[6:12])
        if owner is None and data[12:14] == ETH_IPV4.to_bytes(2, "big"):
            # A router puts its own hardware address there.
            owner = self._ips.get(data[26:30])
        return owner is not None and owner != host

    def _see_control(self, message: OpenFlowMessage, *, is_heard: bool) -> None:
        # What is said before both know each other is the same whoever it is.
        self._joined = self._joined or not isinstance(message, Hello | Error | EchoRequest | EchoReply)
        match message:
            case PacketIn() if is_heard:
                self._packet_ins += 1
            case FlowMod() | GroupMod() if not is_heard:
                self._changes += self._packet_ins > 0
            case PacketOut() if not is_heard:
                self._see_packet_out(message)
            case _:
                pass

    def _see_packet_out(self, message: PacketOut) -> None:
        if message.data.startswith(_BRIDGES) or message.data[12:14] == _LLDP:
            self._probes += 1
            return
        self._packet_outs += 1
        self._empty += message.buffer_id == NO_BUFFER and not message.data
        self._without_actions += not message.actions

    # Why nothing arrived.

    def reasons(self, now: int) -> list[Bound]:
        """Return why no packet arrived, the likeliest first; nothing, if one did."""
        if self.arrived:
            return []
        found = list(self._causes(now))[:_MOST_REASONS]
        return [Bound(f"{NOTHING}: {text}", why) for text, why in found]

    def _causes(self, now: int) -> Iterator[tuple[str, Why]]:
        if not self._sent:
            yield self._why_unsent(), Why.UNSENT
            return
        if not self._joined:
            yield "no switch completed its handshake with a controller", Why.UNCONNECTED
            return
        yield from self._why_not_answered()
        if self._probes and now < _HOLDING_DOWN_MS:
            yield (
                "the controller sends BPDUs or LLDP and may still hold ports down; the run took "
                f"{now / 1000:.0f} s, and a spanning tree or discovery up to 50 s",
                Why.HOLDING_DOWN,
            )
        yield from self._why_lost()

    def _why_unsent(self) -> str:
        setting = self._setting
        if len(setting.addresses) < 2:
            return "the network has fewer than two hosts"
        if not setting.talkers:
            return "the hosts have kinds of their own, and none of them sent anything"
        if not any(setting.rates.get(kind) for kind in ("packet", "broadcast", "odd_packet", "class_packet")):
            return "the rates draw no packets, only failures"
        return "all inputs were failures or waits, and hosts were told to send nothing"

    def _why_not_answered(self) -> Iterator[tuple[str, Why]]:
        ins, outs = self._packet_ins, self._packet_outs
        if not ins and self._missed:
            yield (
                "packets met no rule and were dropped, since the controller installed no table-miss rule",
                Why.NO_TABLE_MISS,
            )
        if ins and not outs and not self._changes:
            yield f"the controller answered none of {_count(ins, 'packet_in')}", Why.UNANSWERED
        if self._empty:
            buffers = "" if self._has_buffers else ", and the switches have no buffers"
            yield (
                f"{self._empty:,} of {_count(outs, 'packet-out')} had neither data nor a buffer{buffers}",
                Why.EMPTY_PACKET_OUTS,
            )
        if self._without_actions:
            yield (
                f"{self._without_actions:,} of {_count(outs, 'packet-out')} had no actions, "
                "which drops the packet",
                Why.WITHOUT_ACTIONS,
            )
        if self._refused:
            what, times = self._refused.most_common(1)[0]
            all_of_them = self._refused.total()
            yield (
                f"the switches refused {_count(all_of_them, 'message')} of the controller's, "
                f"{times:,} of them with {what}",
                Why.REFUSED,
            )

    @property
    def _has_buffers(self) -> bool:
        return bool(self._setting.scenario.switches.get("buffers"))

    def _why_lost(self) -> Iterator[tuple[str, Why]]:
        if self._dropped:
            why, times = self._dropped.most_common(1)[0]
            all_of_them = _count(self._dropped.total(), "packet")
            yield f"switches dropped {all_of_them}, {times:,} of them because {why}", Why.LOST
        else:
            yield "packets were sent, and none reached another host before the run was over", Why.LOST


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


MOST_HOPS: Final = 64
"""A packet that is still under way after so many hops is taken to go round."""


def hops_of(world: World, start: Endpoint, frame: Frame) -> Iterator[Record]:
    """Yield what would become of a frame sent from an endpoint: the sending, then a record for each hop."""
    copy = World(world.network)
    now = world.snapshot()
    copy.restore(now._replace(queues=tuple(() for _ in now.queues)))
    sent = copy.inject(start, frame)
    yield sent
    under_way = deque(_onward(copy, sent))
    for _ in range(MOST_HOPS):
        if not under_way:
            return
        record = copy.take(Transition(DELIVER, *under_way.popleft()))
        yield record
        under_way += _onward(copy, record)


def _onward(world: World, record: Record) -> list[Endpoint]:
    """Return the channels on which frames went on; a host keeps what it got."""
    network = world.network
    if record.message is not None and isinstance(network.components[network.places[record.node]], Host):
        return []
    return [flight.channel for flight in record.sends if isinstance(flight.message, Frame)]
