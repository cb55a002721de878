"""A run told in words, for somebody who never saw the tool.

Each step is one numbered sentence of who did what, and below it what came of it: the rule that
decided, the packet that left, what the controller answered.

Nothing is said twice (`Story`): a packet is described once and then called by its name, a control message and
a rule are spelt out once and then called by the step that brought them.  Two packets whose descriptions are
the same although their headers differ are told with the fields that tell them apart.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from penstock._controllers.origins import NOTES
from penstock._world.component import Endpoint, Event, Port
from penstock._world.frame import Frame, retell_packets
from penstock._world.senders import Senders, Sent
from penstock._world.signals import FABRIC, Carrier, EntryForgotten, FlowModsIgnored, Power, TableLimit
from penstock._world.switch.headers import read
from penstock._world.transition import ACT, INJECT, TIME, InFlight, Record
from penstock.openflow.actions import actions_text
from penstock.openflow.fields import FIELDS
from penstock.openflow.match import value_text
from penstock.openflow.messages import (
    ALL_TABLES,
    NO_BUFFER,
    FlowMod,
    OpenFlowMessage,
    PacketIn,
    PacketOut,
)
from penstock.packet import describe

_INDENT: Final = "     "

_TABLE_MISS: Final = "priority=0 any "
"""How the text of a table-miss entry begins; it is as short as any name for it."""

_LATEST: Final = 100
"""Among how many messages to a component it is looked for those that an action of its own repeats."""

_SHORT: Final = 24
"""How long actions may be to be told once more."""

_MANY: Final = 4
"""How often something must come of a step to be told with a number."""

UNSEEN: Final = frozenset({"log", *NOTES})
"""The kinds of events that nobody outside a controller notices."""


LONG: Final = 25
"""How many steps a story may have before those that did not matter are folded."""


def tell(records: Sequence[Record], *, first: int = 1, needless: Iterable[int] = ()) -> Iterator[str]:
    """Yield the lines of a run's story; in a long one, steps that did not matter are folded."""
    folded = frozenset(needless) if len(records) > LONG else frozenset()
    story = Story()
    for number, group in folds(range(first, first + len(records)), folded):
        if group:
            yield fold_line(group)
        else:
            yield from numbered(number, story.step(number, records[number - first]))


def folds(numbers: Iterable[int], folded: frozenset[int]) -> Iterator[tuple[int, list[int]]]:
    """Yield each step that is told, and those that are not in groups: their first, and all of them."""
    group: list[int] = []
    for number in numbers:
        if number in folded:
            group.append(number)
            continue
        if group:
            yield group[0], group
            group = []
        yield number, []
    if group:
        yield group[0], group


def fold_line(group: Sequence[int]) -> str:
    """Return what stands for steps that are folded."""
    if len(group) == 1:
        return f"{_INDENT}… step {group[0]} did not matter"
    return f"{_INDENT}… {len(group)} steps, {group[0]} to {group[-1]}, did not matter"


def numbered(number: int, told: Sequence[str]) -> Iterator[str]:
    """Yield the lines of one step: its sentence with its number, below it what came of it."""
    for index, text in enumerate(told):
        yield f"{_INDENT}{text}" if index else f"{number:>3}. {text}"


def sentences(records: Iterable[Record], *, first: int = 1) -> Iterator[tuple[str, ...]]:
    """Yield what is told of each step of a run."""
    story = Story()
    for number, record in enumerate(records, first):
        yield story.step(number, record)


