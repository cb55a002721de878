"""NICE's own model of its ping experiment, from the paper's section 2.2 and Table 1.

It differs from Penstock's in what a transition is and in what tells states apart:
- `process_pkt` takes the head of every port's buffer in one transition;
- adding a rule appends it, also where it is there already;
- replies have one name and are fired in any order;
- the hash of a state leaves out what is in a command queue (not whether anything is) and which
  buffers are free, and sorts the buffers of incoming packets.
The last point is a projection given to the explorer; the others are these components.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from penstock._explore.compiled_network import CompiledNetwork
from penstock._world.component import Endpoint, Port, Send, Step
from penstock._world.fabric import Fabric, Wire
from penstock._world.network import Network

FLOOD = -1


class Packet(NamedTuple):
    """A layer-2 packet: what it is called, who sent it, who is to get it."""

    name: str
    src: str
    dst: str


class PacketIn(NamedTuple):
    """A buffered packet, handed to the controller."""

    buffer: int
    packet: Packet
    port: int


class Rule(NamedTuple):
    """A rule for one direction between two hosts."""

    src: str
    dst: str
    port: int
    out: int


class Command(NamedTuple):
    """A controller's order: release a buffered packet, by a new rule or by flooding."""

    buffer: int
    rule: Rule | None


@dataclass
class Client:
    """Sends a given number of pings; state: how many went out, how many came back."""

    pings: int
    name: str = "A"

    def initial(self) -> tuple[int, int]:
        """Begin with nothing sent."""
        return 0, 0

    def actions(self, state: tuple[int, int]) -> tuple[str, ...]:
        """Offer to send while there are pings left."""
        return ("send",) if state[0] < self.pings else ()

    def act(self, state: tuple[int, int], _action: str) -> Step:
        """Send the next ping."""
        number = state[0] + 1
        return Step((number, state[1]), (Send(1, Packet(f"pkt{number}", "A", "B")),))

    def receive(self, state: tuple[int, int], _port: Port, _message: Any) -> Step:
        """Count a reply."""
        return Step((state[0], state[1] + 1))


Pending = tuple[tuple[int, str], ...]


@dataclass
class Server:
    """Replies to every ping in any order; state: the next number, and who is owed a reply."""

    name: str = "B"

    def initial(self) -> tuple[int, Pending]:
        """Begin with nothing owed."""
        return 1, ()

    def actions(self, state: tuple[int, Pending]) -> tuple[str, ...]:
        """Offer every reply that is owed."""
        return tuple(f"reply {number}" for number, _ in state[1])

    def act(self, state: tuple[int, Pending], action: str) -> Step:
        """Send one reply."""
        number = int(action.removeprefix("reply "))
        client = dict(state[1])[number]
        rest = tuple(item for item in state[1] if item[0] != number)
        return Step((state[0], rest), (Send(1, Packet("reply", "B", client)),))

    def receive(self, state: tuple[int, Pending], _port: Port, message: Packet) -> Step:
        """Owe a reply to a ping."""
        if message.dst != self.name:
            return Step(state)
        return Step((state[0] + 1, (*state[1], (state[0], message.src))))


@dataclass(frozen=True, slots=True)
class SwitchState:
    """What NICE's switch holds: packets by port, rules, buffered packets, and its free buffers."""

    incoming: tuple[tuple[Packet, ...], tuple[Packet, ...]] = ((), ())
    rules: tuple[Rule, ...] = ()
    stored: tuple[tuple[int, tuple[Packet, int]], ...] = ()
    free: tuple[int, ...] = ()
    next_buffer: int = 0


