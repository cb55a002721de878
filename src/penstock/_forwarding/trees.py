"""What a tree of flows is made of; how it grows and is mended is told in `forest`.

A *flow* is a class of packets on its way to the look-up in one table; from it goes one *branch* for each
rule that some packet of it meets; a branch has one *passing* for each part of its packets that the rule
treats alike (`crossing`); and each way out of a passing leads to another flow or to an *ending*.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from penstock._forwarding.crossing import Part, Writes
from penstock._forwarding.header_space import Cube
from penstock._forwarding.rules import Rule, RuleTable
from penstock._forwarding.searching import Constraints, first_hole
from penstock._world.component import Endpoint
from penstock.openflow.actions import Action

Fate = Literal["delivered", "controller", "loop", "lost", "dropped", "missed", "unfollowed"]
"""How packets end.  `lost` is what a rule sent on in vain, `dropped` what a rule had dropped, `missed` what
met no rule anywhere."""


@dataclass(eq=False, slots=True)
class Packets:
    """A class of packets, as they were sent, and one of them; with no witness the class is empty."""

    cube: Cube
    constraints: Constraints
    witness: int | None

    def has(self, header: int) -> bool:
        """Tell whether a packet is one of these."""
        return header & self.cube[1] == self.cube[0] and first_hole(header, self.constraints) is None


class Source(NamedTuple):
    """Where packets come from: a host and its port, and what its packets look like if nothing decides."""

    name: str
    end: Endpoint
    usual: int


@dataclass(eq=False, slots=True)
class Tree:
    """All that one source sends; `copies` counts the flows of packets that were copied."""

    source: Source
    packets: Packets
    onward: list[Flow | Ending] = field(default_factory=list)
    copies: int = 0


@dataclass(eq=False, slots=True)
class Flow:
    """Packets that come to a table of a switch, having come in by a port; `gone` once it is forgotten."""

    tree: Tree
    place: tuple[str, int]
    port: int
    packets: Packets
    writes: Writes
    action_set: tuple[Action, ...]
    via: Passing | None
    table: RuleTable
    branches: dict[Rule | None, Branch] = field(default_factory=dict)
    gone: bool = False

    def before(self) -> Iterator[Flow]:
        """Yield the flows that this one came from, the latest first."""
        via = self.via
        while via is not None:
            yield via.branch.flow
            via = via.branch.flow.via


@dataclass(eq=False, slots=True)
class Branch:
    """Packets of a flow that meet one rule, or none."""

    flow: Flow
    rule: Rule | None
    passings: list[Passing] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Passing:
    """Packets that a rule treats alike, and where they go next."""

    branch: Branch
    part: Part
    packets: Packets
    onward: list[Flow | Ending] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Ending:
    """Where packets end: at a host or switch, how, and why; `start` is where a loop begins."""

    tree: Tree
    fate: Fate
    node: str
    why: str
    packets: Packets
    writes: Writes
    via: Passing | None
    perhaps: bool = False
    start: Flow | None = None

    def passings(self) -> list[Passing]:
        """Return the way of the packets, from the first rule they met."""
        found: list[Passing] = []
        via = self.via
        while via is not None:
            found.append(via)
            via = via.branch.flow.via
        return found[::-1]

    @property
    def alone(self) -> bool:
        """Tell whether the packets were never copied on their way."""
        via = self.via
        while via is not None:
            if via.part.ways > 1:
                return False
            via = via.branch.flow.via
        return True


class Touched(NamedTuple):
    """Packets of a source of which it is not certain that they go where they went."""

    source: str
    cube: Cube
