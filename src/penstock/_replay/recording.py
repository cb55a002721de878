"""Recordings: a recorded run as what was done to the network, and what is expected to follow.

A *recorded input* is one input in its place.  Between two of them stand the internal events that were seen
there: the deliveries, and what components did by themselves.  A replay of some of the inputs tries to let the
same internal events happen in the same order, since they are what the inputs raced with.

    expected[0]  input 0  expected[1]  input 1  …  input n-1  expected[n]

A recording ends with the violation that it is about; what came after that is left out.  In traces of `check`
and `walk` nobody gave inputs: there, what hosts and the fabric did are the inputs, and what followed from it
at switches and controllers is expected.

Without some of its inputs a run numbers its packets and transactions otherwise.  A *mask* takes such
numbers out of a text; two events with the same masked text are functionally equivalent (STS §4.0.2 and
Table 4.1: transaction ids, cookies, buffer ids, statistics; of log lines the parameters).  What a mask
hides, no replay can insist on, so bugs that lie in masked values alone are beyond it.  The texts of a trace
leave most of these values out already.  A scenario may name more: `[fuzz] masks`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Final, Literal, assert_never

from penstock._base.code_files import digest_code
from penstock._engine.building import build
from penstock._fuzz.inputs import Fault, Input, MoveHost, Wait, input_of
from penstock._scenario.scenario import Scenario
from penstock._trace.consent import Consent, consent_to, runnable
from penstock._trace.trace import (
    AnyTrace,
    FindingLine,
    FuzzTrace,
    InputLine,
    Line,
    LogLine,
    ProofTrace,
    SearchTrace,
    read_trace,
    trace_file,
)
from penstock._world.channels import CHANNEL_FAULTS
from penstock._world.component import Endpoint
from penstock._world.hosts import Host
from penstock._world.network import Network
from penstock._world.signals import FABRIC
from penstock._world.transition import INJECT
from penstock.errors import PenstockError

# When two events are the same.


Mask = tuple[re.Pattern[str], str]

MASKS: Final[list[Mask]] = [
    (re.compile(r"(?<![\w.-])[\w.-]+[#~]\d+ (?=\[)"), ""),  # the name of a packet, where it is told
    (re.compile(r"(?<![\w.-])([\w.-]+)[#~]\d+\b"), r"\1#"),  # and where it is only called by it
    (re.compile(r"\b(xid|cookie|buffer|buffer_id|timestamp)([ =:])(0x[0-9a-f]+|\d+)"), r"\1\2…"),
    (re.compile(r"\b(packets|bytes|duration)=\d+"), r"\1=…"),
    (re.compile(r"^(time [\w.-]+):\d+$"), r"\1"),
]
"""What is taken out of a text, and what is put there instead."""

_PARAMETERS: Final = re.compile(r"0x[0-9a-fA-F]+|\d+|'[^']*'|\"[^\"]*\"")


_OF_THE_SCENARIO: Final[list[Mask]] = []


def mask_values_of(names: Sequence[str]) -> None:
    """Have the values of some names masked as well (`role` in `role=slave`), and no longer others' before.

    They are names and not patterns, since a trace may come from a stranger and some patterns never end.
    """
    _OF_THE_SCENARIO[:] = [
        (re.compile(rf"\b({re.escape(name)})([ =:])[^\s,;()\[\]]+"), r"\1\2…") for name in names
    ]
    masked.cache_clear()


@lru_cache(maxsize=50_000)
def masked(text: str) -> str:
    """Return a text of a transition or message without what may differ between equivalent ones."""
    for pattern, instead in (*MASKS, *_OF_THE_SCENARIO):
        text = pattern.sub(instead, text)
    return text


def masked_log(text: str) -> str:
    """Return a log line without its parameters, which leaves the statement that printed it."""
    return _PARAMETERS.sub("…", text)


# A run as its inputs, and what is expected around them.


LOG: Final = "log"
"""What the transition of an event begins with that is a line of a controller's log."""
LOOK: Final = "look"
"""The transition of an event that only says that the invariants had something to tell here."""


