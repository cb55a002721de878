"""Flow entries that time out: which can, when the next does, and all that do by a moment.

Each table knows when the first of its hard timeouts ends and which entries have an idle one
(`FlowTable.first_hard_end`, `FlowTable.idle`); only the latter have to be asked when they were used last.

Whatever falls due in one step is told of entry by entry, at its moment and in order, and taken out of
the tables at once, so that thousands of entries that go together cost thousands of steps and no more.
"""

from __future__ import annotations

from penstock._world.switch.flow_table import FlowEntry
from penstock._world.switch.turn import Turn
from penstock.openflow.messages import FlowRemovedReason


def expirable(turn: Turn) -> list[tuple[int, FlowEntry]]:
    """Return the entries that have a timeout, in table order."""
    return [
        (number, entry)
        for number in turn.state.tables
        for entry in turn.table(number)
        if entry.idle_timeout or entry.hard_timeout
    ]


def deadline(turn: Turn) -> int | None:
    """Return when the next entry times out."""
    moments = []
    for number in turn.state.tables:
        table = turn.table(number)
        if table.first_hard_end is not None:
            moments.append(table.first_hard_end)
        moments += [_idle_end(turn, number, entry) for entry in table.idle]
    return min(moments, default=None)


def expire(turn: Turn, now: int) -> None:
    """Let all entries go that time out by a moment, each at its own, the earliest first."""
    first = deadline(turn)
    if first is None or first > now:
        return
    due = [(*_due(turn, number, entry), number, entry) for number, entry in expirable(turn)]
    by_table: dict[int, list[FlowEntry]] = {}
    # Sorting keeps the order of the tables among entries that go at one moment for one reason.
    for moment, reason, number, entry in sorted(due, key=lambda item: item[:2]):
        if moment > now:
            break
        turn.change(now=max(moment, turn.state.now))
        turn.tell_removal(number, entry, reason)
        by_table.setdefault(number, []).append(entry)
    for number, entries in by_table.items():
        turn.drop_entries(number, entries)


def _due(turn: Turn, number: int, entry: FlowEntry) -> tuple[int, FlowRemovedReason]:
    """Return when an entry with a timeout falls due and why, as things stand."""
    moments = []
    if entry.hard_timeout:
        moments.append((entry.hard_end, FlowRemovedReason.HARD_TIMEOUT))
    if entry.idle_timeout:
        moments.append((_idle_end(turn, number, entry), FlowRemovedReason.IDLE_TIMEOUT))
    return min(moments, key=lambda moment: moment[0])


def _idle_end(turn: Turn, number: int, entry: FlowEntry) -> int:
    return turn.last_used(number, entry) + entry.idle_timeout * 1000
