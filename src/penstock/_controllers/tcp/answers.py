"""Whether controllers answer: each question is an echo request, due within a time.

The time is the session's own, which stands still while the controller is not listened to.  A question that
we ourselves made pointless, by hanging up or by not listening in the end, is withdrawn; one on which the
controller hung up, or that it let lie, counts as unanswered.

A process that ends hangs up first, and is known to have ended a moment later.  Then it was the end, which is
told by itself, and no want of an answer.  So a question on which the controller hung up stays open for that
moment, in which it may still be withdrawn.

That a controller has answered an echo does not mean that it is through with what it heard before: in
many, other threads do the work.  But a controller that works uses a processor, or waits for one.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from penstock._controllers.tcp.reconnecting_session import ReconnectingSession
from penstock._controllers.tcp.session import ControlSession

_ENDING_S: Final = 0.2
"""How much later than its connections' end that of a process may be noticed."""


class _Question(NamedTuple):
    after: str
    line: str
    session: ControlSession
    due: float
    """By the session's clock."""


class Answers:
    """The questions that are open, and what became of the others."""

    def __init__(self, limit_s: float) -> None:
        self.answered = 0
        """How many were answered in time."""
        self.unanswered: list[str] = []
        """What the others were asked after, each with the session."""
        self._limit_s = limit_s
        self._open: dict[asyncio.Future[bool], _Question] = {}
        self._hung_up: list[tuple[_Question, float]] = []
        """The questions on which controllers hung up that may be ending, each with when it did."""

    @property
    def are_awaited(self) -> bool:
        """Whether questions are open that the controllers are listened to for, or may have ended on."""
        return bool(self._hung_up) or any(not question.session.is_paused for question in self._open.values())

    def ask(self, line: ReconnectingSession, after: str) -> None:
        """Ask on a line whether the controller has heard what we sent before."""
        session = line.session
        if session is not None:
            answer = session.ask()
            self._open[answer] = _Question(after, line.name, session, session.listened_s() + self._limit_s)
            answer.add_done_callback(self._note)

    def _note(self, answer: asyncio.Future[bool]) -> None:
        question = self._open.pop(answer, None)
        if question is not None:
            if answer.result():
                self.answered += 1
            else:
                self._hung_up.append((question, time.monotonic()))

    def _miss(self, question: _Question) -> None:
        self.unanswered.append(f"{question.after} ({question.line})")

    def withdraw(self, line: ReconnectingSession) -> None:
        """Expect no more answers on a line that we hang up."""
        self._open = {answer: asked for answer, asked in self._open.items() if asked.line != line.name}
        self._hung_up = [(asked, when) for asked, when in self._hung_up if asked.line != line.name]

    def expire(self) -> None:
        """Count those as unanswered whose time is over."""
        now = time.monotonic()
        while self._hung_up and now - self._hung_up[0][1] > _ENDING_S:
            self._miss(self._hung_up.pop(0)[0])
        for answer, question in list(self._open.items()):
            if question.session.listened_s() > question.due:
                del self._open[answer]
                self._miss(question)

    async def settle(self, limit_s: float) -> None:
        """Wait for the open questions for a while; whatever is still open then is unanswered."""
        if self._open:
            await asyncio.wait(set(self._open), timeout=min(limit_s, self._limit_s))
        if self._hung_up:
            await asyncio.sleep(_ENDING_S)
        for question, _ in self._hung_up:
            self._miss(question)
        self._hung_up.clear()
        for question in self._open.values():
            if not question.session.is_paused:
                self._miss(question)
        self._open.clear()


# Whether processes are at work, as the scheduler sees it.


_AT_WORK: Final = ("R", "D")


class Activity(NamedTuple):
    """The processor time used so far, in nanoseconds, and whether a thread runs or wants to run."""

    used_ns: int
    at_work: bool


def activity(processes: Iterable[int]) -> Activity:
    """Return how busy these processes are and were; one that has gone counts for nothing."""
    used, at_work = 0, False
    for process in processes:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{process}/task").iterdir():
                with contextlib.suppress(OSError):
                    state = (thread / "stat").read_text().rpartition(")")[2].split()[0]
                    at_work = at_work or state in _AT_WORK
                    used += int((thread / "schedstat").read_text().split()[0])
    return Activity(used, at_work)
