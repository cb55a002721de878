"""The words of a formula, each with its column, and errors that point at one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from penstock.errors import PenstockError

RESERVED: Final = frozenset({"G", "F", "U", "R", "W", "X", "next", "forall", "exists", "in"}) | {
    "and",
    "or",
    "not",
    "implies",
    "iff",
    "true",
    "false",
}
"""Words that no set, field, event or variable can be called by in a formula."""

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
      | (?P<number>-?\d+(?![\w.]))
      | (?P<text>"(?:[^"\\]|\\["\\])*")
      | (?P<word>[^\W\d]\w*)
      | (?P<sign>==|!=|<=|>=|[=<>()\[\]{}.,:])
    """,
    re.VERBOSE,
)


class FormulaError(PenstockError):
    """A formula that cannot be read: one sentence, the formula, and a caret under the place."""

    def __init__(self, sentence: str, text: str, column: int) -> None:
        # Every space is one column wide here, whichever it was in the text.
        line = re.sub(r"\s", " ", text)
        super().__init__(f"Column {column + 1}: {sentence}\n  {line}\n  {' ' * column}^")
        self.sentence = sentence
        self.column = column


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number, a text, a sign, or the end."""

    kind: str
    text: str
    at: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else f"{self.text!r}" if '"' not in self.text else self.text


def tokens(text: str) -> list[Token]:
    """Return the words of a formula, the end included."""
    found = []
    at = 0
    while at < len(text):
        matched = _TOKEN.match(text, at)
        if matched is None:
            raise FormulaError(_unreadable(text, at), text, at)
        kind = matched.lastgroup
        assert kind is not None
        if kind != "space":
            found.append(Token(kind, matched.group(), at))
        at = matched.end()
    return [*found, Token("end", "", len(text))]


def _unreadable(text: str, at: int) -> str:
    rest = text[at:]
    if rest[0] == '"':
        return 'A text begins here and does not end: close it with ", and write \\" or \\\\ for these in it.'
    if rest[0].isdigit() or rest[0] == "-":
        return "Numbers are whole numbers: put anything else, such as an address, in double quotes."
    for sign, word in (("&", "and"), ("|", "or"), ("!", "not"), ("'", 'double quotes, as in "drop"')):
        if rest[0] == sign:
            return f"The sign {sign} means nothing in a formula: write {word}."
    return f"The character {rest[0]!r} means nothing in a formula: use words, numbers and comparisons."
