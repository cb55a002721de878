"""What a lifted network has met while it was searched, as far as reductions need to know it.

The components note it when they run; that happens once per situation, since steps are remembered.  It is
read only when a search is over, and never by a component: so steps stay functions of their arguments.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Final

from penstock.openflow.match import Match
from penstock.openflow.messages import BarrierRequest, FlowCommand, FlowMod
from penstock.world.component import Step

MISHAPS: Final = {
    "crashed": "The program raised exceptions; what it had done until then counts. See ControllerCrash.",
    "hung": "The program did not always come to an end, and was stopped. See ControllerHang.",
}
"""What can go wrong in a program, by the kind of event, and what whoever reads a proof has to know."""


@dataclass(slots=True)
class Experience:
    """The states of the program and what it was given in them, and a few things that happened at all."""

    programs: set[Hashable] = field(default_factory=set)
    subjects: set[Any] = field(default_factory=set)
    matches: set[Match] = field(default_factory=set)
    """What rules that were sent ask of packets."""
    barriers: bool = False
    """A barrier was sent."""
    only_adds: bool = True
    """Rules were only ever added, none changed, deleted or replaced."""
    mishaps: set[str] = field(default_factory=set)
    """What went wrong in the program: it `crashed` or `hung`."""
    others: bool = False
    """The program was given something that waits in no queue, such as an error."""
    repeated_replies: bool = False
    """A switch confirmed a barrier while the same confirmation was still waiting."""

    def handled(self, program: Hashable, subject: object, step: Step) -> None:
        """Note what a program was given, and what it did."""
        self.programs |= {program, step.state}
        self.subjects.add(subject)
        self.mishaps.update(event.kind for event in step.events if event.kind in MISHAPS)
        for _, message in step.sends:
            self.barriers |= isinstance(message, BarrierRequest)
            if isinstance(message, FlowMod):
                self.matches.add(message.match)
                self.only_adds &= message.command == FlowCommand.ADD
                self.only_adds &= not (message.idle_timeout or message.hard_timeout)
