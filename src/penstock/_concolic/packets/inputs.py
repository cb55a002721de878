"""Questions put to a controller: messages whose contents are inputs.

A question is made from a template, a message as a switch sends it.  What it leaves open is what the
controller might decide by: the packet in a packet_in, the counters in statistics, why a flow entry
went away, what happened to a port.  What identifies things - ports, matches, cookies - stays as it is.

For given inputs there is the plain message, and the same message to be followed: as our own controllers
get it, and as os-ken's parser made it.
"""

from __future__ import annotations

import copy
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import Any, Final

from penstock._concolic.packets.frames import FrameSpace
from penstock._concolic.space import Inputs, Space, Variable
from penstock._concolic.terms import FALSE, Term, bit_and, const, eq, le
from penstock._concolic.values.integers import integer
from penstock._concolic.values.unknown import taint_match
from penstock.errors import PenstockError
from penstock.openflow.match import port_text
from penstock.openflow.messages import (
    V10,
    V13,
    FlowRemoved,
    FlowRemovedReason,
    OpenFlowMessage,
    PacketIn,
    PortReason,
    PortStatus,
)
from penstock.openflow.stats import Aggregate, Flows, Ports, Queues, StatsReply, Tables
from penstock.packet import describe

Step = str | int
"""One step into a message: an attribute, or a place in a tuple."""


class Question(ABC):
    """A message whose contents are inputs."""

    space: Space

    @abstractmethod
    def message(self, inputs: Inputs) -> OpenFlowMessage:
        """Return the message that the inputs make."""

    @abstractmethod
    def follow_native(self, inputs: Inputs) -> OpenFlowMessage:
        """Return the message that the inputs make, to be followed."""

    @abstractmethod
    def follow_osken(self, inputs: Inputs, msg: Any) -> None:
        """Have the message that os-ken made of the same one followed."""

    @abstractmethod
    def describe(self, inputs: Inputs) -> str:
        """Return in a short phrase what the message says."""


class ReadBack(Question):
    """A message about rules, or an error that quotes one: nobody knows what of the packets is in that."""

    space = Space((), ())

    def __init__(self, template: OpenFlowMessage) -> None:
        self.template = template

    def message(self, _inputs: Inputs) -> OpenFlowMessage:
        """Return the message."""
        return self.template

    def follow_native(self, _inputs: Inputs) -> OpenFlowMessage:
        """Return a message like it, of which that is known."""
        made = deepcopy(self.template)
        taint_match(made)
        return made

    def follow_osken(self, _inputs: Inputs, msg: Any) -> None:
        """Have os-ken's message be one of which that is known."""
        taint_match(msg)

    def describe(self, _inputs: Inputs) -> str:
        """Return the message in words."""
        return str(self.template)


class PacketQuestion(Question):
    """A packet_in with any packet in it.

    `cut` is how many bytes of a packet the switch hands over, if it does not hand over all: longer
    packets are then left out.
    """

    def __init__(self, template: PacketIn, frames: FrameSpace, *, cut: int | None = None) -> None:
        self.template = template
        self.frames = frames
        self.space = frames.space
        if cut is not None:
            fits = le(frames.length, const(cut))
            self.space = Space(self.space.variables, (*self.space.constraints, fits))

    def message(self, inputs: Inputs) -> PacketIn:
        """Return the packet_in with the packet that the inputs make."""
        data = self.frames.data(inputs)
        return dataclasses.replace(self.template, data=data, total_len=len(data))

    def follow_native(self, inputs: Inputs) -> PacketIn:
        """Return the packet_in with a packet that is followed."""
        frame = self.frames.follow(inputs)
        return dataclasses.replace(self.template, data=frame, total_len=frame.length)

    def follow_osken(self, inputs: Inputs, msg: Any) -> None:
        """Have the packet in os-ken's packet_in followed."""
        around = msg.msg_len - len(msg.data)
        msg.data = self.frames.follow(inputs)
        msg.total_len = msg.data.length
        msg.msg_len = around + msg.total_len

    def describe(self, inputs: Inputs) -> str:
        """Return what the packet is."""
        return describe(self.frames.data(inputs))


@dataclass(frozen=True, slots=True)
class Slot:
    """A number in a message that is an input: how to get to it, here and in os-ken's message."""

    variable: Variable
    path: tuple[Step, ...]
    osken_path: tuple[Step, ...]
    names: type[IntEnum] | None = None
    rule: Term | None = None
    """What is always true of it."""

    def text(self, value: int) -> str:
        """Return the number as people read it, with its name."""
        name = self.variable.name.replace(".", " ")
        if self.names is not None:
            return f"{name}={self.names(value).name.lower()}"
        return f"{name}={value:#x}" if self.variable.kind == "hex" else f"{name}={value}"


