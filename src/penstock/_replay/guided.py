"""Guided replay: some inputs of a recording given again, while the expected events are made to happen.

Whoever minimises knows no more of a run than this: it hands some of a recording's inputs to a `Reproducer`
and hears whether the violation came again.  In process that is exact and one try is enough.  With real
processes it is not, and a reproducer may be told to try several times; it stops as soon as it knows.

Following a recording, an expected delivery is made if an equivalent message is there, whatever it is now
called; what came before it on the same channel and nobody expected goes first.  If it is not there, what is
unexpected is let through, since it may lead to it; if it still is not there, it is absent, and the replay
goes on without it (STS §4.0.2).

A message is *unexpected* if no equivalent one was under way at the same place of the recorded run.  One
that was is left alone until its delivery comes up, or for ever if it never arrived: it may be just the
one that has to be lost when a link fails.  While nothing is left out and nothing differs, nothing is let
through, so a whole recording is followed to the letter.

A replay is judged as its run was: by the same invariants, asked as often, with the same patience.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Protocol, Self

from penstock._fuzz.fuzzing import Fuzzing
from penstock._fuzz.generator import Generator
from penstock._fuzz.harness import Harness
from penstock._fuzz.inputs import Check, Fault, Input, endpoint_of
from penstock._fuzz.invariants import Lasting, invariants_of
from penstock._fuzz.judging import VIOLATED, Properties
from penstock._replay.recording import LOG, LOOK, Event, RecordedInput, Recording, Violation, masked
from penstock._world.channels import CHANNEL_FAULTS
from penstock._world.component import Endpoint, Message
from penstock._world.signals import FABRIC
from penstock._world.transition import DELIVER, TIME
from penstock.errors import PenstockError

Announce = Callable[[str], None]
"""Who is told what is about to be done, before it is: a replay may take minutes."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first event in which a replay differed from what was recorded."""

    line: int
    expected: str
    found: str = ""

    def __str__(self) -> str:
        instead = f", and there was {self.found}" if self.found else ", and did not happen"
        return f"line {self.line}: {self.expected} was expected{instead}"


@dataclass(frozen=True, slots=True)
class Attempt:
    """How a replay of some inputs went."""

    reproduced: bool
    message: str = ""
    """What the violation said this time."""
    invariant: str = ""
    divergence: Divergence | None = None
    skipped: tuple[int, ...] = ()
    """The lines of the inputs that had become impossible."""
    followed: int = 0
    """How many internal events happened as expected."""
    absent: int = 0
    """How many were expected and did not happen."""
    unexpected: int = 0
    """How many happened that nobody expected."""
    needed: int | None = None
    """How many of the inputs had been given when the violation was there."""
    seconds: float = 0.0
    tries: int = 1
    hits: int = 0
    """In how many of the tries the violation came."""

    @property
    def is_exact(self) -> bool:
        """Whether all went as recorded."""
        return self.divergence is None and not self.skipped


class Reproducer(Protocol):
    """Something that replays inputs of its script."""

    script: Recording

    @property
    def is_exact(self) -> bool:
        """Whether the same inputs always lead to the same, so that one try says it all."""
        ...

    def run(self, inputs: Sequence[RecordedInput], *, tries: int = 1) -> Attempt:
        """Replay some of the script's inputs, in their order; try up to so many times."""
        ...

    def record(self, inputs: Sequence[RecordedInput], path: Path, *, home: Path | None = None) -> Attempt:
        """Replay some of the script's inputs once, and write what happens as a trace.

        Whoever moves the trace says where to: it tells where the scenario is from there.
        """
        ...

    def rewritten(self, inputs: Sequence[RecordedInput]) -> Recording | None:
        """Return a replay of some inputs as a script of its own, if it leads to the violation."""
        ...

    def with_script(self, script: Recording) -> Self:
        """Return a reproducer for another script, which shares with this one what is costly to make."""
        ...


# Following.


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

    def attempt(
        self, broken: tuple[str, str] | None, skipped: Iterable[int], needed: int | None, seconds: float
    ) -> Attempt:
        """Return how the replay went that was guided so: what it broke, and what was left out of it."""
        return Attempt(
            reproduced=broken is not None,
            message="" if broken is None else broken[1],
            invariant="" if broken is None else broken[0],
            divergence=self.divergence,
            skipped=tuple(skipped),
            followed=self.followed,
            absent=self.absent,
            unexpected=self.unexpected,
            needed=needed,
            seconds=seconds,
            hits=int(broken is not None),
        )

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


