"""Delta debugging: from many units to few of which none can be left out.

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
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Final, TypeVar

from penstock._minimize.progress import Progress
from penstock._replay.guided import Attempt, Reproducer
from penstock._replay.recording import Action, RecordedInput, Recording
from penstock._world.signals import FABRIC

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
