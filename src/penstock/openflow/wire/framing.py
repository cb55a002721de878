"""Where one message ends and the next begins on a byte stream."""

from __future__ import annotations

from struct import Struct
from typing import Final

from penstock.openflow.error_codes import OpenFlowError
from penstock.openflow.wire.octets import bad_length

HEADER: Final = Struct("!BBHI")
"""Version, type, length of the whole message, transaction."""

MAX_LENGTH: Final = 0xFFFF


class Framer:
    """Splits what a socket delivers into whole messages.

    Between two calls it holds the beginning of at most one message, so never more than the 65,535
    bytes a message can have.  A header that claims fewer than eight bytes cannot be stepped over:
    the messages before it are handed out, then the stream is `broken` and feeding it raises.
    """

    def __init__(self) -> None:
        self._held = bytearray()
        self.broken: OpenFlowError | None = None

    @property
    def held(self) -> int:
        """How many bytes of an unfinished message are waiting for the rest."""
        return len(self._held)

    def feed(self, data: bytes) -> list[bytes]:
        """Take what arrived; return the messages that are whole now."""
        if self.broken is not None:
            raise self.broken
        held = self._held
        held += data
        whole: list[bytes] = []
        at = 0
        while len(held) - at >= HEADER.size:
            length = held[at + 2] << 8 | held[at + 3]
            if length < HEADER.size:
                self.broken = bad_length("A message", length)
                held.clear()
                if not whole:
                    raise self.broken
                return whole
            if len(held) - at < length:
                break
            whole.append(bytes(held[at : at + length]))
            at += length
        del held[:at]
        return whole
