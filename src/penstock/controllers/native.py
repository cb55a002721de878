"""Small controllers written for Penstock itself: a class with handlers, as in NICE's Figure 3.

    class Hub(Controller):
        def packet_in(self, switch, message):
            self.packet_out(switch, message, FLOOD)

The handlers may keep whatever they like in attributes of `self`; they must not depend on anything
else.  `install`, `packet_out` and `send` say what the switches are to be told, and are carried out
when the handler is over.
"""

from __future__ import annotations

import sys
import traceback
from types import ModuleType
from typing import Any, Final

from penstock.controllers.deadline import TookTooLong, deadline
from penstock.controllers.reactions import Reaction
from penstock.controllers.snapshot import Heap, Snapshot
from penstock.openflow.actions import Action, ApplyActions, Output
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import (
    NO_BUFFER,
    V13,
    Error,
    FlowCommand,
    FlowMod,
    FlowRemoved,
    OpenFlowMessage,
    PacketIn,
    PacketOut,
    PortNo,
    PortStatus,
)
from penstock.openflow.stats import StatsReply
from penstock.symbolic.code.in_place import follow_modules, sources, with_neighbours
from penstock.symbolic.packets.inputs import Question
from penstock.symbolic.run import TooManyDecisions, unnoticed
from penstock.symbolic.space import Inputs
from penstock.world.component import Event, Port, Send, Step
from penstock.world.signals import FABRIC, Carrier, Power

FLOOD: Final = (Output(PortNo.FLOOD),)


class Controller:
    """The base of native controllers; each handler does nothing unless overridden."""

    _outbox: list[Send]

    # For subclasses to say.

    def switch_join(self, switch: str) -> None:
        """A switch has opened its session."""

    def switch_leave(self, switch: str) -> None:
        """A switch's session is gone."""

    def packet_in(self, switch: str, message: PacketIn) -> None:
        """A switch hands over a packet."""

    def port_status(self, switch: str, message: PortStatus) -> None:
        """A port of a switch changed."""

    def flow_removed(self, switch: str, message: FlowRemoved) -> None:
        """A flow entry of a switch is gone."""

    def stats(self, switch: str, message: StatsReply) -> None:
        """A switch answers a question."""

    def error(self, switch: str, message: Error) -> None:
        """A switch refuses a message."""

    def other(self, switch: str, message: OpenFlowMessage) -> None:
        """A switch sends anything else."""

    # For subclasses to use.

    def send(self, switch: str, message: OpenFlowMessage) -> None:
        """Send any message to a switch."""
        self._outbox.append(Send(switch, message))

    def install(
        self,
        switch: str,
        match: Match = ANYTHING,
        actions: tuple[Action, ...] = (),
        *,
        buffer_id: int = NO_BUFFER,
        **options: int,
    ) -> None:
        """Add a rule; `buffer_id` has the switch send that packet by it."""
        instructions = (ApplyActions(actions),) if actions else ()
        self.send(switch, FlowMod(FlowCommand.ADD, match, instructions, buffer_id=buffer_id, **options))

    def packet_out(self, switch: str, message: PacketIn, actions: tuple[Action, ...]) -> None:
        """Have a switch send on a packet that it handed over."""
        data = message.data if message.buffer_id == NO_BUFFER else b""
        self.send(switch, PacketOut(message.buffer_id, message.in_port, actions, data, message.tag))


_HANDLERS: Final = (
    (PacketIn, Controller.packet_in.__name__),
    (PortStatus, Controller.port_status.__name__),
    (FlowRemoved, Controller.flow_removed.__name__),
    (StatsReply, Controller.stats.__name__),
    (Error, Controller.error.__name__),
)


_HANDLER_NAMES: Final = (
    *(name for _, name in _HANDLERS),
    Controller.switch_join.__name__,
    Controller.switch_leave.__name__,
    Controller.other.__name__,
)


