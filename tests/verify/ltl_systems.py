"""Random small systems of processes, as Penstock sees them and as PROMELA; random formulas over them.

A process has a place, and options: where it must be, which bits must be as they are, what it sets, where it
goes.  An option is one step, for SPIN too (`d_step`).  A process is an actor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from penstock._verify.ltl.signature import NUMBER, TRUTH, Signature
from penstock._verify.ltl.syntax import Comparison, Constant, Formula, Infix, Name, Prefix, Truth

BITS = ("a", "b", "c")
PLACES = ("here", "there")
"""The places of the first processes, by the names that formulas use."""

SIGNATURE = Signature(names={**dict.fromkeys(BITS, TRUTH), **dict.fromkeys(PLACES, NUMBER)})


@dataclass(frozen=True)
class Option:
    """From a place, if some bits are so, set some bits and go to a place."""

    source: int
    guard: tuple[tuple[int, int], ...]
    sets: tuple[tuple[int, int], ...]
    target: int


State = tuple[tuple[int, ...], tuple[int, ...]]
"""The places of the processes, and the bits."""


@dataclass(frozen=True)
class Processes:
    """A system of processes over shared bits."""

    options: tuple[tuple[Option, ...], ...]

    def initial(self) -> State:
        return (0,) * len(self.options), (0,) * len(BITS)

    def successors(self, state: State) -> Iterator[tuple[str, int, State]]:
        places, bits = state
        for process, options in enumerate(self.options):
            for number, option in enumerate(options):
                if places[process] == option.source and all(bits[bit] == v for bit, v in option.guard):
                    after = list(bits)
                    for bit, value in option.sets:
                        after[bit] = value
                    moved = (*places[:process], option.target, *places[process + 1 :])
                    yield f"{process}.{number}", process, (moved, tuple(after))

    @property
    def actors(self) -> tuple[int, ...]:
        return tuple(range(len(self.options)))

    def promela(self, *, idle: bool = False) -> str:
        """Return the same system in PROMELA, with or without a process that repeats a state at rest."""
        lines = [f"bit {', '.join(BITS)};", f"byte place[{max(2, len(self.options))}];"]
        guards = []
        for process, options in enumerate(self.options):
            lines.append(f"active proctype P{process}() {{ do")
            for option in options:
                guard = [f"place[{process}] == {option.source}"]
                guard += [f"{BITS[bit]} == {value}" for bit, value in option.guard]
                guards.append(f"({' && '.join(guard)})")
                sets = [f"{BITS[bit]} = {value}" for bit, value in option.sets]
                sets.append(f"place[{process}] = {option.target}")
                lines.append(f":: d_step {{ {' && '.join(guard)} -> {'; '.join(sets)} }}")
            lines.append("od }")
        if idle:
            lines.append(f"active proctype Idle() {{ do :: !({' || '.join(guards)}) od }}")
        return "\n".join(lines)


class Bits:
    """What the names mean in a state of such a system; there are no fields and no events."""

    def named(self, state: State, name: str, /) -> Any:
        places, bits = state
        if name in BITS:
            return bool(bits[BITS.index(name)])
        place = PLACES.index(name)
        return places[place] if place < len(places) else 0

    def field(self, state: State, owner: Any, name: str, /) -> Any:
        raise LookupError(name)

    def happened(self, label: str, event: str, /) -> tuple[()]:
        return ()


def random_processes(random: Random) -> Processes:
    """Return one to three processes with two or three places each."""
    return Processes(tuple(_options(random) for _ in range(random.randint(1, 3))))


def _options(random: Random) -> tuple[Option, ...]:
    places = random.randint(1, 3)
    found = []
    for _ in range(random.randint(1, 4)):
        guard = tuple((bit, random.randrange(2)) for bit in range(len(BITS)) if random.random() < 0.25)
        sets = tuple((bit, random.randrange(2)) for bit in range(len(BITS)) if random.random() < 0.4)
        found.append(Option(random.randrange(places), guard, sets, random.randrange(places)))
    return tuple(found)


def random_formula(random: Random, size: int = 5) -> Formula:
    """Return a formula over the names of such systems, with so many operators.

    They are few, because SPIN takes minutes to translate larger ones; `iff` doubles them.
    """
    if size == 0:
        if random.random() < 0.2:
            return Comparison("==", Name(random.choice(PLACES)), Constant(random.randrange(3)))
        return Truth(Name(random.choice(BITS)))
    if random.random() < 0.5 or size == 1:
        return Prefix(random.choice(["not", "G", "F", "G", "F"]), random_formula(random, size - 1))
    operator = random.choice(["and", "or", "implies", "U", "U", "R", "W"])
    left = random.randrange(size)
    return Infix(operator, random_formula(random, left), random_formula(random, size - 1 - left))


def in_spin(formula: Formula) -> str:
    """Return a formula in SPIN's syntax."""
    match formula:
        case Truth(term):
            return f"({term} == 1)"
        case Comparison(_, left, right):
            return f"(place[{PLACES.index(str(left))}] == {right})"
        case Prefix(operator, body):
            return f"({ {'not': '!', 'G': '[]', 'F': '<>'}[operator] } {in_spin(body)})"
        case Infix("W", left, right):
            one, other = in_spin(left), in_spin(right)
            return f"(([] {one}) || ({one} U {other}))"
        case Infix(operator, left, right):
            signs = {"and": "&&", "or": "||", "implies": "->", "U": "U", "R": "V"}
            return f"({in_spin(left)} {signs[operator]} {in_spin(right)})"
    raise AssertionError(formula)
