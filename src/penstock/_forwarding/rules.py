"""The rules of one flow table, indexed by tuple space: which one a header meets, which ones a cube meets.

Rules that look at the same bits share a dictionary, as in `_world.switch.flow_table`; but this table
changes in place, one rule at a time, at a cost that does not grow with the table.  For the rules that a
cube overlaps, each dictionary is also kept *projected* onto the bits that the cube and the rules both
look at; a projection is made when it is first asked for and then kept up.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from penstock._forwarding.header_space import Cube, cube_of
from penstock._world.switch.flow_table import FlowEntry, Order, order_of
from penstock.openflow.actions import Action, ApplyActions, WriteActions
from penstock.openflow.match import Match

if TYPE_CHECKING:
    from penstock._forwarding.trees import Branch

_FEW: Final = 8
"""So many values are gone through one by one."""

_MOST_PROJECTIONS: Final = 64


class Rule:
    """A flow entry where it stands, and the branches of packets that meet it."""

    __slots__ = ("branches", "cube", "entry", "order")

    def __init__(self, entry: FlowEntry) -> None:
        self.entry = entry
        self.cube = cube_of(entry.match)
        self.order: Order = order_of(entry)
        self.branches: dict[Branch, None] = {}

    @property
    def actions(self) -> tuple[Action, ...]:
        """All actions of the entry, applied or written."""
        lists = [i.actions for i in self.entry.instructions if isinstance(i, ApplyActions | WriteActions)]
        return tuple(action for some in lists for action in some)

    def __lt__(self, other: Rule) -> bool:
        return self.order < other.order


def _order(rule: Rule) -> Order:
    return rule.order


_Projection = dict[int, dict[Rule, None]]


class _Space:
    """The rules that look at the same bits; those of one value stand in order."""

    __slots__ = ("_projections", "first", "mask", "values")

    def __init__(self, mask: int, order: int) -> None:
        self.mask = mask
        self.first = order
        self.values: dict[int, list[Rule]] = {}
        self._projections: dict[int, _Projection] = {}

    def add(self, rule: Rule) -> None:
        value = rule.cube[0]
        insort(self.values.setdefault(value, []), rule)
        for common, projection in self._projections.items():
            projection.setdefault(value & common, {})[rule] = None

    def remove(self, rule: Rule) -> None:
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

    def overlapping(self, value: int, common: int) -> Iterable[Rule]:
        """Return the rules that agree with a value in the bits that both look at, which are not all."""
        wanted = value & common
        if len(self.values) > _FEW:
            return self._projected(common).get(wanted, ())
        return [rule for found, rules in self.values.items() if found & common == wanted for rule in rules]

    def _projected(self, common: int) -> _Projection:
        projection = self._projections.get(common)
        if projection is None:
            projection = {}
            for value, rules in self.values.items():
                projection.setdefault(value & common, {}).update(dict.fromkeys(rules))
            if len(self._projections) >= _MOST_PROJECTIONS:
                del self._projections[next(iter(self._projections))]
            self._projections[common] = projection
        return projection


class RuleTable:
    """The rules of one flow table, and the branches of packets that meet none of them."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.missing: dict[Branch, None] = {}
        self._rules: dict[tuple[int, Match], Rule] = {}
        self._spaces: list[_Space] = []
        self._by_mask: dict[int, _Space] = {}

    def __len__(self) -> int:
        return len(self._rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._rules.values())

    def find(self, priority: int, match: Match) -> Rule | None:
        """Return the rule of exactly this priority and match."""
        return self._rules.get((priority, match))

    def add(self, entry: FlowEntry) -> Rule:
        """Take in an entry whose priority and match no rule has."""
        rule = Rule(entry)
        self._rules[entry.priority, entry.match] = rule
        mask, first = rule.cube[1], rule.order[0]
        space = self._by_mask.get(mask)
        if space is None:
            space = self._by_mask[mask] = _Space(mask, first)
            self._spaces.append(space)
            self._sort()
        elif first < space.first:
            space.first = first
            self._sort()
        space.add(rule)
        return rule

    def remove(self, rule: Rule) -> None:
        """Take out a rule."""
        del self._rules[rule.entry.priority, rule.entry.match]
        space = self._by_mask[rule.cube[1]]
        space.remove(rule)
        if not space.values:
            del self._by_mask[space.mask]
            self._spaces.remove(space)

    def _sort(self) -> None:
        self._spaces.sort(key=lambda space: space.first)

    def lookup(self, header: int) -> Rule | None:
        """Return the rule that a header meets, if any."""
        best: Rule | None = None
        priority = 0
        for space in self._spaces:
            if best is not None and priority < space.first:
                break
            found = space.values.get(header & space.mask)
            if found is not None and (best is None or found[0].order < best.order):
                best = found[0]
                priority = best.order[0]
        return best

    def overlapping(self, cube: Cube) -> list[Rule]:
        """Return the rules that share a header with a cube, in the order of look-up."""
        value, mask = cube
        found: list[Rule] = []
        for space in self._spaces:
            common = space.mask & mask
            if common == space.mask:
                rules = space.values.get(value & common)
                if rules is not None:
                    found += rules
            else:
                found += space.overlapping(value, common)
        if len(found) > 1:
            found.sort(key=_order)
        return found
