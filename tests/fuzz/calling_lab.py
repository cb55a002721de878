"""Somebody who calls on a virtual switch over a real socket, for tests of switches that listen."""

from __future__ import annotations

import asyncio

from penstock.openflow.messages import (
    V13,
    BarrierReply,
    BarrierRequest,
    EchoReply,
    EchoRequest,
    Hello,
    OpenFlowMessage,
)
from penstock.openflow.stats import StatsReply, StatsReplyBody, StatsRequest, StatsRequestBody
from penstock.openflow.wire import Framer, decode, encode

PATIENCE_S = 20


class Caller:
    """Somebody who calls and says what he likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._framer = Framer()
        self._whole: list[bytes] = []

    @classmethod
    async def call(cls, target: str) -> Caller:
        _, host, port = target.split(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    def say(self, *messages: OpenFlowMessage) -> None:
        self._writer.write(b"".join(encode(message, V13) for message in messages))

    async def ask(self, question: StatsRequestBody) -> StatsReplyBody:
        """Return what the switch answers to a question about its statistics, in one part."""
        self.say(StatsRequest(question))
        answer = await self.hear()
        assert isinstance(answer, StatsReply)
        assert not answer.more
        return answer.body

    async def hear(self) -> OpenFlowMessage | None:
        """Return the next message but echo requests, which are answered; None when the switch has hung up."""
        while True:
            while not self._whole:
                async with asyncio.timeout(PATIENCE_S):
                    data = await self._reader.read(1 << 16)
                if not data:
                    return None
                self._whole = self._framer.feed(data)
            message = decode(self._whole.pop(0))
            if not isinstance(message, EchoRequest):
                return message
            self.say(EchoReply(message.data, xid=message.xid))

    async def until_barrier(self) -> list[str]:
        """Return the kinds of message that arrive before the answer to a barrier."""
        self.say(BarrierRequest(xid=77))
        heard = []
        while not isinstance(message := await self.hear(), BarrierReply):
            heard.append(type(message).__name__)
        return heard

    async def hang_up(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


async def greeted(target: str) -> Caller:
    caller = await Caller.call(target)
    caller.say(Hello())
    assert isinstance(await caller.hear(), Hello)
    return caller
