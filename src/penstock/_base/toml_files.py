"""TOML files that users write: reading them, and on which line a key stands.

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
from pathlib import Path
from typing import Any, Final, NamedTuple

from penstock._base.files import open_to_read
from penstock.errors import PenstockError

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
        raise PenstockError(f"{path.name} is too long: give a file of at most {MOST_READ // 1_000_000} MB.")
    try:
        text = data.decode().replace("\r\n", "\n")
        return text, tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PenstockError(f"{path.name} is no TOML file: {error}.") from None
    except RecursionError:
        raise PenstockError(f"{path.name} is no TOML file: its tables and lists are too deep.") from None
    except ValueError:
        # Python reads no whole number of more than some thousand digits.
        raise PenstockError(f"{path.name} is no TOML file: a number in it has too many digits.") from None


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
            line = line_of(source.text, error.keys)
            error.args = error.args if line is None else (f"{source.path.name}, line {line}: {error}",)
        # Told once, or not to be told.
        error.keys = ()
        raise


def line_of(text: str, keys: Keys) -> int | None:
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
