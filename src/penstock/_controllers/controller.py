"""The base of controllers written for Penstock itself: a class with handlers, as in NICE's Figure 3."""

from __future__ import annotations

from typing import Final

from penstock._controllers import origins
from penstock._world.component import Send
from penstock.openflow.actions import Action, ApplyActions, Output
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import (
    NO_BUFFER,
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

FLOOD: Final = (Output(PortNo.FLOOD),)


class Controller:
    """The base of native controllers; each handler does nothing unless overridden."""

    openflow: str = "1.3"
    """The version of OpenFlow that the program speaks, "1.0" or "1.3", unless the scenario says so."""

    _outbox: list[Send]
    _code: list[tuple[str, str]]

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
        if origins.is_recording():
            self._code.append((switch, origins.calling_code()))

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