class SlotQuestion(Question):
    """A message some of whose numbers are inputs."""

    def __init__(self, template: OpenFlowMessage, slots: Iterable[Slot]) -> None:
        self.template = template
        self.slots = tuple(slots)
        rules = tuple(slot.rule for slot in self.slots if slot.rule is not None)
        self.space = Space(tuple(slot.variable for slot in self.slots), rules)

    def message(self, inputs: Inputs) -> OpenFlowMessage:
        """Return the message with these numbers."""
        return self._filled({slot: inputs[slot.variable.name] for slot in self.slots})

    def follow_native(self, inputs: Inputs) -> OpenFlowMessage:
        """Return the message with these numbers followed."""
        return self._filled(self._followed(inputs))

    def follow_osken(self, inputs: Inputs, msg: Any) -> None:
        """Have these numbers followed in os-ken's message."""
        for slot, value in self._followed(inputs).items():
            first, *rest = slot.osken_path
            assert isinstance(first, str)
            setattr(msg, first, _in_osken(getattr(msg, first), rest, value))

    def describe(self, inputs: Inputs) -> str:
        """Return the message in words, with the numbers that are not the template's."""
        own = {slot.variable.name: _at(self.template, slot.path) for slot in self.slots}
        differ = [
            slot.text(inputs[slot.variable.name])
            for slot in self.slots
            if inputs[slot.variable.name] != own[slot.variable.name]
        ]
        return f"{self.template} with {', '.join(differ)}" if differ else str(self.template)

    @cached_property
    def _terms(self) -> Mapping[Slot, Term]:
        return {slot: slot.variable.term for slot in self.slots}

    def _followed(self, inputs: Inputs) -> dict[Slot, int]:
        return {slot: integer(inputs[slot.variable.name], term) for slot, term in self._terms.items()}

    def _filled(self, values: Mapping[Slot, int]) -> OpenFlowMessage:
        message: OpenFlowMessage = _filled(
            self.template, {slot.path: value for slot, value in values.items()}
        )
        return message


class FlowRemovedQuestion(SlotQuestion):
    """A flow_removed for any reason, after any time, with any counts."""

    def __init__(self, template: FlowRemoved, version: int = V13) -> None:
        last = FlowRemovedReason.DELETE if version == V10 else FlowRemovedReason.GROUP_DELETE
        reason = _slot("reason", 2, template, ("reason",), names=FlowRemovedReason, most=last)
        numbers = {name: _WIDTHS[name] for name in _COUNTS}
        super().__init__(template, (reason, *_slots(numbers, template, (), ())))


class PortStatusQuestion(SlotQuestion):
    """A port_status for any reason, of a port configured in any way, in any state."""

    def __init__(self, template: PortStatus, version: int = V13) -> None:
        config, state = (0x7F, 0x301) if version == V10 else (0x65, 0x7)
        super().__init__(
            template,
            (
                _slot("reason", 2, template, ("reason",), names=PortReason, most=PortReason.MODIFY),
                _slot("config", 7, template, ("desc", "config"), kind="hex", among=config),
                _slot("state", 10, template, ("desc", "state"), kind="hex", among=state),
            ),
        )


class StatsQuestion(SlotQuestion):
    """Statistics with any numbers in them, of the ports, flow entries, tables and queues there are."""

    def __init__(self, template: StatsReply) -> None:
        super().__init__(template, _counters(template))


_COUNTS: Final = ("packet_count", "byte_count", "duration_sec", "duration_nsec")
_WIDTHS: Final[Mapping[str, int]] = {
    "flow_count": 32,
    "active_count": 32,
    "duration_sec": 32,
    "duration_nsec": 30,
    **dict.fromkeys(("packet_count", "byte_count", "lookup_count", "matched_count", "collisions"), 64),
    **{
        f"{way}_{what}": 64
        for way in ("rx", "tx")
        for what in ("packets", "bytes", "dropped", "errors", "frame_err", "over_err", "crc_err")
    },
}
"""The numbers in statistics that count something, with their bits."""

_SECOND: Final = 1_000_000_000


