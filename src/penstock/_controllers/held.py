"""Which packet it is that a controller sends: the data are followed, not only the call.

The model gives packets names (`h1#1`), which no message on a wire carries.  What a controller was handed and
has not sent on yet, it *holds*; a packet-out is the packet of those whose buffer it names or whose data it
carries, whether it comes in the same call or later, after a barrier's reply, a timer, another switch's
message.  Failing that it is one that differs from it in what routers, gateways and load balancers rewrite
only: the addresses, VLAN tags, the time to live, the ports.

A program that is still busy with something when it has sent a packet on (a handler that sleeps between one
port and the next) may send more of it: until it is done, it holds that too, and says so (`KEEPS`,
`RELEASES`).  A packet-out without actions drops the packet that the program was just given.

Of several packets with the same data, the one that the controller has just been given comes first, then
those whose names do; the same packet-out twice means two of them, and different ones (out of several ports,
say) are copies of one.  What a program holds is part of its state in a search.  A packet that left no trace
in its memory cannot come out again, and is not held.

Most programs send a packet on when they are handed it, or never.  A search that can begin anew takes that for
granted (`Naming`) until a packet-out is one that was handed over in another call, in whatever run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeVar

from penstock._world.component import Event, Send
from penstock.errors import PenstockError
from penstock.openflow.messages import NO_BUFFER, FlowMod, OpenFlowMessage, PacketIn, PacketOut
from penstock.packet import ARP, TCP, UDP, Ethernet, ICMPv6, IPv4, IPv6, parse

T = TypeVar("T")

KEEPS: Final = "keeps"
RELEASES: Final = "releases"
"""The events that a controller may, and will not, send more of a packet that it has sent on."""


class Held(NamedTuple):
    """A packet that a controller was handed: its name, its bytes, and the switch's buffer that keeps it."""

    tag: str
    data: bytes
    buffer_id: int
    switch: str
    sent: bool = False
    """Whether it was sent on before, by a program that has not done with it."""


Holding = tuple[Held, ...]
"""What a controller holds, in the order of names."""


def held(switch: str, message: object) -> Held | None:
    """Return the packet with a name that a message from a switch hands over, if it does."""
    if isinstance(message, PacketIn) and message.tag:
        return Held(message.tag, message.data, message.buffer_id, switch)
    return None


class Sent(NamedTuple):
    """What a controller sent in a step, with packets' names; what it holds now; what it says of that."""

    sends: tuple[Send, ...]
    holding: Holding
    events: tuple[Event, ...] = ()


def named(
    controller: str, holding: Holding, given: Held | None, sends: Iterable[Send], *, changed: bool, busy: bool
) -> Sent:
    """Give the packets that a controller sends their names.

    `given` is what it was handed in that step, `changed` tells whether that left a trace in its memory,
    `busy` whether it is still at something.
    """
    sends = tuple(sends)
    changed = changed or _is_on_its_way(given, sends)
    if not holding and (given is None or not (changed or busy)):
        return Sent(tuple(sends) if given is None else tuple(_named_by(given, sends)), ())
    others = sorted((each for each in holding if each != given), key=lambda each: (each.sent, each))
    mine = others if given is None else [given, *others]
    if not mine:
        return Sent(tuple(sends), ())
    found, used, times = [], set(), Counter[Send]()
    for send in sends:
        owners = _owners(mine, str(send.port), send.message) or _dropped(given, send.message)
        if not owners:
            found.append(send)
            continue
        owner = owners[min(times[send], len(owners) - 1)]
        times[send] += 1
        used.add(owner)
        found.append(send._replace(message=_with_name(send.message, owner)))
    kept = {each for each in mine if each not in used and not each.sent and (changed or each != given)}
    at_hand = {each._replace(sent=True) for each in mine if each in used or each.sent}
    known = {each.tag for each in holding if each.sent}
    if busy:
        events = _events(KEEPS, controller, {each.tag for each in at_hand} - known)
        return Sent(tuple(found), tuple(sorted(kept | at_hand)), events)
    return Sent(tuple(found), tuple(sorted(kept)), _events(RELEASES, controller, known))


def _is_on_its_way(given: Held | None, sends: Iterable[Send]) -> bool:
    """Tell whether a switch is handed a packet in something that it gives back, such as an echo request."""
    if given is None:
        return False
    others = (send.message for send in sends if not isinstance(send.message, PacketOut))
    return any(given.data in data for data in (getattr(each, "data", b"") for each in others) if data)


def _named_by(given: Held, sends: Iterable[Send]) -> Iterator[Send]:
    """Yield what a controller sends that can be about no other packet than the one it was just given."""
    for send in sends:
        message = send.message
        if _owners([given], str(send.port), message) or _dropped(given, message):
            yield send._replace(message=_with_name(message, given))
        else:
            yield send


