"""What crosses a data link: an Ethernet frame, exactly as its bytes are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

_WRITTEN: Final = re.compile(r"(?<![^\s\]])([^\s\]]+#\d+) \[([^\]]*)\]")
"""A packet as it is written in full: its name, then what it is.  A name begins where a word does, and a text
is cut after its last bracket before it is looked through, so that every character is looked at once."""
_DESCRIPTION: Final = re.compile(r" \[[^\]]*\]")


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
        from penstock.packet import describe

        label = f"{self.tag} " if self.tag else ""
        return f"{label}[{describe(self.data)}]"


def packets_in(text: str) -> Iterator[re.Match[str]]:
    """Yield the packets that a text tells in full: the name and the description of each."""
    return _WRITTEN.finditer(text, 0, text.rfind("]") + 1)


def retell_packets(text: str, tell: Callable[[re.Match[str]], str]) -> str:
    """Return a text with each packet that it tells in full told in another way."""
    end = text.rfind("]") + 1
    return _WRITTEN.sub(tell, text[:end]) + text[end:]


def without_descriptions(text: str) -> str:
    """Return a text in which packets are only called by their names."""
    end = text.rfind("]") + 1
    return _DESCRIPTION.sub("", text[:end]) + text[end:]
