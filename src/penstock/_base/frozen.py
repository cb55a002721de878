"""An immutable, hashable mapping: what states keep their numbered things in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar, overload

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")


class FrozenMap(Mapping[K, V], Generic[K, V]):
    """A mapping that never changes; `set` and `without` return another one.

    It iterates in the order of its keys, so that nothing depends on how it came to be.
    """

    __slots__ = ("_hash", "_items")

    _items: dict[K, V]
    _hash: int | None

    def __init__(self, items: Mapping[K, V] | None = None) -> None:
        self._items = dict(items) if items else {}
        self._hash = None

    def __getitem__(self, key: K) -> V:
        return self._items[key]

    def __iter__(self) -> Iterator[K]:
        ordered: list[Any] = list(self._items)
        ordered.sort()
        return iter(ordered)

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: object) -> bool:
        return key in self._items

    @overload
    def get(self, key: K, /) -> V | None: ...

    @overload
    def get(self, key: K, /, default: V | T) -> V | T: ...

    def get(self, key: K, /, default: Any = None) -> Any:
        """Return the value of a key, or the default, with no exception raised on the way."""
        return self._items.get(key, default)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FrozenMap) and self._items == other._items

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self._items.items()))
        return self._hash

    def __repr__(self) -> str:
        return f"FrozenMap({{{', '.join(f'{key!r}: {self[key]!r}' for key in self)}}})"

    def set(self, key: K, value: V) -> FrozenMap[K, V]:
        """Return this mapping with one value put in."""
        if key in self._items and self._items[key] == value:
            return self
        changed = FrozenMap(self._items)
        changed._items[key] = value
        return changed

    def without(self, *keys: K) -> FrozenMap[K, V]:
        """Return this mapping with these keys taken out."""
        if not any(key in self._items for key in keys):
            return self
        changed = FrozenMap(self._items)
        for key in keys:
            changed._items.pop(key, None)
        return changed
