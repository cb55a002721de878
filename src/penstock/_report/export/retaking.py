"""A trace taken again, for the values that its texts stand for: messages, frames, states.

    again = retake(path)
    for taken in again.steps():
        taken.line, taken.sends, again.world

Nothing that the trace names is run: what its controllers said is put in where they said it (see
`_rootcause.recording`).  With the user's consent they run: a search is taken again in a world of its own, a
proof in the lifted network that it was about; of a fuzzing run everything in process is.  The steps end where
the run goes another way than the trace, and `remark` then says so in one sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock._engine.building import build
from penstock._minimize.recording import is_fuzzed, trace_file
from penstock._rootcause.recording import recording_again, recording_of
from penstock._rootcause.rewinding import Rewind
from penstock._trace.consent import Consent, runnable
from penstock._trace.trace import Line, Trace, read_trace
from penstock._verify.abstract_switch import AbstractSwitch
from penstock._world.network import ComponentRaised, GlobalState, Network
from penstock._world.switch import Switch
from penstock._world.transition import TIME, InFlight, Record
from penstock._world.world import World
from penstock.errors import PenstockError
from penstock.openflow.messages import V13

_MOST_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class Taken:
    """A step of a trace with what it really sent and did."""

    line: Line
    sends: tuple[InFlight, ...]
    record: Record | None = None


class Retaking:
    """A trace on its way through a world once more."""

    def __init__(self, file: Path, trace: Trace, consent: Consent | None = None) -> None:
        self.file = file
        self.trace = trace
        self.remark = ""
        """Why the steps ended before those of the trace, if they did."""
        self._rewind: Rewind | None = None
        if consent is None:
            self._rewind = Rewind(recording_of(trace))
        elif is_fuzzed(trace):
            self._rewind = _rewind_of(trace, file, consent)
        self.world = _world_of(trace, file, consent) if self._rewind is None else self._rewind.world

    @property
    def network(self) -> Network:
        """The network in which the steps are taken."""
        return self.world.network

    def version(self) -> int:
        """Return the version of OpenFlow that is spoken; all switches of a network speak the same."""
        for made in self.network.components:
            inner = made.inner if isinstance(made, AbstractSwitch) else made
            if isinstance(inner, Switch):
                return inner.options.version
        return V13

    def steps(self) -> Iterator[Taken]:
        """Yield the steps one by one; `world` is then as it was right after each."""
        return self._searched() if self._rewind is None else self._fuzzed(self._rewind)

    def _searched(self) -> Iterator[Taken]:
        for line in self.trace.lines:
            try:
                record = self.world.take(line.transition)
            except (PenstockError, ComponentRaised) as error:
                self._went_another_way(line.number, str(error))
                return
            if line.differs_from(record):
                self._went_another_way(line.number, f"it is now {record}")
                return
            yield Taken(line, record.sends, record)

    def _fuzzed(self, rewind: Rewind) -> Iterator[Taken]:
        seen: list[Record] = []
        rewind.world.observe(seen.append)
        while not rewind.is_at_end:
            seen.clear()
            turn, record = rewind.forward()
            if rewind.difference is not None:
                self._went_another_way(rewind.difference.line, rewind.difference.how)
                return
            if turn.falls_due:
                # It happened when its moment came, which may have been before its line.
                yield Taken(turn.line, () if record is None else record.sends, record)
                continue
            sends = [flight for one in seen if one.transition.verb != TIME for flight in one.sends]
            yield Taken(turn.line, tuple(sends), record)

    def _went_another_way(self, number: int, how: str) -> None:
        shown = how.rstrip(".")[:_MOST_SHOWN]
        self.remark = (
            f"The run goes another way at step {number}, so that only what was before is here: {shown}."
        )


def retake(path: Path, consent: Consent | None = None) -> Retaking:
    """Return a trace, or that of a run's folder, to be taken again; with consent, what it names runs."""
    file = trace_file(path)
    return Retaking(file, read_trace(file), consent)


def _rewind_of(trace: Trace, file: Path, consent: Consent) -> Rewind:
    """Return a fuzzing run to be taken again; controllers in process say themselves what they said."""
    has_words = any(line.wire is not None and line.version for line in trace.lines)
    recording = recording_of(trace) if has_words else recording_again(trace, file.parent, consent)
    return Rewind(recording)


def _world_of(trace: Trace, file: Path, consent: Consent | None) -> World:
    """Return the world in which a search or a proof begins."""
    assert consent is not None, "without it nothing is built that would run"
    network, start = _beginning(trace, file.parent, consent)
    world = World(network)
    world.restore(start)
    return world


def _beginning(trace: Trace, base: Path, consent: Consent) -> tuple[Network, GlobalState]:
    if "verify" in trace.details:
        from penstock._verify.replaying import lifted_again

        model = lifted_again(trace, base, consent).model
        return model.network, model.start
    built = build(runnable(trace, base, consent))
    return built.network, built.start
