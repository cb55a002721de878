"""A question is answered, let lie, or cut off by a controller that hangs up, which may be a process's end."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from tests.tcp_lab import until

from penstock._controllers.tcp.answers import Answers
from penstock._controllers.tcp.reconnecting_session import ReconnectingSession
from penstock.openflow.messages import V13, EchoReply, EchoRequest, Hello, OpenFlowMessage
from penstock.openflow.wire import decode, encode

ASKED = "fail s1-s2 (s1-c0)"
Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def heard_by(reader: asyncio.StreamReader) -> OpenFlowMessage:
    """Return the next message that the controller gets."""
    header = await reader.readexactly(8)
    return decode(header + await reader.readexactly(int.from_bytes(header[2:4], "big") - 8))


def asked(act: Callable[[Answers, ReconnectingSession, Ends], Awaitable[None]]) -> Answers:
    """Ask a question on a connected line, and let the test be the controller."""
    answers = Answers(limit_s=30.0)

    async def run() -> None:
        arrived: asyncio.Queue[Ends] = asyncio.Queue()
        server = await asyncio.start_server(lambda *ends: arrived.put_nowait(ends), "127.0.0.1", 0)
        line = ReconnectingSession(
            "s1",
            "c0",
            V13,
            server.sockets[0].getsockname(),
            on_up=lambda line: None,
            on_message=lambda line, message: None,
            on_refused=lambda line, text: None,
            on_down=lambda line: None,
        )
        with contextlib.closing(server):  # from Python 3.12 on, `async with` would wait for its connections
            line.want()
            ends = await arrived.get()
            ends[1].write(encode(Hello(frozenset({V13})), V13))
            await until(lambda: line.session is not None, "the line was connected")
            answers.ask(line, "fail s1-s2")
            assert answers.are_awaited
            await act(answers, line, ends)
            line.drop()
            ends[1].close()

    asyncio.run(run())
    return answers


async def hang_up(line: ReconnectingSession, writer: asyncio.StreamWriter) -> None:
    session = line.session
    assert session is not None
    writer.close()
    await until(lambda: not session.is_open, "the connection was over")


def test_an_answer_counts() -> None:
    async def act(answers: Answers, line: ReconnectingSession, ends: Ends) -> None:
        question = await heard_by(ends[0])
        assert isinstance(question, EchoRequest)
        ends[1].write(encode(EchoReply(data=question.data, xid=question.xid), V13))
        await until(lambda: not answers.are_awaited, "the answer was there")

    answers = asked(act)
    assert (answers.answered, answers.unanswered) == (1, [])


def test_a_controller_that_hangs_up_has_not_answered() -> None:
    async def act(answers: Answers, line: ReconnectingSession, ends: Ends) -> None:
        await hang_up(line, ends[1])

        def is_told() -> bool:
            answers.expire()
            return bool(answers.unanswered)

        await until(is_told, "the question was given up")
        assert not answers.are_awaited

    assert asked(act).unanswered == [ASKED]


def test_a_controller_that_hung_up_because_it_ended_is_not_said_to_be_silent() -> None:
    async def act(answers: Answers, line: ReconnectingSession, ends: Ends) -> None:
        await hang_up(line, ends[1])
        answers.expire()
        # Nobody knows yet whether the process has ended.
        assert answers.are_awaited and answers.unanswered == []
        answers.withdraw(line)
        assert not answers.are_awaited
        await answers.settle(1.0)

    assert asked(act).unanswered == []


def test_what_is_in_doubt_in_the_end_counts_as_unanswered() -> None:
    async def act(answers: Answers, line: ReconnectingSession, ends: Ends) -> None:
        await hang_up(line, ends[1])
        await answers.settle(1.0)

    assert asked(act).unanswered == [ASKED]
