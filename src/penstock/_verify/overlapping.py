"""Whether a program's rules could ever leave a switch a choice (`NoAmbiguousRules`), whatever the order.

The reductions of a proof leave out states in which only the tables differ for a while.  So tables that were
met prove nothing by themselves; but every rule of a table was sent by the program, or was there from the
start.  If no two of those, for one table and priority, share packets and differ in what they do, then no
order of messages can make them clash.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from penstock._world.switch import SwitchState
from penstock.openflow.actions import Instruction
from penstock.openflow.match import Match
from penstock.openflow.messages import V10, FlowCommand, FlowMod

LEFT_OPEN: Final = (
    "Rules of equal priority that share packets were sent, and not every order of them was tried: "
    "NoAmbiguousRules was judged for the tables that were met."
)


class Sent(NamedTuple):
    """A rule as it was sent to a switch; `changes` that it gives its instructions to other rules too."""

    switch: str
    table: int
    priority: int
    match: Match
    instructions: tuple[Instruction, ...]
    changes: bool = False


def sent_rule(switch: str, message: FlowMod) -> Sent | None:
    """Return the rule that a flow-mod brings, if it does."""
    if message.command in (FlowCommand.DELETE, FlowCommand.DELETE_STRICT):
        return None
    table = message.table_id if message.table_id <= 0xFE else 0
    changes = message.command != FlowCommand.ADD
    return Sent(switch, table, message.priority, message.match, message.instructions, changes)


def rules_in(switch: str, state: SwitchState) -> Iterator[Sent]:
    """Yield the rules that a switch has."""
    for number, table in state.tables.items():
        for entry in table:
            yield Sent(switch, number, entry.priority, entry.match, entry.instructions)


def may_clash(rules: Iterable[Sent], version: int) -> bool:
    """Tell whether some of these rules could meet in one table and leave a choice."""
    by_place: dict[tuple[str, int, int], list[Sent]] = {}
    changed: set[tuple[str, int]] = set()
    for rule in rules:
        table = 0 if version == V10 else rule.table
        by_place.setdefault((rule.switch, table, rule.priority), []).append(rule)
        if rule.changes:
            changed.add((rule.switch, table))
    for (switch, table, _), some in by_place.items():
        for place, one in enumerate(some):
            for other in some[place + 1 :]:
                differing = one.instructions != other.instructions or (switch, table) in changed
                if differing and one.match != other.match and one.match.overlaps(other.match):
                    return True
    return False
