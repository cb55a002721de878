"""Bytes that depend on inputs: one term of eight bits for each.

A `SymBytes` is a `bytes`; a byte that depends on nothing has a constant term.  Taking bytes out, cutting
and putting together keep the terms.  Comparisons are numeric: bytes of one length are in the order of
the numbers that they spell.  Searching goes by way of the text in which each byte is one character.

The functions at the end do for code that is followed what Python does in C, where terms would be lost.

Limits: a `bytearray` or a `memoryview` is plain; what is read through the buffer of bytes (`struct`,
`socket`) is plain unless a summary takes its place.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Literal, Self, cast

from penstock._concolic.run import lose
from penstock._concolic.terms import (
    FALSE,
    Term,
    TooWide,
    bits,
    both,
    const,
    equal_all,
    ite,
    join,
    lt,
    mod,
    negation,
    sub,
)
from penstock._concolic.values.escapes import Unchanging, Unfollowed, bare, escaping, or_lose, yielding
from penstock._concolic.values.integers import Followed, boolean, decide, integer, pinned, plain, term_of
from penstock._concolic.values.segments import Piece, Pieces, shown
from penstock._concolic.values.sym_str import ONE_BYTE, SymStr, made, pieces_of
from penstock._concolic.values.sym_str_search import codes, settled

ByteOrder = Literal["little", "big"]

_WHITE_SPACE: Final = b" \t\n\r\x0b\x0c"
"""What bytes are stripped of; in a text, more characters are white space."""


def octets(data: bytes, terms: Sequence[Term]) -> bytes:
    """Return bytes that carry a term each, or plain ones if all are constant."""
    if all(term.op == "const" for term in terms):
        return cast(bytes, bare(data))
    return SymBytes(data, tuple(terms))


def terms_of(data: bytes) -> tuple[Term, ...]:
    """Return a term for each byte; constants for plain bytes."""
    if isinstance(data, SymBytes):
        return data.terms
    if isinstance(data, Unchanging):
        lose("bytes")
        data = data.plain
    return tuple(map(const, data))


def same_octets(one: bytes, other: bytes) -> Term:
    """Return whether bytes are the same."""
    if len(one) != len(other):
        return FALSE
    return equal_all(zip(terms_of(one), terms_of(other), strict=True))


def _before(one: bytes, other: bytes) -> Term:
    """Return whether bytes come before others in the order of their values."""
    length = min(len(one), len(other))
    left, right = (join([(term, 8) for term in terms_of(data)[:length]]) for data in (one, other))
    return negation(lt(right, left)) if len(one) < len(other) else lt(left, right)


def _answer(value: bool, condition: Callable[[], Term], what: str) -> bool:
    """Return a truth value with its condition, or lose it where that gets too wide."""
    try:
        return boolean(value, condition())
    except TooWide:
        lose(what)
        return value


class Undecodable(UnicodeDecodeError):
    """An error that tells where a byte is that is no character, and which: whoever asks that is told."""

    def __str__(self) -> str:
        lose("UnicodeDecodeError")
        return super().__str__()

    def __getattribute__(self, name: str) -> Any:
        if name in ("start", "end", "object", "args", "reason"):
            lose("UnicodeDecodeError")
        return super().__getattribute__(name)


Undecodable.__name__ = Undecodable.__qualname__ = UnicodeDecodeError.__name__


def _undecodable(data: bytes, encoding: str) -> Undecodable:
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        return Undecodable(*error.args)
    raise AssertionError


@yielding
@escaping(
    bytes,
    *("__bytes__", "__format__", "__mod__", "__repr__", "__rmod__", "__str__"),
    *("capitalize", "center", "expandtabs", "isalnum", "isalpha", "isascii", "isdigit", "islower", "isspace"),
    *("istitle", "isupper", "ljust", "lower", "rjust", "splitlines", "swapcase", "title", "translate"),
    *("upper", "zfill"),
)
class SymBytes(bytes, Unchanging):
    """Bytes that depend on inputs."""

    terms: tuple[Term, ...]

    def __new__(cls, data: bytes, terms: tuple[Term, ...]) -> Self:
        """Return bytes with a term for each."""
        made = bytes.__new__(cls, data)
        made.terms = terms
        return made

    @property
    def plain(self) -> bytes:
        """The bytes alone, unnoticed."""
        return bytes.__getitem__(self, slice(None))

    # Comparisons.

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (bytes, bytearray, memoryview)):
            return NotImplemented
        data = _bytes(other)
        return boolean(bytes.__eq__(self, data), same_octets(self, data))

    def __ne__(self, other: object) -> bool:
        if not isinstance(other, (bytes, bytearray, memoryview)):
            return NotImplemented
        data = _bytes(other)
        return boolean(bytes.__ne__(self, data), negation(same_octets(self, data)))

    def __lt__(self, other: bytes) -> bool:
        if not isinstance(other, bytes):
            return NotImplemented
        return _answer(bytes.__lt__(self, other), lambda: _before(self, other), "<")

    def __gt__(self, other: bytes) -> bool:
        if not isinstance(other, bytes):
            return NotImplemented
        return _answer(bytes.__gt__(self, other), lambda: _before(other, self), ">")

    def __le__(self, other: bytes) -> bool:
        if not isinstance(other, bytes):
            return NotImplemented
        return _answer(bytes.__le__(self, other), lambda: negation(_before(other, self)), "<=")

    def __ge__(self, other: bytes) -> bool:
        if not isinstance(other, bytes):
            return NotImplemented
        return _answer(bytes.__ge__(self, other), lambda: negation(_before(self, other)), ">=")

    def __hash__(self) -> int:
        lose("hash")
        return bytes.__hash__(self)

    # Parts.

    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            at = pinned(index, "index")
            return integer(bytes.__getitem__(self, at), self.terms[at])
        bounds = (index.start, index.stop, index.step)
        places = slice(*(None if bound is None else pinned(bound, "slice") for bound in bounds))
        return octets(bytes.__getitem__(self, places), self.terms[places])

    def __iter__(self) -> Iterator[int]:
        return map(integer, self.plain, self.terms)

    def __add__(self, other: Any) -> bytes:
        if not isinstance(other, (bytes, bytearray, memoryview)):
            return NotImplemented
        return join_octets(b"", (self, _bytes(other)))

    def __radd__(self, other: Any) -> Any:
        if isinstance(other, bytes):
            return join_octets(b"", (other, self))
        lose("+")
        return other + self.plain

    def __mul__(self, count: Any) -> bytes:
        times = pinned(count, "*")
        return octets(self.plain * times, self.terms * times)

    def __rmul__(self, count: Any) -> bytes:
        return self.__mul__(count)

    def join(self, parts: Iterable[Any], /) -> bytes:
        """Return bytes put together with these between them."""
        return join_octets(self, parts)

    # Texts.

    @or_lose(bytes)
    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return bytes as the text that they encode; the run decides whether all are characters."""
        name = codecs.lookup(encoding).name
        most = ONE_BYTE.get(name)
        if most is None:
            raise Unfollowed
        whole = both(*(negation(lt(const(most), term)) for term in self.terms))
        if not decide(whole, all(value <= most for value in self.plain)):
            if name == "ascii" and errors == "strict":
                raise _undecodable(self.plain, name)
            raise Unfollowed
        return made(_characters(self))

    @or_lose(bytes)
    def hex(self, sep: Any = "", bytes_per_sep: Any = 1) -> str:
        """Return bytes in hexadecimal digits."""
        mark = sep.decode() if isinstance(sep, bytes) else sep
        group = bare(bytes_per_sep)
        count = len(self.terms)
        parts: list[str | Piece] = []
        for at, (value, term) in enumerate(zip(self.plain, self.terms, strict=True)):
            # Groups are counted from the end, or from the start if the number is below zero.
            place = count - at if group > 0 else at
            if at and mark and group and place % group == 0:
                parts.append(mark)
            parts.append(Piece(term, "x2", f"{value:02x}"))
        return made(parts)

    @staticmethod
    def fromhex(text: str, /) -> Any:
        """Return the bytes that hexadecimal digits spell."""
        return from_hex(text)

    def __getnewargs__(self) -> Any:
        return self.plain, self.terms


