"""The one place that parses JSON which strangers may have written: traces, summaries, progress, coverage.

What is not as it should be is a `ValueError` with the reason, whatever it is: nested too deep, a number that
no machine holds, the same key twice.  Every limit is far above what Penstock writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any, BinaryIO, Final

from penstock._base.files import open_to_read
from penstock.errors import PenstockError

DEEPEST: Final = 64
"""How deep lists and objects may be nested."""
MOST_DIGITS: Final = 40
"""How many digits a number may have; the widest field of a header has 128 bits."""
LARGEST_NUMBER: Final = 2**53
"""Counts, steps and moments are below this, so that they are exact in every program that reads JSON."""
LARGEST_FILE: Final = 20_000_000
"""How many bytes a file that is read in one go may have."""
LONGEST_LINE: Final = 4_000_000
"""A line longer than this is not read: no step is that long."""


def parse_json(text: str) -> Any:
    """Return what a JSON text says."""
    try:
        found = _DECODER.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    except JSONDecodeError:
        raise ValueError("it is no JSON") from None
    # As many brackets as that there are in lines which are long and flat, and in those that are deep.
    if text.count("[") + text.count("{") > DEEPEST:
        _refuse_deep(found)
    return found


def parse_object(text: str) -> dict[str, Any]:
    """Return the object that a JSON text is."""
    found = parse_json(text)
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    return found


def read_json(path: Path) -> Any:
    """Return what a file says that is one JSON text; a `PenstockError` if there is no file to be read."""
    with open_to_read(path) as file:
        data = file.read(LARGEST_FILE + 1)
    if len(data) > LARGEST_FILE:
        raise ValueError("it is too long")
    return parse_json(data.decode("utf-8"))


def read_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a file, each with its end; the last one may be without, as it may still grow."""
    with open_to_read(path) as file:
        number = 1
        while line := line_of(file, path.name, number):
            yield line
            number += 1


def line_of(file: BinaryIO, name: str, number: int) -> str:
    """Return the next line of a file, which has a name and so many lines before; nothing at its end."""
    data = file.readline(LONGEST_LINE + 1)
    if len(data) > LONGEST_LINE:
        raise PenstockError(
            f"Line {number} of {name} is longer than any that Penstock writes: it is damaged."
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise PenstockError(f"Line {number} of {name} is not UTF-8 text: it is damaged.") from None


def _integer(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError("a number in it has too many digits")
    return int(text)


def _fraction(text: str) -> float:
    number = float(text) if len(text) <= 10 * MOST_DIGITS else float("inf")
    if number in (float("inf"), float("-inf")):
        raise ValueError("a number in it is too large")
    return number


def _constant(text: str) -> float:
    raise ValueError(f"{text} is no number in JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object in it has a key twice")
    return found


_DECODER: Final = JSONDecoder(
    parse_int=_integer, parse_float=_fraction, parse_constant=_constant, object_pairs_hook=_object
)


def _refuse_deep(value: Any) -> None:
    """Refuse what is nested deeper than anything that walks through it could bear."""
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise ValueError("it is nested too deep")