class Naming:
    """Gives the packets that one program sends their names, in the steps of a search.

    As long as no packet-out is a packet that the program was handed in another call, what it holds makes no
    difference, and is no part of its state.
    """

    def __init__(self) -> None:
        self.holds = False
        """Whether what the program holds is part of its state."""
        self._handed: dict[Held, None] = {}
        self._sent: dict[tuple[str, FlowMod | PacketOut], Held | None] = {}
        """What the program sent that has not the bytes of what it had just been handed; whose it was taken
        for."""

    def named(self, controller: str, given: Held | None, sends: Iterable[Send], *, busy: bool) -> Sent | None:
        """Give packets their names; None if what the program holds turns out to make a difference."""
        sends = tuple(sends)
        if given is not None and (busy or self._is_known(given)):
            self.holds = True
        for send, times in (Counter(sends) if len(sends) > 1 else dict.fromkeys(sends, 1)).items():
            if isinstance(send.message, FlowMod | PacketOut):
                self._look_at(given, str(send.port), send.message, times)
        return None if self.holds else named(controller, (), given, sends, changed=False, busy=False)

    def _is_known(self, given: Held) -> bool:
        """Take note of what a program is handed; tell whether it has sent that before, in whatever run."""
        if given in self._handed:
            return False
        self._handed[given] = None
        return any(
            _owners([given] if owner is None else [owner, given], *sent)[:1] == [given]
            for sent, owner in self._sent.items()
        )

    def _look_at(self, given: Held | None, switch: str, message: FlowMod | PacketOut, times: int) -> None:
        """Notice a message that is, or may be, another packet than the one that was just handed over."""
        if given is not None and times == 1 and isinstance(message, PacketOut) and message.data == given.data:
            return
        if times == 1 and (switch, message) in self._sent and self._sent[switch, message] in (None, given):
            return  # looked at before, and compared with whatever was handed over since
        others = [each for each in self._handed if each != given]
        owners = _owners(others if given is None else [given, *others], switch, message)
        if owners and (owners[0] != given or (times > 1 and len(owners) > 1)):
            self.holds = True
        self._sent[switch, message] = given if owners or _dropped(given, message) else None


def _events(kind: str, controller: str, tags: set[str]) -> tuple[Event, ...]:
    return tuple(Event(kind, (controller, tag)) for tag in sorted(tags))


def _dropped(given: Held | None, message: object) -> list[Held]:
    """Return the packet that a packet-out without actions drops: nothing else is meant by one."""
    drops = isinstance(message, PacketOut) and not message.actions and message.buffer_id == NO_BUFFER
    return [given] if drops and given is not None else []


def _with_name(message: T, owner: Held) -> T:
    if not isinstance(message, PacketOut) or message.tag == owner.tag:
        return message
    return replace(message, tag=owner.tag)


def _owners(mine: Sequence[Held], switch: str, message: object) -> list[Held]:
    """Return the packets held that a message may be about, the likeliest first."""
    if not isinstance(message, FlowMod | PacketOut):
        return []
    if message.buffer_id != NO_BUFFER:
        return [each for each in mine if (each.buffer_id, each.switch) == (message.buffer_id, switch)]
    if isinstance(message, FlowMod) or not message.data:
        return []
    if message.tag:
        return [each for each in mine if each.tag == message.tag]
    same = [each for each in mine if each.data == message.data]
    return same or rewritten(mine, message.data)


def rewritten(mine: Iterable[Held], data: bytes) -> list[Held]:
    """Return the packets that a frame is a version of, those first that have the same addresses."""
    core = _core(data)
    if core is None:
        return []
    ends = _ends(data)
    alike = [each for each in mine if _core(each.data) == core]
    return sorted(alike, key=lambda each: _ends(each.data) != ends)


def _read(data: bytes) -> Ethernet | None:
    try:
        return parse(data)
    except PenstockError:
        return None


@lru_cache(maxsize=4096)
def _core(data: bytes) -> tuple[Any, ...] | None:
    """Return what stays the same of a packet whatever a router, a gateway or a load balancer does to it."""
    packet = _read(data)
    match None if packet is None else packet.payload:
        case None:
            return None
        case ARP(op, _, asker, _, asked):
            return ("arp", op, asker, asked)
        case IPv4() as ip:
            return ("ip", ip.identification, ip.offset, ip.protocol, _content(ip.payload))
        case IPv6() as ip:
            return ("ipv6", ip.protocol, _content(ip.payload))
        case payload:
            assert packet is not None
            return (packet.ethertype, payload)


def _content(payload: Any) -> Any:
    match payload:
        case UDP(_, _, content):
            return ("udp", content)
        case TCP(_, _, number, confirmed, flags, _, content):
            return ("tcp", number, confirmed, flags, content)
        case ICMPv6(kind, code, content):
            return (kind, code, content)
    return payload


@lru_cache(maxsize=4096)
def _ends(data: bytes) -> tuple[int, ...]:
    packet = _read(data)
    match None if packet is None else packet.payload:
        case IPv4(a, b) | IPv6(a, b):
            return (a, b)
    return ()


class Ledger:
    """What a controller outside of the model was handed lately: its messages come one by one."""

    def __init__(self, most: int = 1000) -> None:
        self._most = most
        self._handed: list[Held] = []
        self._sent_on: list[Held] = []

    def hand_over(self, switch: str, message: OpenFlowMessage) -> None:
        """Remember a packet that the controller is given."""
        packet = held(switch, message)
        if packet is not None:
            self._handed = [*self._handed[-self._most + 1 :], packet]

    def take_back(self, switch: str, message: OpenFlowMessage) -> OpenFlowMessage:
        """Return a message of the controller's with the name of the packet in it, where that is known.

        What it sends once more is a copy of what it sent last.
        """
        for source in (self._handed[::-1], self._sent_on[::-1]):
            owners = _owners(source, switch, message)
            if owners:
                owner = owners[0]
                self._handed = [each for each in self._handed if each != owner]
                others = (each for each in self._sent_on if each != owner)
                self._sent_on = [*others, owner][-self._most :]
                return _with_name(message, owner)
        return message
