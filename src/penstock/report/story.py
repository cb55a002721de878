"""A run told in words, for somebody who never saw the tool.

Each step is one numbered sentence of who did what, and below it what came of it: the rule that
decided, the packet that left, what the controller answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from penstock.openflow.messages import (
    NO_BUFFER,
    OpenFlowMessage,
    PacketIn,
    PacketOut,
)
from penstock.world.component import Event
from penstock.world.frame import Frame
from penstock.world.packet import describe
from penstock.world.signals import FABRIC, Carrier, Power
from penstock.world.transition import ACT, TIME, InFlight, Record

_INDENT = "     "


_NAMED = re.compile(r"(\S+#\d+) \[([^\]]*)\]")


def tell(records: Iterable[Record], *, first: int = 1) -> Iterator[str]:
    """Yield the lines of a run's story."""
    for number, told in enumerate(sentences(records), first):
        yield from numbered(number, told)


def numbered(number: int, told: Sequence[str]) -> Iterator[str]:
    """Yield the lines of one step: its sentence with its number, below it what came of it."""
    for index, text in enumerate(told):
        yield f"{_INDENT}{text}" if index else f"{number:>3}. {text}"


def sentences(records: Iterable[Record]) -> Iterator[tuple[str, ...]]:
    """Yield what is told of each step; a packet is described once and then called by its name."""
    known: dict[str, str] = {}

    def named(found: re.Match[str]) -> str:
        tag, phrase = found.groups()
        if known.get(tag) == phrase:
            return tag
        known[tag] = phrase
        return found.group()

    for record in records:
        yield tuple(_NAMED.sub(named, text) for text in (headline(record), *consequences(record)))


def headline(record: Record) -> str:
    """Return what happened, in one sentence."""
    verb, node, what = record.transition
    if verb == ACT:
        return _action(node, str(what), record)
    if verb == TIME:
        return f"Time passes: it is {int(what) / 1000:g} s at {node}."
    channel = f"{node}:{what}"
    if verb == "drop":
        return (
            f"The wire out of {channel} loses {' and '.join(str(flight.message) for flight in record.lost)}."
        )
    if verb == "duplicate":
        return f"The wire out of {channel} delivers its next packet twice."
    if verb == "reorder":
        return f"On the wire out of {channel} the second packet overtakes the first."
    return _delivery(record)


def _action(node: str, what: str, record: Record) -> str:
    if node == FABRIC:
        return _fabric(what)
    if what.startswith("join "):
        return f"{what.removeprefix('join ')} connects to controller {node}."
    if what.startswith("hear "):
        switch, _, told = what.removeprefix("hear ").partition(": ")
        return f"Controller {node} hears from {switch}: {told}."
    frames = [str(flight.message) for flight in record.sends if isinstance(flight.message, Frame)]
    if frames:
        return f"{node} sends {' and '.join(frames)}."
    return f"{node}: {what}."


def _fabric(what: str) -> str:
    verb, _, rest = what.partition(" ")
    match verb:
        case "move":
            host, _, place = rest.partition(" to ")
            return f"{host} moves to {place}."
        case "fail":
            return f"The {'link ' if '-' in rest else 'switch '}{rest} fails."
        case "recover":
            return f"The {'link ' if '-' in rest else 'switch '}{rest} recovers."
        case "crash":
            return f"Controller {rest} crashes."
        case "restart":
            return f"Controller {rest} starts again."
        case "disconnect":
            return f"The control session {rest} breaks."
        case "reconnect":
            return f"The control session {rest} is open again."
        case _:
            return f"{what}."


def _delivery(record: Record) -> str:
    node, message, at = record.node, record.message, record.at
    sender = record.transition.node
    if any(event.kind == "kept" for event in record.events):
        return f"{sender}'s {message} reaches controller {node}; what it says is still open."
    match message:
        case Frame() if any(event.kind == "received" for event in record.events):
            return f"{node} receives {message}."
        case Frame() if any(event.kind == "ignored" for event in record.events):
            return f"{node} gets {message}, which is not for it."
        case Frame():
            port = at.port if at is not None else "?"
            return f"{node} gets {message} at port {port}, from {sender}."
        case PacketIn():
            return f"Controller {node} handles {sender}'s packet-in: {_handed(message)}."
        case Carrier(port, up):
            return f"{node} notices that its link at port {port} is {'up' if up else 'down'}."
        case Power(on):
            return f"{node} is {'switched on' if on else 'off'}."
        case OpenFlowMessage():
            return f"{node} handles {sender}'s {_order(message)}."
        case _:
            return f"{node} handles {message} from {sender}."


def consequences(record: Record) -> Iterator[str]:
    """Yield what came of a step."""
    for event in record.events:
        told = _event(event)
        if told:
            yield told
    for flight in record.sends:
        told = _sent(record, flight)
        if told:
            yield told
    for flight in record.lost:
        if record.transition.verb != "drop":
            yield f"lost: {flight.message}"


def _event(event: Event) -> str:
    detail = event.detail
    match event.kind:
        case "matched":
            return f"rule: {detail[3]}"
        case "missed":
            return f"no rule in table {detail[2]} matches"
        case "dropped":
            return f"dropped: {detail[2]}"
        case "rule-added":
            return f"new rule in table {detail[0]}: {detail[1]}"
        case "rule-modified":
            return f"changed rule in table {detail[0]}: {detail[1]}"
        case "rule-removed":
            return f"rule gone from table {detail[0]} ({detail[2]}): {detail[1]}"
        case "refused":
            return f"refused: {detail[0]}"
        case "crashed":
            lines = str(detail[2]).strip().splitlines()
            return f"\n{_INDENT}".join([f"the handler of {detail[0]} raised {detail[1]}", *lines])
        case "hung":
            return f"{detail[0]} does not come to an end: {' '.join(map(str, detail[1:]))}"
        case "log":
            return f"log: {detail[1]}"
        case _:
            return ""


def _sent(record: Record, flight: InFlight) -> str:
    message = flight.message
    if isinstance(message, Frame):
        if record.transition.verb == ACT:
            return ""
        return f"sends {message} out of port {flight.channel.port}"
    if isinstance(message, PacketIn):
        return f"asks controller {flight.channel.port}: {_handed(message)}"
    if isinstance(message, OpenFlowMessage):
        return f"tells {flight.channel.port}: {_order(message)}"
    return ""


def _handed(message: PacketIn) -> str:
    name = f"{message.tag} " if message.tag else ""
    return f"{name}[{describe(message.data)}] came in by port {message.in_port}"


def _order(message: OpenFlowMessage) -> str:
    match message:
        case PacketOut():
            what = message.tag or (
                f"[{describe(message.data)}]"
                if message.buffer_id == NO_BUFFER
                else f"buffer {message.buffer_id}"
            )
            actions = ",".join(map(str, message.actions)) or "drop"
            return f"PacketOut({what} -> {actions})"
        case _:
            return str(message)


def last_line(verdict: str, message: str) -> str:
    """Return how a story of a violation ends."""
    return f"  ✗  {verdict} is broken: {message}"
