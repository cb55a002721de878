"""The class of texts that depend on inputs.

A `SymStr` is a str; beside its characters it carries the pieces that they came from (see `pieces`).
What is asked of a text becomes a condition on its numbers, and what is cut from it or put together
keeps its pieces.  Where the answer depends on how many digits a number has, the run decides that
first; a constant that cannot match decides nothing.

Limits: the text of an IPv6 address can be compared, split at what it cannot contain, and asked for its
first group, but not be cut.  Letters beyond ASCII lose their term when their case is changed.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable
from typing import Any, Final, Self, cast

from penstock._concolic.run import lose
from penstock._concolic.terms import FALSE, Term, TooWide, both, const, either, eq, join, negation
from penstock._concolic.values.escapes import Unchanging, Unfollowed, bare, escaping, or_lose, yielding
from penstock._concolic.values.integers import boolean, decide, pinned
from penstock._concolic.values.segments import (
    Piece,
    Pieces,
    Reader,
    assembled,
    reader,
    shape,
    shown,
    terms_of,
)
from penstock._concolic.values.sym_str_search import (
    before,
    codes,
    contains,
    cut,
    ends_with,
    every,
    position,
    recased,
    same,
    settled,
    some,
    split,
    starts_with,
    stripped,
    words,
)

ONE_BYTE: Final = {"ascii": 0x7F, "iso8859-1": 0xFF, "utf-8": 0x7F}
"""Up to which number a character is one byte, and that number, in the encodings that are followed."""


def pieces_of(text: str) -> tuple[str | Piece, ...]:
    """Return the pieces of a text; a plain one is one piece."""
    if isinstance(text, SymStr):
        return text.pieces
    if isinstance(text, Unchanging):
        lose("text")
        text = text.plain
    if not isinstance(text, str):
        raise TypeError(f"must be str, not {type(text).__name__}")
    return (text,) if text else ()


def made(parts: Pieces) -> str:
    """Return the text that consists of some parts; a plain one if none depends on inputs."""
    pieces = assembled(parts)
    characters = "".join(map(shown, pieces))
    return SymStr(characters, pieces) if any(isinstance(piece, Piece) for piece in pieces) else characters


def _answer(value: bool, condition: Callable[[], Term], what: str) -> bool:
    """Return a truth value with its condition, or lose it where there is none."""
    try:
        return boolean(value, condition())
    except (Unfollowed, TooWide):
        lose(what)
        return value


@yielding
@escaping(
    str,
    *("__format__", "__mod__", "__repr__", "__rmod__", "__str__", "capitalize", "format", "format_map"),
    *("isidentifier", "istitle", "swapcase", "title", "translate"),
)
class SymStr(str, Unchanging):
    """A text that depends on inputs."""

    __slots__ = ("_reader", "_whole", "pieces")

    pieces: tuple[str | Piece, ...]
    _reader: Reader | None
    _whole: tuple[Term, tuple[int, ...]] | None

    def __new__(cls, characters: str, pieces: tuple[str | Piece, ...]) -> Self:
        """Return the characters with the pieces that they came from."""
        made = str.__new__(cls, characters)
        made.pieces = pieces
        made._reader = made._whole = None
        return made

    @property
    def plain(self) -> str:
        """The characters alone, unnoticed."""
        return str.__str__(self)

    # Comparisons.

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, str):
            return NotImplemented
        return _answer(str.__eq__(self, other), lambda: self._equals(other), "==")

    def __ne__(self, other: object) -> bool:
        if not isinstance(other, str):
            return NotImplemented
        return _answer(str.__ne__(self, other), lambda: negation(self._equals(other)), "!=")

    def __lt__(self, other: str) -> bool:
        if not isinstance(other, str):
            return NotImplemented
        return _answer(str.__lt__(self, other), lambda: before(self.pieces, pieces_of(other)), "<")

    def __gt__(self, other: str) -> bool:
        if not isinstance(other, str):
            return NotImplemented
        return _answer(str.__gt__(self, other), lambda: before(pieces_of(other), self.pieces), ">")

    def __le__(self, other: str) -> bool:
        if not isinstance(other, str):
            return NotImplemented
        return _answer(str.__le__(self, other), lambda: negation(before(pieces_of(other), self.pieces)), "<=")

    def __ge__(self, other: str) -> bool:
        if not isinstance(other, str):
            return NotImplemented
        return _answer(str.__ge__(self, other), lambda: negation(before(self.pieces, pieces_of(other))), ">=")

    def __hash__(self) -> int:
        lose("hash")
        return str.__hash__(self)

    def _equals(self, other: str) -> Term:
        """Return whether this text is another one."""
        known = self._reader
        if known is None:
            known = self._reader = reader(shape(self.pieces))
        if isinstance(other, SymStr) or not known.unique:
            return same(self.pieces, pieces_of(other))
        values = known.values(other)
        if values is None:
            return FALSE
        # This is asked again and again of one text: its numbers are put together once.
        if self._whole is None:
            terms = terms_of(self.pieces)
            if any(term.low < 0 for term in terms):
                return same(self.pieces, pieces_of(other))
            sizes = tuple(term.high.bit_length() for term in terms)
            try:
                self._whole = join(list(zip(terms, sizes, strict=True))), sizes
            except TooWide:
                return same(self.pieces, pieces_of(other))
        whole, sizes = self._whole
        total = 0
        for value, size in zip(values, sizes, strict=True):
            if value.bit_length() > size:
                return FALSE
            total = total << size | value
        return eq(whole, const(total))

    # Parts.

    @or_lose(str)
    def __len__(self) -> int:
        return len(settled(self.pieces))

    def __bool__(self) -> bool:
        # No piece is ever empty.
        return bool(self.pieces)

    @or_lose(str)
    def __getitem__(self, index: Any) -> Any:
        if not isinstance(index, slice):
            return made([settled(self.pieces)[pinned(index, "index")]])
        bounds = (index.start, index.stop, index.step)
        start, stop, step = (None if bound is None else pinned(bound, "slice") for bound in bounds)
        if step is None and (start or 0) >= 0 and (stop or 0) >= 0:
            parts: Pieces = self.pieces if stop is None else cut(self.pieces, stop)[0]
            return made(cut(parts, start or 0)[1])
        return made(settled(self.pieces)[start:stop:step])

    def __iter__(self) -> Any:
        return iter(self._characters())

    def __add__(self, other: str) -> Any:
        if not isinstance(other, str):
            return NotImplemented
        return made([*self.pieces, *pieces_of(other)])

    def __radd__(self, other: str) -> Any:
        if not isinstance(other, str):
            return NotImplemented
        return made([*pieces_of(other), *self.pieces])

    def __mul__(self, count: Any) -> Any:
        return made(self.pieces * pinned(count, "*"))

    def __rmul__(self, count: Any) -> Any:
        return self * count

    def join(self, parts: Iterable[str], /) -> Any:
        """Return texts put together with this one between them."""
        return join_texts(self, parts)

    def _characters(self) -> list[str]:
        try:
            return [made([cell]) for cell in settled(self.pieces)]
        except Unfollowed:
            lose("iteration")
            return list(self.plain)

    # Searching.

    def __contains__(self, wanted: Any) -> bool:
        if not isinstance(wanted, str):
            return str.__contains__(self, wanted)
        found = str.__contains__(self, bare(wanted))
        return _answer(found, lambda: contains(self.pieces, pieces_of(wanted)), "in")

    @or_lose(str)
    def startswith(self, prefix: str | tuple[str, ...], /, *bounds: Any) -> bool:
        """Tell whether the text starts with another, or with one of several."""
        part = self._part(bounds, prefix)
        return _matched(part, prefix, str.startswith(bare(part), bare(prefix)), starts_with)

    @or_lose(str)
    def endswith(self, suffix: str | tuple[str, ...], /, *bounds: Any) -> bool:
        """Tell whether the text ends with another, or with one of several."""
        part = self._part(bounds, suffix)
        return _matched(part, suffix, str.endswith(bare(part), bare(suffix)), ends_with)

    def removeprefix(self, prefix: str, /) -> Any:
        """Return the text without what it may start with."""
        return self[len(prefix) :] if self.startswith(prefix) else self

    def removesuffix(self, suffix: str, /) -> Any:
        """Return the text without what it may end with."""
        return self[: len(self) - len(suffix)] if self.endswith(suffix) else self

    @or_lose(str)
    def find(self, wanted: str, /, *bounds: Any) -> int:
        """Return where a text first occurs in this one, or -1."""
        return self._position(wanted, bounds, backwards=False)

    @or_lose(str)
    def rfind(self, wanted: str, /, *bounds: Any) -> int:
        """Return where a text last occurs in this one, or -1."""
        return self._position(wanted, bounds, backwards=True)

    def index(self, wanted: str, /, *bounds: Any) -> int:
        """Return where a text first occurs in this one, which it must."""
        return _certain(self.find(wanted, *bounds))

    def rindex(self, wanted: str, /, *bounds: Any) -> int:
        """Return where a text last occurs in this one, which it must."""
        return _certain(self.rfind(wanted, *bounds))

    @or_lose(str)
    def count(self, wanted: str, /, *bounds: Any) -> int:
        """Return how often a text occurs in this one."""
        part = self._part(bounds, wanted)
        if not wanted:
            return len(part) + 1
        return len(split(pieces_of(part), pieces_of(wanted), -1)) - 1

    def _part(self, bounds: tuple[Any, ...], wanted: str | tuple[str, ...]) -> str:
        """Return the part in which to search; for something empty, where that ends would matter too."""
        if not bounds or all(bound is None for bound in bounds):
            return self
        if not all(wanted if isinstance(wanted, tuple) else (wanted,)):
            raise Unfollowed
        return cast(str, self[bounds[0] : bounds[1] if len(bounds) > 1 else None])

    def _position(self, wanted: str, bounds: tuple[Any, ...], *, backwards: bool) -> int:
        part = self._part(bounds, wanted)
        if not wanted:
            return len(self) if backwards else 0
        at = position(pieces_of(part), pieces_of(wanted), backwards=backwards)
        first = bare(bounds[0]) if bounds else None
        return at if at < 0 or not first else slice(first, None).indices(len(self))[0] + at

    @or_lose(str)
    def split(self, sep: str | None = None, maxsplit: Any = -1) -> Any:
        """Return the parts of the text between occurrences of another, or between white space."""
        return self._split(sep, pinned(maxsplit, "split"), backwards=False)

    @or_lose(str)
    def rsplit(self, sep: str | None = None, maxsplit: Any = -1) -> Any:
        """Return the parts of the text between the last occurrences of another, or between white space."""
        return self._split(sep, pinned(maxsplit, "rsplit"), backwards=True)

    def _split(self, separator: str | None, most: int, *, backwards: bool) -> list[str]:
        if separator is None:
            if most >= 0:
                raise Unfollowed
            return [made(word) for word in words(self.pieces)]
        if not separator:
            raise Unfollowed
        return [made(part) for part in split(self.pieces, pieces_of(separator), most, backwards=backwards)]

    @or_lose(str)
    def splitlines(self, *_: Any, **__: Any) -> Any:
        """Return the lines of the text, if there is but one."""
        if decide(some(self.pieces, _ends_line), any(map(_ends_line, self.plain))):
            raise Unfollowed
        return [self]

    @or_lose(str)
    def partition(self, sep: str, /) -> Any:
        """Return what is before the first occurrence of a text, that text, and what is after it."""
        parts = self._split(sep, 1, backwards=False)
        return (parts[0], sep, parts[1]) if len(parts) > 1 else (self, "", "")

    @or_lose(str)
    def rpartition(self, sep: str, /) -> Any:
        """Return what is before the last occurrence of a text, that text, and what is after it."""
        parts = self._split(sep, 1, backwards=True)
        return (parts[0], sep, parts[1]) if len(parts) > 1 else ("", "", self)

    @or_lose(str)
    def replace(self, old: str, new: str, count: Any = -1, /) -> Any:
        """Return the text with another in place of one that occurs in it."""
        return join_texts(new, self._split(old, pinned(count, "replace"), backwards=False))

    @or_lose(str)
    def strip(self, chars: str | None = None, /) -> Any:
        """Return the text without what is at both ends."""
        return self._stripped(chars, left=True, right=True)

    @or_lose(str)
    def lstrip(self, chars: str | None = None, /) -> Any:
        """Return the text without what is at its start."""
        return self._stripped(chars, left=True, right=False)

    @or_lose(str)
    def rstrip(self, chars: str | None = None, /) -> Any:
        """Return the text without what is at its end."""
        return self._stripped(chars, left=False, right=True)

    def _stripped(self, chars: str | None, *, left: bool, right: bool) -> str:
        if isinstance(chars, SymStr):
            raise Unfollowed
        return made(stripped(self.pieces, chars, left=left, right=right))

    # Case and width.

    @or_lose(str)
    def lower(self) -> Any:
        """Return the text in small letters."""
        return self._recased(self.plain.lower(), upper=False)

    @or_lose(str)
    def casefold(self) -> Any:
        """Return the text in small letters, as for comparisons."""
        return self._recased(self.plain.casefold(), upper=False)

    @or_lose(str)
    def upper(self) -> Any:
        """Return the text in capitals."""
        return self._recased(self.plain.upper(), upper=True)

    def _recased(self, expected: str, *, upper: bool) -> str:
        found = made(recased(self.pieces, upper=upper))
        # The case of a letter may depend on those around it, but not in ASCII.
        if bare(found) != expected:
            raise Unfollowed
        return found

    @or_lose(str)
    def ljust(self, width: Any, fillchar: str = " ", /) -> Any:
        """Return the text filled up at its end."""
        return self + fillchar * (pinned(width, "ljust") - len(self))

    @or_lose(str)
    def rjust(self, width: Any, fillchar: str = " ", /) -> Any:
        """Return the text filled up at its start."""
        return fillchar * (pinned(width, "rjust") - len(self)) + self

    @or_lose(str)
    def center(self, width: Any, fillchar: str = " ", /) -> Any:
        """Return the text filled up at both ends."""
        size = pinned(width, "center")
        room = max(size - len(self), 0)
        left = room // 2 + (room & size & 1)
        return fillchar * left + self + fillchar * (room - left)

    @or_lose(str)
    def zfill(self, width: Any, /) -> Any:
        """Return the text with zeros before it, after a sign if there is one."""
        first = settled(self.pieces)[0]
        if first in ("+", "-") or (isinstance(first, Piece) and first.form == "c"):
            raise Unfollowed
        return self.rjust(width, "0")

    @or_lose(str)
    def expandtabs(self, *_: Any, **__: Any) -> Any:
        """Return the text, if there are no tabs in it."""
        if decide(some(self.pieces, "\t\r\n".__contains__), bool(re.search("[\t\r\n]", self.plain))):
            raise Unfollowed
        return self

    # Properties.

    @or_lose(str)
    def islower(self) -> bool:
        """Tell whether there are letters, and only small ones."""
        found = both(negation(some(self.pieces, _is_capital)), some(self.pieces, str.islower))
        return boolean(self.plain.islower(), found)

    @or_lose(str)
    def isupper(self) -> bool:
        """Tell whether there are letters, and only capitals."""
        found = both(negation(some(self.pieces, str.islower)), some(self.pieces, str.isupper))
        return boolean(self.plain.isupper(), found)

    # Ways out.

    @or_lose(str)
    def encode(self, encoding: str = "utf-8", *_: Any, **__: Any) -> bytes:
        """Return the text as bytes, which keep its terms."""
        from penstock._concolic.values.sym_bytes import octets

        most = ONE_BYTE.get(codecs.lookup(encoding).name)
        if most is None:
            raise Unfollowed
        try:
            return octets(self.plain.encode("latin-1"), codes(self.pieces, most))
        except UnicodeEncodeError:
            # The error that is to come has the whole text in it.
            lose("UnicodeEncodeError")
            return self.plain.encode(encoding)

    def __int__(self) -> int:
        lose("int")
        return int(self.plain)

    def __float__(self) -> float:
        lose("float")
        return float(self.plain)

    def __getnewargs__(self) -> Any:
        return self.plain, self.pieces


def _asked_of_each(name: str) -> Callable[[SymStr], bool]:
    holds: Callable[[str], bool] = getattr(str, name)

    def method(self: SymStr) -> bool:
        return boolean(holds(self.plain), every(self.pieces, holds))

    method.__name__ = name
    method.__doc__ = f"Tell whether `str.{name}` is true of all characters."
    return or_lose(str)(method)


for _name in ("isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isnumeric", "isprintable", "isspace"):
    setattr(SymStr, _name, _asked_of_each(_name))


def _ends_line(character: str) -> bool:
    return len(f"{character}a".splitlines()) > 1


def _is_capital(character: str) -> bool:
    return character.isupper() or character.istitle()


def _certain(found: int) -> int:
    if found < 0:
        raise ValueError("substring not found")
    return found


def _matched(
    text: str, wanted: str | tuple[str, ...], value: bool, matches: Callable[[Pieces, Pieces], Term]
) -> bool:
    """Return whether a text matches another, or any of several."""
    several = wanted if isinstance(wanted, tuple) else (wanted,)
    return boolean(value, either(*(matches(pieces_of(text), pieces_of(one)) for one in several)))


def join_texts(separator: str, parts: Iterable[str]) -> str:
    """Return texts put together with another between them."""
    several = list(parts)
    if any(type(part) is not str and not isinstance(part, SymStr) for part in several):
        # A part that is a table makes a table of the whole, if there is nothing else.
        from penstock._concolic.values.tables import tabulated

        try:
            return cast(str, tabulated(str.join, separator, several))
        except Unfollowed:
            pass
    # Python says what is wrong with a part that is no text.
    plain = str.join(bare(separator), map(bare, several))
    if not isinstance(separator, SymStr) and not any(isinstance(part, SymStr) for part in several):
        return plain
    found: list[str | Piece] = []
    for index, part in enumerate(several):
        found += [*(pieces_of(separator) if index else ()), *pieces_of(part)]
    return made(found)
