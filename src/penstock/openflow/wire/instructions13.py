"""What carries lists of actions in 1.3: instructions, and the buckets of groups."""

from __future__ import annotations

from struct import Struct
from typing import Final

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
from penstock.openflow.error_codes import ErrorCode
from penstock.openflow.messages import Bucket
from penstock.openflow.wire.actions13 import ACTIONS13
from penstock.openflow.wire.octets import Elements, bad_length
from penstock.openflow.wire.typed import Form, Forms, plain, vendor

_ACTIONS = Struct("!HH4x")
_BUCKET = Struct("!HHII4x")
_BUCKETS = Elements("A bucket", least=_BUCKET.size, refusal=ErrorCode.GROUP_BAD_BUCKET)


def _carrier(number: int, kind: type[ApplyActions] | type[WriteActions]) -> Form:
    """Return the form of an instruction that holds actions."""

    def write(instruction: ApplyActions | WriteActions) -> bytes:
        octets = ACTIONS13.write(instruction.actions)
        return _ACTIONS.pack(number, _ACTIONS.size + len(octets)) + octets

    def read(data: bytes, at: int, end: int) -> Instruction:
        return kind(ACTIONS13.read(data, at + _ACTIONS.size, end))

    return Form(number, 0, kind, write, read)


INSTRUCTIONS13: Final = Forms[Instruction](
    "instruction of OpenFlow 1.3",
    ErrorCode.INSTRUCTION_UNKNOWN,
    ErrorCode.INSTRUCTION_BAD_LEN,
    plain(1, GotoTable, "B3x", "table_id"),
    plain(2, WriteMetadata, "4xQQ", "value", "mask"),
    _carrier(3, WriteActions),
    _carrier(4, ApplyActions),
    plain(5, ClearActions),
    plain(6, UseMeter, "I", "meter_id"),
    vendor(ExperimenterInstruction),
    length_first=True,
)


def write_buckets(buckets: tuple[Bucket, ...]) -> bytes:
    """Return the buckets of a group one after the other."""
    parts = []
    for bucket in buckets:
        octets = ACTIONS13.write(bucket.actions)
        length = _BUCKET.size + len(octets)
        parts.append(_BUCKET.pack(length, bucket.weight, bucket.watch_port, bucket.watch_group) + octets)
    return b"".join(parts)


def read_buckets(data: bytes, at: int, end: int) -> tuple[Bucket, ...]:
    """Return the buckets that fill these bytes."""
    return _BUCKETS.read(data, at, end, _read_bucket)


def _read_bucket(data: bytes, at: int, end: int) -> Bucket:
    length, weight, watch_port, watch_group = _BUCKET.unpack_from(data, at)
    if length % 8:
        raise bad_length("The list of actions of a bucket", length - _BUCKET.size)
    return Bucket(ACTIONS13.read(data, at + _BUCKET.size, end), weight, watch_port, watch_group)