# Judging.


_FIRST_PAUSE_MS: Final = 20
"""How soon it is looked again whether a violation has passed; later looks are further apart."""


Wait = Callable[[int], Awaitable[None]]
"""Lets some milliseconds pass."""


class Judge:
    """What a run's invariants say of a replay, and whether that is the violation in question."""

    def __init__(self, stage: Harness, violation: Violation | None, *, wide: bool) -> None:
        setting = stage.setting
        self._stage = stage
        self._violation = violation
        self._wide = wide
        self._properties = Properties(stage.world, setting.properties) if setting.properties else None
        watched = [self._properties] if self._properties is not None else []
        # The fuzzer's own book-keeping, so that what is found, and when, is found by the same code.
        self.fuzzing = Fuzzing(stage, Generator(setting, 0), (*watched, *invariants_of(stage)))
        self._inputs = 0
        self._mending: set[str] = set()
        """The controllers that the fuzzer restarts because of a mishap."""
        self.message = ""
        """What the violation in question said, if it was found."""
        self.invariant = ""

    def begin(self) -> None:
        """Judge the network as the run begins."""
        if self._properties is not None:
            self._properties.begin()

    @property
    def found(self) -> bool:
        """Whether the violation in question was found."""
        return bool(self.invariant)

    def after(self, what: Input) -> None:
        """Look at the invariants after an input, if the run would have."""
        options = self._stage.setting.options
        if isinstance(what, Fault) and what.what in ("crash", "restart") and what.target in self._mending:
            if what.what == "restart":
                self._mending.discard(what.target)
            return
        self._inputs += 1
        if isinstance(what, Check) or self._inputs % options.check_every == 0:
            self.look(at_rest=isinstance(what, Check) and self.is_at_rest)
        mishaps = self.fuzzing.mishaps
        if mishaps.crashed or mishaps.hung:
            if options.after_crash != "stop":
                again = {*mishaps.hung, *(mishaps.crashed if options.after_crash == "restart" else ())}
                self._mending |= again
            mishaps.crashed, mishaps.hung = [], []

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is under way or held."""
        return self._stage.courier.is_idle and not self._stage.courier.held

    def _is_undecided(self) -> bool:
        """Tell whether only time can tell if something that is wrong lasts."""
        return any(invariant.is_undecided for invariant in self.fuzzing.invariants)

    async def conclude(self, wait: Wait, settle_ms: int) -> None:
        """Give what is wrong the time to be known to last, then let everything arrive and judge that too."""
        patience = self._stage.setting.options.persistent_ms
        await self.see_whether_it_lasts(patience, wait, self._is_undecided)
        if not self.found:
            rested = await self._stage.quiesce(settle_ms)
            self.look(at_rest=rested and self.is_at_rest)
            await self.see_whether_it_lasts(patience, wait, self._is_undecided)

    async def see_whether_it_lasts(self, left: int, wait: Wait, may_last: Callable[[], bool]) -> None:
        """Look again and again for some milliseconds, while only time can tell whether something lasts."""
        pause = _FIRST_PAUSE_MS
        while left > 0 and not self.found and may_last():
            pause = min(pause, left)
            await wait(pause)
            self.look()
            left -= pause
            pause *= 2

    def look(self, *, at_rest: bool = False) -> bool:
        """Look at the invariants now; tell whether the violation in question is there."""
        news = self.fuzzing.check(at_rest=at_rest)
        violation = self._violation
        if violation is None or self.found:
            return self.found
        for found in news:
            finding = found.finding
            if finding.verdict != VIOLATED or not finding.persistent:
                continue
            if violation.is_same(finding.invariant, finding.message, wide=self._wide):
                self.invariant, self.message = finding.invariant, finding.message
            elif finding.invariant == violation.invariant and finding.message.endswith(" more)"):
                self._look_behind(violation)
            if self.found:
                return True
        return False

    def _look_behind(self, violation: Violation) -> None:
        """See whether the violation is among those that were told by their number only."""
        for invariant in self.fuzzing.invariants:
            if not isinstance(invariant, Lasting) or invariant.source.name != violation.invariant:
                continue
            for message in invariant.source.claims().values():
                if masked(message.partition(":")[0]) == violation.what and not invariant.is_undecided:
                    self.invariant, self.message = violation.invariant, message