# Searching, by way of texts.


def _characters(data: bytes) -> Pieces:
    return [Piece(term, "c", chr(value)) for value, term in zip(bare(data), terms_of(data), strict=True)]


def _as_text(value: Any) -> Any:
    """Return an argument of a method of bytes as one of texts."""
    if isinstance(value, tuple):
        return tuple(map(_as_text, value))
    if isinstance(value, str):
        raise TypeError("a bytes-like object is required, not 'str'")
    return made(_characters(_bytes(value))) if isinstance(value, (bytes, bytearray, memoryview)) else value


def _as_octets(value: Any) -> Any:
    """Return a result of a method of texts as one of bytes."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_as_octets, value))
    if not isinstance(value, str):
        return value
    return octets(bare(value).encode("latin-1"), codes(pieces_of(value), 255))


def _by_way_of_text(name: str) -> Callable[..., Any]:
    def method(self: SymBytes, /, *args: Any, **named: Any) -> Any:
        if name.endswith("strip") and args in ((), (None,)):
            args = (_WHITE_SPACE,)
        if name.endswith("split") and "sep" not in named and args[:1] in ((), (None,)):
            raise Unfollowed
        if name in ("find", "rfind", "index", "rindex", "count", "__contains__") and isinstance(args[0], int):
            byte = pinned(args[0], name)
            args = (bytes([byte]), *args[1:])
        text = SymStr(self.plain.decode("latin-1"), pieces_of(_as_text(self)))
        found = getattr(text, name)(
            *map(_as_text, args), **{key: _as_text(part) for key, part in named.items()}
        )
        return _as_octets(found)

    method.__name__ = name
    method.__doc__ = f"Do what `bytes.{name}` does, with terms."
    return or_lose(bytes)(method)


for _name in (
    *("__contains__", "count", "endswith", "find", "index", "lstrip", "partition", "removeprefix"),
    *("removesuffix", "replace", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "split"),
    *("startswith", "strip"),
):
    setattr(SymBytes, _name, _by_way_of_text(_name))


# For code that is followed.


def _bytes(data: Any) -> bytes:
    """Return bytes of any kind as immutable ones."""
    return data if isinstance(data, bytes) else bytes(data)


def join_octets(separator: bytes, parts: Iterable[Any]) -> bytes:
    """Return bytes put together with others between them."""
    several = list(parts)
    # Python says what is wrong with a part that is not bytes.
    data = cast(bytes, bare(separator)).join(map(bare, several))
    terms: list[Term] = []
    for index, part in enumerate(several):
        terms += [*(terms_of(separator) if index else ()), *terms_of(_bytes(part))]
    return octets(data, terms)


def from_int(value: int, length: int, byteorder: str = "big", *, signed: bool = False) -> bytes:
    """Return the bytes of a number; the run decides whether they are enough for it."""
    term = term_of(value)
    size = 1 << 8 * length
    low, high = (-size // 2, size // 2) if signed else (0, size)
    fits = both(negation(lt(term, const(low))), lt(term, const(high)))
    decide(fits, low <= plain(value) < high)
    data = plain(value).to_bytes(length, cast(ByteOrder, byteorder), signed=signed)
    whole = term if term.low >= 0 and term.high < size else mod(term, const(size))
    terms = [bits(whole, 8 * place, 8) for place in range(length)]
    return octets(data, terms if byteorder == "little" else terms[::-1])


def to_int(data: Any, byteorder: str = "big", *, signed: bool = False) -> int:
    """Return the number that bytes are."""
    whole = keep(bytes, data)
    order = cast(ByteOrder, byteorder)
    value = int.from_bytes(bare(whole), order, signed=signed)
    if not isinstance(whole, SymBytes):
        return value
    try:
        term = join([(term, 8) for term in (whole.terms if order == "big" else whole.terms[::-1])])
    except TooWide:
        lose("from_bytes")
        return value
    if signed:
        size = 1 << 8 * len(whole)
        term = ite(lt(term, const(size // 2)), term, sub(term, const(size)))
    return integer(value, term)


def from_hex(text: str) -> bytes:
    """Return the bytes that hexadecimal digits spell, with white space between them."""
    if not isinstance(text, SymStr):
        return bytes.fromhex(text)
    data = bytes.fromhex(text.plain)
    try:
        digits = [_digit(part) for part in settled(text.pieces) if not shown(part).isspace()]
    except Unfollowed:
        lose("fromhex")
        return data
    pairs = zip(digits[::2], digits[1::2], strict=True)
    return octets(data, [join([(upper, 4), (lower, 4)]) for upper, lower in pairs])


def _digit(part: str | Piece) -> Term:
    if isinstance(part, str):
        return const(int(part, 16))
    if part.form == "c":
        raise Unfollowed
    # A decimal digit is known to be one, but its term may have wider bounds.
    return mod(part.term, const(16))


def keep(kind: type, *args: Any) -> Any:
    """Return what `bytes`, `bytearray` or `memoryview` makes of its arguments; bytes keep their terms."""
    if kind is not bytes or len(args) != 1:
        if any(bare(arg) is not arg for arg in args):
            lose(kind.__name__)
        return kind(*map(bare, args))
    (source,) = args
    if isinstance(source, SymBytes):
        return source
    if isinstance(source, Followed):
        return bytes(pinned(source, "bytes"))
    if isinstance(source, (str, bytes, bytearray, memoryview)) or not isinstance(source, Iterable):
        return bytes(cast(bytes, source))
    values = list(source)
    for value in values:
        if isinstance(value, Followed):
            byte = both(negation(lt(value.term, FALSE)), lt(value.term, const(256)))
            decide(byte, 0 <= value.plain < 256)
    data = bytes(map(bare, values))
    return octets(data, [mod(term_of(value), const(256)) for value in values])
