"""The structures of 1.3: match fields (OXM), actions, instructions, buckets of groups, bands of meters."""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from penstock.errors import PenstockError
from penstock.openflow.actions import (
    Action,
    ApplyActions,
    ClearActions,
    CopyTtlIn,
    CopyTtlOut,
    DecMplsTtl,
    DecNwTtl,
    ExperimenterAction,
    ExperimenterInstruction,
    GotoTable,
    Group,
    Instruction,
    Output,
    PopMpls,
    PopPbb,
    PopVlan,
    PushMpls,
    PushPbb,
    PushVlan,
    SetField,
    SetMplsTtl,
    SetNwTtl,
    SetQueue,
    UseMeter,
    WriteActions,
    WriteMetadata,
)
from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.fields import BY_NAME, BY_NUMBER, FIELDS, OPENFLOW_BASIC, Field
from penstock.openflow.match import Match, Term
from penstock.openflow.messages import Band, Bucket, MeterMod
from penstock.openflow.stats import MeterConfig
from penstock.openflow.wire.primitives import (
    BODY,
    PADDING,
    Elements,
    Form,
    Forms,
    MessageForm,
    Room,
    bad_length,
    padded,
    plain,
    vendor,
)

SET_FIELD: Final = 25
_OXM_MATCH = 1
_HEAD = Struct("!HH")


class _Tlv(NamedTuple):
    """What a 32-bit header announces."""

    field: str
    number: int
    size: int
    full: int
    masked: bool
    maskable: bool


class _Words(NamedTuple):
    """What is written before a field's value, without and with a mask, and in a set-field action."""

    exact: bytes
    masked: bytes
    set: bytes
    set_padding: bytes
    size: int
    full: int


def _header(field: Field, masked: bool) -> int:
    return OPENFLOW_BASIC << 16 | field.number << 9 | masked << 8 | field.size << masked


def _words(field: Field) -> _Words:
    exact = _header(field, False).to_bytes(4)
    length = 8 + field.size
    return _Words(
        exact,
        _header(field, True).to_bytes(4),
        _HEAD.pack(SET_FIELD, padded(length)) + exact,
        PADDING[length & 7],
        field.size,
        field.full,
    )


_TLVS: Final = {
    _header(field, masked): _Tlv(field.name, field.number, field.size, field.full, masked, field.maskable)
    for field in FIELDS
    for masked in (False, True)
}
_WORDS: Final = {field.name: _words(field) for field in FIELDS}


def write_match(match: Match) -> bytes:
    """Return a match with its header and the padding after it."""
    parts: list[bytes] = []
    for field, value, mask in match.terms:
        words = _WORDS[field]
        if mask == words.full:
            parts.append(words.exact + value.to_bytes(words.size))
        else:
            parts.append(words.masked + value.to_bytes(words.size) + mask.to_bytes(words.size))
    octets = b"".join(parts)
    length = _HEAD.size + len(octets)
    return _HEAD.pack(_OXM_MATCH, length) + octets + PADDING[length & 7]


