"""Delta debugging to few inputs, and shrinking of what is left.

Delta debugging: from many units to few of which none can be left out.

This is ddmin (Zeller and Hildebrandt; STS §3), with two changes that save tests and lose nothing: of the
subsets only the two halves are tried, and the parts are left out from the earliest on, since a violation
comes at the end.  A last pass leaves out one unit at a time until none can be; the result is 1-minimal,
which is not to say that nothing smaller exists (for that, see `ddmin.shortest`).

*Units* are inputs that are left out together.  Something that failed and recovered did both or neither: a
recovery alone means nothing (STS §3.1).  So each of these inputs belongs with the next one of the same target
that undoes it.  Later, when the units are as few as can be, the halves of a pair are tried one by one as
well.

What was tried is remembered by what it consists of, so nothing is tried twice, neither in one run nor,
with a `Progress` that has a file, in the next after this one was killed.  The `CachedOracle` keeps these
answers.

Making a short sequence simple as well: what a reader need not wonder about should not be in it.

In this order, each step kept only if the violation survives it:

- The order of internal events: if everything may arrive before the next input, no order is told at all.
  Otherwise the deliveries that need not come before the next input are put off to the end, by delta
  debugging over deliveries (as DEMi does), until each that is left is needed where it is.
- Times: waits and delays become as short as they can be, by halving.
- Packets: a plain ping in place of anything else, and the first of its kind.
- Hosts: the lowest that do as well.
- The topology: the smallest of its shape in which all inputs are still possible.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from typing import Final, TypeVar

from penstock._fuzz.inputs import EVERYBODY, Delay, InjectFrame, Input, SendPacket, Wait
from penstock._minimize.progress import Progress
from penstock._replay.guided import Attempt, Reproducer
from penstock._replay.recording import LOOK, Action, Event, RecordedInput, Recording
from penstock._world.signals import FABRIC
from penstock.errors import PenstockError

T = TypeVar("T")
Test = Callable[[tuple[T, ...]], bool]


def ddmin(items: Sequence[T], test: Test[T]) -> tuple[T, ...]:
    """Return few of some items that still pass a test which all of them pass together.

    The test is asked about subsequences; none of one item less than the result passes, nor of two
    neighbours less: inputs that only pass the time may do so in pairs.
    """
    kept, parts = tuple(items), 2
    while len(kept) > 1:
        parts = min(parts, len(kept))
        smaller = _halves(kept, test) if parts == 2 else None
        if smaller is not None:
            kept, parts = smaller, 2
            continue
        less, removed = _without_parts(kept, parts, test)
        if removed:
            kept, parts = less, max(2, parts - removed)
        elif parts >= len(kept):
            break
        else:
            parts *= 2
    kept = one_by_one(kept, test)
    while (shorter := _without_neighbours(kept, test)) is not None:
        kept = one_by_one(shorter, test)
    return kept


def _bounds(size: int, parts: int) -> list[tuple[int, int]]:
    edges = [size * part // parts for part in range(parts + 1)]
    return list(pairwise(edges))


def _halves(kept: tuple[T, ...], test: Test[T]) -> tuple[T, ...] | None:
    middle = len(kept) // 2
    # The later half first: what leads to a violation is mostly right before it.
    return next((half for half in (kept[middle:], kept[:middle]) if test(half)), None)


def _without_parts(kept: tuple[T, ...], parts: int, test: Test[T]) -> tuple[tuple[T, ...], int]:
    """Leave out each part in turn, for good where that passes; return what is left and how many went."""
    removed = 0
    chunks = [kept[start:end] for start, end in _bounds(len(kept), parts)]
    index = 0
    while index < len(chunks) and len(chunks) > 1:
        rest = chunks[:index] + chunks[index + 1 :]
        if test(tuple(item for chunk in rest for item in chunk)):
            chunks = rest
            removed += 1
        else:
            index += 1
    return tuple(item for chunk in chunks for item in chunk), removed


def _without_neighbours(kept: tuple[T, ...], test: Test[T]) -> tuple[T, ...] | None:
    """Return the items without two that follow each other, if they pass."""
    pairs = (kept[:index] + kept[index + 2 :] for index in range(len(kept) - 1))
    return next((less for less in pairs if less and test(less)), None)


def one_by_one(items: Sequence[T], test: Test[T]) -> tuple[T, ...]:
    """Leave items out one at a time until none can be left out; the result is 1-minimal."""
    kept = tuple(items)
    again = True
    while again:
        again = False
        index = 0
        while index < len(kept):
            less = kept[:index] + kept[index + 1 :]
            if test(less):
                kept, again = less, True
            else:
                index += 1
    return kept


# Units.


UNDOES: Final[Mapping[str, str]] = {
    "recover": "fail",
    "restart": "crash",
    "reconnect": "disconnect",
    "heal": "partition",
    "release": "hold",
    "unlimit": "limit",
}
"""Which inputs undo which."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One or two inputs that are left out together."""

    inputs: tuple[RecordedInput, ...]

    def __str__(self) -> str:
        return " … ".join(map(str, self.inputs))


