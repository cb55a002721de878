"""Looking keys up that depend on the inputs.

A dictionary or set finds a key by its hash, which says nothing about the inputs for which it would
have found another one, or none.  So a look-up is made key by key, in the container's order: does the
key equal this one?  Each answer is a decision of the run.  A hit goes on with the very key in the
container; a miss with the key itself, which a store puts in as it is: it hashes by its concrete
value, and the run remembers that this container has such keys, so that later look-ups, of constants
too, are compared with them.  A container without such keys costs nothing when a constant is sought.

Keys that can never be equal cause no decision, and a key of several parts (a tuple, an address) is one
question, not one for each part.

Containers that get such keys from code that is not followed are not remembered: there, a constant is
sought by its hash alone.
"""

from __future__ import annotations

import gc
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, MappingProxyType
from typing import Any, Final, TypeVar

from penstock._concolic.run import MARK, Run, lose, unnoticed
from penstock._concolic.values.integers import decide
from penstock._concolic.values.parts import bears, concrete, equality, holds

T = TypeVar("T")

KEYS_VIEW: Final[type] = type({}.keys())
ITEMS_VIEW: Final[type] = type({}.items())
KEYED: Final[tuple[type, ...]] = (dict, set, frozenset, KEYS_VIEW, MappingProxyType)
"""The kinds of containers that find things by a key."""


def depends(holder: object, key: object) -> bool:
    """Tell whether the outcome of a look-up may depend on the inputs."""
    run = Run.current
    if run is None:
        return False
    if run.holders and (id(holder) in run.holders or not isinstance(holder, dict | set | frozenset)):
        # A view does not tell what it is a view of.
        return True
    return bears(key)


def resolved(holder: Iterable[Any], key: Any) -> Any:
    """Return the key of a container that a key equals, or else the key itself; the inputs may decide."""
    if not depends(holder, key):
        if Run.current is not None and type(key) not in _ATOMS and holds(key):
            # An object of a library's has a hash and an `==` of its own.
            lose("hash")
        return key
    uncertain = bears(key)
    for present in ordered(holder):
        # Two constants are told apart by their hash.
        if (uncertain or bears(present)) and equal(present, key):
            return present
    return key


def equal(one: object, other: object) -> bool:
    """Tell whether two values are the same, as one question."""
    if one is other:
        return True
    condition = equality(one, other)
    if condition is None:
        from penstock._concolic.code.operands import operated

        return bool(operated(operator.eq, one, other))
    known = condition.value
    return decide(condition, concrete(one) == concrete(other)) if known is None else bool(known)


def ordered(holder: Iterable[Any]) -> tuple[Any, ...]:
    """Return the keys of a container in an order that depends on no hash: runs must ask alike."""
    if not isinstance(holder, set | frozenset):
        # An `OrderedDict` hashes its keys even then.
        return exactly(tuple, holder)
    fixed = [key for key in holder if not bears(key)]
    fixed.sort(key=lambda key: (type(key).__name__, repr(key)))
    if len(fixed) == len(holder):
        return tuple(fixed)
    others = {id(key): key for key in holder if bears(key)}
    run = Run.current
    known = run.holders.get(id(holder)) if run is not None else None
    first = [others.pop(id(key)) for key in (known[1] if known else ()) if id(key) in others]
    return (*fixed, *first, *others.values())


def remember(holder: object, key: object) -> None:
    """Remember that a container gets a key that depends on the inputs."""
    if Run.current is not None and bears(key):
        if isinstance(key, str) and type(holder) is dict and _is_namespace(holder, key):
            # Python looks attributes up by their hash.
            lose("name of an attribute")
        Run.current.holders.setdefault(id(holder), (holder, []))[1].append(key)


_ATOMS: Final = frozenset({int, str, bytes, float, bool, type(None)})


def _is_namespace(holder: dict[Any, Any], key: str) -> bool:
    """Tell whether a dictionary has the attributes of an object in it, which Python looks up by itself."""
    if not concrete(key).isidentifier():
        return False
    return any(getattr(each, "__dict__", None) is holder for each in gc.get_referrers(holder))


def exactly(operation: Callable[..., T], *arguments: Any) -> T:
    """Do something with keys that have been resolved; nothing in it is a decision."""
    with unnoticed():
        return operation(*arguments)


def _is_own(holder: object, name: str, *given: object) -> bool:
    """Tell whether a container is of a class of the program's, which does this itself.

    What is given to one of a library that does so itself is lost.
    """
    method = getattr(type(holder), name, None)
    if not isinstance(method, FunctionType):
        return False
    if MARK not in method.__globals__ and method.__module__ != "collections" and any(map(bears, given)):
        lose(f"{type(holder).__name__}.{name}")
    return MARK in method.__globals__


