"""Python's own versions of what the standard library has in C, with their state where it can be seen.

`itertools.cycle` or `functools.lru_cache` keep in C how far they have come and what they hold.  A
program that is loaded under Penstock gets these in their place: they do the same, in attributes that
can be saved and put back.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, ClassVar, Final, NamedTuple

from penstock._concolic.code.in_place import sources

_END: Final = object()


class _Places:
    """An iterator over a sequence that can be put back even from its end."""

    def __init__(self, sequence: Sequence[Any]) -> None:
        self.sequence, self.place = sequence, 0

    def __iter__(self) -> _Places:
        return self

    def __next__(self) -> Any:
        if self.place >= len(self.sequence):
            raise StopIteration
        self.place += 1
        return self.sequence[self.place - 1]


def _iterate(iterable: Any) -> Iterator[Any]:
    plain = type(iterable) in (list, tuple, str, bytes, range)
    return _Places(iterable) if plain else iter(iterable)


class Count:
    """`itertools.count`."""

    def __init__(self, start: Any = 0, step: Any = 1) -> None:
        self.number, self.step = start, step

    def __iter__(self) -> Count:
        return self

    def __next__(self) -> Any:
        number = self.number
        self.number += self.step
        return number

    def __repr__(self) -> str:
        return f"count({self.number})"


class Cycle:
    """`itertools.cycle`."""

    def __init__(self, iterable: Iterable[Any], /) -> None:
        self.first: Iterator[Any] | None = _iterate(iterable)
        self.saved: list[Any] = []
        self.place = 0

    def __iter__(self) -> Cycle:
        return self

    def __next__(self) -> Any:
        if self.first is not None:
            item = next(self.first, _END)
            if item is not _END:
                self.saved.append(item)
                return item
            self.first = None
        if not self.saved:
            raise StopIteration
        item = self.saved[self.place]
        self.place = (self.place + 1) % len(self.saved)
        return item


class Chain:
    """`itertools.chain`."""

    def __init__(self, *iterables: Iterable[Any]) -> None:
        self.sources: Iterator[Any] | None = _iterate(iterables)
        self.active: Iterator[Any] | None = None

    @classmethod
    def from_iterable(cls, iterables: Iterable[Any], /) -> Chain:
        """Return a chain of what an iterable gives."""
        made = cls()
        made.sources = _iterate(iterables)
        return made

    def __iter__(self) -> Chain:
        return self

    def __next__(self) -> Any:
        while self.sources is not None:
            if self.active is None:
                following = next(self.sources, _END)
                if following is _END:
                    self.sources = None
                    break
                self.active = _iterate(following)
            item = next(self.active, _END)
            if item is not _END:
                return item
            self.active = None
        raise StopIteration


class ISlice:
    """`itertools.islice`."""

    def __init__(self, iterable: Iterable[Any], /, *limits: int | None) -> None:
        given = slice(*limits)
        self.source: Iterator[Any] | None = _iterate(iterable)
        self.due, self.stop, self.step = given.start or 0, given.stop, given.step or 1
        self.place = 0
        if self.due < 0 or (self.stop is not None and self.stop < 0) or self.step < 1:
            raise ValueError("Indices for islice() must be None or an integer: 0 <= x <= sys.maxsize.")

    def __iter__(self) -> ISlice:
        return self

    def __next__(self) -> Any:
        while self.source is not None:
            if self.stop is not None and self.due >= self.stop and self.place >= self.stop:
                break
            if self.stop is not None and self.place >= self.stop:
                break
            item = next(self.source, _END)
            if item is _END:
                break
            self.place += 1
            if self.place > self.due:
                self.due += self.step
                return item
        self.source = None
        raise StopIteration


class Repeat:
    """`itertools.repeat`."""

    def __init__(self, object: Any, times: int | None = None) -> None:
        self.item = object
        self.left = None if times is None else max(0, times)

    def __iter__(self) -> Repeat:
        return self

    def __next__(self) -> Any:
        if self.left == 0:
            raise StopIteration
        if self.left is not None:
            self.left -= 1
        return self.item


class _Tee:
    """One of the iterators that `itertools.tee` makes of another."""

    def __init__(self, source: Iterator[Any], queues: list[deque[Any]], own: deque[Any]) -> None:
        self.source, self.queues, self.own = source, queues, own

    def __iter__(self) -> _Tee:
        return self

    def __next__(self) -> Any:
        if not self.own:
            item = next(self.source)
            for queue in self.queues:
                queue.append(item)
        return self.own.popleft()


def tee(iterable: Iterable[Any], n: int = 2, /) -> tuple[_Tee, ...]:
    """Do what `itertools.tee` does."""
    source = _iterate(iterable)
    queues: list[deque[Any]] = [deque() for _ in range(n)]
    return tuple(_Tee(source, queues, own) for own in queues)


class CacheInfo(NamedTuple):
    """What a cache tells of itself."""

    hits: int
    misses: int
    maxsize: int | None
    currsize: int


class CachedFunction:
    """A function that remembers its results, as `functools.lru_cache` makes it.

    How often it was of use is counted only for programs that ask: else no two states would be the same.
    """

    counts: ClassVar[bool] = False

    def __init__(self, function: Callable[..., Any], maxsize: int | None, typed: bool) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self._maxsize, self._typed = maxsize, typed
        self._kept: OrderedDict[Any, Any] = OrderedDict()
        self._hits = self._misses = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the function returns, or returned the last time."""
        return self.recall(args, kwargs, self.__wrapped__)

    def recall(self, args: tuple[Any, ...], kwargs: dict[str, Any], function: Callable[..., Any]) -> Any:
        """Return what was returned the last time, or else what a function returns now."""
        key = functools._make_key(args, kwargs, self._typed)
        if key in self._kept:
            return self.recall_key(key)
        self.note_miss()
        result = function(*args, **kwargs)
        self._remember_key(key, result)
        return result

    def note_miss(self) -> None:
        """Count that the function has to be called, which it is whether or not it raises then."""
        self._misses += self.counts

    @property
    def is_typed(self) -> bool:
        """Whether arguments of different types are different, equal as they may be."""
        return self._typed

    def keys(self) -> list[Any]:
        """Return by what results are remembered: an argument, or a list of them."""
        return list(self._kept)

    def remembers(self, is_wanted: Callable[[Any], bool]) -> bool:
        """Tell whether a result is remembered by arguments of some sort."""
        return any(
            any(map(is_wanted, key)) if isinstance(key, list) else is_wanted(key) for key in self._kept
        )

    def recall_key(self, key: Any) -> Any:
        """Return the result that is remembered by a key."""
        self._hits += self.counts
        if self._maxsize is not None:
            self._kept.move_to_end(key)
        return self._kept[key]

    def remember(self, args: tuple[Any, ...], result: Any) -> None:
        """Remember what the function returned."""
        self._remember_key(functools._make_key(args, {}, self._typed), result)

    def _remember_key(self, key: Any, result: Any) -> None:
        if self._maxsize != 0:
            self._kept[key] = result
            if self._maxsize is not None and len(self._kept) > self._maxsize:
                self._kept.popitem(last=False)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def cache_info(self) -> CacheInfo:
        """Return how often the cache was of use, and how much is in it."""
        return CacheInfo(self._hits, self._misses, self._maxsize, len(self._kept))

    def cache_parameters(self) -> dict[str, Any]:
        """Return what the cache was made with."""
        return {"maxsize": self._maxsize, "typed": self._typed}

    def cache_clear(self) -> None:
        """Forget all results."""
        self._kept.clear()
        self._hits = self._misses = 0


def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
    """Do what `functools.lru_cache` does."""
    if callable(maxsize):
        return CachedFunction(maxsize, 128, typed)
    size = None if maxsize is None else max(0, maxsize)
    return lambda function: CachedFunction(function, size, typed)


def cache(function: Callable[..., Any], /) -> CachedFunction:
    """Do what `functools.cache` does."""
    return CachedFunction(function, None, typed=False)


ITERTOOLS: Final = {
    "count": Count,
    "cycle": Cycle,
    "chain": Chain,
    "islice": ISlice,
    "repeat": Repeat,
    "tee": tee,
}
FUNCTOOLS: Final = {"lru_cache": lru_cache, "cache": cache}


def count_cache_hits(modules: Iterable[ModuleType]) -> None:
    """Count how often caches are of use, if any of these modules may ask for it."""
    if any("cache_info" in text for text in sources(modules)):
        CachedFunction.counts = True
