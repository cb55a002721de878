"""Programs whose behaviour is in threads, locks, chance and time (`state_tasks.toml`).

Each has a bug or none within the default scope of a search: timers go off twice, time passes a little,
every outcome of a small roll of the dice is tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.soundness.programs import Lines, Program, app, scenario, table_of


class Case(NamedTuple):
    """What a program does and the truth about it; the fields are explained in the table."""

    name: str
    check: str
    body: str
    before: str = ""
    inside: str = ""
    setup: str = ""
    reason: str = ""
    broken: str = "ControllerCrash"
    native: bool = True


CASES: Final = tuple(Case(**row) for row in table_of(Path(__file__).with_suffix(".toml")))

KIND: Final = "threads, locks, chance, time"


def programs() -> Iterator[Program]:
    """Yield the programs, for both kinds of controllers where that makes sense."""
    for case in CASES:
        for native in (False, True) if case.native else (False,):
            name = f"{'native' if native else 'osken'}_{case.name}_{case.check}"
            lines = Lines(case.before, case.inside, case.setup, case.body)
            table = scenario(f"{name}.py", case.broken, native=native)
            files = {f"{name}.py": app(lines, native=native)}
            # Of what goes by time or chance a proof says no more than that it does.
            truth = case.check if not case.reason else "bug-out-of-scope"
            yield Program(name, KIND, files, table, case.check, truth, case.reason)
