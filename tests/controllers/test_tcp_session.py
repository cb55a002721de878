"""A control session turns bytes into messages, refuses what cannot be read, and notices who is gone."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import pytest
from tests.tcp_lab import nothing_left, until

from penstock._controllers.tcp import ports
from penstock._controllers.tcp.session import ControlSession, Patience, connect
from penstock.errors import PenstockError
from penstock.openflow.messages import (
    V13,
    BarrierReply,
    BarrierRequest,
    EchoReply,
    EchoRequest,
    Error,
    FeaturesRequest,
    Hello,
    OpenFlowMessage,
    PacketOut,
)
from penstock.openflow.wire import decode, encode

HELLO = encode(Hello(frozenset({V13})), V13)
BARRIER = encode(BarrierRequest(xid=7), V13)


@dataclass
class Meeting:
    """A session, what it heard, and the controller's end of the connection."""

    session: ControlSession
    heard: list[OpenFlowMessage]
    refused: list[str]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    closed: list[str] = field(default_factory=list)

    async def receive(self) -> OpenFlowMessage:
        """Return the next message that the controller gets."""
        header = await self.reader.readexactly(8)
        return decode(header + await self.reader.readexactly(struct.unpack("!BBHI", header)[2] - 8))


def meet(act: Callable[[Meeting], Awaitable[None]], patience: Patience = Patience()) -> Meeting:  # noqa: B008
    """Connect a session with a controller of the test's own, and let the test be the controller."""
    heard: list[OpenFlowMessage] = []
    refused: list[str] = []
    met: list[Meeting] = []

    async def run() -> None:
        arrived: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        server = await asyncio.start_server(lambda *ends: arrived.put_nowait(ends), "127.0.0.1", 0)
        with contextlib.closing(server):  # from Python 3.12 on, `async with` would wait for its connections
            session = await connect(
                lambda: ControlSession(
                    V13,
                    on_message=heard.append,
                    on_refused=refused.append,
                    on_close=lambda: met[0].closed.append(met[0].session.reason),
                    patience=patience,
                ),
                server.sockets[0].getsockname(),
            )
            met.append(Meeting(session, heard, refused, *await arrived.get()))
            try:
                await act(met[0])
            finally:
                session.close("was hung up on")
                met[0].writer.close()

    with nothing_left():
        asyncio.run(run())
    return met[0]


def test_messages_are_cut_out_of_the_stream_wherever_it_breaks() -> None:
    async def act(meeting: Meeting) -> None:
        for octet in HELLO + BARRIER:
            meeting.writer.write(bytes([octet]))
            await meeting.writer.drain()
        meeting.writer.write(BARRIER * 3)
        await until(lambda: len(meeting.heard) == 5, "all messages were heard")

    meeting = meet(act)
    assert meeting.heard == [Hello(frozenset({V13}), V13), *[BarrierRequest(xid=7)] * 4]


def test_it_does_not_wait_to_fill_a_packet() -> None:
    async def act(meeting: Meeting) -> None:
        transport = meeting.session._transport
        assert transport is not None
        plain = transport.get_extra_info("socket")
        assert plain.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    meet(act)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (encode(BarrierReply(xid=9), V13), (1, 1)),
        (struct.pack("!BBHI", 4, 99, 8, 9), (1, 1)),
        (struct.pack("!BBHI", 4, 14, 8, 9), (1, 6)),
        (struct.pack("!BBHI", 1, 5, 8, 9), (1, 0)),
    ],
    ids=["what only a switch sends", "an unknown type", "a flow-mod without a body", "another version"],
)
def test_what_cannot_be_read_is_answered_with_the_error_of_a_real_switch(
    data: bytes, expected: tuple[int, int]
) -> None:
    async def act(meeting: Meeting) -> None:
        meeting.writer.write(HELLO + data + BARRIER)
        answer = await meeting.receive()
        assert answer == Error(*expected, data, xid=9)
        await until(lambda: len(meeting.heard) == 2, "the message after it was heard")

    meeting = meet(act)
    assert len(meeting.refused) == 1
    assert meeting.heard[1:] == [BarrierRequest(xid=7)]


def test_all_of_what_cannot_be_read_is_quoted_as_far_as_it_fits() -> None:
    unknown = [struct.pack("!BBHI", 4, 99, length, 9) + bytes(length - 8) for length in (3000, 65535)]

    async def act(meeting: Meeting) -> None:
        meeting.writer.write(HELLO + b"".join(unknown))
        assert await meeting.receive() == Error(1, 1, unknown[0], xid=9)
        assert await meeting.receive() == Error(1, 1, unknown[1][: 65535 - 12], xid=9)

    meet(act)


