"""Runs for ShiViz: a log in which every event has its vector clock.

A file begins with the regular expression that ShiViz is to read it by, and an empty line where it expects
what divides several runs.  Then come two lines for each event, its host and clock, and what happened:

    s1 {"h1": 1, "s1": 3}
    5. s1 gets h1#1 …

The hosts are the components.  What a fuzzer did is told by a host of its own, as are the verdicts.  A step's
clock is the least that is after those of its causes, so what ShiViz says happened before is what the trace
says.  A verdict comes after the last step before it.  Nothing is run.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TextIO, assert_never

from penstock._base.text import on_one_line
from penstock._report.export.violations import source_of
from penstock._trace.retelling import stories_of
from penstock._trace.trace import FindingLine, InputLine, Line, LogLine, Trace
from penstock.errors import PenstockError

PARSER: Final = r"(?<host>\S+) (?<clock>\{.*\})\n(?<event>.*)"
"""What ShiViz reads the log by."""
FUZZER: Final = "fuzzer"
VERDICTS: Final = "verdicts"
MOST_ENTRIES: Final = 5_000_000
"""How many entries all clocks may have together: each step has one for all components it depends on."""

_NO_HOST: Final = re.compile(r"[^\w.:#-]", re.ASCII)

Clock = dict[str, int]


def write_shiviz(path: Path, file: TextIO) -> str:
    """Write a trace as a log for ShiViz."""
    trace = source_of(path).trace
    file.write(f"{PARSER}\n\n")
    for host, clock, event in events_of(trace):
        file.write(f"{host} {json.dumps(clock)}\n{event}\n")
    return ""


def events_of(trace: Trace) -> Iterator[tuple[str, Clock, str]]:
    """Yield the events of a trace, each with its host and its clock."""
    lines = trace.items
    stories = stories_of(trace.lines)
    clocks = _Clocks()
    for line in lines:
        match line:
            case Line():
                told = next(stories)
                happened = (line.node, line.causes, told[0])
            case InputLine():
                happened = (FUZZER, (), f"input: {line.text}")
            case LogLine():
                happened = (line.source, (), f"log: {line.text}")
            case FindingLine():
                happened = (VERDICTS, clocks.latest, f"{line.invariant} {line.verdict}: {line.message}")
            case _:
                assert_never(line)
        node, causes, text = happened
        is_component = isinstance(line, Line | LogLine)
        yield *clocks.tick(line.number, node, causes, is_component), _one_line(f"{line.number}. {text}")
    if trace.verdict is not None:
        text = f"{trace.verdict.property} violated: {trace.verdict.message}"
        number = lines[-1].number + 1 if lines else 1
        yield *clocks.tick(number, VERDICTS, clocks.latest, False), _one_line(text)


class _Clocks:
    """The clocks of a run's hosts."""

    def __init__(self) -> None:
        self._hosts: dict[tuple[str, bool], str] = {}
        """What is called how in the log, components apart from all else."""
        self._taken: set[str] = set()
        self._alike: dict[str, int] = {}
        """How many have been given each name, with a number behind it from the second on."""
        self._room = MOST_ENTRIES
        self._last: dict[str, Clock] = {}
        self._at: dict[int, Clock] = {}
        self.latest: tuple[int, ...] = ()
        """The last line so far, as a cause."""

    def tick(self, number: int, node: str, causes: tuple[int, ...], is_component: bool) -> tuple[str, Clock]:
        """Have something happen at a node because of others; return its host and the clock there."""
        host = self._host(node, is_component)
        clock = dict(self._last.get(host, ()))
        for cause in causes:
            for other, time in self._at.get(cause, {}).items():
                if clock.get(other, 0) < time:
                    clock[other] = time
        clock[host] = clock.get(host, 0) + 1
        self._room -= len(clock)
        if self._room < 0:
            raise PenstockError("The trace has too many components and steps for vector clocks: minimise it.")
        self._last[host] = self._at[number] = clock
        self.latest = (number,)
        return host, clock

    def _host(self, node: str, is_component: bool) -> str:
        """Return a name without what the log has a meaning for; different nodes keep different names."""
        known = self._hosts.get((node, is_component))
        if known is None:
            wanted = known = _NO_HOST.sub("_", node)[:100] or "_"
            number = self._alike.get(wanted, 1)
            while known in self._taken:
                known, number = f"{wanted}#{number + 1}", number + 1
            self._alike[wanted] = number
            self._taken.add(known)
            self._hosts[node, is_component] = known
        return known


def _one_line(text: str) -> str:
    return on_one_line(text)