@dataclass(frozen=True, slots=True)
class Action(Input):
    """What a host, the fabric or a wire did in a search, by the text of its transition."""

    transition: str

    def __str__(self) -> str:
        return self.transition


@dataclass(frozen=True, slots=True)
class RecordedInput:
    """An input in its place: the number of its line, when it came, and how long until the next."""

    what: Input
    line: int
    at: int = 0
    lasts: int = 0

    def __str__(self) -> str:
        return str(self.what)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that followed by itself, with what it sent and what was lost, all masked."""

    transition: str
    message: str
    line: int
    after: int = 0
    """How many milliseconds after the cue before it."""
    sends: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    action: str = ""
    """The transition as it was written, where it is a component's own doing."""
    stirred_by: tuple[int, ...] = ()
    """The lines without which it would not have happened, as far as the trace can tell."""

    @property
    def pair(self) -> tuple[str, str]:
        """What makes the event equivalent to others."""
        return self.transition, self.message


@dataclass(frozen=True, slots=True)
class Violation:
    """What a run broke: the invariant or property, and what it had to say."""

    invariant: str
    message: str
    line: int = 0
    at: int = 0

    @property
    def what(self) -> str:
        """What is wrong, as opposed to how that came about this time."""
        return masked(self.message.partition(":")[0])

    def is_same(self, invariant: str, message: str, *, wide: bool = False) -> bool:
        """Tell whether that is the same violation; `wide` asks for no more than the same invariant."""
        if invariant != self.invariant:
            return False
        return wide or masked(message.partition(":")[0]) == self.what


@dataclass(frozen=True)
class Recording:
    """A run as its inputs, what is expected around them, and what it violates."""

    scenario: Scenario
    inputs: tuple[RecordedInput, ...]
    expected: tuple[tuple[Event, ...], ...]
    violation: Violation | None
    engine: Literal["fuzz", "check"] = "fuzz"
    """Whose run it is; that of a search has no time in it."""
    doings: Mapping[int, tuple[Event, ...]] = field(default_factory=dict)
    """By the line of each cue, what it did at once: the steps that are part of the input itself."""
    settles: bool = False
    """Whether, instead of following what is expected, everything is to arrive before the next input."""
    code: str = ""
    """A digest of the scenario's code: with another controller, other inputs matter."""

    def __post_init__(self) -> None:
        if len(self.expected) != len(self.inputs) + 1:
            raise ValueError("A script expects something before each input, and after the last.")

    def digest(self) -> str:
        """Return what tells one script from another."""
        return self._digest

    @cached_property
    def _digest(self) -> str:
        # Asked for at every replay, and in every dream of one.
        found = [
            self.scenario.table(),
            self.engine,
            [(cue.line, str(cue), cue.lasts) for cue in self.inputs],
            [[(*event.pair, event.after) for event in events] for events in self.expected],
            None if self.violation is None else (self.violation.invariant, self.violation.what),
            self.settles,
            self.code,
        ]
        return blake2b(json.dumps(found, sort_keys=True).encode(), digest_size=8).hexdigest()

    def only(self, inputs: Sequence[RecordedInput]) -> Recording:
        """Return the script with some of its inputs, and what is expected around those."""
        kept = {cue.line for cue in inputs}
        expected: list[tuple[Event, ...]] = [self.expected[0]]
        for cue, events in zip(self.inputs, self.expected[1:], strict=True):
            if cue.line in kept:
                expected.append(events)
            else:
                expected[-1] += events
        doings = {line: events for line, events in self.doings.items() if line in kept}
        return replace(self, inputs=tuple(inputs), expected=tuple(expected), doings=doings)

    def internal(self) -> int:
        """Return how many internal events are expected."""
        return sum(event.transition != LOOK for events in self.expected for event in events)


def load_script(
    path: Path, consent: Consent | None = None, *, line: int | None = None, invariant: str | None = None
) -> Recording:
    """Return the script of a trace, or of a run's folder; without consent it has to be our own."""
    file = trace_file(path)
    agreed = consent_to(file) if consent is None else consent
    trace = read_trace(file)
    return script_of(trace, runnable(trace, file.parent, agreed), line=line, invariant=invariant)


