"""A trace taken again step by step, for the states between its steps.

A trace says what happened, not what was in the tables afterwards.  So the run is taken again, with silent
controllers or, if they may run, with those of the trace (see `_replay.player`).  After each step, what
changed is noted as lines that are gone and lines that are new, section by section (see `states`).

The trace may be a stranger's.  Nothing that it names is run unless the user consents to that: the switches
and hosts of the model are played again with what the trace says that controllers sent, and what these know is
not shown.  Where the run goes another way, or the trace does not have enough, the states end there and a
sentence says why.  Time, steps and the amount of text are bounded.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from penstock._replay.player import TracePlayer, Turn, playable
from penstock._report.states import IN_FLIGHT, IN_ORDER, Change, Describer, Lines, difference, in_order
from penstock._trace.consent import Consent, what_runs
from penstock._trace.trace import AnyTrace
from penstock._world.component import Collector, Endpoint
from penstock._world.network import Network
from penstock._world.signals import FABRIC
from penstock._world.transition import Record
from penstock._world.world import World
from penstock.errors import PenstockError

MOST_SECONDS: Final = 120.0
"""How much computing a run may take to be taken again."""
MOST_TEXT: Final = 200_000_000
"""How many characters of changes are kept."""
LONGEST_WAIT: Final = 3_600_000
"""How many milliseconds may pass between two steps: no run waits for longer, and a stranger's may say so."""
_MOST_TEXTS: Final = 20_000


@dataclass(slots=True)
class Unfolded:
    """The states of a run: those it starts with, and by the number of each step what it changed."""

    network: Network | None = None
    start: list[tuple[str, str, Lines]] = field(default_factory=list)
    changes: dict[int, list[Change]] = field(default_factory=dict)
    until: int | None = None
    """The last step whose states are known, if they end before the run does."""
    remarks: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """What there would be to see besides, if the controller could be run."""

    @property
    def has_states(self) -> bool:
        """Whether there are any states."""
        return self.network is not None


def unfold(
    trace: AnyTrace, base: Path, consent: Consent | None = None, *, seconds: float = MOST_SECONDS
) -> Unfolded:
    """Take a trace again, as far as that goes; `base` is the folder that the trace is in.

    Without consent nothing that it names is run, and what its controllers know is left out.
    """
    found = Unfolded()
    try:
        player = TracePlayer(playable(trace, base, consent))
        watching = Watching(player.world)
        found.start = watching.start()
    except Exception as error:
        # Whatever a stranger's scenario breaks, the rest of the report does not need it.
        found.remarks.append(f"States are not shown, since the run cannot be replayed: {_why(error)}.")
        return found
    found.network = player.world.network
    if consent is None and any(line.said for line in (*trace.joining, *trace.lines)):
        found.left_out.append(
            "The controller's state is not shown, since nothing was run: --run runs "
            f"{what_runs(trace.scenario)} for it."
        )
    deadline = time.thread_time() + seconds
    before, room = 0, MOST_TEXT
    for turn in player.playable.turns:
        line = turn.line
        changes, why = _take(player, watching, turn)
        room -= sum(len(text) for change in changes for text in (*change.removed, *change.added))
        if not why and time.thread_time() > deadline:
            why = f"it takes longer than {seconds:g} s"
        if not why and room < 0:
            why = "too much changes"
        if why:
            found.until = before
            found.remarks.append(f"States are shown up to step {before}: at step {line.number} {why}.")
            return found
        if changes:
            found.changes[line.number] = changes
        before = line.number
    return found


def _why(error: Exception) -> str:
    text = str(error).rstrip(".")
    return text if isinstance(error, PenstockError) else f"{type(error).__name__}: {text}"


def _take(player: TracePlayer, watching: Watching, turn: Turn) -> tuple[list[Change], str]:
    """Take a step; return what it changed, and why it did not go as recorded, if so."""
    wait = 0 if turn.moment is None else turn.moment - player.world.clock
    if wait > LONGEST_WAIT:
        return [], f"the replay diverges: nothing happens for {wait // 1000:,} s"
    try:
        played = player.forward()
        changes = watching.changes()
    except Exception as error:
        return [], f"the replay fails: {_why(error)[:300]}"
    if played.failure:
        return [], f"the replay diverges: {played.failure[:300]}"
    if played.differs:
        return [], f"the replay diverges: now it is {str(played.record)[:300]}"
    return changes, ""


class Watching:
    """Looks at a world after each step, and tells what is different."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._describers = {name: Describer() for name in world.network.names}
        self._states: dict[str, object] = {}
        self._sections: dict[str, dict[str, Lines]] = {name: {} for name in world.network.names}
        self._queues: dict[str, dict[Endpoint, Lines]] = {name: {} for name in world.network.names}
        self._texts: dict[int, tuple[object, str]] = {}
        self._collecting = [made.name for made in world.network.components if isinstance(made, Collector)]
        self._nodes: dict[str, None] = {}
        """The components that may be different since the last look."""
        self._channels: dict[Endpoint, None] = {}
        """The channels that may be."""
        world.observe(self._observe)

    def _observe(self, record: Record) -> None:
        _, node, what = record.transition
        self._nodes[record.node] = None
        channel = Endpoint(node, what)
        if record.message is not None or channel in self._world.network.outlets:
            self._channels[channel] = None
        for flight in (*record.sends, *record.lost):
            self._channels[flight.channel] = None

    def start(self) -> list[tuple[str, str, Lines]]:
        """Return all there is to see at the beginning."""
        self._nodes = dict.fromkeys(self._world.network.names)
        self._channels = dict.fromkeys(self._world.network.channels)
        return [(change.component, change.section, change.added) for change in self.changes()]

    def changes(self) -> list[Change]:
        """Return what is different since the last look."""
        found: list[Change] = []
        for name in dict.fromkeys((*self._nodes, *self._collecting)):
            found += self._component(name)
        for node in dict.fromkeys(channel.node for channel in self._channels):
            found += self._in_flight(node)
        self._nodes, self._channels = {}, {}
        return found

    def _component(self, name: str) -> Iterator[Change]:
        state = self._world.state(name)
        if self._states.get(name) is state:
            return
        self._states[name] = state
        before = self._sections[name]
        after = self._describers[name].sections(state)
        self._sections[name] = after
        for section in dict.fromkeys((*after, *before)):
            old, new = before.get(section, ()), after.get(section, ())
            if old is not new:
                removed, added = (in_order if section in IN_ORDER else difference)(old, new)
                if removed or added:
                    yield Change(name, section, removed, added)

    def _in_flight(self, node: str) -> Iterator[Change]:
        queues = self._queues[node]
        removed: list[str] = []
        added: list[str] = []
        for channel in [channel for channel in self._channels if channel.node == node]:
            before = queues.get(channel, ())
            waiting = self._world.queue(channel)
            after = tuple(f"{_outlet(channel)}: {self._text(message)}" for message in waiting)
            if after:
                queues[channel] = after
            else:
                queues.pop(channel, None)
            gone, new = in_order(before, after)
            removed += gone
            added += new
        if removed or added:
            yield Change(node, IN_FLIGHT, tuple(removed), tuple(added))

    def _text(self, message: object) -> str:
        known = self._texts.get(id(message))
        if known is None or known[0] is not message:
            if len(self._texts) >= _MOST_TEXTS:
                self._texts.clear()
            known = self._texts[id(message)] = (message, str(message))
        return known[1]


def _outlet(channel: Endpoint) -> str:
    control = channel.node == FABRIC or isinstance(channel.port, str)
    return f"to {channel.port}" if control else f"port {channel.port}"
