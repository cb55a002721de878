"""Changing groups and meters.

Groups may lead back to themselves, as in Open vSwitch (specification 1.3 §6.5 lets a switch refuse that);
packets that go round in them are over a budget.
"""

from __future__ import annotations

from dataclasses import replace

from penstock._world.switch.budgets import MOST_BANDS, MOST_METERS
from penstock._world.switch.checks import check_action_forms
from penstock._world.switch.flow_mods import remove_users_of_group, remove_users_of_meter
from penstock._world.switch.meters import KBPS, PKTPS, BandType
from penstock._world.switch.state import GroupEntry, MeterEntry
from penstock._world.switch.turn import Turn
from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.messages import (
    ALL_GROUPS,
    ALL_METERS,
    ANY_GROUP,
    MAX_GROUP,
    MAX_METER,
    Bucket,
    GroupCommand,
    GroupMod,
    GroupType,
    MeterCommand,
    MeterMod,
    PortNo,
)

_BAND_TYPES = frozenset(BandType)
_METER_FLAGS = 0b1111


def apply_group_mod(turn: Turn, message: GroupMod) -> None:
    """Carry out a group-mod or refuse it."""
    _check_group(message)
    match message.command:
        case GroupCommand.ADD:
            _add_group(turn, message)
        case GroupCommand.MODIFY:
            _modify_group(turn, message)
        case _:
            _delete_groups(turn, message.group_id)


def _check_group(message: GroupMod) -> None:
    for bucket in message.buckets:
        check_action_forms(bucket.actions)
    deleting = message.command == GroupCommand.DELETE
    if deleting and message.buckets:
        raise OpenFlowError(ErrorCode.GROUP_INVALID, "a delete has no buckets")
    if message.type not in tuple(GroupType):
        raise OpenFlowError(ErrorCode.GROUP_BAD_TYPE, f"there is no group type {message.type}")
    if message.type == GroupType.INDIRECT and not deleting and len(message.buckets) != 1:
        raise OpenFlowError(ErrorCode.GROUP_INVALID, "an indirect group has one bucket")
    if message.command not in tuple(GroupCommand):
        raise OpenFlowError(ErrorCode.GROUP_BAD_COMMAND, f"there is no group-mod command {message.command}")
    for bucket in message.buckets:
        _check_bucket(message.type, bucket)


def _check_bucket(kind: int, bucket: Bucket) -> None:
    if bucket.weight and kind != GroupType.SELECT:
        raise OpenFlowError(ErrorCode.GROUP_INVALID, "only a select group's buckets have weights")
    watches = bucket.watch_port != PortNo.ANY or bucket.watch_group != ANY_GROUP
    if watches and kind in (GroupType.ALL, GroupType.INDIRECT):
        raise OpenFlowError(ErrorCode.GROUP_WATCH_UNSUPPORTED, "this type of group watches nothing")
    if not watches and kind == GroupType.FAST_FAILOVER:
        raise OpenFlowError(ErrorCode.GROUP_INVALID, "a fast-failover bucket must watch a port or group")


def _add_group(turn: Turn, message: GroupMod) -> None:
    if message.group_id in turn.state.groups:
        raise OpenFlowError(ErrorCode.GROUP_EXISTS, f"group {message.group_id} exists")
    _check_number(message)
    if len(turn.state.groups) >= turn.options.groups:
        raise OpenFlowError(ErrorCode.GROUP_OUT_OF_GROUPS, f"the switch holds {turn.options.groups} groups")
    entry = GroupEntry(message.type, message.buckets, turn.state.now)
    turn.change(groups=turn.state.groups.set(message.group_id, entry))
    turn.note("group-added", message.group_id)


def _modify_group(turn: Turn, message: GroupMod) -> None:
    old = turn.state.groups.get(message.group_id)
    if old is None:
        raise OpenFlowError(ErrorCode.GROUP_UNKNOWN, f"there is no group {message.group_id}")
    _check_number(message)
    entry = GroupEntry(message.type, message.buckets, old.created)
    turn.change(groups=turn.state.groups.set(message.group_id, entry))
    _forget_counters(turn, message.group_id)
    turn.note("group-modified", message.group_id)


def _check_number(message: GroupMod) -> None:
    if message.group_id > MAX_GROUP:
        raise OpenFlowError(ErrorCode.GROUP_INVALID, f"{message.group_id:#x} is no group's number")


