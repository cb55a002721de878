"""Following a script: letting the internal events happen that are expected, in the order of the record.

An expected delivery is made if an equivalent message is there, whatever it is now called; what came
before it on the same channel and nobody expected goes first.  If it is not there, what is unexpected is
let through, since it may lead to it; if it still is not there, it is absent, and the replay goes on
without it (STS §4.0.2).

A message is *unexpected* if no equivalent one was under way at the same place of the recorded run.  One
that was is left alone until its delivery comes up, or for ever if it never arrived: it may be just the
one that has to be lost when a link fails.

While nothing is left out and nothing differs, nothing is let through, so a whole script is followed to
the letter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, Protocol

from penstock._fuzz.inputs import endpoint_of
from penstock._minimize.equivalence import masked
from penstock._minimize.recording import LOG, LOOK, Event, Recording
from penstock._minimize.reproducing import Divergence
from penstock._world.channels import CHANNEL_FAULTS
from penstock._world.component import Endpoint, Message
from penstock._world.signals import FABRIC
from penstock._world.transition import DELIVER, TIME
from penstock.errors import PenstockError

MOST_LET_THROUGH: Final = 200
"""How many unexpected messages are let through at once: a packet that goes round in a loop never ends."""
_MOST_TEXTS: Final = 20_000

_channel_of: Final = lru_cache(maxsize=10_000)(endpoint_of)


class Ground(Protocol):
    """A network on which a script is followed."""

    def queue(self, channel: Endpoint) -> tuple[Message, ...]:
        """Return what is under way on a channel."""
        ...

    def pending(self) -> Iterator[Endpoint | str]:
        """Yield the channels that hold something that may be delivered, and what components may do."""
        ...

    def deliver(self, channel: Endpoint) -> None:
        """Deliver the head of a channel; raises `PenstockError` if that cannot be now."""
        ...

    def act(self, action: str) -> None:
        """Have a component do something by itself; raises `PenstockError` if it cannot now."""
        ...


class Texts:
    """The masked texts of messages on channels, kept by identity."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Endpoint], tuple[Message, str]] = {}

    def of(self, channel: Endpoint, message: Message) -> str:
        """Return a message and its channel as text."""
        kept = self._known.get((id(message), channel))
        if kept is not None and kept[0] is message:
            return kept[1]
        if len(self._known) >= _MOST_TEXTS:
            self._known.clear()
        text = masked(f"{channel} {message}")
        self._known[id(message), channel] = (message, text)
        return text


class GuidedReplay:
    """A script that is being followed."""

    def __init__(self, script: Recording, ground: Ground, texts: Texts, *, exact: bool) -> None:
        self._ground = ground
        self._texts = texts
        self.exact = exact
        """Whether all went as recorded so far, and nothing was left out."""
        self.divergence: Divergence | None = None
        self.followed = self.absent = self.unexpected = 0
        self._afloat: Counter[str] = Counter()
        """What was under way in the recorded run at this place."""
        self._to_come: Counter[str] = Counter(
            event.action for events in script.expected for event in events if event.action
        )
        """What components will still do by themselves."""

    # Where we are in the record.

    def pass_over(self, events: Iterable[Event]) -> None:
        """Go past events of the record that the replay need not follow: an input's own doing."""
        for event in events:
            self._pass(event)

    def _pass(self, event: Event) -> None:
        afloat = self._afloat
        verb, _, where = event.transition.partition(" ")
        if verb == DELIVER:
            _take(afloat, f"{where} {event.message}")
        elif verb == FABRIC or verb in CHANNEL_FAULTS:
            for flight in event.lost:
                _take(afloat, flight)
        if event.action:
            _take(self._to_come, event.action)
        afloat.update(event.sends)

    # Following.

    def follow(self, event: Event) -> bool:
        """Let an expected event happen, if it can; tell whether it did."""
        happened = self._happen(event)
        self._pass(event)
        if happened:
            self.followed += 1
        elif event.transition != LOOK:
            self.absent += 1
            self.differ(event.line, f"{event.transition} {event.message}".strip())
        return happened

    def differ(self, line: int, expected: str, found: str = "") -> None:
        """Take note that the replay is no longer as recorded."""
        if self.exact:
            self.divergence = Divergence(line, expected, found)
        self.exact = False

    def _happen(self, event: Event) -> bool:
        verb, _, where = event.transition.partition(" ")
        if verb in (LOOK, LOG, TIME):
            return True
        if verb == DELIVER:
            channel = _channel_of(where)
            wanted = f"{where} {event.message}"
            return self._deliver(channel, wanted) or (
                self.let_through() > 0 and self._deliver(channel, wanted)
            )
        return self._act(event.action)

    def _act(self, action: str) -> bool:
        try:
            self._ground.act(action)
        except PenstockError:
            return False
        return True

    def _deliver(self, channel: Endpoint, wanted: str) -> bool:
        """Deliver a message, and before it whatever is ahead of it."""
        queue, texts = self._ground.queue(channel), self._texts
        ahead = next((n for n, message in enumerate(queue) if texts.of(channel, message) == wanted), None)
        if ahead is None or (ahead and self.exact):
            return False
        try:
            for _ in range(ahead):
                self._ground.deliver(channel)
                self.unexpected += 1
            self._ground.deliver(channel)
        except PenstockError:
            return False
        return True

    def let_through(self, most: int = MOST_LET_THROUGH) -> int:
        """Let everything happen that nobody expects, unless all is as recorded; return how much that was."""
        if self.exact:
            return 0
        done = 0
        while done < most and self._let_one_through():
            done += 1
        self.unexpected += done
        return done

    def _let_one_through(self) -> bool:
        for turn in self._ground.pending():
            try:
                if isinstance(turn, str):
                    if not self._to_come[turn]:
                        self._ground.act(turn)
                        return True
                elif self._is_unexpected(turn):
                    self._ground.deliver(turn)
                    return True
            except PenstockError:
                continue
        return False

    def _is_unexpected(self, channel: Endpoint) -> bool:
        queue, texts = self._ground.queue(channel), self._texts
        head = texts.of(channel, queue[0])
        allowed = self._afloat[head]
        if not allowed:
            return True
        return allowed < len(queue) and sum(texts.of(channel, other) == head for other in queue) > allowed


def _take(counter: Counter[str], key: str) -> None:
    """Count one less of something, if there is any."""
    left = counter.get(key, 0)
    if left > 1:
        counter[key] = left - 1
    elif left:
        del counter[key]
