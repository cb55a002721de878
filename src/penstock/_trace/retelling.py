"""Steps of a trace turned back into records that a story can be told of.

A trace of a search has its story with it.  A fuzzing run writes too many lines for that; they say in short
texts what happened, and the story is made of these when somebody wants to read it.  Such a record has no
packets, only what was written of them, so it can be told and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from penstock._story.story import Story
from penstock._trace.trace import Line
from penstock._world.component import Endpoint, Event, Message, Port
from penstock._world.frame import Frame
from penstock._world.signals import Carrier, EntryForgotten, FlowModsIgnored, Power, TableLimit
from penstock._world.transition import ACT, TIME, VERBS, InFlight, Record, Transition
from penstock.openflow.messages import OpenFlowMessage

_FRAME: Final = re.compile(r"(?:\S+ )?\[.*\]", re.DOTALL)
_OPENFLOW: Final = re.compile(r"(?!Order\()[A-Z]\w*(\(.*\))?", re.DOTALL)
_SIGNAL: Final = re.compile(r"(Carrier|Power|TableLimit|EntryForgotten|FlowModsIgnored)\((.*)\)")
_CRASH: Final = re.compile(r"(\S+) (.*?) (Traceback .*)", re.DOTALL)

_MOST_DIGITS: Final = 18

_DETAILS: Final = {
    "matched": 3,
    "missed": 2,
    "dropped": 2,
    "not-output": 2,
    "rule-added": 1,
    "rule-modified": 1,
    "log": 1,
    "asleep": 1,
    "code": 0,
    "returned": 0,
    "raised": 0,
}
"""How many words come before the last detail of an event, which may be of several."""


@dataclass(frozen=True)
class _WrittenFrame(Frame):
    """A frame of which only its text is known."""

    text: str = ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class _WrittenMessage(OpenFlowMessage):
    """A control message of which only its text is known."""

    text: str = ""

    def __str__(self) -> str:
        return self.text


def record_of(line: Line) -> Record:
    """Return a step as far as a line of a trace tells it."""
    return Record(
        transition_of(line.transition),
        line.node,
        message=None if line.message is None else _message(line.message),
        sends=tuple(map(_flight, line.sends)),
        events=tuple(map(_event, (*line.events, *line.code))),
        lost=tuple(map(_flight, line.lost)),
    )


def stories_of(lines: Iterable[Line]) -> Iterator[tuple[str, ...]]:
    """Yield what is told of each of some lines of a trace; where the trace has its story, that."""
    story = Story()
    for line in lines:
        told = story.step(line.number, record_of(line))
        yield line.told or told


def transition_of(text: str) -> Transition:
    """Return the transition that a text names."""
    first, _, rest = text.partition(" ")
    end = _endpoint(rest)
    if first not in VERBS or (first == TIME and not isinstance(end.port, int)):
        return Transition(ACT, first, rest)
    return Transition(first, *end)


def _flight(text: str) -> InFlight:
    where, _, message = text.partition(" ")
    return InFlight(_endpoint(where), _message(message))


def _endpoint(text: str) -> Endpoint:
    node, _, port = text.partition(":")
    return Endpoint(node, _port(port))


def _port(text: str) -> Port:
    return int(text) if _is_number(text) else text


def _is_number(text: str) -> bool:
    """Tell whether a text is a number of a size that anybody would have written."""
    return text.isdecimal() and len(text) <= _MOST_DIGITS


def _message(text: str) -> Message:
    if signal := _SIGNAL.fullmatch(text):
        return _signal(signal[1], signal[2].split(), text)
    if _FRAME.fullmatch(text):
        return _WrittenFrame(b"", text=text)
    return _WrittenMessage(text=text) if _OPENFLOW.fullmatch(text) else text


def _signal(name: str, words: list[str], text: str) -> Message:
    """Return a signal, or its text where that is none that a component was ever sent."""
    match name, words:
        case "Carrier", ["port", port, ("up" | "down") as state]:
            return Carrier(_port(port), state == "up")
        case "Power", [("on" | "off") as state]:
            return Power(state == "on")
        case "TableLimit", ["none"]:
            return TableLimit(None)
        case "TableLimit", [number] if _is_number(number):
            return TableLimit(int(number))
        case "EntryForgotten", [number] if _is_number(number):
            return EntryForgotten(int(number))
        case "FlowModsIgnored", [number] if _is_number(number):
            return FlowModsIgnored(int(number))
    return text


def _event(text: str) -> Event:
    """Return an event whose details are as many as a story looks for, whatever was written."""
    kind, _, rest = text.partition(" ")
    if kind in _DETAILS:
        words = _DETAILS[kind]
        return Event(kind, (*rest.split(" ", words), *("",) * words)[: words + 1])
    if kind == "rule-removed":
        table, _, more = rest.partition(" ")
        rule, _, why = more.rpartition(" ")
        return Event(kind, (table, rule, why))
    if kind == "crashed" and (crash := _CRASH.fullmatch(rest)):
        return Event(kind, crash.groups())
    return Event(kind, (*rest.split(" ", 2), "", "", "")[:3])
