"""NO-DELAY: what switches and controllers tell each other takes no time (NICE, section 5.2).

As long as a control message is under way nothing else happens.  Orders come before reports, so a
controller's answers are all carried out before it hears the next question; of the orders one is
carried out after the other, since nobody could see in which order.  Reports that are under way at
once, and the contents that one may have, are all tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.strategies.base import Narrowing
from penstock._explore.strategies.guide import Pick
from penstock._explore.strategies.kinds import CONTROL, Options, TransitionKind


@dataclass(frozen=True, slots=True)
class NoDelay(Narrowing):
    """Runs switches and controllers in lock step."""

    name: ClassVar[str] = "no-delay"

    @property
    def remark(self) -> str:
        """What the strategy may have missed."""
        return (
            "no-delay: orders and reports took no time, so races between packets and rules on their way, "
            "or between several reports, may have been missed."
        )

    def pick(self, _cells: CompiledNetwork) -> Pick:
        """Pick control messages where there are any."""
        return _in_lock_step


def _in_lock_step(_state: int, options: Options) -> int:
    if not options.of(*CONTROL):
        return options.every
    for kind in (TransitionKind.EFFECT, TransitionKind.ORDER):
        some = options.of(kind)
        if some:
            return some & -some
    return options.of(TransitionKind.REPORT)
