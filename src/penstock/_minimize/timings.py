"""What a live replay waits for, how long, and what earlier replays teach about that.

A replay with real processes spends its time waiting, so the question is always what may be left out.

- An event that was a *reaction* came soon after something else happened.  Once its moment is past and the
  controllers have done all they were given to do, it will not come, and nobody waits any longer.  One that
  came out of silence is a timer's work; for that the replay waits until its moment and `epsilon_ms` more.
- An event that did not come in the replay of some inputs is not waited for when fewer of them are played, nor
  at all after it stayed away from `HOPELESS` replays.
- Stretches of time in which nothing happened are cut short, if all inputs together lead to the violation
  without them.  Whether they do is tried first; where they do not, the recorded distances are kept.

None of this can make a violation appear that is not there.  It can make a replay miss one, as everything can
that depends on time; `careful` has every distance kept and every event waited for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from typing import Final

from penstock._minimize.equivalence import masked
from penstock._minimize.recording import LOG, LOOK, Event, RecordedInput
from penstock._world.transition import DELIVER, INJECT, TIME, Record

EPSILON_MS: Final = 100
HOPELESS: Final = 2
"""After so many replays without it an event is no longer waited for."""
_SILENCE_MS: Final = 50
"""What comes so long after anything else is no reaction to it."""
_KEEP_ALIVES: Final = ("EchoRequest", "EchoReply")


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a live replay waits for, and how long."""

    epsilon_ms: int = EPSILON_MS
    data: bool = False
    """Whether it waits for data packets too."""
    logs: bool = False
    """Whether it waits for log lines, as signs of what a controller does inside."""
    barriers: bool = False
    """Whether a controller stands still at a log line until what came before that has been done."""
    careful: bool = False
    """Whether all distances in time are kept, and violations given all the time they were given."""
    faketime: bool = False
    """Whether the processes' clocks are set to a fixed moment, and kept in step with the record."""
    peek: bool = False
    """Whether it is looked ahead what comes of each input, before a part of them is replayed."""

    def counts(self, event: Event) -> bool:
        """Tell whether an event is one to wait for."""
        verb, _, where = event.transition.partition(" ")
        if verb in (LOOK, TIME) or event.message.startswith(_KEEP_ALIVES):
            return False
        if verb == LOG:
            return self.logs
        is_data = verb == DELIVER and where.rpartition(":")[2].isdecimal()
        return self.data or not is_data


USUAL: Final = Waiting()


class TimeScale(Enum):
    """Whether stretches of time in which nothing happened are cut short."""

    UNTRIED = "untried"
    SHORT = "short"
    """All inputs lead to the violation without them."""
    RECORDED = "recorded"


@dataclass(slots=True)
class LearnedTimings:
    """What replays of one trace have taught; a plain value, so that workers can tell each other."""

    pace: TimeScale = TimeScale.UNTRIED
    missed: dict[int, tuple[frozenset[int], ...]] = field(default_factory=dict)
    """By the line of an event, the inputs with which it was waited for in vain, by their lines."""

    def is_hopeless(self, line: int, played: frozenset[int]) -> bool:
        """Tell whether an event need not be waited for when some inputs are played."""
        known = self.missed.get(line, ())
        return len(known) >= HOPELESS or any(played <= each for each in known)

    def miss(self, lines: Iterable[int], played: frozenset[int]) -> None:
        """Take note of events that did not come when some inputs were played."""
        for line in lines:
            known = self.missed.get(line, ())
            if played not in known and len(known) < HOPELESS:
                self.missed[line] = (*known, played)

    def learn(self, other: LearnedTimings) -> None:
        """Take over what another one knows."""
        if self.pace is TimeScale.UNTRIED:
            self.pace = other.pace
        for line, known in other.missed.items():
            for played in known:
                self.miss([line], played)


@dataclass(slots=True)
class Seen:
    """What has happened in a replay and was not waited for yet."""

    known: Counter[tuple[str, str]] = field(default_factory=Counter)

    def observe(self, record: Record) -> None:
        """Take note of a step."""
        if record.transition.verb != TIME:
            self.known[sight_of(record)] += 1

    def note(self, transition: str, message: str) -> None:
        """Take note of something that happened."""
        self.known[masked(transition), masked(message)] += 1

    def take(self, event: Event) -> bool:
        """Count an event as waited for, if it has happened."""
        sight = _sight(event)
        if not self.known[sight]:
            return False
        self.known[sight] -= 1
        return True


def sight_of(record: Record) -> tuple[str, str]:
    """Return what a step looks like."""
    said = record.message
    if record.transition.verb == INJECT and record.sends:
        said = record.sends[0].message
    return masked(str(record.transition)), masked("" if said is None else str(said))


def _sight(event: Event) -> tuple[str, str]:
    """Return what an event looks like when it happens."""
    if event.transition.startswith(INJECT) and event.sends:
        return event.transition, event.sends[0].partition(" ")[2]
    return event.pair


def timers(events: Sequence[Event]) -> frozenset[int]:
    """Return the lines of the events after an input that came out of silence."""
    moments = (0, *(event.after for event in events))
    return frozenset(
        event.line
        for event, (before, now) in zip(events, pairwise(moments), strict=True)
        if now - before > _SILENCE_MS
    )


def lines_of(cues: Iterable[RecordedInput]) -> frozenset[int]:
    """Return which inputs these are, by their lines."""
    return frozenset(cue.line for cue in cues)
