"""Text for people: cleaned of what others put into it, and with a hint where a name is unknown.

The one place that cleans text which an app, a trace or a controller process brought along.

Such text goes to terminals, reports, pictures, captures and CI servers.  There a control character may steer
a terminal, a bidirectional override may have a line read as another, and half a character may be refused by
the encoder.  Here each of these is spelt out as Python would write it (`\\x1b`, `\\u202e`, `\\ud800`): a
reader sees that it is there, and nothing acts on it.  All other text stays as it is.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

_BLANKS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
"""Characters that count as printable and show nothing, so that two texts may look alike and differ."""
_NO_FILE_NAME: Final = re.compile(r"[^\w.-]+", re.ASCII)
_LONGEST_FILE_NAME: Final = 100


def visible(text: str, keep: str = "\n") -> str:
    """Return a text with whatever could steer a terminal or mislead a reader spelt out; lines stay lines."""
    if text.isprintable() and _BLANKS.isdisjoint(text):
        return text
    return "".join(each if each in keep else _escape(each) for each in text)


def on_one_line(text: str) -> str:
    """Return a text on one line, where a line break would begin something else."""
    return visible(" ".join(text.split()), keep="")


@lru_cache(maxsize=4096)
def _escape(character: str) -> str:
    plain = character.isprintable() and character not in _BLANKS
    return character if plain else character.encode("unicode-escape").decode("ascii")


def visible_within(value: Any) -> Any:
    """Return plain data, nested no deeper than `json_reading` lets it be, with all of its texts cleaned."""
    match value:
        case str():
            return visible(value, keep="\n\t")
        case dict():
            return {visible(str(key)): visible_within(each) for key, each in value.items()}
        case list() | tuple():
            return list(map(visible_within, value))
    return value


def file_name(text: str) -> str:
    """Return a text as the name of a file: no separators, nothing hidden, not too long."""
    return _NO_FILE_NAME.sub("-", text[:_LONGEST_FILE_NAME]).strip(".-") or "unnamed"


def json_text(value: Any, **options: Any) -> str:
    """Return plain data as JSON that is printable ASCII, whatever its texts have in them."""
    # The one control character that JSON does not want escaped.
    return json.dumps(value, **options).replace("\x7f", "\\u007f")


def meant_instead(word: object, known: Iterable[object]) -> str | None:
    """Return the known name that a word is nearest to, whatever its case; None if none is near."""
    by_folded = {str(name).casefold(): str(name) for name in known}
    near = difflib.get_close_matches(str(word).casefold(), by_folded, 1)
    return by_folded[near[0]] if near else None


def hint(word: object, known: Iterable[object], otherwise: str = "") -> str:
    """Return how a sentence about an unknown word ends: with the name that was meant, or with all there are.

    `otherwise` takes the place of the list of names.
    """
    names = [str(name) for name in known]
    near = meant_instead(word, names)
    if near is not None:
        return f"did you mean {near!r}?"
    return otherwise or (f"choose {', '.join(names)}." if names else "there are none.")