def units_of(inputs: Iterable[RecordedInput]) -> tuple[Unit, ...]:
    """Return the units that inputs belong to, in the order of their first inputs."""
    units: list[list[RecordedInput]] = []
    waiting: dict[tuple[str, str], list[list[RecordedInput]]] = {}
    for cue in inputs:
        verb, target = _words(cue)
        undone = UNDOES.get(verb)
        opened = waiting.get((undone, target)) if undone is not None else None
        if opened:
            opened.pop().append(cue)
            continue
        units.append([cue])
        if verb in UNDOES.values():
            waiting.setdefault((verb, target), []).append(units[-1])
    return tuple(Unit(tuple(unit)) for unit in units)


def _words(cue: RecordedInput) -> tuple[str, str]:
    """Return what an input does, and to what."""
    words = str(cue).split()
    if isinstance(cue.what, Action) and words[0] == FABRIC:
        words = words[1:]
    verb, target, *_ = *words, "", ""  # a stranger's trace may say less
    return verb, target


def cues_of(units: Iterable[Unit]) -> tuple[RecordedInput, ...]:
    """Return the inputs of units, in the order in which they came."""
    return tuple(sorted((cue for unit in units for cue in unit.inputs), key=lambda cue: cue.line))


def singles(units: Iterable[Unit]) -> tuple[Unit, ...]:
    """Return every input of some units as a unit of its own."""
    return tuple(Unit((cue,)) for cue in cues_of(units))


# What a candidate leads to.


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sequence of inputs, and the script that it is played by."""

    script: Recording
    inputs: tuple[RecordedInput, ...]


class CachedOracle:
    """Tells which candidates reproduce the violation."""

    def __init__(self, reproducer: Reproducer, progress: Progress, tries: int = 1) -> None:
        self.progress = progress
        self.tries = tries
        self.is_exact = reproducer.is_exact
        self._first = reproducer
        self._reproducers: dict[int, tuple[Recording, Reproducer, str]] = {
            id(reproducer.script): (reproducer.script, reproducer, reproducer.script.digest())
        }

    def reproducer(self, script: Recording) -> Reproducer:
        """Return what replays a script."""
        return self._of(script)[1]

    def attempt(self, script: Recording, inputs: Sequence[RecordedInput], *, again: int = 0) -> Attempt:
        """Replay some inputs of a script, unless it is known how that went, or how it went the n-th time."""
        key = f"{self._key(script, inputs)}{f' {again}' if again else ''}"
        return self.progress.answer(
            key, len(inputs), lambda: self.reproducer(script).run(inputs, tries=self.tries)
        )

    def passes(self, candidate: Candidate) -> bool:
        """Tell whether a candidate reproduces the violation."""
        return self.attempt(candidate.script, candidate.inputs).reproduced

    def _of(self, script: Recording) -> tuple[Recording, Reproducer, str]:
        known = self._reproducers.get(id(script))
        if known is None or known[0] is not script:
            known = (script, self._first.with_script(script), script.digest())
            self._reproducers[id(script)] = known
        return known

    def _key(self, script: Recording, inputs: Sequence[RecordedInput]) -> str:
        digest = self._digests(script)
        asked = json.dumps([digest, [(cue.line, str(cue)) for cue in inputs]])
        return blake2b(asked.encode(), digest_size=12).hexdigest()

    def _digests(self, script: Recording) -> str:
        known = self._reproducers.get(id(script))
        return known[2] if known is not None and known[0] is script else script.digest()


_SIZES: Final = {"single": 1, "linear": 1, "ring": 3, "mesh": 2, "tree": 1}
"""How small the shapes of topologies can be."""

Change = tuple[int, Input]


def simplify_candidate(found: Candidate, trials: CachedOracle, hosts: list[str]) -> Candidate:
    """Return a candidate as simple as it can be made; `hosts` are those that may stand for others."""
    trials.progress.phase = "internal events"
    if trials.is_exact:
        found = _order(found, trials)
    if found.script.engine != "fuzz":
        return found
    trials.progress.phase = "times"
    found = _times(found, trials)
    trials.progress.phase = "packets and hosts"
    found = _contents(found, trials, hosts)
    trials.progress.phase = "topology"
    return _smaller_network(found, trials)


# The order of internal events.


def _order(found: Candidate, trials: CachedOracle) -> Candidate:
    settled = Candidate(replace(found.script, settles=True), found.inputs)
    if trials.passes(settled):
        return settled
    own = _own_script(found, trials)
    if own is None or not trials.passes(own):
        return found
    # Before the first input a fuzzed network only starts, which is as it is.
    begin = 1 if own.script.engine == "fuzz" else 0
    events = [
        (place, event)
        for place, segment in enumerate(own.script.expected)
        for event in segment
        if place >= begin and event.transition != LOOK
    ]

    def enough(some: tuple[tuple[int, Event], ...]) -> bool:
        return trials.passes(_with_events(own, some, begin))

    if enough(()):
        return _with_events(own, (), begin)
    return _with_events(own, ddmin(events, enough), begin) if enough(tuple(events)) else own


def _own_script(found: Candidate, trials: CachedOracle) -> Candidate | None:
    """Return the candidate's own run as a script: only what happens in it is expected in it."""
    script = trials.reproducer(found.script).rewritten(found.inputs)
    return None if script is None or script.violation is None else Candidate(script, script.inputs)


