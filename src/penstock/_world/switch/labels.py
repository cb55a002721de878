"""MPLS label stacks as a switch handles them: what it means to change, and what the bytes say.

A switch sees at most three labels.  Changes are made to the stack it has in mind; the packet's
bytes follow when the packet is sent on.  This is how Open vSwitch works, and it shows: a label
that is put on and taken off again was never there, and a stack under another Ethernet type than
MPLS is no stack at all.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from penstock.openflow.fields import ETH_MPLS, ETH_MPLS_MULTICAST

MOST_LABELS: Final = 3
BOTTOM: Final = 0x100
"""The bit of a label that says it is the last."""

MPLS_TYPES: Final = (ETH_MPLS, ETH_MPLS_MULTICAST)


class LabelStack(NamedTuple):
    """The Ethernet type before the labels, and the labels from the outermost in, unused ones 0."""

    ethertype: int
    labels: tuple[int, int, int] = (0, 0, 0)

    @property
    def depth(self) -> int:
        """How many labels there are."""
        if self.ethertype not in MPLS_TYPES:
            return 0
        for place, label in enumerate(self.labels, 1):
            if label & BOTTOM:
                return place
        return sum(label != 0 for label in self.labels)

    def pushed(self, ethertype: int, label: int) -> LabelStack:
        """Return the stack with a new outermost label."""
        return LabelStack(ethertype, (label, self.labels[0], self.labels[1]))

    def popped(self, ethertype: int) -> LabelStack:
        """Return the stack without its outermost label."""
        return LabelStack(ethertype, (self.labels[1], self.labels[2], 0))

    def with_top(self, label: int) -> LabelStack:
        """Return the stack with its outermost label changed."""
        return LabelStack(self.ethertype, (label, self.labels[1], self.labels[2]))

    def shared_with(self, other: LabelStack) -> int:
        """Return how many labels, from the innermost out, two stacks have in common."""
        mine, theirs = self.labels[: self.depth], other.labels[: other.depth]
        shared = 0
        while shared < min(len(mine), len(theirs)) and mine[-1 - shared] == theirs[-1 - shared]:
            shared += 1
        return shared


class Change(NamedTuple):
    """One change to a packet's bytes: `push` or `set` a label, or `pop` one; the type it leaves."""

    kind: str
    ethertype: int
    label: int = 0


def changes(real: LabelStack, meant: LabelStack) -> list[Change]:
    """Return what turns the labels a packet really has into those it is meant to have."""
    found = []
    depth, goal, shared = real.depth, meant.depth, real.shared_with(meant)
    while depth > shared:
        if depth - 1 == shared and goal > shared:
            found.append(Change("set", real.ethertype, meant.labels[goal - depth]))
            shared += 1
        else:
            between = meant.ethertype not in MPLS_TYPES and depth > 1
            found.append(Change("pop", ETH_MPLS if between else meant.ethertype))
            depth -= 1
    for place in range(goal - depth - 1, -1, -1):
        found.append(Change("push", meant.ethertype, meant.labels[place]))
    return found