def read_match(data: bytes, at: int, end: int, loose: bool = False) -> tuple[Match, int]:
    """Return the match that starts here and where its padding ends."""
    if end - at < _HEAD.size:
        raise bad_length("A match", end - at, ErrorCode.MATCH_BAD_LEN)
    kind, length = _HEAD.unpack_from(data, at)
    if kind != _OXM_MATCH:
        raise OpenFlowError(
            ErrorCode.MATCH_BAD_TYPE, f"A match of type {kind} is not understood; OXM is type 1."
        )
    if length < _HEAD.size or padded(length) > end - at:
        raise bad_length("A match", length, ErrorCode.MATCH_BAD_LEN)
    stop = at + length
    after = at + padded(length)
    at += _HEAD.size
    terms: list[Term] = []
    seen: list[str] = []
    highest, ascending = -1, True
    while at < stop:
        tlv = _TLVS.get(int.from_bytes(data[at : at + 4]))
        if tlv is None:
            at = _unknown(data, at, stop, loose)
            continue
        field, number, size, full, masked, _ = tlv
        start, at = at + 4, at + 4 + (size << masked)
        if at > stop:
            raise bad_length(f"The match field {field}", stop - start, ErrorCode.MATCH_BAD_LEN)
        value = int.from_bytes(data[start : start + size])
        mask = _mask(tlv, value, int.from_bytes(data[start + size : at])) if masked else full
        if value > full:
            raise OpenFlowError(ErrorCode.MATCH_BAD_VALUE, f"{field} cannot be {value:#x}.")
        if number > highest:
            highest = number
        elif field in seen:
            raise OpenFlowError(ErrorCode.MATCH_DUP_FIELD, f"{field} is matched twice.")
        else:
            ascending = False
        seen.append(field)
        if mask:
            terms.append(Term(field, value, mask))
    if ascending:
        return Match(tuple(terms)), after
    if not loose:
        _check_order(seen)
    return Match.normal(terms), after


def _mask(tlv: _Tlv, value: int, mask: int) -> int:
    """Return a mask without the bits the field does not have, if it goes with the value and the field."""
    if value & ~mask:
        raise OpenFlowError(
            ErrorCode.MATCH_BAD_WILDCARDS, f"{tlv.field}={value:#x}/{mask:#x} has bits that the mask ignores."
        )
    mask &= tlv.full
    if not tlv.maskable and mask not in (0, tlv.full):
        raise OpenFlowError(ErrorCode.MATCH_BAD_MASK, f"{tlv.field} cannot be matched with a mask.")
    return mask


def _unknown(data: bytes, at: int, stop: int, loose: bool) -> int:
    """Refuse a field that cannot be understood, or return where it ends if that is to be skipped."""
    header = data[at : min(at + 4, stop)]
    if len(header) < 4 or at + 4 + header[3] > stop:
        raise bad_length("A match field", stop - at, ErrorCode.MATCH_BAD_LEN)
    field = _basic_field(header)
    if field is not None:
        raise bad_length(f"The match field {field.name}", header[3], ErrorCode.MATCH_BAD_LEN)
    if loose:
        return at + 4 + header[3]
    raise OpenFlowError(ErrorCode.MATCH_BAD_FIELD, f"unknown match field {_field_text(header)}.")


def _basic_field(header: bytes) -> Field | None:
    """Return the field a header names, whatever its length is."""
    return BY_NUMBER.get(header[2] >> 1) if int.from_bytes(header[:2]) == OPENFLOW_BASIC else None


def _field_text(header: bytes) -> str:
    return f"{header[2] >> 1} of class 0x{header[:2].hex()}"


def _check_order(seen: list[str]) -> None:
    """Refuse fields that come before those they depend on."""
    for place, field in enumerate(seen):
        for needed, _ in BY_NAME[field].needs:
            if needed in seen[place:]:
                raise OpenFlowError(
                    ErrorCode.MATCH_BAD_PREREQ, f"{field} comes before {needed}, which it depends on."
                )


def write_set_field(action: SetField) -> bytes:
    """Return a set-field action."""
    words = _WORDS.get(action.field)
    if words is None:
        raise PenstockError(f"There is no field {action.field!r}: the fields are {', '.join(BY_NAME)}.")
    return words.set + action.value.to_bytes(words.size) + words.set_padding


def read_set_field(data: bytes, at: int, end: int) -> SetField:
    """Return the set-field action that fills these bytes."""
    header = data[at + 4 : at + 8]
    tlv = _TLVS.get(int.from_bytes(header))
    if tlv is None:
        field = _basic_field(header)
        if field is None:
            raise OpenFlowError(
                ErrorCode.ACTION_BAD_SET_TYPE, f"There is no field {_field_text(header)} to set."
            )
        raise bad_length(f"A value for {field.name}", header[3], ErrorCode.ACTION_BAD_SET_LEN)
    if tlv.masked:
        raise OpenFlowError(ErrorCode.ACTION_BAD_SET_ARGUMENT, f"{tlv.field} cannot be set under a mask.")
    start, stop = at + 8, at + 8 + tlv.size
    if stop > end:
        raise bad_length(f"A value for {tlv.field}", end - start, ErrorCode.ACTION_BAD_SET_LEN)
    value = int.from_bytes(data[start:stop])
    if value > tlv.full or any(data[stop:end]):
        raise OpenFlowError(
            ErrorCode.ACTION_BAD_SET_ARGUMENT, f"{tlv.field} cannot be set to 0x{data[start:end].hex()}."
        )
    return SetField(tlv.field, value)


ACTIONS13: Final = Forms[Action](
    "action of OpenFlow 1.3",
    ErrorCode.ACTION_BAD_TYPE,
    ErrorCode.ACTION_BAD_LEN,
    plain(0, Output, "IH6x", "port", "max_len"),
    plain(11, CopyTtlOut),
    plain(12, CopyTtlIn),
    plain(15, SetMplsTtl, "B3x", "ttl"),
    plain(16, DecMplsTtl),
    plain(17, PushVlan, "H2x", "ethertype"),
    plain(18, PopVlan),
    plain(19, PushMpls, "H2x", "ethertype"),
    plain(20, PopMpls, "H2x", "ethertype"),
    plain(21, SetQueue, "I", "queue_id"),
    plain(22, Group, "I", "group_id"),
    plain(23, SetNwTtl, "B3x", "ttl"),
    plain(24, DecNwTtl),
    Form(SET_FIELD, 0, SetField, write_set_field, read_set_field),
    plain(26, PushPbb, "H2x", "ethertype"),
    plain(27, PopPbb),
    vendor(ExperimenterAction),
)


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


_BAND = Struct("!HHII")
_BANDS = Elements("A band", least=16, length_at=2, step=8)
_METER = Struct("!HHI")

METER_CONFIGS = Elements("A meter", least=_METER.size)


def _write_bands(bands: tuple[Band, ...]) -> bytes:
    parts = []
    for band in bands:
        length = _BAND.size + len(band.body)
        if length < _BANDS.least or length % _BANDS.step:
            raise PenstockError(f"The body of a band has {len(band.body)} bytes: give 4, or more by eights.")
        parts.append(_BAND.pack(band.type, length, band.rate, band.burst_size) + band.body)
    return b"".join(parts)


def _read_band(data: bytes, at: int, end: int) -> Band:
    kind, _, rate, burst_size = _BAND.unpack_from(data, at)
    return Band(kind, rate, burst_size, data[at + _BAND.size : end])


def _write_mod(message: MeterMod) -> bytes:
    return _METER.pack(message.command, message.flags, message.meter_id) + _write_bands(message.bands)


def _read_mod(data: bytes, xid: int) -> MeterMod:
    command, flags, meter_id = _METER.unpack_from(data, BODY)
    bands = _BANDS.read(data, BODY + _METER.size, len(data), _read_band)
    return MeterMod(command, flags, meter_id, bands, xid=xid)


METER_MOD_FORM = MessageForm(29, MeterMod, Room(BODY + _METER.size, 8), _write_mod, _read_mod)


def write_meter_config(meter: MeterConfig) -> bytes:
    """Return the configuration of a meter."""
    bands = _write_bands(meter.bands)
    return _METER.pack(_METER.size + len(bands), meter.flags, meter.meter_id) + bands


def read_meter_config(data: bytes, at: int, end: int) -> MeterConfig:
    """Return the configuration that fills these bytes."""
    _, flags, meter_id = _METER.unpack_from(data, at)
    return MeterConfig(meter_id, flags, _BANDS.read(data, at + _METER.size, end, _read_band))
