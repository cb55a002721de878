"""What a lifted network has met while it was searched, as far as reductions need to know it.

The components note it when they run; that happens once per situation, since steps are remembered.  It is
read only when a search is over, and never by a component: so steps stay functions of their arguments.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, Final

from penstock._verify.overlapping import Sent, sent_rule
from penstock._world.component import Step
from penstock.openflow.match import Match
from penstock.openflow.messages import BarrierRequest, FlowCommand, FlowMod

MISHAPS: Final = {
    "crashed": "The program raised exceptions; what it had done until then counts. See ControllerCrash.",
    "hung": "The program did not always come to an end, and was stopped. See ControllerHang.",
}
"""What can go wrong in a program, by the kind of event, and what whoever reads a proof has to know."""

LEFT_OPEN: Final = {
    "rewritten": "Packets are rewritten on their way, and classes are found for packets as they are sent.",
    "spread": "A group has the switch choose a bucket for each packet, and only its own choice was tried.",
    "chosen": "Packets meet several rules of one priority, of which only the switch's own choice was tried.",
    "metered": "Packets go through meters, and a proof has none of them exceed a rate.",
    "clock_read": "The program asks what time it is, and no time passes in a proof.",
    "waits": "A handler of the program waits for time to pass, and no time passes in a proof.",
    "learned": "Packets are output to OFPP_NORMAL, and a proof does not follow what switches learn of them; "
    "penstock check does.",
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
    rules: set[Sent] = field(default_factory=set)
    """The rules that were sent."""
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
    chosen: bool = False
    """A packet met several rules of one priority that say different things."""
    metered: bool = False
    """A packet went through a meter."""
    learned: bool = False
    """A packet was output to OFPP_NORMAL, from which a switch learns."""
    repeated_replies: bool = False
    """A switch confirmed a barrier while the same confirmation was still waiting."""

    clock_read: bool = False
    """The program asked what time it is."""
    waits: bool = False
    """A handler of the program waits for time to pass."""

    def left_open(self) -> list[str]:
        """Return what was met that a proof does not follow, in sentences."""
        return [said for name, said in LEFT_OPEN.items() if getattr(self, name)]

    def note_memory(self, program: Any) -> None:
        """Note what a program knows that no state tells."""
        self.clock_read |= getattr(program, "clock_read", False)
        self.waits |= bool(getattr(program, "unfinished", ""))

    def handled(self, program: Hashable, subject: object, step: Step) -> None:
        """Note what a program was given, and what it did."""
        self.programs |= {program, step.state}
        self.subjects.add(subject)
        self.mishaps.update(event.kind for event in step.events if event.kind in MISHAPS)
        for switch, message in step.sends:
            self.barriers |= isinstance(message, BarrierRequest)
            if isinstance(message, FlowMod):
                rule = sent_rule(str(switch), message)
                self.rules |= {rule} if rule is not None else set()
                self.matches.add(message.match)
                self.only_adds &= message.command == FlowCommand.ADD
                self.only_adds &= not (message.idle_timeout or message.hard_timeout)
