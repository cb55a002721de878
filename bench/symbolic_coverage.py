"""Which branches of an app packets take, measured with coverage.py on the app as it was published.

What counts is every branch of every function that is entered while a packet is handled: those of the
app, of the app it derives from, and of the part of os-ken's library that looks at packets for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from coverage import Coverage

from bench.symbolic_apps import App, History, Station

WATCHED = ("*/ryu/app/*.py", "*/os_ken/lib/igmplib.py", "*/os_ken/lib/lacplib.py")
EXIT = "exit"
"""Where a branch leads that leaves a function."""


class Branch(NamedTuple):
    """A way from one line of a function to another, both as they are written."""

    function: str
    line: str
    to: str

    def __str__(self) -> str:
        return f"{self.function}: {self.line!r} to {self.to!r}"


@dataclass(frozen=True, slots=True)
class Taken:
    """The branches of all functions that were entered, and by name of the packets those that were taken."""

    branches: frozenset[Branch]
    by: Mapping[str, frozenset[Branch]]


def watched(app: App, packets: Mapping[str, Sequence[History]]) -> Taken:
    """Give histories to an app that is not followed, and return which branches their last packets took."""
    watch = Coverage(
        branch=True, data_file=None, config_file=False, include=WATCHED, concurrency=["greenlet"]
    )
    watch.start()
    try:
        station = Station(app, followed=False)
        states = {
            history[:-1]: station.after(history[:-1])
            for histories in packets.values()
            for history in histories
        }
        for name, histories in packets.items():
            watch.switch_context(name)
            for history in histories:
                station.given(states[history[:-1]], history[-1])
    finally:
        watch.stop()
    found = {name: list(_functions(watch, name)) for name, histories in packets.items() if histories}
    entered = {function.name for functions in found.values() for function in functions if function.entered}
    return Taken(
        frozenset().union(*(_branches(functions, entered) for functions in found.values())),
        {
            name: frozenset[Branch]().union(*(function.taken for function in found.get(name, ())))
            for name in packets
        },
    )


class _Function(NamedTuple):
    """What was measured of one function."""

    name: str
    entered: bool
    taken: frozenset[Branch]
    missed: frozenset[Branch]


def _branches(functions: Iterable[_Function], entered: set[str]) -> frozenset[Branch]:
    return frozenset[Branch]().union(
        *(function.taken | function.missed for function in functions if function.name in entered)
    )


def _functions(watch: Coverage, name: str) -> Iterator[_Function]:
    """Return what was measured while packets of one name were handled."""
    with TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        watch.json_report(outfile=str(report), contexts=[f"^{name}$"])
        files = json.loads(report.read_text())["files"]
    for file, found in files.items():
        lines = Path(file).read_text(encoding="utf-8").splitlines()
        for function, measured in found["functions"].items():
            if function:
                yield _Function(
                    function,
                    bool(measured["executed_lines"]),
                    _named(function, measured["executed_branches"], lines),
                    _named(function, measured["missing_branches"], lines),
                )


def _named(function: str, branches: Iterable[Sequence[int]], lines: Sequence[str]) -> frozenset[Branch]:
    return frozenset(Branch(function, _text(lines, start), _text(lines, end)) for start, end in branches)


def _text(lines: Sequence[str], number: int) -> str:
    return lines[number - 1].strip() if number > 0 else EXIT
