"""`is`, `is not`, and what else goes by what an object is: the subject of `match`.

A truth value is one of two objects, a small whole number one of few, and Python compares them by identity
as others do by value.  For a value that depends on the inputs this is a question about the inputs.  Whether
other values are one object depends on how Python keeps them, so that is not followed.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from penstock._concolic.run import Run, lose, unnoticed
from penstock._concolic.terms import truth
from penstock._concolic.values.integers import Followed, SymBool, SymInt, boolean, plain, term_of
from penstock._concolic.values.parts import any_held, bears, concrete, holds, is_symbolic
from penstock._concolic.values.readers import has_reader
from penstock._concolic.values.tables import Tabled

_SMALL: Final = range(-5, 257)
"""The whole numbers of which Python keeps one object each."""


def same(one: Any, other: Any) -> bool:
    """Return `one is other`."""
    if Run.current is None or one is other or not (is_symbolic(one) or is_symbolic(other)):
        return one is other
    if not is_symbolic(one):
        one, other = other, one
    if isinstance(one, SymBool):
        return _same_truth(one, other)
    if isinstance(one, SymInt) and (type(other) is int or isinstance(other, SymInt)):
        return _same_number(one, other)
    if type(concrete(one)) is type(concrete(other)):
        lose("is")
    return False


def different(one: Any, other: Any) -> bool:
    """Return `one is not other`."""
    return not same(one, other)


def itself(value: Any) -> Any:
    """Return an object that is compared by identity in a chain of comparisons."""
    if Run.current is not None and is_symbolic(value):
        lose("is")
    return value


_MOST_NUMBERS: Final = 64
"""How many numbers are told apart that a method gives to Python itself."""


def returned(value: Any) -> Any:
    """Return what a method such as `__len__` gives to Python itself, which sees the number alone."""
    if Run.current is None or not is_symbolic(value):
        return value
    if isinstance(value, SymBool):
        return bool(value)
    if isinstance(value, Tabled):
        return operator.index(value)
    if isinstance(value, SymInt) and value.term.high - value.term.low < _MOST_NUMBERS:
        return next(n for n in range(value.term.low, value.term.high + 1) if value == n)
    lose("number for Python itself")
    return concrete(value)


def class_of(value: Any) -> Any:
    """Return `value.__class__`; of a value that depends on the inputs, that of a plain one."""
    if Run.current is not None and is_symbolic(value):
        return concrete(value).__class__
    return value.__class__


def subject(value: Any, values: Callable[[], tuple[Any, ...]] | None = None) -> Any:
    """Return what a program is to match patterns with: truth values are told by identity there.

    `values` returns what the patterns compare parts of it with, besides constants.
    """
    if Run.current is None:
        return value
    if values is not None and (has_reader(value) or holds(value)):
        # Python compares parts of the one with the other as C does.
        with suppress(AttributeError, NameError):
            if any(map(holds, values())):
                lose("match")
    return _matched(value)


def _matched(value: Any) -> Any:
    if isinstance(value, SymBool):
        return bool(value)
    if type(value) in (tuple, list):
        return type(value)(map(_matched, value))
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(map(_matched, value))
    if isinstance(value, dict) and any(map(bears, value)):
        lose("match")
    if not is_symbolic(value) and type(value) not in _ATOMS and any_held(value, (SymBool, Tabled)):
        _decide_within(value, set())
        if any_held(value, (SymBool, Tabled)):
            # Somewhere that nothing can be written to: slots, tuples, sets.
            lose("match")
    return value


_ATOMS: Final = frozenset({int, str, bytes, float, bool, type(None)})


def _decide_within(value: Any, known: set[int]) -> None:
    """Decide the truth values in an object, and have it hold what they are on this path from now on."""
    if type(value) in _ATOMS or is_symbolic(value) or id(value) in known:
        return
    known.add(id(value))
    held = value if isinstance(value, dict) else getattr(value, "__dict__", None)
    if isinstance(held, dict):
        for key, part in list(dict.items(held)):
            if isinstance(part, SymBool):
                decided = bool(part)
                with unnoticed():
                    dict.__setitem__(held, key, decided)
            else:
                _decide_within(part, known)
    for name in (each for kind in type(value).__mro__ for each in vars(kind).get("__slots__", ())):
        part = getattr(value, name, None) if isinstance(name, str) else None
        if isinstance(part, SymBool):
            object.__setattr__(value, name, bool(part))
        else:
            _decide_within(part, known)
    if isinstance(value, list | deque):
        for place, part in enumerate(list(value)):
            if isinstance(part, SymBool):
                value[place] = bool(part)
            else:
                _decide_within(part, known)


def _same_truth(one: SymBool, other: Any) -> bool:
    if not isinstance(other, bool | SymBool):
        return False
    return one == other


def _same_number(one: SymInt, other: Any) -> bool:
    number = plain(other)
    if number not in _SMALL and not is_symbolic(other):
        # A constant of the program's is an object of its own.
        return False
    if isinstance(other, Followed) and max(one.term.high, other.term.high) >= _SMALL.stop:
        lose("is")
        return False
    return boolean(plain(one) == number, truth(term_of(one == other)))
