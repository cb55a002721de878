"""Units: inputs that are left out together, and what else has to change when some are left out.

Something that failed and recovered did both or neither: a recovery alone means nothing (STS §3.1).  So
each of these inputs belongs with the next one of the same target that undoes it.  Later, when the units
are as few as can be, the halves of a pair are tried one by one as well.

A host that moves names where it goes, not where it came from.  If an earlier move is left out, the host
has another place; its link then has another name, and a move to where it already is does nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from penstock._fuzz.inputs import Fault, MoveHost
from penstock._minimize.recording import Action, RecordedInput
from penstock._world.component import Endpoint
from penstock._world.signals import FABRIC

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


def rewritten(
    inputs: Sequence[RecordedInput], kept: Sequence[RecordedInput], homes: Mapping[str, Endpoint]
) -> tuple[tuple[RecordedInput, ...], tuple[int, ...]]:
    """Return the kept inputs as they have to be without the others, and the lines that mean nothing now.

    `homes` says where the hosts that can move are at the beginning.
    """
    recorded, now = dict(homes), dict(homes)
    left = {cue.line: cue for cue in kept}
    found: list[RecordedInput] = []
    idle: list[int] = []
    for original in inputs:
        cue = left.get(original.line)
        if cue is not None:
            match cue.what:
                case MoveHost(host, place) if host in now and now[host] == place:
                    idle.append(cue.line)
                case MoveHost(host, place):
                    now[host] = place
                    found.append(cue)
                case Fault(verb, target):
                    found.append(replace(cue, what=Fault(verb, _renamed(target, recorded, now))))
                case _:
                    found.append(cue)
        if isinstance(original.what, MoveHost):
            recorded[original.what.host] = original.what.place
    return tuple(found), tuple(idle)


def _renamed(link: str, recorded: Mapping[str, Endpoint], now: Mapping[str, Endpoint]) -> str:
    """Return what a host's link is called where the host is now."""
    host, _, _ = link.partition("-")
    if host not in recorded or link != f"{host}-{recorded[host].node}":
        return link
    return f"{host}-{now[host].node}"
