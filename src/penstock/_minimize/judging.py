"""Judging a replay as its run was judged: the same invariants, asked as often, with the same patience."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from penstock._fuzz.fuzzing import Fuzzing
from penstock._fuzz.generator import Generator
from penstock._fuzz.harness import Harness
from penstock._fuzz.inputs import Check, Fault, Input
from penstock._fuzz.invariants import Lasting, invariants_of
from penstock._fuzz.judging import VIOLATED, Properties
from penstock._minimize.equivalence import masked
from penstock._minimize.recording import Violation

_FIRST_PAUSE_MS: Final = 20
"""How soon it is looked again whether a violation has passed; later looks are further apart."""


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

    @property
    def is_undecided(self) -> bool:
        """Whether only time can tell if something that is wrong lasts."""
        return any(invariant.is_undecided for invariant in self.fuzzing.invariants)

    async def conclude(self, wait: Callable[[int], Awaitable[None]], settle_ms: int) -> None:
        """Give what is wrong the time to be known to last, then let everything arrive and judge that too."""
        await self._see_whether_it_lasts(wait)
        if not self.found:
            rested = await self._stage.quiesce(settle_ms)
            self.look(at_rest=rested and self.is_at_rest)
            await self._see_whether_it_lasts(wait)

    async def _see_whether_it_lasts(self, wait: Callable[[int], Awaitable[None]]) -> None:
        pause, left = _FIRST_PAUSE_MS, self._stage.setting.options.persistent_ms
        while left > 0 and not self.found and self.is_undecided:
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
