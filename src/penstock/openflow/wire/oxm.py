"""Match fields of 1.3 (OXM) as bytes, in matches and in set-field actions.

Only the class OPENFLOW_BASIC is known.  A match on any other (Nicira's 0x0000 and 0x0001, an
experimenter's) is refused as a bad field, as the specification asks of a switch that does not
support it; Open vSwitch knows many of Nicira's.  A packet-in is read loosely, as Open vSwitch
does: there the fields describe a packet, and what is not understood is skipped.

A header (class, field, has-mask, length) is one 32-bit number here, so one look-up says
whether all four fit together; only when they do not is it worked out which is wrong.

Matches are values in canonical order, so the order on the wire is lost.  The one rule about it,
that a field comes after those it depends on, is therefore checked here; that it comes with them
at all is the switch's business.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from penstock.errors import PenstockError
from penstock.openflow.actions import SetField
from penstock.openflow.error_codes import ErrorCode, OpenFlowError
from penstock.openflow.fields import BY_NAME, BY_NUMBER, FIELDS, OPENFLOW_BASIC, Field
from penstock.openflow.match import Match, Term
from penstock.openflow.wire.octets import PADDING, bad_length, padded

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
    raise OpenFlowError(ErrorCode.MATCH_BAD_FIELD, f"There is no match field {_field_text(header)}.")


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