def _delete_groups(turn: Turn, group_id: int) -> None:
    """Delete one group or all, with the groups' users."""
    gone = list(turn.state.groups) if group_id == ALL_GROUPS else [group_id]
    for number in gone:
        if number not in turn.state.groups:
            continue
        remove_users_of_group(turn, number)
        turn.change(groups=turn.state.groups.without(number))
        _forget_counters(turn, number)
        turn.note("group-removed", number)


def _forget_counters(turn: Turn, group_id: int) -> None:
    buckets = turn.state.bucket_usage
    turn.change(
        group_usage=turn.state.group_usage.without(group_id),
        bucket_usage=buckets.without(*[key for key in buckets if key[0] == group_id]),
    )


def apply_meter_mod(turn: Turn, message: MeterMod) -> None:
    """Carry out a meter-mod or refuse it."""
    _check_meter(turn, message)
    meters = turn.state.meters
    match message.command:
        case MeterCommand.DELETE:
            gone = list(meters) if message.meter_id == ALL_METERS else [message.meter_id]
            for meter in gone:
                remove_users_of_meter(turn, meter)
            turn.change(meters=meters.without(*gone))
            _empty_meters(turn, gone)
        case _:
            old = meters.get(message.meter_id)
            created = old.created if old is not None else turn.state.now
            bands = tuple(replace(band, burst_size=band.burst_size or band.rate) for band in message.bands)
            turn.change(meters=meters.set(message.meter_id, MeterEntry(message.flags, bands, created)))
            _empty_meters(turn, [message.meter_id])


def _empty_meters(turn: Turn, meters: list[int]) -> None:
    """Have meters begin anew: nothing counted, all buckets full."""
    bands = turn.state.band_usage
    turn.change(
        meter_usage=turn.state.meter_usage.without(*meters),
        band_usage=bands.without(*[key for key in bands if key[0] in meters]),
        bucket_levels=turn.state.bucket_levels.without(*meters),
        overrun=turn.state.overrun.difference(meters),
    )


def _check_meter(turn: Turn, message: MeterMod) -> None:
    if message.command not in tuple(MeterCommand):
        raise OpenFlowError(ErrorCode.METER_BAD_COMMAND, f"there is no meter-mod command {message.command}")
    if message.command == MeterCommand.DELETE:
        return
    if message.flags & KBPS and message.flags & PKTPS:
        raise OpenFlowError(ErrorCode.METER_BAD_FLAGS, "a meter counts kilobits or packets, not both")
    kinds = {band.type for band in message.bands}
    if kinds - _BAND_TYPES:
        raise OpenFlowError(
            ErrorCode.METER_BAD_BAND, f"there is a band type among {kinds} that does not exist"
        )
    if not 0 < message.meter_id <= MAX_METER:
        raise OpenFlowError(ErrorCode.METER_INVALID, f"{message.meter_id:#x} is no meter's number")
    if len(message.bands) > MOST_BANDS:
        raise OpenFlowError(ErrorCode.METER_OUT_OF_BANDS, f"a meter has at most {MOST_BANDS} bands")
    exists = message.meter_id in turn.state.meters
    if message.command == MeterCommand.ADD and exists:
        raise OpenFlowError(ErrorCode.METER_EXISTS, f"meter {message.meter_id} exists")
    if message.command == MeterCommand.ADD and len(turn.state.meters) >= MOST_METERS:
        raise OpenFlowError(ErrorCode.METER_OUT_OF_METERS, f"the switch holds {MOST_METERS} meters")
    if message.command == MeterCommand.MODIFY and not exists:
        raise OpenFlowError(ErrorCode.METER_UNKNOWN_METER, f"there is no meter {message.meter_id}")
    if not message.flags & (KBPS | PKTPS):
        raise OpenFlowError(ErrorCode.METER_BAD_FLAGS, "a meter counts kilobits or packets")
    if not message.bands:
        raise OpenFlowError(ErrorCode.METER_OUT_OF_BANDS, "a meter has at least one band")
    if not all(band.rate for band in message.bands):
        raise OpenFlowError(ErrorCode.METER_BAD_RATE, "a rate of 0 lets nothing through")
    if message.flags & ~_METER_FLAGS:
        raise OpenFlowError(ErrorCode.METER_BAD_FLAGS, f"flags {message.flags:#x} are unknown")
