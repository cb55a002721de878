"""Running a program on the switch model, through the wire codec in both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from bench.ovs.observation import PROBE, Observation
from bench.ovs.programs import (
    DPID,
    PORTS,
    SWITCH,
    Arrive,
    Link,
    Program,
    Step,
    Tell,
    TellBytes,
    Wait,
    port_hw_addr,
    port_name,
)
from penstock._world.component import Send
from penstock._world.component import Step as Reaction
from penstock._world.frame import Frame
from penstock._world.signals import FABRIC, Carrier
from penstock._world.switch import PortSpec, Switch, SwitchOptions
from penstock.openflow.error_codes import OpenFlowError
from penstock.openflow.messages import Error, OpenFlowMessage
from penstock.openflow.wire import decode, encode
from penstock.openflow.wire.codec import SentBytes, refusal_of

MakeSwitch = Callable[[Program], Switch]


def model_switch(program: Program) -> Switch:
    """Return the switch model that a program wants to be run on."""
    ports = tuple(PortSpec(number, port_name(number), port_hw_addr(number)) for number in PORTS)
    return Switch(SWITCH, DPID, ports, SwitchOptions(version=program.version), program.controllers)


def run_on_model(program: Program, make: MakeSwitch = model_switch) -> Iterator[Observation]:
    """Yield what the model shows at each step of a program."""
    return _Run(program, make(program)).steps()


class _Run:
    """A program on its way through the model."""

    def __init__(self, program: Program, switch: Switch) -> None:
        self._program, self._switch = program, switch
        self._state: Any = switch.initial()
        self._now = 0
        self._sent = {name: SentBytes(program.version) for name in program.controllers}

    def steps(self) -> Iterator[Observation]:
        for step in self._program.steps:
            sends = [
                *self._perform(step),
                *self._expire(),
                *self._tell(self._program.controllers[0], PROBE),
            ]
            frames: dict[int, tuple[bytes, ...]] = {}
            messages: dict[str, tuple[OpenFlowMessage, ...]] = {}
            for port, sent in sends:
                if isinstance(sent, Frame):
                    frames[int(port)] = (*frames.get(int(port), ()), sent.data)
                elif isinstance(sent, OpenFlowMessage):
                    messages[str(port)] = (*messages.get(str(port), ()), self._on_wire(str(port), sent))
            yield Observation(frames, messages)

    def _on_wire(self, controller: str, message: OpenFlowMessage) -> OpenFlowMessage:
        """Return a message as the other end of a session would read it."""
        if isinstance(message, Error):
            message = self._sent[controller].in_error(message)
        return decode(encode(message, self._program.version))

    def _after(self, reaction: Reaction) -> tuple[Send, ...]:
        self._state = reaction.state
        return reaction.sends

    def _perform(self, step: Step) -> tuple[Send, ...]:
        match step:
            case Tell(controller, message):
                return self._tell(controller, message)
            case TellBytes(controller, data):
                return self._hear(controller, data)
            case Arrive(port, data):
                return self._after(self._switch.receive(self._state, port, Frame(data)))
            case Link(port, up):
                return self._after(self._switch.receive(self._state, FABRIC, Carrier(port, up)))
            case Wait(milliseconds):
                self._now += milliseconds
                return self._after(self._switch.advance(self._state, self._now))

    def _expire(self) -> tuple[Send, ...]:
        """Let go what is due at once, as whoever drives a timed component does."""
        deadline = self._switch.deadline(self._state)
        if deadline is None or deadline > self._now:
            return ()
        return self._after(self._switch.advance(self._state, self._now))

    def _tell(self, controller: str, message: OpenFlowMessage) -> tuple[Send, ...]:
        return self._hear(controller, encode(message, self._program.version))

    def _hear(self, controller: str, data: bytes) -> tuple[Send, ...]:
        """Let the switch hear bytes; what the codec cannot read it refuses for the switch."""
        try:
            message = decode(data)
        except OpenFlowError as refused:
            return (Send(controller, refusal_of(data, refused, self._program.version)),)
        self._sent[controller].keep(data)
        return self._after(self._switch.receive(self._state, controller, replace(message)))
