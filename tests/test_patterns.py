"""No text that a stranger wrote keeps a pattern of ours busy: what it costs grows as the text does."""

import ast
import itertools
import math
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
from tests.counting_matcher import CountingMatcher

import penstock

SOURCES = Path(penstock.__file__).parent
OWN_WORDS = {
    "_concolic": "source code and values of the program under test, which runs anyway",
    "_doctor.py": "what programs of this machine print",
    "_controllers": "what Python prints of its own objects",
}
"""Packages and modules whose patterns meet no stranger's text, each with what they do meet."""
SHORT = 32
LONGER = 4
MOST_STEPS = 50_000
ANCHORED = frozenset({"match", "fullmatch"})
"""The ways to use a pattern that begin at a text's beginning alone."""


@dataclass(frozen=True)
class Used:
    """A pattern, and whether a match is looked for anywhere in a text."""

    pattern: re.Pattern[str]
    searches: bool

    def cost(self, text: str) -> int:
        """Return how many steps it takes on a text."""
        matched = CountingMatcher(self.pattern, MOST_STEPS).full_match(text)
        return max(
            matched, CountingMatcher(self.pattern, MOST_STEPS).search_all(text) if self.searches else 0
        )


def patterns_of(path: Path) -> Iterator[tuple[str, Used]]:
    """Yield the patterns that a module has, by name or where they are written out in a call."""
    module = import_module(".".join(path.relative_to(SOURCES.parent).with_suffix("").parts))
    source = path.read_text()
    for name, value in vars(module).items():
        if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
            ways = set(re.findall(rf"\b{name}\.(\w+)", source))
            yield name, Used(value, searches=not ways or not ways <= ANCHORED)
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not node.args or not isinstance(node.args[0], ast.Constant):
            continue
        way, text = ast.unparse(node.func), node.args[0].value
        if way.startswith("re.") and way != "re.compile" and isinstance(text, str):
            yield f"line {node.lineno}", Used(re.compile(text), searches=way[3:] not in ANCHORED)


def all_patterns() -> dict[str, Used]:
    """Return all patterns that may meet a stranger's text, each once, by a place where it is."""
    found: dict[Used, str] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        place = path.relative_to(SOURCES)
        if "re." in path.read_text() and place.parts[0] not in OWN_WORDS and path.name != "__main__.py":
            for name, used in patterns_of(path):
                found.setdefault(used, f"{place}:{name}")
    return {name: used for used, name in found.items()}


PATTERNS = all_patterns()


def attacks(pattern: re.Pattern[str]) -> Iterator[str]:
    """Yield what is to be repeated: made of what a pattern tells apart."""
    told = [c for c in dict.fromkeys(pattern.pattern) if c in string.punctuation and c not in "\\?*"]
    words = re.findall(r"[A-Za-z]{2,}", pattern.pattern)[:3]
    alphabet = list(dict.fromkeys(["a", "1", " ", *told[:4]]))
    pairs = ("".join(pair) for pair in itertools.permutations(alphabet, 2))
    named = ("a#1 [", "a-", "1.", 'File "', "x#1 ", *words, *(f"{word} " for word in words))
    yield from dict.fromkeys((*alphabet, *pairs, *named))


CUT = {"_world/frame.py:_WRITTEN": "]", "_world/frame.py:_DESCRIPTION": "]"}
"""Patterns that meet no text but such as end in what they end in: the texts are cut there before."""


def growths(used: Used, end: str = "\x00") -> dict[str, float]:
    """Return how much more a text costs that is so many times as long, by what is repeated in it.

    It ends in what nothing expects, so that all that was begun is tried in every way.
    """
    found = {}
    for pump in attacks(used.pattern):
        short, long = (used.cost(pump * (SHORT * times // len(pump)) + end) for times in (1, LONGER))
        found[pump] = long / short if long < MOST_STEPS else math.inf
    return found


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_costs_no_more_than_its_text_is_long(name: str) -> None:
    found = growths(PATTERNS[name], CUT.get(name, "\x00"))
    slow = {pump: growth for pump, growth in found.items() if growth > 1.5 * LONGER}
    assert slow == {}, PATTERNS[name].pattern


@pytest.mark.parametrize(
    "slow", [r"(\S+#\d+) \[[^\]]*\]", r"\b[\w.-]+#\d", r"(a+)+b", r"\s+$", r"(?:a|a)*b", r"\d+x"]
)
def test_and_a_slow_one_would_be_noticed(slow: str) -> None:
    assert max(growths(Used(re.compile(slow), searches=True)).values()) > 2 * LONGER


@pytest.mark.parametrize("pattern", [r"(?<!\S)(\w+)#(\d+)", r"[a-c]*?x|\d{2,4}\b", r"(?:ab|a)+c", r"^a.c$"])
def test_the_matcher_that_counts_finds_what_pythons_does(pattern: str) -> None:
    compiled = re.compile(pattern)
    for letters in itertools.product("abcx1#\n", repeat=4):
        text = "".join(letters)
        counted = CountingMatcher(compiled, MOST_STEPS)
        ends = [end for end in counted._match(counted._ops, text, 0) if end == len(text)]
        assert bool(ends) == (compiled.fullmatch(text) is not None), text
