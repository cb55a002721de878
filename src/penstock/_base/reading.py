"""The one place that parses files which others wrote: JSON and TOML.

The one place that parses JSON which strangers may have written: traces, summaries, progress, coverage.

What is not as it should be is a `ValueError` with the reason, whatever it is: nested too deep, a number that
no machine holds, the same key twice.  Every limit is far above what Penstock writes.

TOML files that users write: reading them, and on which line a key stands.

`tomllib` tells no lines.  Where one is wanted, because what stands there is wrong, the file is read again, up
to some line: a part that ends between two statements is TOML too.  The statement that gives a key follows
the longest such part that has not got the key.  So `tomllib` alone decides what a statement is, and there is
no second parser that could disagree with it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from json import JSONDecodeError, JSONDecoder
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

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
        raise ValueError("it is nested too deeply") from None
    except JSONDecodeError:
        raise ValueError("it is not JSON") from None
    # As many brackets as that there are in lines which are long and flat, and in those that are deep.
    if text.count("[") + text.count("{") > DEEPEST:
        _refuse_deep(found)
    return found


def parse_object(text: str) -> dict[str, Any]:
    """Return the object that a JSON text is."""
    found = parse_json(text)
    if not isinstance(found, dict):
        raise ValueError("it is not an object")
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
        while line := read_line(file, path.name, number):
            yield line
            number += 1


def read_line(file: BinaryIO, name: str, number: int) -> str:
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
    raise ValueError(f"{text} is not a JSON number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object in it has a duplicate key")
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
    raise ValueError("it is nested too deeply")


MOST_READ: Final = 20_000_000
"""How many bytes a file may have."""

MOST_READ_AGAIN: Final = 2_000_000
"""How many characters are read again to find a line; of a file that takes more, the line is not told."""

Keys = Sequence[str | int]


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the text of a file and what it says."""
    with open_to_read(path) as file:
        data = file.read(MOST_READ + 1)
    if len(data) > MOST_READ:
        raise PenstockError(f"{path.name} is too large: give a file of at most {MOST_READ // 1_000_000} MB.")
    try:
        text = data.decode().replace("\r\n", "\n")
        return text, tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PenstockError(f"{path.name} is not valid TOML: {error}.") from None
    except RecursionError:
        raise PenstockError(
            f"{path.name} is not valid TOML: its tables and lists are nested too deeply."
        ) from None
    except ValueError:
        # Python reads no whole number of more than some thousand digits.
        raise PenstockError(f"{path.name} is not valid TOML: a number in it has too many digits.") from None


class Source(NamedTuple):
    """The file that a scenario was read from, its text, and the keys that have been given since."""

    path: Path
    text: str
    given_since: frozenset[str] = frozenset()


@contextmanager
def telling_lines(source: Source | None) -> Iterator[None]:
    """Have errors about a key of a file say where in the file that is."""
    try:
        yield
    except PenstockError as error:
        if source is not None and not source.given_since.intersection(error.keys[:1]):
            line = line_of_key(source.text, error.keys)
            error.args = error.args if line is None else (f"{source.path.name}, line {line}: {error}",)
        # Told once, or not to be told.
        error.keys = ()
        raise


def line_of_key(text: str, keys: Keys) -> int | None:
    """Return the line on which the statement begins that gives a key, or else the nearest table or list.

    None if the file has none of the keys, or is so large that it would take long.
    """
    wanted = _there(tomllib.loads(text), keys)
    if not wanted:
        return None
    lines = text.split("\n")
    left, without, having = MOST_READ_AGAIN, 0, len(lines)
    while True:
        middle = (without + having) // 2
        # Upwards first, then downwards: past the lines in the midst of a statement.
        for count in chain(range(max(middle, without + 1), having), range(middle - 1, without, -1)):
            part = "\n".join(lines[:count]) + "\n"
            left -= len(part)
            if left < 0:
                return None
            if (table := _table(part)) is not None:
                break
        else:
            return without + 1
        if len(_there(table, wanted)) == len(wanted):
            having = count
        else:
            without = count


def _table(part: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(part)
    except tomllib.TOMLDecodeError:
        return None


def _there(value: Any, keys: Keys) -> Keys:
    """Return as many of the keys, one inside the other, as there are."""
    for depth, key in enumerate(keys):
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return keys[:depth]
    return keys