class Story:
    """A run that is told step by step; it remembers what was told already."""

    def __init__(self) -> None:
        self._senders = Senders()
        self._orders: dict[tuple[str, str], int] = {}
        """The step that told each control message, by its receiver and text."""
        self._latest: defaultdict[str, deque[tuple[str, int]]] = defaultdict(lambda: deque(maxlen=_LATEST))
        """The last of those messages, by who got them, with their steps."""
        self._calls: dict[tuple[Endpoint, Sent], str] = {}
        """What each message is called once its step has told it, by its channel."""
        self._rules: dict[tuple[str, str], int] = {}
        """The step that brought each rule, by switch and text; or that first told it."""
        self._packets: dict[str, bytes | str] = {}
        """What is known of each packet by its name: its bytes, or else how it was described."""
        self._like: dict[str, tuple[str, bytes]] = {}
        """The packet that was last described in some words, and its bytes."""

    def step(self, number: int, record: Record) -> tuple[str, ...]:
        """Return what is told of the next step."""
        sender = self._senders.take(number, record)
        channel = Endpoint(record.transition.node, record.transition.what)
        called = "" if sender is None else self._calls.get((channel, sender), "")
        self._call(number, record)
        lines = [self._without_orders(record, headline(record, called))]
        lines += consequences(record, self._order_of(number, record), self._rule_of(number, record))
        frames = _frames(record)
        return _merge_repeated(
            retell_packets(line, lambda found: self._packet(found, frames)) for line in lines
        )

    def _without_orders(self, record: Record, text: str) -> str:
        """Return a sentence of somebody's own action with messages that it was told called by their steps."""
        if record.transition.verb == ACT and "(" in text:
            for order, number in self._latest[record.node]:
                text = text.replace(order, f"{order.partition('(')[0]} of step {number}")
        return text

    def _call(self, number: int, record: Record) -> None:
        """Note what the messages of a step are called from now on."""
        flights = [(channel, _kind(message)) for channel, message in (*record.sends, *record.lost)]
        counts = Counter(flights)
        so_far: Counter[tuple[Endpoint, str]] = Counter()
        places: Counter[Endpoint] = Counter()
        for channel, kind in flights:
            so_far[channel, kind] += 1
            count, among = counts[channel, kind], so_far[channel, kind]
            which = f" ({among} of {count})" if count > 1 else ""
            self._calls[channel, Sent(number, places[channel])] = f"{kind} of step {number}{which}"
            places[channel] += 1

    def _order_of(self, number: int, record: Record) -> Callable[[Port, OpenFlowMessage], str]:
        """Return what tells a message of a step: in full, or by the step that sent the same before."""

        def tell_order(receiver: Port, message: OpenFlowMessage) -> str:
            text = order_text(message)
            before = self._orders.get((f"{record.node} to {receiver}", text))
            if before is None:
                before = self._orders[f"{record.node} to {receiver}", text] = number
                if "(" in text:
                    self._latest[str(receiver)].append((text, number))
            again = before < number and "(" in text
            return f"the same {_kind(message)} as in step {before}" if again else text

        return tell_order

    def _rule_of(self, number: int, record: Record) -> Callable[[Event], str]:
        """Return what tells a rule of an event: in full, or by the step that brought it."""
        message = str(record.message) if isinstance(record.message, OpenFlowMessage) else ""
        new: set[str] = set()

        def tell_rule(event: Event) -> str:
            rule = _rule_in_full(event)
            key = (record.node, rule)
            if event.kind in ("rule-added", "rule-modified"):
                self._rules[key] = number
                new.add(rule)
                return "" if rule in message else rule
            before = self._rules.pop(key, None) if event.kind == "rule-removed" else self._rules.get(key)
            if rule in new:
                return "the new one"
            if before is not None and not rule.startswith(_TABLE_MISS):
                return f"of step {before}{_actions(rule)}"
            self._rules.setdefault(key, number)
            return rule

        return tell_rule

    def _packet(self, found: re.Match[str], frames: dict[str, deque[bytes]]) -> str:
        """Return a packet by its name, with a description if that has not been told."""
        name, phrase = found.groups()
        written = frames.get(found.group()) or deque()
        data = written.popleft() if len(written) > 1 else next(iter(written), None)
        known, self._packets[name] = self._packets.get(name), phrase if data is None else data
        if known is not None and known in (phrase, data):
            return name
        if data is None:
            return found.group()
        before = (name, known) if isinstance(known, bytes) and describe(known) == phrase else None
        like, self._like[phrase] = self._like.get(phrase), (name, data)
        difference = _difference(before or like, data)
        return f"{name} [{phrase}{difference}]" if difference or before is None else name


def _merge_repeated(lines: Iterable[str]) -> tuple[str, ...]:
    """Return lines of which those that come many times are told once, with how often."""
    counts = Counter(lines)
    return tuple(
        line
        for text, often in counts.items()
        for line in ([f"{text} ({often} times)"] if often >= _MANY else [text] * often)
    )


def _kind(message: object) -> str:
    """Return what sort of message it is, in a word."""
    if isinstance(message, PacketIn):
        return "packet-in"
    return str(message).partition("(")[0] if isinstance(message, OpenFlowMessage) else "message"


def _actions(rule: str) -> str:
    """Return what a rule does, if that is short."""
    actions = rule.rpartition(" -> ")[2]
    return f" -> {actions}" if len(actions) <= _SHORT else ""


def _frames(record: Record) -> dict[str, deque[bytes]]:
    """Return the bytes of the packets that a step is about, by how they are written, in the order told."""
    found: dict[str, deque[bytes]] = {}
    flights = (*record.sends, *record.lost)
    for message in (record.message, *(flight.message for flight in flights)):
        match message:
            case Frame(data, tag) if tag and data:
                found.setdefault(str(message), deque()).append(data)
            case PacketIn(data=data, tag=tag) if tag and data:
                found.setdefault(f"{tag} [{describe(data)}]", deque()).append(data)
    return found


