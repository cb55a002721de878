"""Safety properties of lifted networks: what must never happen, or never lie in a queue.

They are properties like any other (`penstock._properties`), so the searches know nothing of them.  One that
*watches* judges steps and remembers nothing; one that *reads* judges the queues of some components in
every state.  Formulas of `_verify.ltl` say more; these say what MOCS's experiments need, and quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from penstock._properties.base import UPHELD, Property, Violated
from penstock._verify.abstract_controller import SYNCHRONISE
from penstock._verify.abstract_host import HostQueue
from penstock._verify.abstract_switch import FORWARD, MATCH, Arrival, visited
from penstock._world.frame import Frame
from penstock._world.network import Network
from penstock._world.signals import FABRIC
from penstock._world.transition import Record
from penstock.openflow.messages import PacketOut
from penstock.packet import Ethernet, parse

PacketTest = Callable[[Ethernet], bool]


class NoLoops(Property):
    """No packet comes back to a switch it has left; needs a lifting with `history`."""

    sentence = "No packet comes back to a switch that it has left."
    needs = "a packet that goes from switch to switch"

    @property
    def name(self) -> str:
        """The name that it has in all engines."""
        return "NoForwardingLoops"

    def start(self, network: Network) -> Hashable:
        """Learn where the wires lead."""
        state = network.fabric.initial()
        self._peer = {end: network.fabric.peer(state, end) for end in network.channels if end.node != FABRIC}
        return None

    def see(self, record: Record) -> Hashable | None:
        """Judge every packet that goes to a switch."""
        judged = False
        for channel, message in record.sends:
            end = self._peer[channel]
            if end is not None and isinstance(message, Frame):
                if end.node in visited(message.tag):
                    return f"{Frame(message.data)} comes back to {end.node}."
                judged = True
        return UPHELD if judged else None

    def next(self, _state: Any, seen: str) -> Any:
        """Refuse a packet that came back."""
        raise Violated(seen)


class PerPacket(Property):
    """A property that reads queues and is broken by a single packet in one, whatever else is there."""


class NeverReceives(PerPacket):
    """A host never has a packet of some sort to receive."""

    needs = "a packet that reaches the host"

    def __init__(self, host: str, what: str, test: PacketTest) -> None:
        self.sentence = f"{host} never receives {what}."
        self._host = host
        self._what = what
        self._test = test

    @property
    def reads(self) -> tuple[str, ...]:
        """The host."""
        return (self._host,)

    def check(self, states: Mapping[str, Any]) -> bool:
        """Judge what waits at the host."""
        queue: HostQueue = states[self._host]
        for arrival in queue.received:
            if self._test(parse(arrival.frame.data)):
                raise Violated(f"{self._host} is about to receive {self._what}: {arrival.frame}.")
        return bool(queue.received)


class NeverDropped(Property):
    """No switch drops a packet of some sort, by a rule or by order of the controller."""

    needs = "such a packet at a switch"

    def __init__(self, what: str, test: PacketTest) -> None:
        self.sentence = f"{what} is never dropped."
        self._what = what
        self._test = test

    def see(self, record: Record) -> Hashable | None:
        """Judge a packet that a switch processes."""
        frame = _processed(record)
        if frame is None or not self._test(parse(frame.data)):
            return None
        return f"{record.node} drops {frame}." if _is_dropped(record) else UPHELD

    def next(self, _state: Any, seen: str) -> Any:
        """Refuse a packet that was dropped."""
        raise Violated(seen)


class NotDroppedOnceConfirmed(Property):
    """No rule drops packets of some sort at a switch once the controller knows a barrier was passed there.

    It is CP2's: the barrier comes after the rules that let such packets pass, so a controller that has
    its reply may rely on them.
    """

    needs = "a switch that confirms a barrier"

    def __init__(self, barrier: int, what: str, test: PacketTest) -> None:
        self.sentence = f"A switch that has confirmed barrier {barrier} to the controller drops no {what}."
        self._barrier = barrier
        self._test = test

    def start(self, _network: Network) -> frozenset[str]:
        """Begin with no switch confirmed."""
        return frozenset()

    def see(self, record: Record) -> Hashable | None:
        """Pick out what the controller learns of barriers, and what rules drop."""
        kind, _, rest = str(record.transition.what).partition(" ")
        if kind == SYNCHRONISE:
            switch, _, number = rest.partition(" ")
            return ("confirmed", switch) if int(number) == self._barrier else None
        frame = _processed(record) if any(event.kind == MATCH for event in record.events) else None
        if frame is not None and _is_dropped(record) and self._test(parse(frame.data)):
            return ("dropped", record.node, str(frame))
        return None

    def next(self, state: frozenset[str], seen: tuple[str, ...]) -> frozenset[str]:
        """Note a confirmation, or judge a drop."""
        kind, switch, *frame = seen
        if kind == "confirmed":
            return state | {switch}
        if switch in state:
            raise Violated(f"{switch} drops {frame[0]}, which the controller knows to be let through there.")
        return state


def _is_dropped(record: Record) -> bool:
    return any(event.kind == "dropped" for event in record.events)


def _processed(record: Record) -> Frame | None:
    """Return the packet that a switch forwards or drops in a step, if it does."""
    for event in record.events:
        if event.kind in (MATCH, FORWARD):
            match event.detail[1]:
                case Arrival(frame=frame):
                    return frame
                case PacketOut(data=data, tag=tag):
                    return Frame(data, tag)
    return None
