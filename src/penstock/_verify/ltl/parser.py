"""From text to a formula: recursive descent, one method per level of binding.

How deep a formula may nest is limited, so that a strange text is an error and not an overflow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NoReturn

from penstock._verify.ltl.syntax import (
    BINDING,
    IGNORED,
    LEFT_ASSOCIATIVE,
    After,
    Comparison,
    Constant,
    Field,
    Formula,
    Infix,
    Listed,
    Name,
    Prefix,
    Quantified,
    Term,
    Truth,
)
from penstock.errors import PenstockError

DEEPEST: Final = 60
"""How many operators may stand inside one another."""
LONGEST: Final = 400
"""How many words, numbers and signs a formula may have."""

_LOOSEST: Final = min(BINDING.values())
_PREFIX: Final = max(BINDING.values()) + 1
_COMPARISONS: Final = frozenset({"==", "!=", "<", "<=", ">", ">="})
_NO_NEXT: Final = (
    "There is no next: what holds must not depend on how often a state is repeated (stutter invariance), or "
    "the order of independent steps could not be left out of the search; say it with F or U."
)


def parse(text: str) -> Formula:
    """Return the formula that a text stands for."""
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens(text)
        self._next = 0
        self._depth = 0

    def whole(self) -> Formula:
        if self._here.kind == "end":
            self._fail("The formula is empty: write one, as in G not broken.")
        if len(self._tokens) > LONGEST:
            self._fail(f"The formula is longer than {LONGEST} words: split it.", self._tokens[LONGEST])
        formula = self._infix(_LOOSEST)
        if self._here.kind != "end":
            self._fail(f"The formula was complete before {self._here}: join the parts with and, or, implies.")
        return formula

    # Tokens.

    @property
    def _here(self) -> Token:
        return self._tokens[self._next]

    def _fail(self, sentence: str, token: Token | None = None) -> NoReturn:
        raise FormulaError(sentence, self._text, (token or self._here).at)

    def _take(self) -> Token:
        token = self._here
        self._next += 1
        return token

    def _is(self, *texts: str) -> bool:
        return self._here.kind in ("word", "sign") and self._here.text in texts

    def _expect(self, text: str, what: str) -> Token:
        if not self._is(text):
            self._fail(f"{what} needs {text!r} here, not {self._here}.")
        return self._take()

    def _name(self, what: str) -> Token:
        token = self._here
        if token.kind != "word":
            self._fail(f"{what} is expected here, not {token}.")
        if token.text in RESERVED:
            self._fail(f"{what} is expected here, and {token.text!r} is a word of the language.")
        return self._take()

    # Formulas.

    def _infix(self, binding: int) -> Formula:
        if binding == _PREFIX:
            return self._prefix()
        left = self._infix(binding + 1)
        while self._here.kind == "word" and BINDING.get(self._here.text) == binding:
            operator = self._take()
            right = self._nested(binding + 1 if operator.text in LEFT_ASSOCIATIVE else binding)
            left = Infix(operator.text, left, right, at=operator.at)
        return left

    def _nested(self, level: int) -> Formula:
        """Read a formula inside another one, down from a level of binding."""
        self._depth += 1
        if self._depth > DEEPEST:
            self._fail(
                f"The formula nests deeper than {DEEPEST} operators: split it into several properties."
            )
        formula = self._infix(level)
        self._depth -= 1
        return formula

    def _prefix(self) -> Formula:
        token = self._here
        if self._is("not", "G", "F"):
            self._take()
            return Prefix(token.text, self._nested(_PREFIX), at=token.at)
        if self._is("X", "next"):
            self._fail(_NO_NEXT)
        if self._is("forall", "exists"):
            self._take()
            return self._quantified(token)
        if self._is("[", "<"):
            return self._after()
        if self._is("("):
            self._take()
            formula = self._nested(_LOOSEST)
            self._expect(")", "The parenthesis that was opened")
            return formula
        return self._comparison()

    def _quantified(self, quantifier: Token) -> Formula:
        variable = self._name("A name for the members of a set")
        self._expect("in", f"{quantifier.text} {variable.text}")
        domain = self._term()
        if self._is(","):
            self._take()
            self._depth += 1
            body = self._quantified(quantifier)
            self._depth -= 1
        else:
            self._expect(":", f"{quantifier.text} {variable.text} in {domain}")
            body = self._nested(_LOOSEST)
        return Quantified(quantifier.text, variable.text, domain, body, at=variable.at)

    def _after(self) -> Formula:
        opening = self._take()
        event = self._name("The name of an event")
        names = None
        if self._is("("):
            self._take()
            names = self._names()
        self._expect("]" if opening.text == "[" else ">", f"The event {event.text}")
        return After(event.text, names, self._nested(_PREFIX), opening.text == "<", at=event.at)

    def _names(self) -> tuple[str, ...]:
        names: list[str] = []
        while not self._is(")"):
            if names:
                self._expect(",", "A list of arguments")
            name = self._name("A name for an argument")
            if name.text != IGNORED and name.text in names:
                self._fail(
                    f"Two arguments are called {name.text}: give one another name, or {IGNORED}.", name
                )
            names.append(name.text)
        self._take()
        return tuple(names)

    def _comparison(self) -> Formula:
        left = self._term()
        token = self._here
        if self._is("="):
            self._fail("One = means nothing in a formula: compare with ==.")
        if self._is("in", *_COMPARISONS):
            operator = self._take().text
        elif self._is("not"):
            self._take()
            self._expect("in", "not after a term")
            operator = "not in"
        else:
            return Truth(left, at=left.at)
        return Comparison(operator, left, self._term(), at=token.at)

    # Terms.

    def _term(self) -> Term:
        token = self._here
        term: Term
        if token.kind == "number":
            return Constant(int(self._take().text), at=token.at)
        if token.kind == "text":
            return Constant(re.sub(r"\\(.)", r"\1", self._take().text[1:-1]), at=token.at)
        if self._is("true", "false"):
            return Constant(self._take().text == "true", at=token.at)
        if self._is("{"):
            return self._listed()
        if self._is("X", "next"):
            self._fail(_NO_NEXT)
        term = Name(self._name("A formula or a term").text, at=token.at)
        while self._is("."):
            self._take()
            name = self._name("The name of a field")
            term = Field(term, name.text, at=name.at)
        return term

    def _listed(self) -> Term:
        opening = self._take()
        items: list[Term] = []
        while not self._is("}"):
            if items:
                self._expect(",", "A set in braces")
            if self._is("{"):
                self._fail("A set in braces holds no other set: list its members.")
            items.append(self._term())
        self._take()
        return Listed(tuple(items), at=opening.at)


# The words of a formula, each with its column, and errors that point at one.


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
        return "Numbers are integers: put anything else, such as an address, in double quotes."
    for sign, word in (("&", "and"), ("|", "or"), ("!", "not"), ("'", 'double quotes, as in "drop"')):
        if rest[0] == sign:
            return f"The sign {sign} means nothing in a formula: write {word}."
    return f"The character {rest[0]!r} means nothing in a formula: use words, numbers and comparisons."