def test_a_switch_quotes_the_message_as_the_controller_wrote_it() -> None:
    padded = bytearray(encode(PacketOut(3, 1, (), b""), V13))
    padded[18:24] = b"filled"
    assert decode(bytes(padded)) == PacketOut(3, 1, (), b"")

    async def act(meeting: Meeting) -> None:
        meeting.writer.write(HELLO + BARRIER + bytes(padded) + BARRIER)
        await until(lambda: len(meeting.heard) == 4, "all was heard")
        meeting.session.send(Error(1, 8, encode(meeting.heard[2], V13)))
        assert await meeting.receive() == Error(1, 8, bytes(padded))

    meet(act)


def test_an_error_is_never_answered_with_an_error() -> None:
    async def act(meeting: Meeting) -> None:
        meeting.writer.write(HELLO + struct.pack("!BBHI", 4, 1, 8, 9) + BARRIER)
        await until(lambda: len(meeting.heard) == 2, "the message after it was heard")
        meeting.session.send(BarrierReply(xid=7))
        assert await meeting.receive() == BarrierReply(xid=7)

    assert len(meet(act).refused) == 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            b"GET / HTTP/1.1\r\n",
            "sent 47 45 54 20 2f 20 48 54 where a greeting was due, which is no OpenFlow",
        ),
        (BARRIER, "sent 04 14 00 08 00 00 00 07 where a greeting was due, which is no OpenFlow"),
        (b"\0" * 20, "sent 00 00 00 00 00 00 00 00 where a greeting was due, which is no OpenFlow"),
        (HELLO + b"\x04\x00\x00\x04\0\0\0\0", "sent bytes that are no messages"),
    ],
    ids=["another protocol", "no greeting", "zeros", "a length that cannot be"],
)
def test_who_speaks_no_openflow_is_hung_up_on(data: bytes, reason: str) -> None:
    async def act(meeting: Meeting) -> None:
        meeting.writer.write(data)
        await until(lambda: meeting.closed, "the session was given up")
        assert await meeting.reader.read() == b""

    assert meet(act).closed[0].startswith(reason)


def test_a_controller_of_another_version_is_told_and_hung_up_on() -> None:
    async def act(meeting: Meeting) -> None:
        meeting.writer.write(encode(Hello(frozenset({1, 5})), 5))
        await until(lambda: meeting.heard, "the greeting was heard")
        # What a switch answers that does not speak any of them.
        meeting.session.send(Error(0, 0))
        assert await meeting.receive() == Error(0, 0)
        assert await meeting.reader.read() == b""
        meeting.writer.close()
        await until(lambda: meeting.closed, "the session was over")

    assert meet(act).closed == ["speaks only OpenFlow 1.0 and 1.4, the switches 1.3"]


def test_one_that_goes_on_speaking_still_reads_why_it_is_refused() -> None:
    async def act(meeting: Meeting) -> None:
        meeting.writer.write(encode(Hello(frozenset({1})), 1))
        await until(lambda: meeting.heard, "the greeting was heard")
        meeting.session.send(Error(0, 0))
        for _ in range(20):  # each would break the connection if nobody took it
            meeting.writer.write(encode(FeaturesRequest(xid=1), 1))
            await asyncio.sleep(0)
        assert await meeting.receive() == Error(0, 0)
        meeting.writer.close()
        await until(lambda: meeting.closed, "the session was over")

    meeting = meet(act)
    assert meeting.closed == ["speaks only OpenFlow 1.0, the switches 1.3"]
    assert meeting.heard == [Hello(frozenset({1}), 1)]


def test_one_that_does_not_hang_up_after_its_refusal_is_hung_up_on() -> None:
    async def act(meeting: Meeting) -> None:
        meeting.writer.write(encode(Hello(frozenset({1})), 1))
        await until(lambda: meeting.heard, "the greeting was heard")
        meeting.session.send(Error(0, 0))
        assert meeting.closed == []
        await until(lambda: meeting.closed, "the session was over")
        assert not meeting.session.is_open

    assert meet(act).closed == ["speaks only OpenFlow 1.0, the switches 1.3"]


def test_a_refusal_of_the_greeting_is_the_reason_why_it_hung_up() -> None:
    async def act(meeting: Meeting) -> None:
        meeting.writer.write(HELLO + encode(Error(0, 0, b"only 1.5 here"), V13))
        meeting.writer.close()
        await until(lambda: meeting.closed, "the session was over")

    assert meet(act).closed == ["refused the greeting (hello-incompatible: only 1.5 here)"]


