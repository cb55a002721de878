"""A controller that costs next to nothing, so that a measurement of many switches is one of our side.

    python -m bench.fattree_controller --port 6653

It speaks OpenFlow 1.3 and does what `bench.fattree_app` does under os-ken: each switch is given an entry
for packets that nothing matches, then a barrier; at each word of a port that went down, the entries
that lead there are deleted, then comes a barrier again.
"""

from __future__ import annotations

import argparse
import asyncio
from struct import Struct
from typing import Final

from penstock.openflow.actions import ApplyActions, Output
from penstock.openflow.messages import (
    V13,
    BarrierRequest,
    FeaturesRequest,
    FlowCommand,
    FlowMod,
    PortNo,
    greeting,
)
from penstock.openflow.wire import Framer, encode
from penstock.openflow.wire.primitives import HEADER

HELLO, ECHO_REQUEST, ECHO_REPLY, FEATURES_REPLY, PORT_STATUS = 0, 2, 3, 6, 12
BACKLOG: Final = 4096
_PORT: Final = Struct("!16xI28xII")
"""Of a port_status: the port's number, its configuration and state."""

_LINK_DOWN: Final = 1
_GREETING: Final = encode(greeting(V13), V13) + encode(FeaturesRequest(xid=1), V13)
_BARRIER: Final = encode(BarrierRequest(xid=2), V13)
_FIRST: Final = (
    encode(FlowMod(FlowCommand.ADD, instructions=(ApplyActions((Output(PortNo.CONTROLLER),)),)), V13)
    + _BARRIER
)


class Connection(asyncio.Protocol):
    """One switch."""

    def __init__(self) -> None:
        self._framer = Framer()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(_GREETING)

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self._transport.write(b"".join(map(answer, self._framer.feed(data))))


def answer(message: bytes) -> bytes:
    """Return what a message of a switch is answered with."""
    _, kind, length, xid = HEADER.unpack_from(message)
    if kind == FEATURES_REPLY:
        return _FIRST
    if kind == ECHO_REQUEST:
        return HEADER.pack(V13, ECHO_REPLY, length, xid) + message[HEADER.size :]
    if kind == PORT_STATUS:
        port, _, state = _PORT.unpack_from(message)
        if state & _LINK_DOWN:
            return encode(FlowMod(FlowCommand.DELETE, out_port=port), V13) + _BARRIER
    return b""


async def serve(port: int) -> None:
    """Take switches in until the process is ended."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", port, backlog=BACKLOG)
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.fattree_controller")
    parser.add_argument("--port", type=int, default=6653)
    asyncio.run(serve(parser.parse_args().port))
