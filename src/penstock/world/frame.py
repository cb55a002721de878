"""What crosses a data link: an Ethernet frame, exactly as its bytes are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame on a wire.

    `tag` is a name the model gives a packet when a host sends it (`h1#1`).  It is no part of the
    bytes and no switch looks at it: it lets properties follow one packet and its copies through
    a network, and stories call it by name.
    """

    data: bytes
    tag: str = ""

    def __str__(self) -> str:
        from penstock.world.packet import describe

        label = f"{self.tag} " if self.tag else ""
        return f"{label}[{describe(self.data)}]"
