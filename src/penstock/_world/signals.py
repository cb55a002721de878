"""What the physical world tells a component, over the channel from the fabric.

The fabric holds links, attachments and power; when one of them changes, the components at its
ends hear of it on their port `FABRIC`, in order with nothing else, as hardware interrupts do.
What goes wrong inside a switch is told the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock._world.component import Port

FABRIC: Final = "fabric"
"""The fabric's name, and the name of every component's port towards it."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """The link at one of your ports came up or went down (a control session is a link too)."""

    port: Port
    up: bool

    def __str__(self) -> str:
        return f"Carrier(port {self.port} {'up' if self.up else 'down'})"


@dataclass(frozen=True, slots=True)
class Power:
    """You were switched off, losing all you knew, or on again."""

    on: bool

    def __str__(self) -> str:
        return f"Power({'on' if self.on else 'off'})"


@dataclass(frozen=True, slots=True)
class TableLimit:
    """Your flow tables take no more than so many entries from now on; None: as many as you were built for.

    Entries that are there already stay.
    """

    entries: int | None

    def __str__(self) -> str:
        return f"TableLimit({'none' if self.entries is None else self.entries})"


@dataclass(frozen=True, slots=True)
class EntryForgotten:
    """You lose a flow entry, by its number from 1 in the order of tables, without a word to anybody."""

    number: int

    def __str__(self) -> str:
        return f"EntryForgotten({self.number})"


@dataclass(frozen=True, slots=True)
class FlowModsIgnored:
    """You take in the next so many flow-mods, and do nothing about them."""

    count: int

    def __str__(self) -> str:
        return f"FlowModsIgnored({self.count})"


TableFault = TableLimit | EntryForgotten | FlowModsIgnored
