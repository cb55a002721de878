"""Programs: what is done to a switch, step by step, the same for the model and for Open vSwitch.

Time stands still during a step and moves only in `Wait`.  Each wait is a whole number of seconds
plus `WAIT_SKEW_MS`, so that no two moments of a program are whole seconds apart, and no step
happens at the very millisecond at which a timeout (whole seconds, too) falls due.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.openflow.actions import instructions_text
from penstock.openflow.messages import (
    FlowFlag,
    FlowMod,
    OpenFlowMessage,
    PacketOut,
    PortNo,
)
from penstock.packet import describe

WAIT_SKEW_MS: Final = 13
DPID: Final = 0x2A
SWITCH: Final = "s1"
PORTS: Final = (1, 2, 3, 4)
CARRIER_PORT: Final = 4
"""The port whose cable is pulled; the others are taken down by port-mods only."""


def port_name(number: int) -> str:
    """Return the name of a port of the switch under test."""
    return SWITCH if number == PortNo.LOCAL else f"{SWITCH}-eth{number}"


def port_hw_addr(number: int) -> int:
    """Return the hardware address of a port of the switch under test."""
    return DPID if number == PortNo.LOCAL else 0x0200_0000_0000 + number


@dataclass(frozen=True, slots=True)
class Tell:
    """A controller sends a message."""

    controller: str
    message: OpenFlowMessage

    def __str__(self) -> str:
        return f"{self.controller} sends {_message_text(self.message)}"


@dataclass(frozen=True, slots=True)
class TellBytes:
    """A controller sends bytes that need not be a right message; `what` says what is wrong."""

    controller: str
    data: bytes
    what: str

    def __str__(self) -> str:
        return f"{self.controller} sends {self.what}: {self.data.hex()}"


@dataclass(frozen=True, slots=True)
class Arrive:
    """A frame arrives on a port."""

    port: int
    data: bytes

    def __str__(self) -> str:
        return f"on port {self.port} arrives [{describe(self.data)}]: {self.data.hex()}"


@dataclass(frozen=True, slots=True)
class Link:
    """A cable is pulled or plugged in."""

    port: int
    up: bool

    def __str__(self) -> str:
        return f"the link of port {self.port} goes {'up' if self.up else 'down'}"


@dataclass(frozen=True, slots=True)
class Wait:
    """Time passes."""

    milliseconds: int

    def __str__(self) -> str:
        return f"{self.milliseconds} ms pass"


Step = Tell | TellBytes | Arrive | Link | Wait


@dataclass(frozen=True, slots=True)
class Program:
    """The steps, and the session they are meant for; `seed` makes it again."""

    seed: int
    version: int
    controllers: tuple[str, ...]
    steps: tuple[Step, ...]


def _message_text(message: OpenFlowMessage) -> str:
    """Return a message with what its own text leaves out and a reader of a disagreement needs."""
    match message:
        case FlowMod():
            more = [
                f"{name}={value:#x}"
                for name, value, usual in (
                    ("cookie", message.cookie, 0),
                    ("cookie_mask", message.cookie_mask, 0),
                    ("out_port", message.out_port, PortNo.ANY),
                    ("out_group", message.out_group, 0xFFFFFFFF),
                    ("buffer_id", message.buffer_id, 0xFFFFFFFF),
                )
                if value != usual
            ]
            if message.flags:
                more.append(str(FlowFlag(message.flags)))
            if message.idle_timeout or message.hard_timeout:
                more.append(f"idle={message.idle_timeout} hard={message.hard_timeout}")
            if message.command >= 3 and message.instructions:
                more.append(instructions_text(message.instructions))
            return " ".join([str(message), *more])
        case PacketOut():
            return f"{message} in_port={message.in_port:#x} {message.data.hex()}"
        case _:
            return repr(message)
