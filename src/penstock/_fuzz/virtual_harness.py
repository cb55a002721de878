"""The stage of in-process controllers: virtual time, no waiting, the same run from the same seed.

Time stands still while messages are delivered; only `wait` moves it.  After each input a number of
messages, drawn by the seed, is delivered before the next one, so that failures meet messages on their
way; whoever waits lets everything arrive first.

What happens while time passes is bounded (`STEPS_PER_MS`, and `most_steps` for long waits), because a packet
that goes round in a loop never comes to rest.
"""

from __future__ import annotations

from random import Random
from typing import Final

from penstock._fuzz.building import FuzzContext
from penstock._fuzz.harness import Harness
from penstock._fuzz.inputs import Input, Wait
from penstock._fuzz.recorder import Recorder
from penstock._world.component import Timed
from penstock.errors import PenstockError

STEPS_PER_MS: Final = 10
FEWEST_STEPS: Final = 200
"""How many steps a wait allows however short it is."""
STEPS_PER_COMPONENT: Final = 50
MOST_STEPS: Final = 1000
"""How many steps a wait allows however long it is; in a large network it is more, for each component."""
MOST_STEPS_TO_OPEN: Final = 100_000


class VirtualHarness(Harness):
    """A network whose controllers run in this process, on a clock of its own."""

    lines_at_once = 1000  # whatever is lost with this process, the seed brings back

    def __init__(
        self, setting: FuzzContext, recorder: Recorder, *, order: str = "fifo", seed: int = 0
    ) -> None:
        if setting.commands:
            names = ", ".join(setting.commands)
            raise PenstockError(f"Processes need real time, and {names} is one: use the live stage.")
        super().__init__(setting, recorder, order=order, seed=seed)
        self._random = Random(f"deliveries {seed}")
        self._rate = 1 / setting.options.deliveries if setting.options.deliveries else None
        self._alarms = [
            made
            for made in setting.network.components
            if made.name in setting.controllers and isinstance(made, Timed)
        ]

    def most_steps(self, milliseconds: int) -> int:
        """Return how many steps may be taken in a time."""
        most = max(MOST_STEPS, STEPS_PER_COMPONENT * len(self.setting.network.components))
        return min(most, max(FEWEST_STEPS, milliseconds * STEPS_PER_MS))

    def now(self) -> int:
        """Return the world's time."""
        return self.world.clock

    async def open(self) -> None:
        """Let all switches join."""
        self.offer_all()
        if self.run(MOST_STEPS_TO_OPEN) == MOST_STEPS_TO_OPEN:
            raise PenstockError(
                f"The network has not come to rest after {MOST_STEPS_TO_OPEN:,} steps of joining: "
                "the controller does not stop talking."
            )

    async def perform(self, what: Input) -> None:
        """Do something to the network, and let some of what follows happen."""
        await super().perform(what)
        if not isinstance(what, Wait):
            rate = self._rate
            most = FEWEST_STEPS if rate is None else int(self._random.expovariate(rate))
            self.run(most)

    async def wait(self, milliseconds: int) -> None:
        """Let time pass at once; whatever falls due on the way happens at its moment."""
        end = self.now() + milliseconds
        steps = self.most_steps(milliseconds)
        while True:
            steps -= self.run(steps)
            if self.now() >= end:
                return
            self.world.elapse(min(end, self._next_moment(end)) - self.now())
            self.courier.wake(self.now())

    def _next_moment(self, end: int) -> int:
        """Return when something happens that others should hear of before time goes on."""
        moments = [end if self.courier.next_due is None else self.courier.next_due]
        for made in self._alarms:
            assert isinstance(made, Timed)
            due = made.deadline(self.world.state(made.name))
            if due is not None:
                moments.append(due)
        return max(min(moments), self.now() + 1)

    async def quiesce(self, limit_ms: int) -> bool:
        """Let everything arrive, and time pass where channels are delayed."""
        end = self.now() + limit_ms
        steps = self.most_steps(limit_ms)
        while True:
            steps -= self.run(steps)
            due = self.courier.next_due
            if steps <= 0 or due is None or due > end:
                return self.courier.is_idle
            self.world.elapse(max(0, due - self.now()))
            self.courier.wake(self.now())