def _with_events(own: Candidate, events: tuple[tuple[int, Event], ...], begin: int) -> Candidate:
    """Return a candidate that expects no more than these events, besides those from before the `begin`."""
    segments: list[list[Event]] = [[] for _ in own.script.expected]
    for place, event in events:
        segments[place].append(event)
    expected = (*own.script.expected[:begin], *map(tuple, segments[begin:]))
    return Candidate(replace(own.script, expected=expected), own.inputs)


# Single inputs.


def _with_input(found: Candidate, index: int, what: Input) -> Candidate:
    cue = replace(found.inputs[index], what=what)
    if isinstance(what, Wait):
        cue = replace(cue, lasts=what.milliseconds)
    inputs = (*found.inputs[:index], cue, *found.inputs[index + 1 :])
    return Candidate(found.script, inputs)


def _times(found: Candidate, trials: CachedOracle) -> Candidate:
    for index, cue in enumerate(found.inputs):
        match cue.what:
            case Wait(milliseconds) | Delay(_, milliseconds):
                low, high = 0, milliseconds
                while high - low > 1:
                    middle = (low + high) // 2
                    if trials.passes(_with_input(found, index, replace(cue.what, milliseconds=middle))):
                        high = middle
                    else:
                        low = middle
                if high < milliseconds:
                    found = _with_input(found, index, replace(cue.what, milliseconds=high))
    return found


def _contents(found: Candidate, trials: CachedOracle, hosts: list[str]) -> Candidate:
    for index, cue in enumerate(found.inputs):
        for simpler in _simpler(cue, hosts):
            candidate = _with_input(found, index, simpler)
            if trials.passes(candidate):
                found = candidate
                break
    return found


def hosts_of(script: Recording) -> list[str]:
    """Return the hosts that send or are sent something in a script, the lowest first."""
    names = {
        name
        for cue in script.inputs
        if isinstance(cue.what, SendPacket)
        for name in (cue.what.host, cue.what.to)
        if name != EVERYBODY
    }
    return sorted(names, key=lambda name: (len(name), name))


def _simpler(cue: RecordedInput, hosts: list[str]) -> Iterator[Input]:
    """Yield simpler inputs in place of one, the simplest first."""
    match cue.what:
        case SendPacket() as sent:
            # Two hosts above the present ones are never simpler, so there are few to try.
            for host in hosts:
                for to in hosts:
                    plain = SendPacket(host, to, "ping")
                    if host != to and _rank(plain) < _rank(sent):
                        yield plain
            for plain in (replace(sent, protocol="ping", number=1), replace(sent, number=1)):
                if plain != sent:
                    yield plain
        case InjectFrame(channel, _, _) if channel.node in hosts:
            for to in hosts:
                if to != channel.node:
                    yield SendPacket(channel.node, to, "ping")


def _rank(sent: SendPacket) -> tuple[bool, int, str, int, str, bool, int]:
    """Return what makes one packet simpler than another."""
    return (
        sent.to == EVERYBODY,
        len(sent.host),
        sent.host,
        len(sent.to),
        sent.to,
        sent.protocol != "ping",
        sent.number,
    )


# The network.


def _smaller_network(found: Candidate, trials: CachedOracle) -> Candidate:
    shape = found.script.scenario.topology
    if not isinstance(shape, str):
        return found
    for smaller in _smaller_shapes(shape):
        candidate = Candidate(_in_topology(found.script, smaller), found.inputs)
        try:
            attempt = trials.attempt(candidate.script, candidate.inputs)
        except PenstockError:
            continue
        if attempt.reproduced and not attempt.skipped:
            return candidate
    return found


def _in_topology(script: Recording, shape: str) -> Recording:
    return replace(script, scenario=replace(script.scenario, topology=shape))


def _smaller_shapes(shape: str) -> Iterator[str]:
    """Yield the smaller topologies of a shape, the smallest first."""
    name, *numbers = shape.split(",")
    if name in _SIZES and numbers and all(number.isdecimal() for number in numbers):
        for size in range(_SIZES[name], int(numbers[0])):
            yield ",".join([name, str(size), *numbers[1:]])
