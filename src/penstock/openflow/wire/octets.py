"""What every part of the codec leans on: names, padding, and lists whose elements tell their own lengths.

Most OpenFlow lists have no count.  Each element says how long it is, and the list ends where its
container ends, so a length from a stranger decides where to look next.  That happens in few places,
`Elements` here, `typed` for actions and instructions, `oxm` for match fields and `hello`, and all keep
one rule: an element shorter than its header or longer than what is left is refused, so every walk ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from penstock.errors import PenstockError
from penstock.openflow.error_codes import ErrorCode, OpenFlowError

T = TypeVar("T")

PADDING: Final = tuple(bytes(-length % 8) for length in range(8))
"""The zero bytes that bring a length up to a multiple of eight, by the length's last three bits."""


def padded(length: int) -> int:
    """Return a length brought up to a multiple of eight."""
    return length + 7 & ~7


def bad_length(what: str, length: int, refusal: ErrorCode = ErrorCode.BAD_LEN) -> OpenFlowError:
    """Return the refusal of something whose length is wrong."""
    return OpenFlowError(refusal, f"{what} cannot be {length} bytes long.")


def text_field(text: str, size: int) -> bytes:
    """Return a name as a field of so many bytes, zero bytes after it."""
    try:
        octets = text.encode("latin-1")
    except UnicodeEncodeError:
        raise PenstockError(f"{text!r} cannot be written: OpenFlow names are made of single bytes.") from None
    if len(octets) > size or 0 in octets:
        raise PenstockError(
            f"{text!r} cannot be written: give a name of at most {size} bytes, none of them 0."
        )
    return octets.ljust(size, b"\0")


def text_of(field: bytes) -> str:
    """Return the name in a field: what stands before the first zero byte, whatever bytes they are."""
    return field.partition(b"\0")[0].decode("latin-1")


def in_eights(octets: bytes, what: str) -> bytes:
    """Return bytes that must fill whole words of eight, or say that they do not."""
    if len(octets) % 8:
        raise PenstockError(f"The body of {what} has {len(octets)} bytes: pad it to a multiple of 8.")
    return octets


@dataclass(frozen=True, slots=True)
class Elements:
    """A list whose elements each tell their length, in two bytes at `length_at`."""

    what: str
    least: int
    length_at: int = 0
    step: int = 1
    pad: bool = False
    """Whether each element is followed by bytes, not counted in its length, up to a multiple of 8."""
    refusal: ErrorCode = ErrorCode.BAD_LEN

    def read(self, data: bytes, at: int, end: int, one: Callable[[bytes, int, int], T]) -> tuple[T, ...]:
        """Return what `one` makes of each element, given where it starts and ends."""
        values: list[T] = []
        least, length_at, step, pad = self.least, self.length_at, self.step, self.pad
        while at < end:
            left = end - at
            if left < least:
                raise bad_length(self.what, left, self.refusal)
            length = data[at + length_at] << 8 | data[at + length_at + 1]
            taken = padded(length) if pad else length
            if length < least or taken > left or length % step:
                raise bad_length(self.what, length, self.refusal)
            values.append(one(data, at, at + length))
            at += taken
        return tuple(values)