def script_of(
    trace: AnyTrace, scenario: Scenario, *, line: int | None = None, invariant: str | None = None
) -> Recording:
    """Return a trace as a script of its scenario, to be run.

    It is about the first persistent violation, or that of an invariant, or the one on a line of the trace.
    Where a trace was recorded for one invariant, as a minimal one is, that comes before others.
    """
    match trace:
        case FuzzTrace():
            mask_values_of(scenario.fuzzing().masks)
            script = _Fuzzed(trace, _choose_violation(trace, line, invariant)).script(scenario)
        case SearchTrace() | ProofTrace():
            verdict = trace.verdict
            violation = None if verdict is None else Violation(verdict.property, verdict.message)
            script = recording_of_search(trace.lines, scenario, violation, build(scenario).network)
        case _:
            assert_never(trace)
    return replace(script, code=_code_digest(scenario))


def _code_digest(scenario: Scenario) -> str:
    """Return a digest of all code that a scenario uses."""
    found = json.dumps(digest_code(scenario.table(), scenario.folder))
    return blake2b(found.encode(), digest_size=8).hexdigest()


def _choose_violation(trace: FuzzTrace, line: int | None, invariant: str | None) -> FindingLine | None:
    violated = [found for found in trace.findings if found.verdict == "violated"]
    if line is not None:
        named = [found for found in violated if found.number == line]
        if not named:
            raise PenstockError(
                f"Line {line} of the trace is not a violation: leave it out to take the first."
            )
        return named[0]
    lasting = [found for found in violated if found.persistent and invariant in (None, found.invariant)]
    if invariant is not None and not lasting:
        raise PenstockError(f"The trace has no persistent violation of {invariant}.")
    meant = [found for found in lasting if found.invariant == trace.about]
    return next(iter((*meant, *lasting)), None)


class _Fuzzed:
    """A fuzzing run on its way to a script."""

    def __init__(self, trace: FuzzTrace, target: FindingLine | None) -> None:
        self._target = target
        self._controllers: tuple[str, ...] = ()
        end = None if target is None else target.number
        self._items = [item for item in trace.items if end is None or item.number <= end]

    def script(self, scenario: Scenario) -> Recording:
        """Return the run as a script."""
        self._controllers = tuple(scenario.controllers) or ("c0",)
        cues: list[RecordedInput] = []
        expected: list[list[Event]] = [[]]
        doings: dict[int, list[Event]] = {}
        stirring = _Stirring(self._controllers)
        for item in self._items:
            began = cues[-1].at if cues else 0
            match item:
                case InputLine():
                    cues.append(RecordedInput(input_of(item.text), item.number, item.at))
                    expected.append([])
                    doings[item.number] = []
                case FindingLine():
                    if not expected[-1] or expected[-1][-1].transition != LOOK:
                        expected[-1].append(Event(LOOK, "", item.number, max(0, item.at - began)))
                case LogLine():
                    said = (f"{LOG} {item.source}", masked_log(item.text))
                    expected[-1].append(Event(*said, item.number, max(0, item.at - began)))
                case Line():
                    is_part = bool(cues) and self._is_part_of(cues[-1], item)
                    events = doings[cues[-1].line] if is_part else expected[-1]
                    events.append(event_of(item, began, stirring.causes_of(item)))
                case _:
                    assert_never(item)
        found = self._target
        violation = (
            None if found is None else Violation(found.invariant, found.message, found.number, found.at)
        )
        return Recording(
            scenario,
            _with_lengths(cues),
            tuple(map(tuple, expected)),
            violation,
            doings={line: tuple(events) for line, events in doings.items()},
        )

    def _is_part_of(self, cue: RecordedInput, line: Line) -> bool:
        """Tell whether a step is the input's own doing and not something that followed from it."""
        verb, _, where = line.transition.partition(" ")
        if cue.line not in line.causes:
            return False
        if verb == INJECT:
            # What a process said while the input was given is not the input's doing.
            return where.partition(":")[0] not in self._controllers
        return verb == FABRIC or verb in CHANNEL_FAULTS


