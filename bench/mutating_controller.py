"""A controller that sends damaged messages; `bench.mutated_sessions` starts it.

    python -m bench.mutating_controller PORT VERSION MESSAGES SEED

It greets each switch as a controller does, and then sends messages of every kind that are damaged as in
`bench.codec_fuzz`, in blocks.  A barrier ends a block, and the next one follows when that is answered: so it
knows how many messages were taken.  Now and then a message says another length than it has, and the switch
hangs up.  Every 10,000 messages it prints how many were taken, and how many errors it was sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import struct
import sys
from random import Random
from typing import Final

from bench.codec_fuzz import mutated
from bench.codec_samples import SAMPLES
from penstock.openflow.error_codes import OpenFlowError
from penstock.openflow.wire import decode, encode

BLOCK: Final = 200
WRONG_LENGTH: Final = 1 / 20_000
OTHER_VERSION: Final = 1 / 1_000
TO_CONTROLLERS: Final = 1 / 20
"""How many messages are of kinds that only switches send."""
TOLD: Final = 10_000

_HEADER: Final = struct.Struct("!BBHI")
_HELLO, _ERROR, _ECHO, _ECHO_REPLY, _FEATURES = 0, 1, 2, 3, 5
_BARRIER: Final = {1: 18, 4: 20}
_AS_EQUAL: Final = {1: b"", 4: struct.pack("!BBHIIxxxxQ", 4, 24, 24, 3, 1, 0)}
"""A message that asks for a role in which a switch obeys; one that is damaged may have asked for another."""


def _is_for_switches(data: bytes, version: int) -> bool:
    try:
        decode(data, version, at_switch=True)
    except OpenFlowError:
        return False
    return True


class Taken:
    """How many messages all switches have taken."""

    def __init__(self, version: int, wanted: int, seed: int) -> None:
        self.version, self.wanted = version, wanted
        self.random = Random(seed)
        self.count = self.sessions = self.errors = 0
        everything = [encode(message, version) for message in SAMPLES[version]]
        self.pool = [data for data in everything if _is_for_switches(data, version)]
        self.others = [data for data in everything if data not in self.pool]

    def block(self) -> bytes:
        """Return damaged messages whose lengths are right, but for a few."""
        found: list[bytes] = []
        while len(found) < BLOCK:
            pool = self.others if self.random.random() < TO_CONTROLLERS else self.pool
            data = bytearray(mutated(self.random, pool))
            if len(data) < _HEADER.size:
                continue
            if self.random.random() >= OTHER_VERSION:
                data[0] = self.version
            if self.random.random() >= WRONG_LENGTH:
                data[2:4] = len(data).to_bytes(2)
            found.append(bytes(data))
        return b"".join((_AS_EQUAL[self.version], *found))

    def take(self, messages: int) -> None:
        """Take note that messages were taken."""
        before = self.count
        self.count += messages
        if self.count // TOLD > before // TOLD:
            print(f"taken {self.count} sessions {self.sessions} errors {self.errors}", flush=True)


async def talk(taken: Taken, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Talk to one switch until it hangs up."""
    taken.sessions += 1
    version = taken.version
    with contextlib.suppress(OSError, asyncio.IncompleteReadError):
        writer.write(_HEADER.pack(version, _HELLO, 8, 1) + _HEADER.pack(version, _FEATURES, 8, 2))
        await _answer(taken, reader, writer, _FEATURES + 1, 2)
        number = 3
        while taken.count < taken.wanted:
            number += 1
            writer.write(taken.block() + _HEADER.pack(version, _BARRIER[version], 8, number))
            await _answer(taken, reader, writer, _BARRIER[version] + 1, number)
            taken.take(BLOCK)
        while True:
            await _answer(taken, reader, writer, -1, 0)
    writer.close()


async def _answer(
    taken: Taken, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kind: int, number: int
) -> None:
    """Read until an answer comes; who asks for an echo has it."""
    while True:
        _, what, length, xid = _HEADER.unpack(await reader.readexactly(_HEADER.size))
        body = await reader.readexactly(length - _HEADER.size)
        if what == _ECHO:
            writer.write(_HEADER.pack(taken.version, _ECHO_REPLY, length, xid) + body)
        elif what == _ERROR:
            taken.errors += 1
        elif (what, xid) == (kind, number):
            return


async def main() -> None:
    """Listen."""
    port, version, messages, seed = map(int, sys.argv[1:])
    taken = Taken(version, messages, seed)
    server = await asyncio.start_server(lambda *ends: talk(taken, *ends), "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
