"""Running a trace again, on the same scenario, and comparing it step by step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.check import states_of
from penstock.errors import PenstockError
from penstock.properties.watch import Watch
from penstock.scenario import scenario_of
from penstock.trace import read_trace
from penstock.world.transition import Record
from penstock.world.world import World


@dataclass(frozen=True, slots=True)
class Replay:
    """How a trace went when it was run again."""

    records: tuple[Record, ...]
    property: str = ""
    message: str = ""
    reproduced: bool = False
    diverged: int | None = None
    difference: str = ""


def replay(path: Path) -> Replay:
    """Run a trace again; it ends at the first step that differs."""
    trace = read_trace(path)
    built = scenario_of(trace.scenario, path.parent / trace.folder).build()
    world = World(built.network)
    world.restore(built.start)
    watch = Watch(built.network, built.properties)
    wanted = trace.verdict
    name, message = (wanted.property, wanted.message) if wanted is not None else ("", "")
    records: list[Record] = []
    watch.begin(states_of(world))
    for line in trace.lines:
        try:
            record = world.take(line.transition)
        except PenstockError as error:
            return Replay(
                tuple(records), name, message, diverged=line.number, difference=str(error).rstrip(".")
            )
        records.append(record)
        watch.observe(record, states_of(world))
        if line.differs_from(record):
            return Replay(
                tuple(records),
                name,
                message,
                diverged=line.number,
                difference=f"it was recorded as {_short(line.message, line.sends)} and is now {record}",
            )
    if world.is_at_rest():
        watch.at_rest(states_of(world))
    reproduced = bool(name) and watch.broken.get(name) == message
    return Replay(tuple(records), name, message, reproduced)


def _short(message: str | None, sends: tuple[str, ...]) -> str:
    return f"{message or 'an action'} -> {'; '.join(sends) or 'nothing'}"