def _with_lengths(cues: Sequence[RecordedInput]) -> tuple[RecordedInput, ...]:
    """Return cues each with its length: the time to the next; the last has none but what it waits for."""
    lasting = [replace(cue, lasts=max(0, after.at - cue.at)) for cue, after in pairwise(cues)]
    for last in cues[-1:]:
        lasting.append(replace(last, lasts=last.what.milliseconds if isinstance(last.what, Wait) else 0))
    return tuple(lasting)


class _Stirring:
    """Finds out which lines an event would not have been without."""

    def __init__(self, controllers: tuple[str, ...]) -> None:
        self._controllers = controllers
        self._nodes: dict[int, str] = {}
        self._last_heard: dict[str, int] = {}

    def causes_of(self, line: Line) -> tuple[int, ...]:
        """Return the steps that sent what is delivered; of a process, what it heard last before it spoke."""
        self._nodes[line.number] = line.node
        verb, _, where = line.transition.partition(" ")
        node = where.partition(":")[0]
        if verb == INJECT and node in self._controllers:
            return (self._last_heard[node],) if node in self._last_heard else ()
        if line.node in self._controllers:
            self._last_heard[line.node] = line.number
        # The component's own last step is among the causes too, but was not needed for this one.
        return tuple(cause for cause in line.causes if self._nodes.get(cause, "") != line.node)


def event_of(line: Line, began: int = 0, stirred_by: tuple[int, ...] = ()) -> Event:
    """Return a line of a trace as an event."""
    verb, _, _ = line.transition.partition(" ")
    own = verb not in ("deliver", "time", INJECT)
    return Event(
        masked(line.transition),
        masked(line.message or ""),
        line.number,
        max(0, (line.at or 0) - began),
        tuple(map(masked, line.sends)),
        tuple(map(masked, line.lost)),
        line.transition if own else "",
        stirred_by,
    )


def recording_of_search(
    lines: Sequence[Line], scenario: Scenario, violation: Violation | None, network: Network
) -> Recording:
    """Return a run of a search as a script; what hosts and the fabric did are its inputs."""
    hosts = {made.name for made in network.components if isinstance(made, Host)}
    cues: list[RecordedInput] = []
    expected: list[list[Event]] = [[]]
    doings: dict[int, tuple[Event, ...]] = {}
    for line in lines:
        verb = line.transition.partition(" ")[0]
        if verb == FABRIC or verb in CHANNEL_FAULTS or verb in hosts:
            cues.append(RecordedInput(Action(line.transition), line.number))
            expected.append([])
            doings[line.number] = (event_of(line),)
        else:
            expected[-1].append(event_of(line))
    return Recording(scenario, tuple(cues), tuple(map(tuple, expected)), violation, "check", doings)


# Some of the inputs.


def rewritten(
    inputs: Sequence[RecordedInput], kept: Sequence[RecordedInput], homes: Mapping[str, Endpoint]
) -> tuple[tuple[RecordedInput, ...], tuple[int, ...]]:
    """Return the kept inputs as they have to be without the others, and the lines that mean nothing now.

    `homes` says where the hosts that can move are at the beginning.
    """
    recorded, now = dict(homes), dict(homes)
    left = {cue.line: cue for cue in kept}
    found: list[RecordedInput] = []
    idle: list[int] = []
    for original in inputs:
        cue = left.get(original.line)
        if cue is not None:
            match cue.what:
                case MoveHost(host, place) if host in now and now[host] == place:
                    idle.append(cue.line)
                case MoveHost(host, place):
                    now[host] = place
                    found.append(cue)
                case Fault(verb, target):
                    found.append(replace(cue, what=Fault(verb, _link_now(target, recorded, now))))
                case _:
                    found.append(cue)
        if isinstance(original.what, MoveHost):
            recorded[original.what.host] = original.what.place
    return tuple(found), tuple(idle)


def _link_now(link: str, recorded: Mapping[str, Endpoint], now: Mapping[str, Endpoint]) -> str:
    """Return what a host's link is called where the host is now."""
    host, _, _ = link.partition("-")
    if host not in recorded or link != f"{host}-{recorded[host].node}":
        return link
    return f"{host}-{now[host].node}"
