"""What an error message quotes of the message that it refuses.

The specifications ask for at least 64 bytes (1.0 §5.4.4, 1.3 §7.4.4).  Open vSwitch quotes all of it in
either version, as far as one message holds.

A switch sees messages, not bytes, and one message can be written in several ways: a 1.0 match has values
in the fields that it does not look at.  So whoever reads the bytes of a session keeps the last ones, and
puts them in place of what the switch has written anew.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Final

from penstock.errors import PenstockError
from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.messages import Error, OpenFlowMessage
from penstock.openflow.wire.codec import decode, encode
from penstock.openflow.wire.framing import HEADER, MAX_LENGTH

_ERROR_FIELDS: Final = 4
MOST_QUOTED: Final = MAX_LENGTH - HEADER.size - _ERROR_FIELDS
"""How many bytes fit into an error message beside its own fields."""

_KEPT: Final = 512
"""How many messages of a session are kept: more than wait to be read by a switch (see
`_fuzz.live_harness`)."""


def quoted(data: bytes) -> bytes:
    """Return what an error quotes of a message's bytes."""
    return data[:MOST_QUOTED]


def quotation(message: OpenFlowMessage, version: int) -> bytes:
    """Return what an error quotes of a message; nothing of one that the version cannot write."""
    try:
        return quoted(encode(message, version))
    except PenstockError:
        return b""


def refusal_of(data: bytes, refused: OpenFlowError, version: int) -> Error:
    """Return the answer to bytes that could not be read."""
    kind, code = refused.refusal.code(version)
    return Error(kind, code, quoted(data), xid=int.from_bytes(data[4:8]))


class SentBytes:
    """The last messages that a peer sent, as it wrote them."""

    def __init__(self, version: int) -> None:
        self._version = version
        self._kept: deque[bytes] = deque(maxlen=_KEPT)

    def keep(self, data: bytes) -> None:
        """Keep the bytes of a message that was read."""
        self._kept.append(data)

    def in_error(self, error: Error) -> Error:
        """Return an error with what the peer wrote in place of the same message written anew."""
        if (error.type, error.code) == ErrorCode.HELLO_INCOMPATIBLE.code(self._version):
            return error
        for data in reversed(self._kept):
            if data[1:2] == error.data[1:2] and data[4:8] == error.data[4:8] and self._is(data, error.data):
                return replace(error, data=quoted(data))
        return error

    def _is(self, data: bytes, rewritten: bytes) -> bool:
        return data == rewritten or quotation(decode(data), self._version) == rewritten
