"""The rules of one table, indexed by tuple space, and which packets meet each of them now.

Rules that look at the same bits share a dictionary, as in `_world.switch.flow_table`; but this table
changes in place, one rule at a time, at a cost that does not grow with the table.  For the rules that a
cube overlaps, each dictionary is also kept *projected* onto the bits that the cube and the rules both
look at; a projection is made when it is first asked for and then kept up.

What a rule *hits* is its packets less those of the rules before it.  A rule that comes takes its packets out
of what later rules hit, and gives them back when it goes; so the hits are always exact, and share no packet.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any, Final, Generic, NamedTuple, Self, TypeVar

from penstock._forwarding.classes import Behaviour
from penstock._forwarding.header_space import Cube
from penstock._forwarding.sets import PacketSet, PacketSpace

_FEW: Final = 8
"""So many values are gone through one by one."""

_MOST_PROJECTIONS: Final = 64

Order = tuple[Any, ...]
"""Where a rule stands in the order of look-up; it begins with a number that is less for rules before."""


class Rule:
    """A rule where it stands: its packets as a cube and as a set, and those that it hits."""

    __slots__ = ("behaviour", "cube", "hit", "order", "packets")

    def __init__(self, order: Order, cube: Cube, packets: PacketSet, behaviour: Behaviour) -> None:
        self.order, self.cube, self.packets, self.behaviour = order, cube, packets, behaviour
        self.hit = packets

    def __lt__(self, other: Rule) -> bool:
        return self.order < other.order

    def clone(self) -> Self:
        """Return the same rule, to stand in another table."""
        return copy(self)


def _order(rule: Rule) -> Order:
    return rule.order


R = TypeVar("R", bound=Rule)


class _Space(Generic[R]):
    """The rules that look at the same bits; those of one value stand in order."""

    __slots__ = ("_projections", "last", "mask", "values")

    def __init__(self, mask: int, first: Any) -> None:
        self.mask = mask
        self.last = first
        """Where the last of the rules ever stood."""
        self.values: dict[int, list[R]] = {}
        self._projections: dict[int, dict[int, dict[R, None]]] = {}

    def add(self, rule: R) -> None:
        value = rule.cube[0]
        if rule.order[0] > self.last:
            self.last = rule.order[0]
        rules = self.values.get(value)
        if rules is None:
            self.values[value] = [rule]
        else:
            insort(rules, rule)
        for common, projection in self._projections.items():
            projection.setdefault(value & common, {})[rule] = None

    def remove(self, rule: R) -> None:
        value = rule.cube[0]
        rules = self.values[value]
        rules.remove(rule)
        if not rules:
            del self.values[value]
        for common, projection in self._projections.items():
            bucket = projection[value & common]
            del bucket[rule]
            if not bucket:
                del projection[value & common]

    def overlapping(self, value: int, common: int) -> Iterable[R]:
        """Return the rules that agree with a value in the bits that both look at, which are not all."""
        wanted = value & common
        if len(self.values) > _FEW:
            return self._projected(common).get(wanted, ())
        return [rule for found, rules in self.values.items() if found & common == wanted for rule in rules]

    def _projected(self, common: int) -> dict[int, dict[R, None]]:
        projection = self._projections.get(common)
        if projection is None:
            projection = {}
            for value, rules in self.values.items():
                projection.setdefault(value & common, {}).update(dict.fromkeys(rules))
            if len(self._projections) >= _MOST_PROJECTIONS:
                del self._projections[next(iter(self._projections))]
            self._projections[common] = projection
        return projection


class Change(NamedTuple):
    """Packets that a table treats in another way from now on."""

    behaviour: Behaviour
    packets: PacketSet


class RuleTable(Generic[R]):
    """The rules of one table, which come and go, over a universe of packets."""

    def __init__(self, space: PacketSpace, universe: PacketSet, missing: Behaviour = None) -> None:
        self._space = space
        self._missing = missing
        self.missed = universe
        """The packets that meet no rule."""
        self._spaces: dict[int, _Space[R]] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[R]:
        return (rule for space in self._spaces.values() for rules in space.values.values() for rule in rules)

    def clone(self) -> RuleTable[R]:
        """Return a table of the same rules, which goes its own way from now on."""
        table: RuleTable[R] = RuleTable(self._space, self.missed, self._missing)
        for rule in self:
            table.index(rule.clone())
        return table

    def lookup(self, header: int) -> R | None:
        """Return the rule that a header meets, if any."""
        best: R | None = None
        for space in self._spaces.values():
            found = space.values.get(header & space.mask)
            if found is not None and (best is None or found[0].order < best.order):
                best = found[0]
        return best

    def find(self, order: Order, cube: Cube) -> R | None:
        """Return the rule that stands at a place in the order, and has a cube."""
        space = self._spaces.get(cube[1])
        rules = space.values.get(cube[0], ()) if space is not None else ()
        return next((rule for rule in rules if rule.order == order), None)

    def overlapping(self, cube: Cube, after: Order | None = None) -> list[R]:
        """Return the rules that share a header with a cube, all or those after a place, in any order."""
        value, mask = cube
        least = None if after is None else after[0]
        found: list[R] = []
        for space in self._spaces.values():
            if least is not None and space.last < least:
                continue
            common = space.mask & mask
            if common == space.mask:
                rules: Iterable[R] | None = space.values.get(value & common)
                if rules is None:
                    continue
            else:
                rules = space.overlapping(value, common)
            found += rules if after is None else [rule for rule in rules if rule.order > after]
        return found

    def add(self, rule: R) -> list[Change]:
        """Take in a rule; return what is treated otherwise."""
        space, nothing = self._space, self._space.nothing
        packets = rule.packets
        hit = nothing
        changed: dict[Behaviour, PacketSet] = {}
        for other in self.overlapping(rule.cube, rule.order):
            taken = space.meet(other.hit, packets)
            if taken != nothing:
                other.hit = space.less(other.hit, taken)
                hit = space.join(hit, taken)
                if other.behaviour != rule.behaviour:
                    changed[rule.behaviour] = space.join(changed.get(rule.behaviour, nothing), taken)
        taken = space.meet(self.missed, packets)
        if taken != nothing:
            self.missed = space.less(self.missed, taken)
            hit = space.join(hit, taken)
            if self._missing != rule.behaviour:
                changed[rule.behaviour] = space.join(changed.get(rule.behaviour, nothing), taken)
        rule.hit = hit
        self.index(rule)
        return [Change(*one) for one in changed.items()]

    def index(self, rule: R) -> None:
        """Take in a rule without working out what it hits."""
        mask = rule.cube[1]
        index = self._spaces.get(mask)
        if index is None:
            index = self._spaces[mask] = _Space(mask, rule.order[0])
        index.add(rule)
        self._size += 1

    def remove(self, rule: R) -> list[Change]:
        """Take out a rule; return what is treated otherwise."""
        index = self._spaces[rule.cube[1]]
        index.remove(rule)
        self._size -= 1
        if not index.values:
            del self._spaces[rule.cube[1]]
        space, nothing = self._space, self._space.nothing
        rest = rule.hit
        changed: dict[Behaviour, PacketSet] = {}
        if rest == nothing:
            return []
        for other in sorted(self.overlapping(rule.cube, rule.order), key=_order):
            given = space.meet(rest, other.packets)
            if given != nothing:
                other.hit = space.join(other.hit, given)
                rest = space.less(rest, given)
                if other.behaviour != rule.behaviour:
                    changed[other.behaviour] = space.join(changed.get(other.behaviour, nothing), given)
                if rest == nothing:
                    break
        if rest != nothing:
            self.missed = space.join(self.missed, rest)
            if self._missing != rule.behaviour:
                changed[self._missing] = space.join(changed.get(self._missing, nothing), rest)
        return [Change(*one) for one in changed.items()]

    def replace(self, rule: R, behaviour: Behaviour) -> list[Change]:
        """Have a rule do something else; return what is treated otherwise."""
        if rule.behaviour == behaviour:
            return []
        rule.behaviour = behaviour
        return [Change(behaviour, rule.hit)] if rule.hit != self._space.nothing else []
