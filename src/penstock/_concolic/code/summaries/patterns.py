"""Regular expressions on texts that depend on the inputs.

A pattern for addresses fits a text that is an address whatever its numbers are, and another pattern fits
none of these texts: then nothing depends on the inputs.  To see that, the pattern is matched not with
characters but with sets of characters, those that may stand at each place: it fits for sure if it does so
with sets that lie wholly within what it accepts, and it may fit only if it does so with sets that have at
least one character in common.  Where it may fit but need not, the text is lost; so it is with patterns
that look back, look around or count on more than places and characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import product
from typing import Any, Final

from penstock._concolic.code.summaries import PLAIN, UNFOLLOWED, Functions, Methods
from penstock._concolic.run import lose
from penstock._concolic.values.escapes import Unfollowed
from penstock._concolic.values.parts import concrete, is_symbolic
from penstock._concolic.values.segments import ALPHABET, Piece, widths
from penstock._concolic.values.sym_str_build import SymStr

_METHODS: Final = ("match", "fullmatch", "search")
_MOST_WIDTHS: Final = 256
"""In how many ways the numbers of a text may have other widths."""

Cells = tuple[frozenset[str], ...]
"""The characters that may stand at each place of a text."""

Items = Iterable[tuple[Any, Any]]


def _matched(method: Any, pattern: re.Pattern[str], value: Any, *rest: Any, **more: Any) -> Any:
    if not isinstance(value, SymStr):
        return UNFOLLOWED if is_symbolic(value) else PLAIN
    if rest or more:
        return UNFOLLOWED
    try:
        fits = _fits(pattern, method.__name__, tuple(map(_run, value.pieces)))
    except Unfollowed:
        return UNFOLLOWED
    if fits is None:
        return UNFOLLOWED
    return _Match(method(concrete(value)), value, method.__name__) if fits else None


def _run(piece: str | Piece) -> tuple[Cells, int, int]:
    """Return the characters of a piece, and how many of the last of them there may be."""
    if isinstance(piece, str):
        return tuple(frozenset(character) for character in piece), 1, 1
    return (ALPHABET[piece.form],), *widths(piece)


@lru_cache(maxsize=1024)
def _fits(pattern: re.Pattern[str], method: str, runs: tuple[tuple[Cells, int, int], ...]) -> bool | None:
    """Tell whether a pattern fits all texts of a shape, or none; None if that depends on the text."""
    choices = [range(least, most + 1) for _, least, most in runs]
    total = 1
    for choice in choices:
        total *= len(choice)
    if total > _MOST_WIDTHS:
        raise Unfollowed
    found: set[bool | None] = set()
    for counts in product(*choices):
        cells = tuple(cell for (part, _, _), count in zip(runs, counts, strict=True) for cell in part * count)
        found.add(_fits_cells(pattern, method, cells))
    return found.pop() if len(found) == 1 else None


def _fits_cells(pattern: re.Pattern[str], method: str, cells: Cells) -> bool | None:
    items = _parsed(pattern)
    starts = set(range(len(cells) + 1)) if method == "search" else {0}

    def reached(holds: Callable[[frozenset[str], Callable[[str], bool]], bool]) -> bool:
        ends = _Matcher(cells, bool(pattern.flags & re.IGNORECASE), holds).after(items, starts)
        return len(cells) in ends if method == "fullmatch" else bool(ends)

    if reached(lambda cell, accepts: all(map(accepts, cell))):
        return True
    return None if reached(lambda cell, accepts: any(map(accepts, cell))) else False


class _Matcher:
    """Matches a pattern with sets of characters; `holds` tells whether one of these passes a test."""

    def __init__(
        self,
        cells: Cells,
        any_case: bool,
        holds: Callable[[frozenset[str], Callable[[str], bool]], bool],
    ) -> None:
        self._cells = cells
        self._any_case = any_case
        self._holds = holds

    def after(self, items: Items, places: set[int]) -> set[int]:
        """Return where parts of a pattern may end that begin at some places."""
        for operation, argument in items:
            places = self._step(str(operation), argument, places)
        return places

    def _step(self, operation: str, argument: Any, places: set[int]) -> set[int]:
        match operation:
            case "SUBPATTERN":
                _, added, removed, inner = argument
                if added or removed:
                    raise Unfollowed
                return self.after(inner, places)
            case "BRANCH":
                return set().union(*(self.after(branch, places) for branch in argument[1]))
            case "MAX_REPEAT" | "MIN_REPEAT":
                least, most, inner = argument
                return self._repeated(least, most, inner, places)
            case "AT":
                return places & self._borders(str(argument))
            case _:
                accepts = _test(operation, argument, self._any_case)
                return {
                    at + 1 for at in places if at < len(self._cells) and self._holds(self._cells[at], accepts)
                }

    def _repeated(self, least: int, most: Any, inner: Items, places: set[int]) -> set[int]:
        for _ in range(least):
            places = self.after(inner, places)
        found, count = set(places), least
        while places and count < int(most):
            places = self.after(inner, places) - found
            found |= places
            count += 1
        return found

    def _borders(self, kind: str) -> set[int]:
        if kind in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
            return {0}
        if kind in ("AT_END", "AT_END_STRING"):
            return {len(self._cells)}
        raise Unfollowed


def _test(operation: str, argument: Any, any_case: bool) -> Callable[[str], bool]:
    """Return the test that a part of a pattern for one character makes."""
    match operation:
        case "LITERAL":
            return lambda character: argument in _codes(character, any_case)
        case "NOT_LITERAL":
            return lambda character: argument not in _codes(character, any_case)
        case "ANY":
            return lambda character: character != "\n"
        case "RANGE":
            return lambda character: any(argument[0] <= c <= argument[1] for c in _codes(character, any_case))
        case "CATEGORY":
            expression = _CATEGORIES.get(str(argument))
            if expression is None:
                raise Unfollowed
            return lambda character: re.fullmatch(expression, character) is not None
        case "IN":
            negated = bool(argument) and str(argument[0][0]) == "NEGATE"
            tests = [_test(str(kind), part, any_case) for kind, part in argument[negated:]]
            return lambda character: any(test(character) for test in tests) != negated
        case _:
            raise Unfollowed


_CATEGORIES: Final = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
}


def _codes(character: str, any_case: bool) -> set[int]:
    return {ord(character), ord(character.swapcase())} if any_case else {ord(character)}


@lru_cache(maxsize=1024)
def _parsed(pattern: re.Pattern[str]) -> Sequence[tuple[Any, Any]]:
    """Return the parts of a pattern, as Python itself takes it apart."""
    parser = import_module("re._parser")
    parts: Sequence[tuple[Any, Any]] = parser.parse(pattern.pattern, pattern.flags)
    return parts


class _Match:
    """Stands in for a match, and gives out parts of the text that still depend on the inputs."""

    def __init__(self, found: re.Match[str], text: SymStr, method: str) -> None:
        self._found = found
        self._text = text
        self._known: dict[int, tuple[int, int]] = {}
        if method != "search":
            _note_spans(_parsed(found.re), 0, self._known)

    def group(self, *names: Any) -> Any:
        parts = tuple(self[name] for name in names or (0,))
        return parts[0] if len(parts) == 1 else parts

    def groups(self, default: Any = None) -> tuple[Any, ...]:
        return tuple(self._or(at, default) for at in range(1, self._found.re.groups + 1))

    def groupdict(self, default: Any = None) -> dict[str, Any]:
        return {name: self._or(name, default) for name in self._found.re.groupindex}

    def _or(self, name: Any, default: Any) -> Any:
        return default if self._found.group(name) is None else self[name]

    def __getitem__(self, name: Any) -> Any:
        span = self._found.span(name)
        if span == (0, len(concrete(self._text))):
            return self._text
        if self._known.get(self._found.re.groupindex.get(name, name)) == span:
            return self._text[slice(*span)]
        lose("group")
        return self._found[name]

    @property
    def string(self) -> str:
        return self._text

    def span(self, name: Any = 0) -> tuple[int, int]:
        found = self._found.span(name)
        if self._known.get(self._found.re.groupindex.get(name, name)) != found:
            lose("span")
        return found

    def start(self, name: Any = 0) -> int:
        return self.span(name)[0]

    def end(self, name: Any = 0) -> int:
        return self.span(name)[1]

    def __getattr__(self, name: str) -> Any:
        if name not in ("re", "pos", "endpos"):
            lose(name)
        return getattr(self._found, name)


def _note_spans(items: Items, at: int | None, known: dict[int, tuple[int, int]]) -> int | None:
    """Note where the groups of a pattern are, as long as no part of it may be longer or shorter."""
    for operation, argument in items:
        match str(operation):
            case "AT":
                continue
            case "SUBPATTERN":
                start, at = at, _note_spans(argument[3], at, known)
                if start is not None and at is not None and argument[0] is not None:
                    known[argument[0]] = (start, at)
            case "MAX_REPEAT" | "MIN_REPEAT" if argument[0] == argument[1]:
                for _ in range(argument[0]):
                    at = _note_spans(argument[2], at, known)
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                at = None if at is None else at + 1
            case _:
                return None
        if at is None:
            return None
    return at


def _function(name: str) -> Any:
    """Return the summary of a function of the module `re`."""

    def matched(pattern: Any, value: Any, flags: int = 0) -> Any:
        compiled = re.compile(pattern, flags)
        return _matched(getattr(compiled, name), compiled, value)

    return matched


FUNCTIONS: Final[Functions] = {("re", name): _function(name) for name in _METHODS}
METHODS: Final[Methods] = {(re.Pattern, name): _matched for name in _METHODS}
