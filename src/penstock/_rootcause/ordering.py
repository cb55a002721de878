"""How two runs differ: what happens in one and not in the other, and what happens in another order.

Two runs of the same scenario call packets and transactions by other numbers, so events are compared without
them (see `_replay.recording`).  Alike events are put in pairs so that as many as possible come in the
same order in both runs (a longest common subsequence, after Hunt and Szymanski); those that are then left
on both sides are the ones in another order.  Where alike events are too many for that, the n-th of one
run is taken for the n-th of the other.

The first two events that come in the other order are what an engineer looks for first.  Two that one
component saw in another order tell more than two that were merely written down so, and are looked for by
themselves.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, assert_never

from penstock._replay.recording import masked
from penstock._trace.trace import FindingLine, InputLine, Line, LogLine, Trace

MOST_PAIRS: Final = 1_000_000
"""How many pairs of alike events are looked at."""


@dataclass(frozen=True, slots=True)
class Happening:
    """An event of a run, as far as it can be compared with those of others."""

    line: int
    node: str
    """Whose step it is; nothing for inputs and findings."""
    text: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}"


@dataclass(frozen=True, slots=True)
class Inversion:
    """Two events that come in one order in the first run and in the other order in the second."""

    before: Happening
    after: Happening
    there_first: Happening
    """The later of the two, where the second run has it, which is earlier."""
    there_second: Happening


@dataclass(frozen=True, slots=True)
class Comparison:
    """How two runs differ."""

    common: int
    only_first: tuple[Happening, ...]
    only_second: tuple[Happening, ...]
    inversion: Inversion | None
    """The first pair in another order, whoever saw it."""
    at_one_place: Inversion | None
    """The first pair that one component saw in another order."""

    @property
    def is_alike(self) -> bool:
        """Tell whether both runs do the same in the same order."""
        return not (self.only_first or self.only_second or self.inversion)


def happenings(trace: Trace) -> list[Happening]:
    """Return the events of a run in their order; what only belongs to its clock or its log is left out."""
    return [_happening(line) for line in trace.items if not isinstance(line, LogLine)]


def _happening(line: Line | InputLine | FindingLine) -> Happening:
    match line:
        case InputLine():
            return Happening(line.number, "", f"input {line.text}")
        case FindingLine():
            return Happening(line.number, "", f"{line.verdict} {line.invariant}: {masked(line.message)}")
        case Line():
            return _step(line)
        case _:
            assert_never(line)


def _step(line: Line) -> Happening:
    lost = f" (lost: {'; '.join(map(masked, line.lost))})" if line.lost else ""
    said = line.message if line.message is not None else _put_in(line)
    told = f" {masked(said)}" if said else ""
    return Happening(line.number, line.node, f"{masked(line.transition)}{told}{lost}")


def _put_in(line: Line) -> str:
    """Return what came from outside, which is not a message of the step but what it sent."""
    if not line.transition.startswith("inject "):
        return ""
    return "; ".join(flight.partition(" ")[2] for flight in line.sends)


def compare(first: Sequence[Happening], second: Sequence[Happening]) -> Comparison:
    """Compare two runs."""
    pairs = _pairs([event.text for event in first], [event.text for event in second])
    taken = set(pairs.values())
    common = [(pairs[place], event) for place, event in enumerate(first) if place in pairs]
    by_node: dict[str, list[tuple[int, Happening]]] = defaultdict(list)
    for place, event in common:
        if event.node:
            by_node[event.node].append((place, event))
    local = [found for some in by_node.values() if (found := _inversion(some, second)) is not None]
    return Comparison(
        len(common),
        tuple(event for place, event in enumerate(first) if place not in pairs),
        tuple(event for place, event in enumerate(second) if place not in taken),
        _inversion(common, second),
        min(local, key=lambda found: found.after.line, default=None),
    )


def _pairs(first: Sequence[str], second: Sequence[str]) -> dict[int, int]:
    """Return which text of the first run is which of the second, by their places."""
    pairs = _in_order(first, second)
    taken = set(pairs.values())
    left: dict[str, deque[int]] = defaultdict(deque)
    for place, text in enumerate(second):
        if place not in taken:
            left[text].append(place)
    for place, text in enumerate(first):
        if place not in pairs and left[text]:
            pairs[place] = left[text].popleft()
    return pairs


_Chain = tuple[int, int, "_Chain | None"]
"""A pair of places, and the chain of those before it."""


def _in_order(first: Sequence[str], second: Sequence[str]) -> dict[int, int]:
    """Return the longest sequence of pairs that go up on both sides."""
    ends: list[int] = []
    """For each length of a chain, the least place in the second run that one can end at."""
    chains: list[_Chain] = []
    for place, others in enumerate(_candidates(first, second)):
        for other in reversed(others):
            length = bisect_left(ends, other)
            chain = (place, other, chains[length - 1] if length else None)
            if length == len(ends):
                ends.append(other)
                chains.append(chain)
            else:
                ends[length], chains[length] = other, chain
    found: dict[int, int] = {}
    last: _Chain | None = chains[-1] if chains else None
    while last is not None:
        found[last[0]] = last[1]
        last = last[2]
    return found


def _candidates(first: Sequence[str], second: Sequence[str]) -> Iterator[Sequence[int]]:
    """Yield for each text of the first run the places in the second that it may be paired with."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(second):
        places[text].append(place)
    often = Counter(first)
    # The rarest first, as long as there is room for all their pairs.
    room = MOST_PAIRS
    whole: set[str] = set()
    for text in sorted(often, key=lambda text: often[text] * len(places[text])):
        room -= often[text] * len(places[text])
        if room < 0:
            break
        whole.add(text)
    seen: Counter[str] = Counter()
    for text in first:
        mine = places[text]
        yield mine if text in whole else mine[seen[text] : seen[text] + 1]
        seen[text] += 1


def _inversion(pairs: Sequence[tuple[int, Happening]], second: Sequence[Happening]) -> Inversion | None:
    """Return the first two neighbours that the second run has in the other order."""
    for (before, one), (after, other) in pairwise(pairs):
        if after < before:
            return Inversion(one, other, second[after], second[before])
    return None
