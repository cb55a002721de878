"""Python's own iterators and caches, written so that their state shows, do what the originals do."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock._concolic.visible import FUNCTOOLS, ITERTOOLS, CachedFunction
from penstock._controllers.snapshot import Heap

MADE: dict[str, Callable[[Any], Any]] = {
    "count": lambda it: it["count"](3, 2),
    "cycle": lambda it: it["cycle"]([1, 2, 3]),
    "cycle of an iterator": lambda it: it["cycle"](iter("ab")),
    "chain": lambda it: it["chain"]([1, 2], (), "xy", [9]),
    "chain of chains": lambda it: it["chain"].from_iterable([[1], [2, 3]]),
    "repeat": lambda it: it["repeat"]("a", 3),
    "tee": lambda it: it["tee"](iter(range(5)))[1],
}
REAL = {name: getattr(itertools, name) for name in ITERTOOLS}


@pytest.mark.parametrize("name", MADE)
def test_an_iterator_gives_what_the_original_gives_and_can_be_put_back(name: str) -> None:
    ours, real = MADE[name](ITERTOOLS), MADE[name](REAL)
    heap = Heap([[ours]])
    assert list(itertools.islice(ours, 2)) == list(itertools.islice(real, 2))
    before = heap.take()
    assert before.opaque == frozenset()
    expected = list(itertools.islice(real, 4))
    for _ in range(2):
        if name != "cycle of an iterator":
            heap.enter(before)
            heap.forget()
            heap.enter(before)
            assert list(itertools.islice(ours, 4)) == expected


@given(st.lists(st.integers(), max_size=8), st.lists(st.integers(0, 9), min_size=1, max_size=2))
def test_slices_are_as_the_originals(items: list[int], limits: list[int]) -> None:
    islice: Any = ITERTOOLS["islice"]
    assert list(islice(items, *limits)) == list(itertools.islice(items, *limits))


@given(st.lists(st.integers(), max_size=8), st.integers(0, 5), st.integers(1, 3))
def test_slices_with_steps_are_as_the_originals(items: list[int], start: int, step: int) -> None:
    islice: Any = ITERTOOLS["islice"]
    made = islice(iter(items), start, None, step)
    assert list(made) == list(itertools.islice(iter(items), start, None, step))


@given(st.lists(st.integers(0, 4), max_size=20), st.sampled_from([None, 0, 1, 2, 128]))
def test_a_cache_remembers_and_forgets_as_the_original(calls: list[int], size: int | None) -> None:
    CachedFunction.counts = True
    ran: tuple[list[int], list[int]] = [], []

    def negation(ran: list[int]) -> Callable[[int], int]:
        def negative(number: int) -> int:
            ran.append(number)
            return -number

        return negative

    lru_cache: Any = FUNCTOOLS["lru_cache"]
    ours = lru_cache(maxsize=size)(negation(ran[0]))
    real = functools.lru_cache(maxsize=size)(negation(ran[1]))
    for call in calls:
        assert ours(call) == real(call)
    assert ran[0] == ran[1]
    assert tuple(ours.cache_info()) == tuple(real.cache_info())
    ours.cache_clear()
    assert ours.cache_info().currsize == 0
    CachedFunction.counts = False


def test_a_cached_method_knows_its_object() -> None:
    class Thing:
        @FUNCTOOLS["cache"]
        def double(self, x: int) -> int:
            return 2 * x

    assert Thing().double(4) == 8
