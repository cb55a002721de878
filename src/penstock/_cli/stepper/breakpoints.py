"""Breakpoints: where a run that goes on by itself stops and lets a person look."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from penstock._world.transition import Record
from penstock.errors import PenstockError

ANY: Final = "broken"
"""What a person types for: stop when anything is broken."""


@dataclass(frozen=True, slots=True)
class PropertyBreak:
    """Stop when a property is broken, or any if none is named."""

    name: str = ""

    def reason(self, _record: Record, broken: Mapping[str, str]) -> str:
        """Return why a step is one to stop at; an empty text if it is not."""
        found = next((name for name in broken if self.name in ("", name)), "")
        return f"{found} is broken" if found else ""

    def __str__(self) -> str:
        return f"{self.name or 'anything'} is broken"


@dataclass(frozen=True, slots=True)
class PacketBreak:
    """Stop when a message that has a text in it, or a packet of that name, reaches a component, or any."""

    text: str
    node: str = ""

    def reason(self, record: Record, _broken: Mapping[str, str]) -> str:
        """Return why a step is one to stop at; an empty text if it is not."""
        message = record.message
        if message is None or self.node not in ("", record.node):
            return ""
        said = f"{getattr(message, 'tag', '')} {message}"
        return f"{self.text} reached {record.node}" if self.text.lower() in said.lower() else ""

    def __str__(self) -> str:
        return f"{self.text} reaches {self.node or 'anybody'}"


Breakpoint = PropertyBreak | PacketBreak


def breakpoint_of(words: str, *, properties: Collection[str], components: Collection[str]) -> Breakpoint:
    """Return the breakpoint that somebody typed: `broken`, a property, or `h1#1 at s2`."""
    text = words.strip()
    if text == ANY:
        return PropertyBreak()
    if text in properties:
        return PropertyBreak(text)
    what, found, node = text.rpartition(" at ")
    if not found:
        what, node = text, ""
    if node and node not in components:
        raise PenstockError(f"There is no {node[:40]!r} to stop at: the components are {_some(components)}.")
    if not what.strip():
        raise PenstockError(f"Nothing says where to stop: type {ANY}, a property, or as in h1#1 at s2.")
    return PacketBreak(what.strip(), node.strip())


def _some(names: Collection[str], most: int = 12) -> str:
    shown = ", ".join(list(names)[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown
