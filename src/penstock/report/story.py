"""A run told in words, for somebody who never saw the tool.

Each step is one numbered sentence of who did what, and below it what came of it: the rule that
decided, the packet that left, what the controller answered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from penstock.openflow.messages import (
    ALL_TABLES,
    NO_BUFFER,
    FlowMod,
    OpenFlowMessage,
    PacketIn,
    PacketOut,
)
from penstock.world.component import Event, Port
from penstock.world.frame import Frame
from penstock.world.packet import describe
from penstock.world.signals import FABRIC, Carrier, EntryForgotten, FlowModsIgnored, Power, TableLimit
from penstock.world.transition import ACT, INJECT, TIME, InFlight, Record

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
    if verb == INJECT:
        return _injection(node, what, record)
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
        contents = "" if " with " in told else ", as it was sent"
        return f"Controller {node} hears from {switch}: {told}{contents}."
    if what.startswith("timer "):
        after, _, name = what.removeprefix("timer ").partition("s ")
        return f"A timer of controller {node} goes off after {after} s: {name}."
    frames = [str(flight.message) for flight in record.sends if isinstance(flight.message, Frame)]
    if frames:
        again = ", a retransmission" if what.startswith("retransmit ") else ""
        return f"{node} sends {' and '.join(frames)}{again}."
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


def _injection(node: str, what: Port, record: Record) -> str:
    """Return what came in from outside the model."""
    messages = [flight.message for flight in (*record.sends, *record.lost)]
    message = messages[0] if messages else None
    match message:
        case Frame():
            return f"A frame appears on the wire out of {node}:{what}: {message}."
        case OpenFlowMessage():
            return f"{node} says to {what}: {_order(message)}."
        case TableLimit() | EntryForgotten() | FlowModsIgnored():
            return f"Something goes wrong inside {what}: {message}."
        case _:
            return f"{what} is told from outside: {message}."


def _delivery(record: Record) -> str:
    node, message, at = record.node, record.message, record.at
    sender = record.transition.node
    if any(event.kind == "kept" for event in record.events):
        return f"{sender}'s {message} reaches controller {node}; what it says is chosen when it is heard."
    match message:
        case Frame() if any(event.kind == "received" for event in record.events):
            return f"{node} receives {message}."
        case Frame() if any(event.kind == "ignored" for event in record.events):
            return f"{node} gets {message}, which is not for it."
        case Frame():
            place = f" at port {at.port}" if at is not None else ""
            return f"{node} gets {message}{place}, from {sender}."
        case PacketIn():
            return f"Controller {node} handles {sender}'s packet-in: {_handed(message)}."
        case Carrier(port, up):
            return f"{node} notices that its link at port {port} is {'up' if up else 'down'}."
        case Power(on):
            return f"{node} is {'switched on' if on else 'off'}."
        case TableLimit(None):
            return f"{node}'s flow tables take as many entries again as it was built for."
        case TableLimit(entries):
            return f"{node}'s flow tables take no more than {entries} entries from now on."
        case EntryForgotten(number):
            return f"{node} loses its flow entry number {number}, without a word to anybody."
        case FlowModsIgnored(count):
            return f"{node} will do nothing about its next {count} flow-mods."
        case OpenFlowMessage():
            return f"{node} handles {sender}'s {_order(message)}."
        case _ if sender == FABRIC:
            return f"{node} does as it is told: {message}."
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
            yield _lost(record, flight)
    if _is_ignored(record):
        yield "answers nothing"


def _is_ignored(record: Record) -> bool:
    """Tell whether a controller was handed a packet and did nothing that anybody could see."""
    silent = all(event.kind == "log" for event in record.events)
    return isinstance(record.message, PacketIn) and silent and not record.sends and not record.lost


def _lost(record: Record, flight: InFlight) -> str:
    if flight.channel.node != record.node:
        return f"lost: {flight.message} on its way from {flight.channel}"
    if isinstance(flight.message, Frame):
        return f"lost: {flight.message}, sent out of port {flight.channel.port}, which leads nowhere"
    return f"lost: {flight.message}, for {flight.channel.port}, which does not hear it"


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
    if record.transition.verb == INJECT:
        return ""
    if isinstance(message, Frame):
        if record.transition.verb == ACT:
            return ""
        # Hosts have one port, and it has no number of interest.
        return f"sends {message}" + (f" out of port {flight.channel.port}" if flight.channel.port else "")
    if isinstance(message, PacketIn):
        keeps = "" if message.buffer_id == NO_BUFFER else f"keeps it in buffer {message.buffer_id} and "
        return f"{keeps}asks controller {flight.channel.port}: {_handed(message)}"
    if isinstance(message, OpenFlowMessage):
        return f"tells {flight.channel.port}: {_order(message)}"
    return ""


def _handed(message: PacketIn) -> str:
    name = f"{message.tag} " if message.tag else ""
    sent = len(message.data)
    cut = f", cut to {sent} of its {message.total_len} bytes" if sent < message.total_len else ""
    return f"{name}[{describe(message.data)}] came in by port {message.in_port}{cut}"


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
        case FlowMod():
            # A rule that is deleted from whichever table it is in needs no number of a table.
            told = str(replace(message, table_id=0) if message.table_id == ALL_TABLES else message)
            buffered = message.buffer_id != NO_BUFFER
            return f"{told}, also for the packet in buffer {message.buffer_id}" if buffered else told
        case _:
            return str(message)


def last_line(verdict: str, message: str) -> str:
    """Return how a story of a violation ends."""
    return f"  ✗  {verdict} is broken: {message}"
