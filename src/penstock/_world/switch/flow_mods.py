"""Changing flow tables: the five flow-mod commands.

Numbers of the specification 1.3 §6.4: add replaces an entry of the same priority and match,
modify changes instructions and keeps counters and timeouts, delete may filter by output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from penstock._world.switch.checks import check_forms, check_instructions, check_match, check_references
from penstock._world.switch.flow_table import FlowEntry, FlowTable
from penstock._world.switch.state import OWN_TABLE, Usage
from penstock._world.switch.turn import Turn, outputs_to
from penstock.openflow.actions import (
    ApplyActions,
    ClearActions,
    ExperimenterInstruction,
    GotoTable,
    Instruction,
    UseMeter,
    WriteActions,
    WriteMetadata,
)
from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.messages import (
    ALL_TABLES,
    ANY_GROUP,
    NO_BUFFER,
    V10,
    FlowCommand,
    FlowFlag,
    FlowMod,
    FlowRemovedReason,
    PortNo,
)

_KNOWN_FLAGS = {V10: 0b111}
_EVERY_BIT = 0xFFFFFFFFFFFFFFFF
_COMMANDS = frozenset(map(int, FlowCommand))
_DELETES = (FlowCommand.DELETE, FlowCommand.DELETE_STRICT)
_CHECK_OVERLAP = int(FlowFlag.CHECK_OVERLAP)
_RESET_COUNTS = int(FlowFlag.RESET_COUNTS)
_LAST_PHYSICAL = 0xFF00
_METER_DELETE = 4
"""A reason of 1.4: under 1.3 it can be asked for, and is told as a deletion."""

_ORDER = (
    UseMeter,
    ApplyActions,
    ClearActions,
    WriteActions,
    WriteMetadata,
    GotoTable,
    ExperimenterInstruction,
)

_NO_ACTIONS = (ApplyActions(()), WriteActions(()))


def apply(turn: Turn, message: FlowMod) -> None:
    """Carry out a flow-mod or refuse it."""
    instructions = _in_order(message.instructions)
    if instructions != message.instructions:
        message = replace(message, instructions=instructions)
    _check(turn, message)
    if message.command == FlowCommand.ADD:
        _add(turn, message)
    elif message.command in _DELETES:
        _delete(turn, message)
    else:
        _modify(turn, message)


def _check(turn: Turn, message: FlowMod) -> None:
    check_match(message.match, turn.version)
    if turn.version != V10 and message.table_id == ALL_TABLES and message.command not in _DELETES:
        raise OpenFlowError(ErrorCode.FLOW_BAD_TABLE_ID, "only a delete may name all tables")
    if _LAST_PHYSICAL <= message.out_port < PortNo.MAX:
        raise OpenFlowError(ErrorCode.ACTION_BAD_OUT_PORT, f"{message.out_port:#x} is no port's number")
    if message.command not in _COMMANDS:
        raise OpenFlowError(ErrorCode.FLOW_BAD_COMMAND, f"there is no flow-mod command {message.command}")
    check_forms(message.instructions)
    if message.flags & ~_KNOWN_FLAGS.get(turn.version, 0b11111):
        raise OpenFlowError(ErrorCode.FLOW_BAD_FLAGS, f"flags {message.flags:#x} are unknown")
    if turn.version == V10 and message.flags & FlowFlag.EMERG:
        timed = message.idle_timeout or message.hard_timeout
        raise OpenFlowError(
            ErrorCode.FLOW_BAD_TIMEOUT if timed else ErrorCode.FLOW_TABLE_FULL, "no emergency table"
        )
    check_instructions(turn, message.instructions, message.match, _first_table(turn, message))
    _check_table(turn, message)
    unknown = message.buffer_id not in (NO_BUFFER, *turn.state.buffers)
    if unknown and message.command not in _DELETES:
        raise OpenFlowError(ErrorCode.BUFFER_UNKNOWN, f"there is no packet in buffer {message.buffer_id:#x}")


def _check_table(turn: Turn, message: FlowMod) -> None:
    if message.table_id == OWN_TABLE:
        everything = message == FlowMod(
            FlowCommand.DELETE, table_id=OWN_TABLE, priority=message.priority, xid=message.xid
        )
        if message.command not in _DELETES or everything:
            raise OpenFlowError(ErrorCode.EPERM, "the last table is the switch's own")
    elif message.table_id != ALL_TABLES and message.table_id >= turn.options.tables:
        raise OpenFlowError(ErrorCode.BAD_TABLE_ID, f"there is no table {message.table_id}")


def _in_order(instructions: tuple[Instruction, ...]) -> tuple[Instruction, ...]:
    """Return instructions in the order they are carried out; applying no actions is none."""
    kept = [i for i in instructions if i not in _NO_ACTIONS]
    if len(kept) > 1:
        kept.sort(key=lambda instruction: _ORDER.index(type(instruction)))
    return tuple(kept)


def _first_table(turn: Turn, message: FlowMod) -> int:
    return 0 if turn.version == V10 or message.table_id == ALL_TABLES else message.table_id


def _tables(turn: Turn, message: FlowMod) -> list[int]:
    return list(turn.state.tables) if message.table_id == ALL_TABLES else [message.table_id]


def selected(turn: Turn, message: FlowMod) -> Iterator[tuple[int, FlowEntry]]:
    """Yield the entries that a modify or delete speaks of."""
    strict = message.command in (FlowCommand.MODIFY_STRICT, FlowCommand.DELETE_STRICT)
    filtered = message.command in _DELETES
    for table in _tables(turn, message):
        for entry in _matching(turn.table(table), message, strict=strict):
            if (entry.cookie ^ message.cookie) & message.cookie_mask:
                continue
            group = message.out_group if filtered else ANY_GROUP
            port = message.out_port if filtered else PortNo.ANY
            if outputs_to(entry, port, group):
                yield table, entry


def _matching(table: FlowTable, message: FlowMod, *, strict: bool) -> Iterable[FlowEntry]:
    """Return the entries of a table that a message's match picks, or, if `strict`, the very one."""
    if strict:
        same = table.find(message.priority, message.match)
        return () if same is None else (same,)
    return (entry for entry in table if entry.match.within(message.match))