def is_in(holder: Any, key: Any) -> bool:
    """Tell whether a container has a key."""
    if _is_own(holder, "__contains__", key):
        return key in holder
    found = resolved(holder, key)
    return exactly(lambda: found in holder)


# Dictionaries.


def fetch(holder: Any, key: Any) -> Any:
    """Return what a dictionary has for a key; a `defaultdict` may get it now."""
    if _is_own(holder, "__getitem__", key):
        return holder[key]
    found = resolved(holder, key)
    if not exactly(lambda: found in holder):
        if _is_own(holder, "__missing__", key):
            return holder.__missing__(key)
        if isinstance(holder, defaultdict) and holder.default_factory is not None:
            store(holder, found, holder.default_factory())
    return exactly(lambda: holder[found])


def store(holder: Any, key: Any, value: Any) -> None:
    """Put a value into a dictionary."""
    if _is_own(holder, "__setitem__", key, value):
        holder[key] = value
        return
    found = resolved(holder, key)
    remember(holder, found)
    exactly(operator.setitem, holder, found, value)


def remove(holder: Any, key: Any) -> None:
    """Take a key out of a dictionary."""
    if _is_own(holder, "__delitem__", key):
        del holder[key]
    else:
        exactly(operator.delitem, holder, resolved(holder, key))


def update(holder: Any, other: Any = (), **more: Any) -> None:
    """Put all of a mapping, or of pairs, into a dictionary."""
    for key, value in pairs_of(other):
        store(holder, key, value)
    for name, value in more.items():
        store(holder, name, value)


def pairs_of(source: Any) -> list[tuple[Any, Any]]:
    """Return the pairs of a mapping, or those given as such."""
    if isinstance(source, Mapping):
        return list(source.items())
    if hasattr(source, "keys"):
        return [(key, source[key]) for key in source.keys()]  # noqa: SIM118
    pairs = []
    for at, pair in enumerate(source):
        items = tuple(pair)
        if len(items) != 2:
            raise ValueError(
                f"dictionary update sequence element #{at} has length {len(items)}; 2 is required"
            )
        pairs.append((items[0], items[1]))
    return pairs


# Sets.


def add(holder: set[Any], element: Any) -> None:
    """Put an element into a set, unless it is there."""
    found = resolved(holder, element)
    remember(holder, found)
    exactly(holder.add, found)


def varies(*sources: Any) -> bool:
    """Tell whether any of these containers has elements that depend on the inputs."""
    run = Run.current
    if run is None:
        return False
    return any(id(source) in run.holders or any(map(bears, source)) for source in sources)


def set_of(elements: Iterable[Any]) -> set[Any]:
    """Return the set of some elements; which of them are the same is decided."""
    listed = ordered(elements)
    if not any(map(bears, listed)):
        return set(listed)
    made: set[Any] = set()
    for element in listed:
        add(made, element)
    return made


def dict_of(pairs: Iterable[Any]) -> dict[Any, Any]:
    """Return the dictionary of some pairs; which keys are the same is decided."""
    listed = pairs_of(pairs)
    if not any(bears(key) for key, _ in listed):
        return dict(listed)
    made: dict[Any, Any] = {}
    for key, value in listed:
        store(made, key, value)
    return made


def frozen(elements: set[Any]) -> frozenset[Any]:
    """Return a set that cannot change any more."""
    made: frozenset[Any] = exactly(frozenset, elements)
    for element in ordered(elements):
        remember(made, element)
    return made


def become(target: set[Any], elements: set[Any]) -> set[Any]:
    """Give a set other elements, and return it."""
    target.clear()
    for element in ordered(elements):
        remember(target, element)
        exactly(target.add, element)
    return target


def union(one: Iterable[Any], *others: Iterable[Any]) -> set[Any]:
    """Return the elements of all."""
    return set_of([element for source in (one, *others) for element in ordered(source)])


def intersection(one: Iterable[Any], *others: Iterable[Any]) -> set[Any]:
    """Return the elements that all have."""
    kept = union(one)
    for other in others:
        held = union(other)
        kept = set_of([element for element in ordered(kept) if is_in(held, element)])
    return kept


def difference(one: Iterable[Any], *others: Iterable[Any]) -> set[Any]:
    """Return the elements of the first that no other has."""
    kept = union(one)
    for other in others:
        for element in ordered(other):
            exactly(kept.discard, resolved(kept, element))
    return kept


def symmetric_difference(one: Iterable[Any], other: Iterable[Any]) -> set[Any]:
    """Return the elements that only one of both has."""
    left, right = union(one), union(other)
    return union(difference(left, right), difference(right, left))


def is_subset(one: Iterable[Any], other: Iterable[Any]) -> bool:
    """Tell whether the second has all elements of the first."""
    held = union(other)
    return all(is_in(held, element) for element in ordered(one))
