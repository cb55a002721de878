"""Traces: what one run did, one JSON object per line.

The first line is the header: what wrote the trace, the scenario, and a digest of it.  Then comes one
line per transition with its number, what happened, and the numbers of the steps that caused it (the
one whose message is delivered, and the component's own last step).  A line with a verdict ends the
trace of a violation.  The lines are text for people and tools alike; nothing in them is run or
unpickled.

A trace is written under another name and renamed when it is whole, so there are no half traces; a
reader also takes one that was cut short and says so.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from penstock import __version__
from penstock.errors import PenstockError
from penstock.report.story import sentences
from penstock.world.channels import CHANNEL_FAULTS
from penstock.world.signals import FABRIC
from penstock.world.transition import Record

FORMAT: Final = "penstock-trace"
VERSION: Final = 1
LONGEST_LINE: Final = 4_000_000
"""A line longer than this is not read: no step is that long, and a stranger's file may be."""


@dataclass(frozen=True, slots=True)
class Line:
    """One step of a trace, as text."""

    number: int
    transition: str
    node: str
    message: str | None = None
    sends: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    causes: tuple[int, ...] = ()
    told: tuple[str, ...] = ()
    """The step in words, for people."""

    def differs_from(self, record: Record) -> bool:
        """Tell whether a step that was taken again did something else."""
        again = line_of(self.number, record)
        return (again.transition, again.message, again.sends, again.lost) != (
            self.transition,
            self.message,
            self.sends,
            self.lost,
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which property a trace breaks, and how."""

    property: str
    message: str


@dataclass(frozen=True, slots=True)
class Trace:
    """A run that was written down."""

    scenario: Mapping[str, Any]
    folder: str
    lines: tuple[Line, ...]
    verdict: Verdict | None = None
    cut_short: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)


def line_of(number: int, record: Record, causes: tuple[int, ...] = (), told: tuple[str, ...] = ()) -> Line:
    """Return a step as a line of a trace."""
    return Line(
        number,
        str(record.transition),
        record.node,
        None if record.message is None else str(record.message),
        tuple(map(str, record.sends)),
        tuple(map(str, record.events)),
        tuple(map(str, record.lost)),
        causes,
        told,
    )


def lines_of(records: Sequence[Record]) -> Iterator[Line]:
    """Yield the lines of a run, each with its causes."""
    last_of: dict[str, int] = {}
    waiting: dict[str, list[int]] = {}
    for number, (record, told) in enumerate(zip(records, sentences(records), strict=True), 1):
        causes = []
        if record.node in last_of:
            causes.append(last_of[record.node])
        verb, node, what = record.transition
        channel = f"{node}:{what}"
        if verb in CHANNEL_FAULTS:
            queue = tuple(waiting.get(channel, ()))
            causes += queue[:1]
            suffered: Any = CHANNEL_FAULTS[verb](queue)
            waiting[channel] = list(suffered)
        elif record.message is not None and waiting.get(channel):
            causes.append(waiting[channel].pop(0))
        elif node == FABRIC:
            for flight in record.lost:
                waiting.pop(str(flight.channel), None)
        for flight in record.sends:
            waiting.setdefault(str(flight.channel), []).append(number)
        last_of[record.node] = number
        yield line_of(number, record, tuple(sorted(set(causes))), told)


def digest_of(scenario: Mapping[str, Any]) -> str:
    """Return what tells one scenario from another."""
    return blake2b(json.dumps(scenario, sort_keys=True).encode(), digest_size=8).hexdigest()


def write_trace(
    path: Path,
    scenario: Mapping[str, Any],
    folder: Path,
    records: Sequence[Record],
    verdict: Verdict | None = None,
    **details: Any,
) -> Path:
    """Write a whole trace, atomically."""
    header = {
        "format": FORMAT,
        "version": VERSION,
        "penstock": __version__,
        "scenario": scenario,
        "digest": digest_of(scenario),
        "folder": os.path.relpath(folder.resolve(), path.parent.resolve()),
        **details,
    }
    unfinished = path.with_name(path.name + ".part")
    path.parent.mkdir(parents=True, exist_ok=True)
    with unfinished.open("w", encoding="utf-8") as file:
        print(json.dumps(header), file=file)
        for line in lines_of(records):
            print(json.dumps(_as_json(line)), file=file)
        if verdict is not None:
            print(json.dumps({"violated": verdict.property, "message": verdict.message}), file=file)
    unfinished.replace(path)
    return path


def _as_json(line: Line) -> dict[str, Any]:
    found: dict[str, Any] = {"step": line.number, "transition": line.transition, "node": line.node}
    if line.message is not None:
        found["message"] = line.message
    for name in ("sends", "events", "lost", "causes", "told"):
        if getattr(line, name):
            found[name] = list(getattr(line, name))
    return found


def read_trace(path: Path) -> Trace:
    """Read a trace, whoever it came from."""
    try:
        with path.open(encoding="utf-8", errors="strict") as file:
            return _read(path.name, iter(lambda: file.readline(LONGEST_LINE), ""))
    except OSError as error:
        raise PenstockError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise PenstockError(f"{path.name} is no trace: it is not UTF-8 text.") from None


def _read(name: str, texts: Iterator[str]) -> Trace:
    header = _object(name, 1, next(texts, ""))
    if header.get("format") != FORMAT:
        raise PenstockError(f"{name} is no trace: its first line does not say {FORMAT}.")
    if header.get("version") != VERSION:
        raise PenstockError(
            f"{name} is a trace of version {header.get('version')!r}: this Penstock reads {VERSION}."
        )
    scenario, folder = header.get("scenario"), header.get("folder")
    if not isinstance(scenario, dict) or not isinstance(folder, str):
        raise PenstockError(f"{name} has no scenario in its first line: it cannot be used.")
    lines: list[Line] = []
    verdict, cut_short = None, False
    for number, text in enumerate(texts, 2):
        if not text.endswith("\n"):
            cut_short = True
            break
        found = _object(name, number, text)
        if "violated" in found:
            verdict = Verdict(_text(name, number, found, "violated"), _text(name, number, found, "message"))
        else:
            lines.append(_line(name, number, found))
    known = {"format", "version", "penstock", "scenario", "digest", "folder"}
    details = {key: value for key, value in header.items() if key not in known}
    return Trace(scenario, folder, tuple(lines), verdict, cut_short, details)


def _object(name: str, number: int, text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise PenstockError(f"Line {number} of {name} is no JSON object: the trace is damaged.")
    return found


def _text(name: str, number: int, found: dict[str, Any], key: str) -> str:
    value = found.get(key)
    if not isinstance(value, str):
        raise PenstockError(f"Line {number} of {name} has no text {key!r}: the trace is damaged.")
    return value


def _line(name: str, number: int, found: dict[str, Any]) -> Line:
    def texts(key: str) -> tuple[str, ...]:
        values = found.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
            raise PenstockError(
                f"Line {number} of {name} has no list of texts {key!r}: the trace is damaged."
            )
        return tuple(values)

    step, causes = found.get("step"), found.get("causes", [])
    if (
        not isinstance(step, int)
        or not isinstance(causes, list)
        or not all(isinstance(c, int) for c in causes)
    ):
        raise PenstockError(f"Line {number} of {name} has no step number: the trace is damaged.")
    message = _text(name, number, found, "message") if "message" in found else None
    transition, node = _text(name, number, found, "transition"), _text(name, number, found, "node")
    return Line(
        step,
        transition,
        node,
        message,
        texts("sends"),
        texts("events"),
        texts("lost"),
        tuple(causes),
        texts("told"),
    )
