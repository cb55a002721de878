"""The steps of a run, to be asked about: who sent this message, which code, where does this rule come from.

The steps may be records of a run, or what a trace says of one (see `_trace.retelling`); so of messages and
rules only kinds and texts are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from penstock._controllers.origins import CODE, RAISED, RETURNED
from penstock._story.story import headline
from penstock._world.component import Endpoint, Event, Port
from penstock._world.senders import Senders
from penstock._world.signals import FABRIC, Carrier
from penstock._world.switch.flow_table import FlowEntry
from penstock._world.transition import InFlight, Record

_NEW_RULES: Final = ("rule-added", "rule-modified")
_PACKET: Final = re.compile(r"(?<![\w.-])[A-Za-z_][\w.-]*#\d+")


def packet_names(text: str) -> list[str]:
    """Return the packets that a text names, each once, in order."""
    return list(dict.fromkeys(_PACKET.findall(text)))


def name_of(message: object) -> str:
    """Return the name of the packet that a frame is, or that a message carries; empty if it has none."""
    name = getattr(message, "tag", "")
    if name or message is None:
        return str(name)
    found = _PACKET.match(str(message).partition("(")[2] or str(message))
    return found.group() if found else ""


class Sender(NamedTuple):
    """Where a message comes from: the place of the step that sent it, and the code that did."""

    place: int
    code: str


class Past:
    """A run up to a violation; `before` are the steps that came before the story begins.

    A step's *place* is its index here; the number by which the story calls it may be another.
    """

    def __init__(self, steps: Iterable[tuple[int, Record]], before: Sequence[Record] = ()) -> None:
        numbered = [*((0, record) for record in before), *steps]
        self._numbers = [number for number, _ in numbered]
        self.records = [record for _, record in numbered]
        senders = Senders()
        self._sent = [senders.take(place, record) for place, record in enumerate(self.records)]

    def called(self, place: int) -> str:
        """Return what a step is called in a sentence."""
        number = self._numbers[place]
        return f"in step {number}" if number else "before step 1"

    def sender(self, place: int) -> Sender | None:
        """Return where the message comes from that a step takes in."""
        sent = self._sent[place]
        if sent is None:
            return None
        receiver = str(self.records[place].transition.what)
        codes = codes_of_sends(self.records[sent.step], receiver)
        return Sender(sent.step, codes[sent.place] if sent.place < len(codes) else "")

    def sender_of_text(self, switch: str, pattern: str, until: int) -> Sender | None:
        """Return where the last message to a switch comes from in which a pattern is found, before a step."""
        for place in range(until, -1, -1):
            record = self.records[place]
            messages = [str(flight.message) for flight in record.sends if flight.channel.port == switch]
            for sent, message in enumerate(messages):
                codes = codes_of_sends(record, switch)
                if re.search(pattern, message) and sent < len(codes):
                    return Sender(place, codes[sent])
        return None

    def last(self, node: str | None = None, *, name: str = "", until: int | None = None) -> int | None:
        """Return the place of the last step of a node, or of any; or of the last that is about a packet."""
        for place in range(len(self.records) if until is None else until, 0, -1):
            record = self.records[place - 1]
            if (node is None or record.node == node) and (not name or is_about(record, name)):
                return place - 1
        return None

    def rule_added(self, switch: str, rule: str, until: int) -> int | None:
        """Return the place of the step that brought a rule to a switch, as it was in another step."""
        for place in range(until, -1, -1):
            record = self.records[place]
            if record.node == switch and any(
                event.kind in _NEW_RULES and str(event.detail[1]) == rule for event in record.events
            ):
                return place
        return None

    def taken_in(self, place: int) -> list[int]:
        """Return the places of the steps that took in what a step sent."""
        return [at for at, sent in enumerate(self._sent) if sent is not None and sent.step == place]

    def last_removed(self, switch: str, until: int) -> tuple[int, str] | None:
        """Return the last rule that a switch lost before a step, with the place of the step that took it."""
        for place in range(until - 1, -1, -1):
            for event in self.records[place].events:
                if event.kind == "rule-removed" and self.records[place].node == switch:
                    return place, str(event.detail[1])
        return None

    def rules_since_start(self, switch: str, until: int) -> list[tuple[int, str]]:
        """Return the rules that the story brought to a switch before a step, each with its step's place."""
        return [
            (place, str(event.detail[1]))
            for place in range(until)
            if self._numbers[place] and self.records[place].node == switch
            for event in self.records[place].events
            if event.kind in _NEW_RULES
        ]

    def entries(self, switch: str, table: object, until: int) -> dict[FlowEntry, int]:
        """Return the entries of a table before a step, as far as steps show them, each with its place."""
        found: dict[tuple[object, object], tuple[FlowEntry, int]] = {}
        for place in range(until):
            for event in self.records[place].events if self.records[place].node == switch else ():
                entry = event.detail[1] if len(event.detail) > 1 and event.detail[0] == table else None
                if not isinstance(entry, FlowEntry):
                    continue
                if event.kind in _NEW_RULES:
                    found[entry.priority, entry.match] = entry, place
                elif event.kind == "rule-removed":
                    found.pop((entry.priority, entry.match), None)
        return dict(found.values())

    def headline(self, place: int) -> str:
        """Return what happened in a step, in half a sentence."""
        return headline(self.records[place]).rstrip(".")

    def cut_off(self, switch: str, port: Port, until: int) -> int | None:
        """Return the place of the fabric's step since which a port leads nowhere, if it led somewhere."""
        channel = Endpoint(switch, port)
        change = None
        for place in range(until - 1, -1, -1):
            record = self.records[place]
            noticed = [flight for flight in record.sends if isinstance(flight.message, Carrier)]
            if record.node == FABRIC and any(_is_cut(flight, channel) for flight in noticed):
                return place
            if record.node == FABRIC and change is None and not noticed:
                # Nobody is told of a silent move, so it may be another's; the port must have been in use.
                change = place
            if any(flight.channel == channel for flight in record.sends):
                return change
            if record.transition[:2] != ("act", FABRIC) and record.transition[1:] == channel:
                return change
            if record.at == channel:
                return change
        return None


def _is_cut(flight: InFlight, channel: Endpoint) -> bool:
    """Tell whether the fabric has a switch notice that a port leads nowhere."""
    return flight.channel.port == channel.node and flight.message == Carrier(channel.port, up=False)


def codes_of_sends(record: Record, receiver: str) -> list[str]:
    """Return which code sent each of a step's messages to a receiver, as far as that was noted."""
    words = [str(word) for event in record.events if event.kind == CODE for word in event.detail]
    # A trace has the words of an event in one text.
    pairs = " ".join(words).split(" ")
    return [code for node, code in zip(pairs[::2], pairs[1::2], strict=False) if node == receiver]


def _noted(record: Record, kind: str) -> str:
    return next((str(event.detail[0]) for event in record.events if event.kind == kind), "")


def returned(record: Record) -> str:
    """Return the code at which a handler came to its end without having sent anything."""
    return _noted(record, RETURNED)


def raised(record: Record) -> str:
    """Return the code at which a handler was when it failed."""
    return _noted(record, RAISED)


def is_about(record: Record, name: str) -> bool:
    """Tell whether a step is about a packet."""
    messages = (record.message, *(flight.message for flight in (*record.sends, *record.lost)))
    return any(name_of(message) == name for message in messages if message is not None) or any(
        _concerns(event, name) for event in record.events
    )


def _concerns(event: Event, name: str) -> bool:
    return event.kind in ("matched", "missed", "dropped") and bool(event.detail) and event.detail[0] == name
