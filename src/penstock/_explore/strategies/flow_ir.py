"""FLOW-IR: flows that have nothing to do with each other are not interleaved (NICE, section 5.4).

While a packet of one flow is under way - on a wire, in a report to a controller, in an order of one,
in the buffer such an order names - no host sends a packet of another flow.  What is a flow is for
the user to say: `is_same_flow(packet, other)`, given two `Ethernet` values, tells whether the two
packets have anything to do with each other.  Without it, packets are of one flow if they go between the
same two ends, in either direction: ports if they have some, else addresses of IP, else of Ethernet.

Packets are put with the first one met that they are the same flow as, so the answer should not
depend on which packet of a flow is asked about.  A rule on its way is no packet and holds nobody up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock._base.users_code import explained
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.interning import MASK, WIDTH
from penstock._explore.strategies.base import Narrowing
from penstock._explore.strategies.guide import Pick
from penstock._explore.strategies.kinds import Options, TransitionKind
from penstock._world.frame import Frame
from penstock._world.transition import Transition
from penstock.errors import PenstockError
from penstock.openflow.messages import FlowMod, PacketIn, PacketOut
from penstock.packet import ARP, TCP, UDP, Ethernet, IPv4, parse

SameFlow = Callable[[Ethernet, Ethernet], bool]


def same_ends(packet: Ethernet, other: Ethernet) -> bool:
    """Tell whether two packets go between the same two ends, in either direction."""
    return _ends(packet) == _ends(other)


def _ends(packet: Ethernet) -> frozenset[tuple[object, ...]]:
    inner = packet.payload
    if isinstance(inner, ARP):
        return frozenset({("ip", inner.spa), ("ip", inner.tpa)})
    if not isinstance(inner, IPv4):
        return frozenset({("mac", packet.src), ("mac", packet.dst)})
    ports = packet.find(TCP) or packet.find(UDP)
    if ports is None:
        return frozenset({("ip", inner.src), ("ip", inner.dst)})
    kind = type(ports).__name__
    return frozenset({(kind, inner.src, ports.src), (kind, inner.dst, ports.dst)})


@dataclass(frozen=True, slots=True)
class FlowIndependence(Narrowing):
    """Has one flow at a time in the network."""

    name: ClassVar[str] = "flow-ir"

    is_same_flow: SameFlow = same_ends

    @property
    def remark(self) -> str:
        """What the strategy may have missed."""
        return (
            "flow-ir: packets of different flows were never under way together, so what goes wrong where "
            "flows do affect each other may have been missed."
        )

    def pick(self, cells: CompiledNetwork) -> Pick:
        """Pick whatever does not begin a second flow."""
        flows = _Flows(cells, self.is_same_flow)

        def pick(state: int, options: Options) -> int:
            sends = options.of(TransitionKind.SEND)
            if not sends:
                return options.every
            under_way = flows.under_way(state)
            if not under_way:
                return options.every
            waiting = 0
            for place, (_, _, _, _, transition) in enumerate(options.entries):
                if sends >> place & 1:
                    begun = flows.begun(state, transition)
                    if begun and len(begun | under_way) > 1:
                        waiting |= 1 << place
            return options.every & ~waiting or options.every

        return pick


class _Flows:
    """Which flows are where: each found once per value of a cell."""

    def __init__(self, cells: CompiledNetwork, is_same_flow: SameFlow) -> None:
        self._cells = cells
        self._is_same_flow = is_same_flow
        self._first: list[Ethernet] = []
        """The first packet met of each flow."""
        self._numbers: dict[bytes, int] = {}
        self._under_way: list[dict[int, frozenset[int]]] = [{} for _ in cells.names]
        self._begun: dict[tuple[int, Transition], frozenset[int]] = {}

    def under_way(self, state: int) -> frozenset[int]:
        """Return the flows of the packets that are under way in a state."""
        found: frozenset[int] = frozenset()
        for cell, known in enumerate(self._under_way):
            number = state >> WIDTH * cell & MASK
            here = known.get(number)
            if here is None:
                here = known[number] = frozenset(map(self._number, self._packets(state, cell)))
            if here:
                found |= here
        return found

    def begun(self, state: int, transition: Transition) -> frozenset[int]:
        """Return the flows of the packets that a host's action sends."""
        cells = self._cells
        key = (state >> WIDTH * cells.names.index(transition.node) & MASK, transition)
        found = self._begun.get(key)
        if found is None:
            host = cells.network.components[cells.network.places[transition.node]]
            step = host.act(cells.component_states(state)[transition.node], str(transition.what))
            frames = (message for _, message in step.sends if isinstance(message, Frame))
            found = self._begun[key] = frozenset(self._number(frame.data) for frame in frames)
        return found

    def _packets(self, state: int, cell: int) -> Iterator[bytes]:
        """Yield the packets on their way to a cell."""
        waiting = self._cells.waiting(state, cell)
        kept: Any = None
        for message in (message for _, messages in waiting for message in messages):
            if isinstance(message, Frame | PacketIn) or (isinstance(message, PacketOut) and message.data):
                yield message.data
            elif isinstance(message, PacketOut | FlowMod):
                if kept is None:
                    receiver = self._cells.component_states(state)[self._cells.names[cell]]
                    kept = getattr(receiver, "buffers", {})
                if message.buffer_id in kept:
                    yield kept[message.buffer_id].frame.data

    def _number(self, data: bytes) -> int:
        """Return the flow that a packet belongs to."""
        number = self._numbers.get(data)
        if number is None:
            packet = parse(data)
            number = next(
                (flow for flow, first in enumerate(self._first) if self._is_same(packet, first)),
                len(self._first),
            )
            if number == len(self._first):
                self._first.append(packet)
            self._numbers[data] = number
        return number

    def _is_same(self, packet: Ethernet, other: Ethernet) -> bool:
        try:
            return bool(self._is_same_flow(packet, other))
        except Exception as error:
            raise PenstockError(f"is_same_flow of flow-ir raised {explained(error)}.") from error
