"""A controller for unboundedly many packets (MOCS §2.2): the real program, with sets around it.

Requests (packet_in), barrier replies and all other news (flow_removed, errors, answers to questions) wait in
sets.  `ctrl` runs the program's handler on a request, `bsync` on a barrier reply, `gone` on news of a rule
and `hear` on other news; what the handler sends goes into the switches' queues at once.  The program is
whatever runs as a component: a native controller or an os-ken app.  Its state is part of the state, so a
proof needs a program that has finitely many; its timers are not run.

A number is left on a rule or a packet that is sent only if the program may know it again when that is
refused: it chose it, or keeps it in memory.  Packets are not counted and no time passes, so a switch that
tells how much it has counted says nothing.  Of a rule that is gone the program is told twice, with nothing
counted and with much, to see if it minds.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from sys import intern
from typing import Any, Final, NamedTuple, TypeVar

from penstock._controllers import origins
from penstock._controllers.native import NativeController
from penstock._controllers.osken.sessions import held_xids
from penstock._controllers.watched import Rolls
from penstock._explore.reexecution import MOST_STEPS, Remembered
from penstock._verify.naming import named
from penstock._verify.observations import Experience
from penstock._verify.variables import snapshot_of
from penstock._world.component import Component, Event, Port, Send, Step
from penstock._world.frame import Frame
from penstock.openflow.messages import (
    BarrierReply,
    FlowMod,
    FlowRemoved,
    OpenFlowMessage,
    PacketIn,
    PacketOut,
)

CONTROL: Final = "ctrl"
SYNCHRONISE: Final = "bsync"
LEARN: Final = "gone"
HEAR: Final = "hear"

T = TypeVar("T")


class Request(NamedTuple):
    """A packet that a switch has handed over."""

    switch: str
    message: PacketIn

    def __str__(self) -> str:
        message = self.message
        return f"{self.switch} {message.in_port} {Frame(message.data, message.tag)}"


class Reply(NamedTuple):
    """A switch's answer to a barrier."""

    switch: str
    message: BarrierReply

    def __str__(self) -> str:
        return f"{self.switch} {self.message.xid}"


class News(NamedTuple):
    """A switch's word that a rule is gone, that it refuses something, or whatever else it was asked for."""

    switch: str
    message: OpenFlowMessage

    def __str__(self) -> str:
        return f"{self.switch} {self.message}"


Subject = Request | Reply | News
"""What a program can be given."""


@dataclass(frozen=True, slots=True)
class ControllerQueues:
    """The state of an abstract controller: the program's, and what waits for it."""

    inner: Hashable
    requests: frozenset[Request] = frozenset()
    replies: frozenset[Reply] = frozenset()
    news: frozenset[News] = frozenset()