class NativeController:
    """A native controller as a component of the world."""

    sees_numbers = True

    def __init__(
        self,
        program: Controller,
        switches: tuple[str, ...],
        name: str = "c0",
        *,
        seconds: float = 2.0,
        version: int = V13,
        followed: bool = False,
    ) -> None:
        self.name = name
        self.version = version
        self.switches = switches
        self.seconds = seconds
        """How long a handler may compute before it is taken for endless."""
        self._program = program
        self._program._outbox = []
        self._left_out = frozenset(
            name for name in _HANDLER_NAMES if getattr(type(program), name) is getattr(Controller, name)
        )
        """The handlers that the program's class does not have."""
        # The order of keys counts: a program that goes through a dictionary can depend on it.
        self._heap = Heap([program], ordered=True)
        self._first = self._heap.take()
        self._current: Snapshot | None = self._first
        if followed:
            follow_modules(self._modules())

    def _modules(self) -> list[ModuleType]:
        """Return the modules that the program's class comes from, and those beside them that they use."""
        kinds = type(self._program).__mro__
        return with_neighbours([sys.modules[kind.__module__] for kind in kinds[: kinds.index(Controller)]])

    def sources(self) -> list[str]:
        """Return the source texts of the program."""
        return sources(self._modules())

    def initial(self) -> tuple[tuple[str, ...], Snapshot]:
        """Return the program as it was made, with every switch still to join."""
        return self.switches, self._first

    def actions(self, state: tuple[tuple[str, ...], Snapshot]) -> tuple[str, ...]:
        """Return which switches may join now."""
        return tuple(f"join {switch}" for switch in state[0])

    def act(self, state: tuple[tuple[str, ...], Snapshot], action: str) -> Step:
        """Let a switch join."""
        switch = action.removeprefix("join ")
        waiting = tuple(name for name in state[0] if name != switch)
        return self._run(waiting, state[1], "switch_join", switch)

    def receive(self, state: tuple[tuple[str, ...], Snapshot], port: Port, message: Any) -> Step:
        """Have the program handle what a switch sent, or that a session came or went."""
        if port == FABRIC:
            return self._signal(state, message)
        return self._run(state[0], state[1], _handler_of(message), str(port), message)

    def _signal(self, state: tuple[tuple[str, ...], Snapshot], signal: Carrier | Power) -> Step:
        if isinstance(signal, Power):
            return Step(((), self._first))
        switch = str(signal.port)
        if signal.up:
            return Step(((*state[0], switch), state[1]))
        waiting = tuple(name for name in state[0] if name != switch)
        return self._run(waiting, state[1], "switch_leave", switch)

    def hears(self, state: tuple[tuple[str, ...], Snapshot], switch: str) -> bool:
        """Tell whether the program would take in what a switch sends."""
        return switch not in state[0]

    def pose(
        self, state: tuple[tuple[str, ...], Snapshot], switch: str, question: Question, inputs: Inputs
    ) -> Reaction:
        """Run a handler on a message whose contents are followed, and forget what it did."""
        message = question.follow_native(inputs)
        state[1].restore()
        self._current = None
        return self._call(_handler_of(message), switch, message)

    def _run(self, waiting: tuple[str, ...], before: Snapshot, handler: str, *arguments: object) -> Step:
        """Run one handler on the program as it was before."""
        if before is not self._current:
            before.restore()
            self._current = before
        if handler in self._left_out and handler not in vars(self._program):
            return Step((waiting, before))
        sends, events = self._call(handler, *arguments)
        self._current = self._heap.take()
        return Step((waiting, self._current), sends, events)

    def _call(self, handler: str, *arguments: object) -> Reaction:
        """Run one handler on the program as it is."""
        outbox = self._program._outbox = []
        events: tuple[Event, ...] = ()
        try:
            with deadline(self.seconds):
                getattr(self._program, handler)(*arguments)
        except TookTooLong as late:
            events = (Event("hung", (self.name, f"{handler}: {late}")),)
        except (KeyboardInterrupt, TooManyDecisions):
            raise
        except BaseException as error:
            # What is written about a crash decides nothing.
            with unnoticed():
                # The story begins in the program; what called it is not its business.
                begin = error.__traceback__ and error.__traceback__.tb_next
                text = "".join(traceback.format_exception(type(error), error, begin))
                events = (Event("crashed", (self.name, f"{type(error).__name__}: {error}", text)),)
        self._program._outbox = []
        return Reaction(tuple(outbox), events)


def _handler_of(message: object) -> str:
    """Return the name of the handler for a message."""
    return next((handler for kind, handler in _HANDLERS if isinstance(message, kind)), "other")
