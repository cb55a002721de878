"""A regular expression matcher that goes about as Python's does, and counts its steps.

Python's own cannot be asked how much it did, and a clock would tell of the machine.  What is counted here is
how often a character is compared or a choice is made, with all the turning back that makes patterns slow.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import islice
from typing import Any

Ops = Any


class CountingMatcher:
    """Matches one pattern; `steps` is what all of it cost so far."""

    def __init__(self, pattern: re.Pattern[str], most: int) -> None:
        parser = import_module("re._parser")
        self._ops = list(parser.parse(pattern.pattern, pattern.flags & ~re.UNICODE))
        self._any_newline = bool(pattern.flags & re.DOTALL)
        self.steps = 0
        self._most = most

    def search_all(self, text: str) -> int:
        """Find all matches as `finditer` does; return the steps that it took."""
        place = 0
        while place <= len(text) and self.steps <= self._most:
            end = next(self._match(self._ops, text, place), None)
            place = place + 1 if end is None or end == place else end
        return self.steps

    def full_match(self, text: str) -> int:
        """Match a whole text as `fullmatch` does; return the steps that it took."""
        any(end == len(text) or self.steps > self._most for end in self._match(self._ops, text, 0))
        return self.steps

    def _match(self, ops: Ops, text: str, place: int, first: int = 0) -> Iterator[int]:
        """Yield where the rest of some operations can end that begins at a place, the best first."""
        if self.steps > self._most:
            return
        self.steps += 1
        if first == len(ops):
            yield place
            return
        for end in self._one(ops[first], text, place):
            yield from self._match(ops, text, end, first + 1)

    def _one(self, op: Any, text: str, place: int) -> Iterator[int]:
        kind, given = str(op[0]), op[1]
        match kind:
            case "LITERAL" | "NOT_LITERAL" | "IN" | "ANY":
                if place < len(text) and self._fits(kind, given, text[place]):
                    yield place + 1
            case "AT":
                if self._is_at(str(given), text, place):
                    yield place
            case "SUBPATTERN":
                yield from self._match(given[3], text, place)
            case "BRANCH":
                for branch in given[1]:
                    yield from self._match(branch, text, place)
            case "ASSERT" | "ASSERT_NOT":
                if self._looks(given, text, place) == (kind == "ASSERT"):
                    yield place
            case "MAX_REPEAT" | "POSSESSIVE_REPEAT":
                ends = self._greedy(given, text, place)
                yield from ends if kind == "MAX_REPEAT" else islice(ends, 1)
            case "MIN_REPEAT":
                yield from self._lazy(given, text, place)
            case _:
                raise NotImplementedError(kind)

    def _greedy(self, given: Any, text: str, place: int) -> Iterator[int]:
        """Yield the ends of a repetition, the longest first; of single characters without recursion."""
        least, most, body = given
        if len(body) == 1 and str(body[0][0]) in ("LITERAL", "NOT_LITERAL", "IN", "ANY"):
            end, limit = place, min(len(text), place + int(most))
            while end < limit and self._fits(str(body[0][0]), body[0][1], text[end]):
                end += 1
            for each in range(end, place + least - 1, -1):
                self.steps += 1
                if self.steps > self._most:
                    return
                yield each
            return
        yield from self._repeated(body, text, place, (least, int(most)))

    def _repeated(self, body: Ops, text: str, place: int, times: tuple[int, int]) -> Iterator[int]:
        least, most = times
        if most > 0:
            for end in self._match(body, text, place):
                if end > place or least > 0:
                    yield from self._repeated(body, text, end, (max(0, least - 1), most - 1))
        if least == 0:
            yield place

    def _lazy(self, given: Any, text: str, place: int) -> Iterator[int]:
        least, most, body = given
        ends, times = [place], 0
        while ends and times <= int(most) and self.steps <= self._most:
            if times >= least:
                yield from ends
            ends = [end for begin in ends for end in self._match(body, text, begin) if end > begin][:1]
            times += 1

    def _looks(self, given: Any, text: str, place: int) -> bool:
        direction, ops = given
        if direction > 0:
            return next(self._match(ops, text, place), None) is not None
        width = ops.getwidth()[0]
        return place >= width and next(self._match(ops, text, place - width), None) is not None

    def _is_at(self, where: str, text: str, place: int) -> bool:
        self.steps += 1
        match where:
            case "AT_BEGINNING" | "AT_BEGINNING_STRING":
                return place == 0
            case "AT_END":
                return place == len(text) or text[place:] == "\n"
            case "AT_END_STRING":
                return place == len(text)
        before = place > 0 and _is_of("CATEGORY_WORD", text[place - 1])
        after = place < len(text) and _is_of("CATEGORY_WORD", text[place])
        return (before != after) == (where == "AT_BOUNDARY")

    def _fits(self, kind: str, given: Any, character: str) -> bool:
        self.steps += 1
        match kind:
            case "LITERAL":
                return bool(ord(character) == given)
            case "NOT_LITERAL":
                return bool(ord(character) != given)
            case "ANY":
                return self._any_newline or character != "\n"
        negated = str(given[0][0]) == "NEGATE"
        return any(self._is_in(item, character) for item in given[negated:]) != negated

    @staticmethod
    def _is_in(item: Any, character: str) -> bool:
        kind, value = str(item[0]), item[1]
        match kind:
            case "LITERAL":
                return bool(ord(character) == value)
            case "RANGE":
                return bool(value[0] <= ord(character) <= value[1])
        return _is_of(str(value), character)


@cache
def _is_of(category: str, character: str) -> bool:
    letter = {"CATEGORY_DIGIT": r"\d", "CATEGORY_SPACE": r"\s", "CATEGORY_WORD": r"\w"}
    letter |= {"CATEGORY_NOT_DIGIT": r"\D", "CATEGORY_NOT_SPACE": r"\S", "CATEGORY_NOT_WORD": r"\W"}
    return re.match(letter[category], character) is not None