class AbstractController:
    """A controller whose queues are sets; see the module."""

    def __init__(self, inner: Component, experience: Experience) -> None:
        self.name = inner.name
        self.inner = inner
        self._experience = experience
        if isinstance(inner, Rolls):
            inner.rolls = False
        self.remembered: dict[tuple[Hashable, Subject], Remembered] = {}
        """Some of the steps that the program has made."""
        self._waiting: dict[frozenset[Any], frozenset[Any]] = {frozenset(): frozenset()}
        """The contents that queues have had: there are few, each in very many states."""

        self._last: tuple[ControllerQueues, dict[str, Subject]] | None = None
        """What was possible last: whoever asks has it done next, one thing after the other."""
        self._steps: dict[tuple[Hashable, Subject], Step] = {}
        self._programs: dict[Hashable, Hashable] = {}
        """The program's states, each kept once."""

    def initial(self) -> ControllerQueues:
        """Return the program's first state, with nothing waiting."""
        return ControllerQueues(self.inner.initial())

    def actions(self, state: ControllerQueues) -> tuple[str, ...]:
        """Return which handlers may run."""
        return tuple(self._possible(state))

    def _possible(self, state: ControllerQueues) -> dict[str, Subject]:
        if self._last is not None and self._last[0] is state:
            return self._last[1]
        found: dict[str, Subject] = {}
        self._last = (state, found)
        found.update((intern(f"{CONTROL} {name}"), each) for name, each in named(state.requests).items())
        found.update((intern(f"{SYNCHRONISE} {name}"), each) for name, each in named(state.replies).items())
        found.update((intern(f"{_hearing(each)} {name}"), each) for name, each in named(state.news).items())
        return found

    def act(self, state: ControllerQueues, action: str) -> Step:
        """Run the program's handler on something that waits for it."""
        subject = self._possible(state)[action]
        # With much waiting, the same comes up in many states; else whoever searches remembers it.
        crowded = len(state.requests) + len(state.replies) + len(state.news) > 1
        step = (self._remembered if crowded else self.handled)(state.inner, subject)
        self._experience.handled(state.inner, subject, step)
        if isinstance(subject, News) and isinstance(subject.message, FlowRemoved):
            used = subject._replace(message=_in_long_use(subject.message))
            self._experience.counted |= self.handled(state.inner, used) != self.handled(state.inner, subject)
        requests, replies = state.requests - {subject}, state.replies - {subject}
        left = ControllerQueues(
            step.state, self._shared(requests), self._shared(replies), self._shared(state.news - {subject})
        )
        event = Event(action.partition(" ")[0], (subject.switch, subject.message))
        return step._replace(state=left, events=(event, *step.events))

    def _shared(self, queue: frozenset[T]) -> frozenset[T]:
        return self._waiting.setdefault(queue, queue)

    def handled(self, inner: Hashable, subject: Subject) -> Step:
        """Return what the program does with something in one of its states."""
        step = self.inner.receive(inner, subject.switch, subject.message)
        self._experience.note_memory(step.state)
        if len(self.remembered) < MOST_STEPS and not origins.is_recording():
            key = (inner, subject)
            self.remembered[key] = Remembered(
                self.name,
                subject,
                lambda: self.inner.receive(inner, subject.switch, subject.message),
                step,
                inner,
                (subject.switch, subject.message),
            )
        held = None if isinstance(self.inner, NativeController) else _numbers_in(step.state)
        return step._replace(
            state=self._programs.setdefault(step.state, step.state),
            sends=tuple(sent if held is None else _numbered(sent, held) for sent in step.sends),
        )

    def _remembered(self, inner: Hashable, subject: Subject) -> Step:
        """Return the same, the program's code having run once for it."""
        if origins.is_recording():
            # Such steps also say which code did what, and others do not.
            return self.handled(inner, subject)
        key = (inner, subject)
        step = self._steps.get(key)
        if step is None:
            step = self._steps[key] = self.handled(inner, subject)
        return step

    def receive(self, state: ControllerQueues, port: Port, message: Any) -> Step:
        """Hear of the physical world, as the program does."""
        step = self.inner.receive(state.inner, port, message)
        return step._replace(state=replace(state, inner=step.state))

    def collect(self, state: ControllerQueues, port: Port, message: Any) -> Hashable | None:
        """Let a request, a barrier reply or news wait."""
        switch = str(port)
        if isinstance(message, PacketIn):
            request = Request(switch, replace(message, xid=0) if message.xid else message)
            return replace(state, requests=self._shared(state.requests | {request}))
        if isinstance(message, BarrierReply):
            reply = Reply(switch, message)
            self._experience.repeated_replies |= reply in state.replies
            return replace(state, replies=self._shared(state.replies | {reply}))
        if isinstance(message, OpenFlowMessage):
            news = News(switch, replace(message, xid=0) if isinstance(message, FlowRemoved) else message)
            return replace(state, news=self._shared(state.news | {news}))
        return None


def _hearing(news: News) -> str:
    """Return what it is called that the program is given news."""
    return LEARN if isinstance(news.message, FlowRemoved) else HEAR


def _numbers_in(program: object) -> frozenset[int]:
    """Return the numbers of messages that a program remembers."""
    snapshot = snapshot_of(program)
    return frozenset() if snapshot is None else held_xids(snapshot)


def _numbered(sent: Send, held: frozenset[int]) -> Send:
    """Return what is sent, without its number if that says nothing to anybody."""
    message = sent.message
    if isinstance(message, FlowMod | PacketOut) and message.xid and message.xid not in held:
        return sent._replace(message=replace(message, xid=0))
    return sent


def _in_long_use(message: FlowRemoved) -> FlowRemoved:
    """Return what a rule that had much to do for long would have said of itself."""
    return replace(message, duration_sec=3600, packet_count=100_000, byte_count=100_000_000)