def _add(turn: Turn, message: FlowMod) -> None:
    check_references(turn, message.instructions)
    number = _first_table(turn, message)
    table = turn.table(number)
    now = turn.state.now
    old = table.find(message.priority, message.match)
    if old is None:
        if message.flags & _CHECK_OVERLAP and table.overlapping(message.priority, message.match):
            raise OpenFlowError(ErrorCode.FLOW_OVERLAP, "another entry of this priority overlaps")
        size = turn.table_size
        if len(table) >= size:
            raise OpenFlowError(ErrorCode.FLOW_TABLE_FULL, f"table {number} holds {size} entries")
    entry = FlowEntry(
        priority=message.priority,
        match=message.match,
        instructions=message.instructions,
        cookie=message.cookie if old is None or message.cookie != _EVERY_BIT else old.cookie,
        flags=message.flags,
        idle_timeout=message.idle_timeout,
        hard_timeout=message.hard_timeout,
        created=now,
        modified=now,
        preferred=old is not None and old.preferred,
    )
    turn.put_table(number, table.put(entry))
    if old is not None:
        _hand_over_usage(turn, number, old, entry, keep=not _resets(turn, message))
    turn.note("rule-added", number, entry)


def _resets(turn: Turn, message: FlowMod) -> bool:
    """Tell whether counters start anew: always on a 1.0 add, else by flag."""
    if turn.version == V10:
        return message.command == FlowCommand.ADD
    return bool(message.flags & _RESET_COUNTS)


def _hand_over_usage(turn: Turn, table: int, old: FlowEntry, entry: FlowEntry, *, keep: bool) -> None:
    """Give an entry the counters of the one it replaces; when that was last used stays known."""
    usage = turn.usage_of(table, old)
    usage = usage if keep else Usage(used=usage.used)
    key = (table, entry.priority, entry.match)
    if usage == Usage(used=entry.created):
        turn.change(rule_usage=turn.state.rule_usage.without(key))
    elif turn.options.counters:
        turn.change(rule_usage=turn.state.rule_usage.set(key, usage))


def _modify(turn: Turn, message: FlowMod) -> None:
    found = list(selected(turn, message))
    if not found:
        if turn.version == V10:
            _add(turn, message)
        return
    check_references(turn, message.instructions)
    for number, old in found:
        cookie = message.cookie if turn.version == V10 and message.cookie != _EVERY_BIT else old.cookie
        entry = replace(old, instructions=message.instructions, cookie=cookie, modified=turn.state.now)
        turn.put_table(number, turn.table(number).put(entry))
        _hand_over_usage(turn, number, old, entry, keep=not _resets(turn, message))
        turn.note("rule-modified", number, entry)


def _delete(turn: Turn, message: FlowMod) -> None:
    by_table: dict[int, list[FlowEntry]] = {}
    for number, entry in selected(turn, message):
        by_table.setdefault(number, []).append(entry)
    for number, entries in by_table.items():
        turn.remove_entries(number, entries, FlowRemovedReason.DELETE)


def remove_users_of_group(turn: Turn, group: int) -> None:
    """Remove the entries that send to a group which is going away."""
    for number in list(turn.state.tables):
        users = [entry for entry in turn.table(number) if outputs_to(entry, PortNo.ANY, group)]
        turn.remove_entries(number, users, FlowRemovedReason.GROUP_DELETE)


def remove_users_of_meter(turn: Turn, meter: int) -> None:
    """Remove the entries that use a meter which is going away."""
    for number in list(turn.state.tables):
        users = [entry for entry in turn.table(number) if UseMeter(meter) in entry.instructions]
        turn.remove_entries(number, users, FlowRemovedReason.DELETE, wish=_METER_DELETE)
