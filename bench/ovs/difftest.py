"""Running programs on both sides and telling where they disagree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace

from bench.ovs.comparison import Difference, compare
from bench.ovs.coverage import Exercise
from bench.ovs.instance import OpenVSwitch
from bench.ovs.on_model import MakeSwitch, model_switch, run_on_model
from bench.ovs.on_ovs import run_on_ovs
from bench.ovs.programs import Program, Step
from penstock.errors import PenstockError


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The first step of a program at which the two sides show different things."""

    program: Program
    at: int
    differences: tuple[Difference, ...]

    @property
    def step(self) -> Step:
        """The step that told the two sides apart."""
        return self.program.steps[self.at]

    @property
    def places(self) -> frozenset[str]:
        """Where the two sides differ."""
        return frozenset(difference.place for difference in self.differences)

    def __str__(self) -> str:
        program = self.program
        lines = [f"program {program.seed} (OpenFlow {'1.0' if program.version == 1 else '1.3'}):"]
        lines += [f"  {number}. {step}" for number, step in enumerate(program.steps[: self.at + 1], 1)]
        return "\n".join([*lines, *map(str, self.differences)])


@dataclass(slots=True)
class Tally:
    """What a run of programs came to."""

    programs: int = 0
    steps: int = 0
    deviations: Counter[str] = field(default_factory=Counter)
    exercise: Exercise = field(default_factory=Exercise)
    disagreements: list[Disagreement] = field(default_factory=list)


class DifferentialTest:
    """Runs programs on a model and on one Open vSwitch, and keeps the tally."""

    def __init__(self, ovs: OpenVSwitch, make: MakeSwitch = model_switch) -> None:
        self._ovs, self._make = ovs, make
        self.tally = Tally()

    def run(self, program: Program) -> Disagreement | None:
        """Run a program on both sides; return where they disagree, if they do."""
        self.tally.programs += 1
        self.tally.exercise.begin()
        try:
            found = self._first_disagreement(program)
        except PenstockError as error:
            raise PenstockError(f"Program {program.seed} could not be run: {error}") from error
        if found is not None:
            self.tally.disagreements.append(found)
        return found

    def _first_disagreement(self, program: Program) -> Disagreement | None:
        tally = self.tally
        with closing(run_on_ovs(self._ovs, program)) as on_ovs:
            both = zip(run_on_model(program, self._make), on_ovs, strict=True)
            for at, (model, ovs) in enumerate(both):
                tally.steps += 1
                tally.exercise.count(program.steps[at], ovs, program.version)
                differences, met = compare(model, ovs)
                tally.deviations.update(met)
                if differences:
                    return Disagreement(program, at, tuple(differences))
        return None

    def shrink(self, found: Disagreement) -> Disagreement:
        """Return the disagreement with as few steps before it as still lead to it."""
        apart = DifferentialTest(self._ovs, self._make)
        program = replace(found.program, steps=found.program.steps[: found.at + 1])
        best = found
        size = max(len(program.steps) // 2, 1)
        while size:
            for shorter in _without_parts(program, size):
                again = apart.run(shorter)
                if again is not None and again.step == found.step and again.places & found.places:
                    program, best = replace(shorter, steps=shorter.steps[: again.at + 1]), again
                    break
            else:
                size //= 2
        return best


def _without_parts(program: Program, size: int) -> Iterator[Program]:
    """Yield the program without some consecutive steps, the last step never among them."""
    steps = program.steps
    for start in range(0, len(steps) - 1, size):
        end = min(start + size, len(steps) - 1)
        yield replace(program, steps=steps[:start] + steps[end:])