def _counters(reply: StatsReply) -> Iterator[Slot]:
    match reply.body:
        case Aggregate() as total:
            yield from _slots(_counted(total), reply, ("body",), ("body",), "aggregate.")
        case Ports(ports):
            for at, port in enumerate(ports):
                name = f"port.{port_text(port.port_no)}."
                yield from _slots(_counted(port), reply, ("body", "ports", at), ("body", at), name)
        case Flows(flows):
            for at, flow in enumerate(flows):
                yield from _slots(_counted(flow), reply, ("body", "flows", at), ("body", at), f"flow.{at}.")
        case Tables(tables):
            for at, table in enumerate(tables):
                name = f"table.{table.table_id}."
                yield from _slots(_counted(table), reply, ("body", "tables", at), ("body", at), name)
        case Queues(queues):
            for at, queue in enumerate(queues):
                name = f"port.{port_text(queue.port_no)}.queue.{queue.queue_id}."
                yield from _slots(_counted(queue), reply, ("body", "queues", at), ("body", at), name)
        case _:
            return


def _counted(entry: Any) -> dict[str, int]:
    names = (made.name for made in dataclasses.fields(entry))
    return {name: _WIDTHS[name] for name in names if name in _WIDTHS}


def _slots(
    widths: Mapping[str, int],
    template: OpenFlowMessage,
    path: tuple[Step, ...],
    osken_path: tuple[Step, ...],
    prefix: str = "",
) -> Iterator[Slot]:
    """Return a slot for each of some numbers in one place of a message."""
    for name, width in widths.items():
        most = _SECOND - 1 if name == "duration_nsec" else None
        yield _slot(prefix + name, width, template, (*path, name), osken_path=(*osken_path, name), most=most)


def _slot(
    name: str,
    width: int,
    template: OpenFlowMessage,
    path: tuple[Step, ...],
    *,
    osken_path: tuple[Step, ...] | None = None,
    names: type[IntEnum] | None = None,
    kind: str = "number",
    most: int | None = None,
    among: int | None = None,
) -> Slot:
    """Return a slot, bounded by the `most` it may be or the bits it may be `among`."""
    preferred = tuple(dict.fromkeys((int(_at(template, path)), 0)))
    variable = Variable(name, width, preferred, kind)
    rule = None
    if most is not None:
        rule = le(variable.term, const(most))
    elif among is not None:
        rule = eq(bit_and(variable.term, const(((1 << width) - 1) & ~among)), FALSE)
    return Slot(variable, path, osken_path or path, names, rule)


def question_about(template: OpenFlowMessage, version: int = V13) -> Question:
    """Return the question that a message of a session in some version leaves open."""
    match template:
        case FlowRemoved():
            return FlowRemovedQuestion(template, version)
        case PortStatus():
            return PortStatusQuestion(template, version)
        case StatsReply():
            return StatsQuestion(template)
    raise PenstockError(
        f"The contents of {type(template).__name__} are not looked for: give statistics, a port_status or "
        f"a flow_removed."
    )


# Numbers deep in messages.


def _at(message: Any, path: tuple[Step, ...]) -> Any:
    for step in path:
        message = getattr(message, step) if isinstance(step, str) else message[step]
    return message


def _filled(value: Any, numbers: Mapping[tuple[Step, ...], int]) -> Any:
    """Return a message, or a part of one, with numbers in it replaced."""
    inner: dict[Step, dict[tuple[Step, ...], int]] = {}
    for path, number in numbers.items():
        if not path:
            return number
        inner.setdefault(path[0], {})[path[1:]] = number
    if isinstance(value, tuple):
        return tuple(_filled(part, inner[at]) if at in inner else part for at, part in enumerate(value))
    changes = {str(name): _filled(getattr(value, str(name)), part) for name, part in inner.items()}
    return dataclasses.replace(value, **changes)


def _in_osken(value: Any, path: list[Step], number: int) -> Any:
    """Return a part of os-ken's message with a number in it replaced; what has no such number, as it is."""
    if not path:
        return number
    first, *rest = path
    if isinstance(first, int):
        made = list(value) if isinstance(value, list) else [value]
        made[first] = _in_osken(made[first], rest, number)
        return made if isinstance(value, list) else made[0]
    if isinstance(value, list):
        # Version 1.0 has a list where 1.3 has one thing.
        return [_in_osken(part, path, number) for part in value]
    if not hasattr(value, first):
        return value
    inner = _in_osken(getattr(value, first), rest, number)
    if isinstance(value, tuple):
        replaced = value._replace(**{first: inner})  # type: ignore[attr-defined]
        vars(replaced).update(vars(value))
        return replaced
    made_object = copy.copy(value)
    setattr(made_object, first, inner)
    return made_object
