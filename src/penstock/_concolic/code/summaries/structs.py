"""`struct`: fields of bytes as numbers, and numbers as bytes.

All codes for whole numbers, truth values, characters and byte strings are followed, in either order and
in any alignment; floating-point numbers are not.
"""

from __future__ import annotations

import re
import struct
import sys
from typing import Any, Final, Literal, NamedTuple

from penstock._concolic.code.subscripts import settled
from penstock._concolic.code.summaries import PLAIN, UNFOLLOWED, Functions, Methods
from penstock._concolic.terms import truth
from penstock._concolic.values.integers import Followed, boolean, plain, term_of
from penstock._concolic.values.parts import bears, concrete
from penstock._concolic.values.sym_bytes import SymBytes, from_int, octets, terms_of, to_int

Order = Literal["big", "little"]

_KNOWN: Final = frozenset("bBhHiIlLqQnNxcs?")


class Field(NamedTuple):
    """One value of a format: its code, where its bytes are, and how many."""

    code: str
    at: int
    size: int


def fields_of(form: str) -> list[Field] | None:
    """Return the fields of a format, or None if one of them cannot be followed."""
    prefix = form[0] if form[0] in "@=<>!" else ""
    codes = [
        (f"{count}s" if code == "s" else code)
        for count, code in re.findall(r"(\d*)([a-zA-Z?])", form)
        for _ in range(1 if code == "s" else int(count or 1))
    ]
    if {code[-1] for code in codes} - _KNOWN:
        return None
    found: list[Field] = []
    before = prefix
    for code in codes:
        before += code
        size = struct.calcsize(prefix + code)
        if code != "x":
            found.append(Field(code[-1], struct.calcsize(before) - size, size))
    return found


def _order(form: str) -> Order:
    return "big" if form[0] in ">!" else "little" if form[0] == "<" else sys.byteorder


def _text(form: str | bytes) -> str:
    shown = form.decode() if isinstance(form, bytes) else form
    return "".join(shown.split()) or "="


def _read(form: str | bytes, data: Any, start: int) -> tuple[Any, ...] | None:
    """Return the fields in some bytes, or None if they cannot be followed."""
    shown = _text(form)
    fields = fields_of(shown)
    if fields is None or not isinstance(data, bytes):
        return None
    # Python says what is wrong with bytes that are too few.
    struct.unpack_from(form, concrete(data), start)
    parts = (data[start + field.at : start + field.at + field.size] for field in fields)
    return tuple(_value(field, part, _order(shown)) for field, part in zip(fields, parts, strict=True))


def _value(field: Field, data: bytes, order: Order) -> Any:
    if field.code in "sc":
        return data
    number = to_int(data, order, signed=field.code.islower())
    return boolean(plain(number) != 0, truth(term_of(number))) if field.code == "?" else number


def _unpack(form: str | bytes, data: Any) -> Any:
    if len(data) != struct.calcsize(form):
        return struct.unpack(form, concrete(data))
    return _unpack_from(form, data)


def _unpack_from(form: str | bytes, buffer: Any, offset: int = 0) -> Any:
    start = settled(offset) if isinstance(offset, Followed) else offset
    if start < 0:
        start += len(buffer)
    found = _read(form, buffer, start)
    if found is None:
        return UNFOLLOWED if isinstance(buffer, SymBytes) else struct.unpack_from(form, buffer, start)
    return found


def _iter_unpack(form: str | bytes, data: Any) -> Any:
    size = struct.calcsize(form)
    if not size or len(data) % size or not isinstance(data, SymBytes):
        return UNFOLLOWED
    found = [_read(form, data, start) for start in range(0, len(data), size)]
    return UNFOLLOWED if None in found else iter(found)


def _pack(form: str | bytes, *values: Any) -> Any:
    shown = _text(form)
    fields = fields_of(shown)
    if fields is None or len(fields) != len(values):
        return UNFOLLOWED
    try:
        written = [_bytes(field, value, _order(shown)) for field, value in zip(fields, values, strict=True)]
    except OverflowError:
        return struct.pack(form, *map(concrete, values))
    data = struct.pack(form, *map(concrete, values))
    terms = list(terms_of(data))
    for field, part in zip(fields, written, strict=True):
        terms[field.at : field.at + len(part)] = terms_of(part)
    return octets(data, terms)


def _bytes(field: Field, value: Any, order: Order) -> bytes:
    """Return what a value is written as; nothing if it depends on no input."""
    if not bears(value):
        return b""
    if field.code in "sc":
        data: bytes = value
        return data[: field.size]
    if field.code == "?":
        return octets(struct.pack("?", plain(value)), [truth(term_of(value))])
    return from_int(value, field.size, order, signed=field.code.islower())


def _pack_into(_form: str | bytes, _buffer: Any, offset: int, *values: Any) -> Any:
    # What a changeable buffer holds is not followed.
    return UNFOLLOWED if any(map(bears, (offset, *values))) else PLAIN


FUNCTIONS: Final[Functions] = {
    ("_struct", "unpack"): _unpack,
    ("_struct", "unpack_from"): _unpack_from,
    ("_struct", "iter_unpack"): _iter_unpack,
    ("_struct", "pack"): _pack,
    ("_struct", "pack_into"): _pack_into,
}
METHODS: Final[Methods] = {
    (struct.Struct, "unpack"): lambda _method, form, data: _unpack(form.format, data),
    (struct.Struct, "unpack_from"): lambda _method, form, *rest, **more: _unpack_from(
        form.format, *rest, **more
    ),
    (struct.Struct, "iter_unpack"): lambda _method, form, data: _iter_unpack(form.format, data),
    (struct.Struct, "pack"): lambda _method, form, *values: _pack(form.format, *values),
    (struct.Struct, "pack_into"): lambda _method, form, *rest: _pack_into(form.format, *rest),
}