def _difference(other: tuple[str, bytes] | None, data: bytes) -> str:
    """Return the header fields in which a packet differs from another that is described in the same words."""
    if other is None or other[1] == data:
        return ""
    name, there = other[0], read(other[1]).fields
    here = read(data).fields
    found = [
        f"{field.name}={value_text(field, mine)} ({name} had {value_text(field, its)})"
        for field in FIELDS
        # A field that is zero, or not there, is left out of what is read.
        if (mine := here.get(field.name, 0)) != (its := there.get(field.name, 0))
    ]
    return "".join(f", {text}" for text in found)


def headline(record: Record, message: str = "") -> str:
    """Return what happened, in one sentence; a message that was told before is called as given."""
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
            f"The link out of {channel} loses {' and '.join(str(flight.message) for flight in record.lost)}."
        )
    if verb == "duplicate":
        return f"The link out of {channel} duplicates its next packet."
    if verb == "reorder":
        return f"The link out of {channel} reorders: the second packet overtakes the first."
    return _delivery(record, message)


def _action(node: str, what: str, record: Record) -> str:
    if node == FABRIC:
        return _fabric(what)
    if what.startswith("join "):
        return f"{what.removeprefix('join ')} connects to controller {node}."
    if what.startswith("hear "):
        switch, _, told = what.removeprefix("hear ").partition(": ")
        contents = "" if " with " in told else ", as it was sent"
        return f"Controller {node} receives from {switch}: {told}{contents}."
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
            return f"A frame is injected on the link out of {node}:{what}: {message}."
        case OpenFlowMessage():
            return f"{node} sends to {what}: {order_text(message)}."
        case TableLimit() | EntryForgotten() | FlowModsIgnored():
            return f"A fault is injected into {what}: {message}."
        case _:
            return f"{what} receives from outside: {message}."


def _delivery(record: Record, name: str) -> str:
    node, message, at = record.node, record.message, record.at
    sender = record.transition.node
    if any(event.kind == "kept" for event in record.events):
        return f"{sender}'s {message} reaches controller {node}; its contents are chosen when it is handled."
    match message:
        case Frame() if any(event.kind == "received" for event in record.events):
            return f"{node} receives {message}."
        case Frame() if any(event.kind == "ignored" for event in record.events):
            return f"{node} gets {message}, which is not for it."
        case Frame():
            place = f" at port {at.port}" if at is not None else ""
            return f"{node} gets {message}{place}, from {sender}."
        case PacketIn() if name:
            return f"Controller {node} handles {sender}'s {name}{f': {message.tag}' if message.tag else ''}."
        case PacketIn():
            return f"Controller {node} handles {sender}'s packet-in: {_packet_in_text(message)}."
        case Carrier(port, up):
            return f"{node} notices that its link at port {port} is {'up' if up else 'down'}."
        case Power(on):
            return f"{node} is {'switched on' if on else 'off'}."
        case TableLimit(None):
            return f"{node}'s flow tables are no longer limited."
        case TableLimit(entries):
            return f"{node}'s flow tables are limited to {entries} entries."
        case EntryForgotten(number):
            return f"{node} silently loses its flow entry number {number}."
        case FlowModsIgnored(count):
            return f"{node} will silently ignore its next {count} flow-mods."
        case OpenFlowMessage():
            return f"{node} handles {sender}'s {name or order_text(message)}."
        case _ if sender == FABRIC:
            return f"{node} carries out: {message}."
        case _:
            return f"{node} handles {message} from {sender}."


def _in_full(_receiver: Port, message: OpenFlowMessage) -> str:
    return order_text(message)


def _rule_in_full(event: Event) -> str:
    return str(event.detail[3 if event.kind == "matched" else 1])


def consequences(
    record: Record,
    order: Callable[[Port, OpenFlowMessage], str] = _in_full,
    rule: Callable[[Event], str] = _rule_in_full,
) -> Iterator[str]:
    """Yield what came of a step; `order` and `rule` say how messages and rules are called."""
    for event in record.events:
        told = _rule_event(event, rule(event)) if event.kind in _OF_RULES else _event(event)
        if told:
            yield told
    for flight in record.sends:
        told = _sent_text(record, flight, order)
        if told:
            yield told
    for flight in record.lost:
        if record.transition.verb != "drop":
            yield _lost_text(record, flight)
    if _is_ignored(record):
        yield "sends nothing"


def _is_ignored(record: Record) -> bool:
    """Tell whether a controller was handed a packet and did nothing that anybody could see."""
    silent = all(event.kind in UNSEEN for event in record.events)
    return isinstance(record.message, PacketIn) and silent and not record.sends and not record.lost