def test_a_controller_that_hangs_up_in_the_middle_of_a_message() -> None:
    async def act(meeting: Meeting) -> None:
        question = meeting.session.ask()
        meeting.writer.write(HELLO + BARRIER[:5])
        meeting.writer.close()
        await until(lambda: meeting.closed, "the session was over")
        assert await question is False
        assert not meeting.session.is_open
        assert await meeting.session.ask() is False
        meeting.session.send(FeaturesRequest())

    meeting = meet(act)
    assert meeting.closed == ["hung up"]
    assert len(meeting.heard) == 1


def test_answers_to_our_own_questions_are_kept_from_the_switch() -> None:
    async def act(meeting: Meeting) -> None:
        meeting.writer.write(HELLO)
        question = meeting.session.ask()
        asked = await meeting.receive()
        assert isinstance(asked, EchoRequest)
        meeting.writer.write(encode(EchoReply(xid=asked.xid), V13) + encode(EchoReply(xid=1), V13))
        assert await question is True
        await until(lambda: len(meeting.heard) == 2, "the other answer was heard")

    assert meet(act).heard[1:] == [EchoReply(xid=1)]


def test_a_silent_controller_is_asked_once_and_then_given_up() -> None:
    async def act(meeting: Meeting) -> None:
        meeting.writer.write(HELLO)
        await until(lambda: meeting.closed, "the session was given up")
        questions = await meeting.reader.read()
        assert len(questions) == 8 and isinstance(decode(questions), EchoRequest)

    meeting = meet(act, Patience(idle_s=0.05, dead_s=0.2))
    assert meeting.closed[0].startswith("answered nothing for 0.")


def test_one_that_never_greets_is_given_up() -> None:
    async def act(meeting: Meeting) -> None:
        await until(lambda: meeting.closed, "the session was given up")

    assert meet(act, Patience(greeting_s=0.05)).closed == ["did not greet within 0.05 seconds"]


def test_who_does_not_read_is_hung_up_on_however_much_he_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock._controllers.tcp.session.MOST_UNREAD", 8_000_000)
    waiting: list[int] = []

    async def act(meeting: Meeting) -> None:
        transport = meeting.session._transport
        assert transport is not None
        meeting.writer.write(HELLO)
        for _ in range(20):
            meeting.writer.write(BARRIER)
            for _ in range(100):
                meeting.session.send(EchoReply(b"y" * 60_000))
            waiting.append(transport.get_write_buffer_size())
            await asyncio.sleep(0)
        # What nobody will ever read is not kept either.
        assert transport.get_write_buffer_size() == 0

    assert meet(act).closed == ["does not read what it is sent"]
    assert max(waiting) < 8_100_000


def test_who_is_not_listened_to_can_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(meeting: Meeting) -> None:
        session, loop = meeting.session, asyncio.get_running_loop()
        meeting.writer.write(HELLO)
        await until(lambda: meeting.heard, "the greeting was heard")
        session.pause()
        meeting.writer.write(BARRIER)
        began, clock = loop.time(), session.listened_s()
        await until(lambda: loop.time() > began + 0.5, "a real silence would have been the end")
        assert session.is_paused and session.listened_s() == clock
        assert len(meeting.heard) == 1 and not meeting.closed
        session.resume()
        await until(lambda: len(meeting.heard) == 2, "what was said meanwhile was heard")
        assert session.listened_s() - clock < loop.time() - began - 0.4

    meet(act, Patience(idle_s=0.1, dead_s=0.2))


def test_a_port_that_nobody_listens_on_is_tried_again_and_then_told_of() -> None:
    port = ports.free_port()
    tries: list[int] = []

    def make() -> ControlSession:
        tries.append(1)
        return ControlSession(V13, on_message=lambda _: None, on_close=lambda: None)

    async def late() -> None:
        with pytest.raises(PenstockError, match="could not be reached"):
            await connect(make, ("127.0.0.1", port), limit_s=0.1, pause_s=0.02)
        trying = asyncio.create_task(connect(make, ("127.0.0.1", port), limit_s=10, pause_s=0.02))
        await asyncio.sleep(0)
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", port)
        with contextlib.closing(server):  # from Python 3.12 on, `async with` would wait for its connections
            assert isinstance(await trying, ControlSession)

    asyncio.run(late())
    assert len(tries) == 1
