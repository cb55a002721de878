"""Classes of packets: what a controller treats alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock._concolic.packets.frames import FrameSpace
from penstock._concolic.paths import Path
from penstock._concolic.space import Space
from penstock._concolic.terms import Term
from penstock._controllers.probing import Reaction
from penstock._symbolic.forwarding.arrivals import Arrival


@dataclass(frozen=True, slots=True)
class PacketClass:
    """Packets that a controller treats alike: how they get to it, their condition, one of them."""

    host: str
    arrival: Arrival
    path: Path[Reaction]
    frames: FrameSpace
    condition: tuple[Term, ...]
    inputs: Mapping[str, int]
    data: bytes

    @property
    def space(self) -> Space:
        """The fields of the packets."""
        return self.frames.space