def _lost_text(record: Record, flight: InFlight) -> str:
    if flight.channel.node != record.node:
        return f"lost: {flight.message} on its way from {flight.channel}"
    if isinstance(flight.message, Frame):
        return f"lost: {flight.message}, sent out of port {flight.channel.port}, which leads nowhere"
    return f"lost: {flight.message}, to {flight.channel.port}, which is not connected"


_OF_RULES: Final = frozenset({"matched", "rule-added", "rule-modified", "rule-removed"})


def _rule_event(event: Event, rule: str) -> str:
    """Return what happened to a rule, or by it; `rule` is its text, what it is called, or empty if plain."""
    detail = event.detail
    named = f": {rule}" if rule else ""
    is_old = rule.startswith("of step ")
    match event.kind:
        case "rule-added":
            return f"new rule in table {detail[0]}{named}"
        case "rule-modified":
            return f"changed rule in table {detail[0]}{named}"
        case "rule-removed" if is_old:
            return f"rule {rule.partition(' -> ')[0]} gone from table {detail[0]} ({detail[2]})"
        case "rule-removed":
            return f"rule gone from table {detail[0]} ({detail[2]}){named}"
        case _:
            return f"rule {rule}" if is_old else f"rule: {rule}"


def _event(event: Event) -> str:
    detail = event.detail
    match event.kind:
        case "missed":
            return f"no rule in table {detail[2]} matches"
        case "metered" if detail[3] == "dscp_remark":
            return f"meter {detail[2]}: its rate is exceeded, and the DSCP remarked"
        case "dropped":
            return f"dropped: {detail[2]}"
        case "not-output":
            return f"no effect: {detail[2]}"
        case "asleep":
            return f"still in {detail[1]}"
        case "refused":
            return f"refused: {refusal_text(event)}"
        case "crashed":
            lines = str(detail[2]).strip().splitlines()
            return f"\n{_INDENT}".join([f"the handler of {detail[0]} raised {detail[1]}", *lines])
        case "hung":
            return f"{detail[0]} does not return: {' '.join(map(str, detail[1:]))}"
        case "log":
            return f"log: {detail[1]}"
        case _:
            return ""


def refusal_text(event: Event) -> str:
    """Return with which error a switch refused a message, and what was wrong with that."""
    error, _, *reason = map(str, (*event.detail, "")[:3])
    return f"{error} ({reason[0]})" if any(reason) else error


def _sent_text(record: Record, flight: InFlight, order: Callable[[Port, OpenFlowMessage], str]) -> str:
    message = flight.message
    if record.transition.verb == INJECT:
        return ""
    if isinstance(message, Frame):
        if record.transition.verb == ACT:
            return ""
        # Hosts have one port, and it has no number of interest.
        return f"sends {message}" + (f" out of port {flight.channel.port}" if flight.channel.port else "")
    if isinstance(message, PacketIn):
        keeps = "" if message.buffer_id == NO_BUFFER else f"buffers it (buffer {message.buffer_id}) and "
        return f"{keeps}sends a packet-in to controller {flight.channel.port}: {_packet_in_text(message)}"
    if isinstance(message, OpenFlowMessage):
        return f"sends to {flight.channel.port}: {order(flight.channel.port, message)}"
    return ""


def _packet_in_text(message: PacketIn) -> str:
    name = f"{message.tag} " if message.tag else ""
    sent = len(message.data)
    cut = f", cut to {sent} of its {message.total_len} bytes" if sent < message.total_len else ""
    return f"{name}[{describe(message.data)}] from port {message.in_port}{cut}"


def _packet_out_text(message: PacketOut) -> str:
    """Return what a packet-out has a switch send."""
    if message.buffer_id != NO_BUFFER:
        return f"buffer {message.buffer_id}"
    return f"[{describe(message.data)}]" if message.data else "no data"


def order_text(message: OpenFlowMessage) -> str:
    """Return a control message in full."""
    match message:
        case PacketOut():
            what = message.tag or _packet_out_text(message)
            return f"PacketOut({what} -> {actions_text(message.actions)})"
        case FlowMod():
            # A rule that is deleted from whichever table it is in needs no number of a table.
            told = str(replace(message, table_id=0) if message.table_id == ALL_TABLES else message)
            buffered = message.buffer_id != NO_BUFFER
            return f"{told}, also for the packet in buffer {message.buffer_id}" if buffered else told
        case _:
            return str(message)


def last_line(verdict: str, message: str) -> str:
    """Return the line that says what is broken."""
    return f"  ✗  {verdict} is violated: {message}"


def ending(verdict: str, message: str, cause: Iterable[str] = ()) -> Iterator[str]:
    """Yield how the story of a violation ends: what is broken, and the cause."""
    yield last_line(verdict, message)
    yield from (f"{_INDENT}{line}" for line in cause)