@dataclass
class Switch:
    """NICE's simplified switch with ports 1 and 2."""

    name: str

    def initial(self) -> SwitchState:
        """Begin empty."""
        return SwitchState()

    def collect(self, state: SwitchState, port: Port, message: Any) -> SwitchState | None:
        """Keep incoming packets by port, to be processed together; commands stay in their queue."""
        if not isinstance(port, int):
            return None
        one, two = state.incoming
        incoming = ((*one, message), two) if port == 1 else (one, (*two, message))
        return replace(state, incoming=incoming)

    def actions(self, state: SwitchState) -> tuple[str, ...]:
        """Offer to process packets while there are any."""
        return ("process_pkt",) if any(state.incoming) else ()

    def act(self, state: SwitchState, _action: str) -> Step:
        """Process the head of every port."""
        sends: list[Send] = []
        heads = [(port, waiting[0]) for port, waiting in enumerate(state.incoming, 1) if waiting]
        one, two = state.incoming
        state = replace(state, incoming=(one[1:], two[1:]))
        for port, packet in heads:
            out = self._look_up(state, packet, port)
            if out is not None:
                sends.append(Send(out, packet))
                continue
            if state.free:
                buffer, free, following = state.free[-1], state.free[:-1], state.next_buffer
            else:
                buffer, free, following = state.next_buffer, (), state.next_buffer + 1
            stored = tuple(sorted([*state.stored, (buffer, (packet, port))]))
            state = replace(state, stored=stored, free=free, next_buffer=following)
            sends.append(Send("C", PacketIn(buffer, packet, port)))
        return Step(state, tuple(sends))

    def _look_up(self, state: SwitchState, packet: Packet, port: int) -> int | None:
        for rule in state.rules:
            if rule[:3] == (packet.src, packet.dst, port):
                return rule.out
        return None

    def receive(self, state: SwitchState, _port: Port, message: Command) -> Step:
        """Carry out a command: add its rule, if it has one, and release the packet."""
        packet, port = dict(state.stored)[message.buffer]
        if message.rule is not None:
            state = replace(state, rules=tuple(sorted([*state.rules, message.rule])))
            out = self._look_up(state, packet, port)
        else:
            out = 3 - port
        stored = tuple(item for item in state.stored if item[0] != message.buffer)
        state = replace(state, stored=stored, free=(*state.free, message.buffer))
        return Step(state, (Send(out, packet),) if out is not None else ())


MacTables = tuple[tuple[tuple[str, str], int], ...]


@dataclass
class Controller:
    """The MAC-learning switch of Figure 3; state: by which port each switch saw each host."""

    name: str = "C"

    def initial(self) -> MacTables:
        """Begin with nothing learned."""
        return ()

    def actions(self, _state: MacTables) -> tuple[str, ...]:
        """Do nothing unasked."""
        return ()

    def act(self, state: MacTables, _action: str) -> Step:
        """Never called: there are no actions."""
        return Step(state)

    def receive(self, state: MacTables, port: Port, message: PacketIn) -> Step:
        """Learn, then install a rule or flood."""
        switch, packet = str(port), message.packet
        tables = {**dict(state), (switch, packet.src): message.port}
        out = tables.get((switch, packet.dst))
        rule = None
        if out is not None and out != message.port:
            rule = Rule(packet.src, packet.dst, message.port, out)
        return Step(tuple(sorted(tables.items())), (Send(switch, Command(message.buffer, rule)),))


def cells(pings: int) -> CompiledNetwork:
    """Return NICE's model compiled for searching."""
    links = [
        Wire(Endpoint("A", 1), Endpoint("s1", 1)),
        Wire(Endpoint("s1", 2), Endpoint("s2", 1)),
        Wire(Endpoint("s2", 2), Endpoint("B", 1)),
    ]
    sessions = [Wire(Endpoint(switch, "C"), Endpoint("C", switch)) for switch in ("s1", "s2")]
    fabric = Fabric(cables=links, sessions=sessions)
    channels = [end for wire in (*links, *sessions) for end in wire]
    return CompiledNetwork(
        Network([Client(pings), Server(), Switch("s1"), Switch("s2"), Controller()], fabric, channels)
    )


def counted(name: str, state: Any, inbox: Mapping[Endpoint, tuple[Any, ...]]) -> Hashable:
    """Return what NICE's hash of a state takes in of one component."""
    if isinstance(state, SwitchState):
        incoming = tuple(tuple(sorted(packets)) for packets in state.incoming)
        return incoming, state.rules, state.stored, bool(inbox)
    if name == "B":
        return state[1], tuple(sorted(packet for packets in inbox.values() for packet in packets))
    if name == "A":
        return state, tuple(sorted(packet for packets in inbox.values() for packet in packets))
    return state, tuple(sorted((str(end), messages) for end, messages in inbox.items()))
