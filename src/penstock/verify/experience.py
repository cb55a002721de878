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
from penstock.verify.variables import snapshot_of
from penstock.world.component import Step

MISHAPS: Final = {
    "crashed": "The program raised exceptions; what it had done until then counts. See ControllerCrash.",
    "hung": "The program did not always come to an end, and was stopped. See ControllerHang.",
}
"""What can go wrong in a program, by the kind of event, and what whoever reads a proof has to know."""

LEFT_OPEN: Final = {
    "rewritten": "Packets are rewritten on their way, and classes are found for packets as they are sent.",
    "spread": "A group has the switch choose a bucket for each packet, and only its own choice was tried.",
    "clock_read": "The program asks what time it is, and no time passes in a proof.",
    "counted": "The program goes by what switches count or by how long rules last: a proof counts nothing.",
}
"""What a network does that a proof does not follow, by the name of what is noted, in sentences."""


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
    reconfigured: bool = False
    """A switch was told something besides rules that changed it, such as what a group does."""
    indirect: bool = False
    """A packet was to be sent on in a way that depends on the switch: by its tables or by a group."""
    counted: bool = False
    """The program asked what was counted, or would do something else if other numbers were."""
    rewritten: bool = False
    """A packet left a switch other than it had come."""
    spread: bool = False
    """A packet came to a group of which the switch chooses one bucket."""
    repeated_replies: bool = False
    """A switch confirmed a barrier while the same confirmation was still waiting."""

    opaque: set[str] = field(default_factory=set)
    """The types of what the program has in memory that cannot be put back as it was."""
    clock_read: bool = False
    """The program asked what time it is."""

    def left_open(self) -> list[str]:
        """Return what was met that a proof does not follow, in sentences."""
        kept = (
            f"The program may keep something in {', '.join(sorted(self.opaque))}, which cannot be put back."
        )
        found = [said for name, said in LEFT_OPEN.items() if getattr(self, name)]
        return [*found, kept] if self.opaque else found

    def note_memory(self, program: Any) -> None:
        """Note what a program knows that no state tells."""
        snapshot = snapshot_of(program)
        self.opaque |= frozenset() if snapshot is None else snapshot.opaque
        self.clock_read |= getattr(program, "clock_read", False)

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
