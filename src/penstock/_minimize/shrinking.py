"""Making a short sequence simple as well: what a reader need not wonder about should not be in it.

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

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from penstock._fuzz.inputs import EVERYBODY, Delay, InjectFrame, Input, SendPacket, Wait
from penstock._minimize.delta import CachedOracle, Candidate, ddmin
from penstock._replay.recording import LOOK, Event, RecordedInput, Recording
from penstock.errors import PenstockError

_SIZES: Final = {"single": 1, "linear": 1, "ring": 3, "mesh": 2, "tree": 1}
"""How small the shapes of topologies can be."""

Change = tuple[int, Input]


def simplified(found: Candidate, trials: CachedOracle, hosts: list[str]) -> Candidate:
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


def _changed(found: Candidate, index: int, what: Input) -> Candidate:
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
                    if trials.passes(_changed(found, index, replace(cue.what, milliseconds=middle))):
                        high = middle
                    else:
                        low = middle
                if high < milliseconds:
                    found = _changed(found, index, replace(cue.what, milliseconds=high))
    return found


def _contents(found: Candidate, trials: CachedOracle, hosts: list[str]) -> Candidate:
    for index, cue in enumerate(found.inputs):
        for simpler in _simpler(cue, hosts):
            candidate = _changed(found, index, simpler)
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
