"""Dictionaries, sets and what else finds things by a key: constructors and methods."""

from __future__ import annotations

import copy
import operator
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from penstock._concolic.code import lookups
from penstock._concolic.code.lookups import exactly, remember, resolved
from penstock._concolic.code.summaries import PLAIN, UNFOLLOWED, Functions, Methods, Outcome, Summary
from penstock._concolic.values.parts import bears, concrete, is_symbolic

# Methods with a key: the method itself is called, with the key that was found.


def _keyed(method: Callable[..., Any], holder: Any, key: Any, *rest: Any, **more: Any) -> Any:
    """Look something up, or take it out."""
    found = resolved(holder, key)
    return exactly(lambda: method(found, *rest, **more))


def _adding(method: Callable[..., Any], holder: Any, key: Any, *rest: Any, **more: Any) -> Any:
    """Look something up, or put it in."""
    found = resolved(holder, key)
    before = len(holder)
    value = exactly(lambda: method(found, *rest, **more))
    if len(holder) > before:
        remember(holder, found)
    return value


def _get(method: Callable[..., Any], holder: Any, key: Any, default: Any = None) -> Any:
    return _keyed(method, holder, key, default)


def _update(method: Callable[..., Any], holder: Any, *sources: Any, **more: Any) -> Any:
    pairs = lookups.pairs_of(sources[0]) if sources else []
    if not any(lookups.depends(holder, key) for key in (*(key for key, _ in pairs), *more)):
        return method(pairs, **more)
    return lookups.update(holder, pairs, **more)


def _set_update(_method: Callable[..., Any], holder: set[Any], *sources: Iterable[Any]) -> None:
    for source in sources:
        for element in lookups.ordered(source):
            lookups.add(holder, element)


def _copied(method: Callable[..., Any], holder: Any) -> Any:
    made = exactly(method)
    for key in lookups.ordered(holder):
        remember(made, key)
    return made


# Methods of sets with other sets.


def _combining(combine: Callable[..., set[Any]]) -> Summary:
    """Return the summary of a method that makes a set of several."""

    def combined(method: Callable[..., Any], holder: Any, *others: Iterable[Any]) -> Any:
        listed = [_listed(other) for other in others]
        if not lookups.varies(holder, *listed):
            return method(*listed)
        made = combine(holder, *listed)
        return lookups.frozen(made) if isinstance(holder, frozenset) else made

    return combined


def _changing(combine: Callable[..., set[Any]]) -> Summary:
    """Return the summary of a method that changes a set by others."""

    def changed(method: Callable[..., Any], holder: set[Any], *others: Iterable[Any]) -> None:
        listed = [_listed(other) for other in others]
        if lookups.varies(holder, *listed):
            lookups.become(holder, combine(holder, *listed))
        else:
            method(*listed)

    return changed


def _listed(other: Iterable[Any]) -> Any:
    """Return something that can be gone through twice."""
    return other if isinstance(other, set | frozenset | dict | list | tuple) else list(other)


def _is_subset(method: Callable[..., Any], holder: Any, other: Iterable[Any]) -> Any:
    listed = _listed(other)
    return lookups.is_subset(holder, listed) if lookups.varies(holder, listed) else method(listed)


def _is_superset(method: Callable[..., Any], holder: Any, other: Iterable[Any]) -> Any:
    listed = _listed(other)
    return lookups.is_subset(listed, holder) if lookups.varies(holder, listed) else method(listed)


def _is_disjoint(method: Callable[..., Any], holder: Any, other: Iterable[Any]) -> Any:
    listed = _listed(other)
    return not lookups.intersection(holder, listed) if lookups.varies(holder, listed) else method(listed)


_DICT_METHODS: Final[dict[str, Summary]] = {
    "get": _get,
    "pop": _keyed,
    "setdefault": _adding,
    "update": _update,
    "copy": _copied,
    "move_to_end": _keyed,
    "__init__": _update,
    "__getitem__": _adding,
    "__setitem__": _adding,
    "__delitem__": _keyed,
    "__contains__": _keyed,
}
_SET_METHODS: Final[dict[str, Summary]] = {
    "add": _adding,
    "discard": _keyed,
    "remove": _keyed,
    "update": _set_update,
    "__init__": _set_update,
    "copy": _copied,
    "__contains__": _keyed,
    "union": _combining(lookups.union),
    "intersection": _combining(lookups.intersection),
    "difference": _combining(lookups.difference),
    "symmetric_difference": _combining(lookups.symmetric_difference),
    "intersection_update": _changing(lookups.intersection),
    "difference_update": _changing(lookups.difference),
    "symmetric_difference_update": _changing(lookups.symmetric_difference),
    "issubset": _is_subset,
    "issuperset": _is_superset,
    "isdisjoint": _is_disjoint,
}


# Lists.


def _index(_method: Callable[..., Any], items: Any, wanted: Any, *bounds: int) -> int:
    for at in range(len(items))[slice(*bounds)] if bounds else range(len(items)):
        if lookups.equal(items[at], wanted):
            return at
    raise ValueError(f"{concrete(wanted)!r} is not in {type(items).__name__}")


def _count(_method: Callable[..., Any], items: Any, wanted: Any) -> int:
    return sum(lookups.equal(item, wanted) for item in items)


def _remove(method: Callable[..., Any], items: list[Any], wanted: Any) -> None:
    del items[_index(method, items, wanted)]


_LIST_METHODS: Final[dict[str, Summary]] = {"index": _index, "count": _count, "remove": _remove}


# Constructors.


def _set(*sources: Iterable[Any]) -> Any:
    return lookups.set_of(*sources) if sources else PLAIN


def _frozenset(*sources: Iterable[Any]) -> Any:
    if not sources or isinstance(sources[0], frozenset):
        return PLAIN
    return lookups.frozen(lookups.set_of(*sources))


def _dict(*sources: Any, **more: Any) -> dict[Any, Any]:
    return lookups.dict_of([*(lookups.pairs_of(sources[0]) if sources else ()), *more.items()])


def _ordered_dict(*sources: Any, **more: Any) -> Any:
    return _filled(OrderedDict(), _dict(*sources, **more))


def _defaultdict(*arguments: Any, **more: Any) -> Any:
    return _filled(defaultdict(*arguments[:1]), _dict(*arguments[1:], **more))


def _filled(made: Any, content: dict[Any, Any]) -> Any:
    """Put what is known to be different into a dictionary."""
    for key, value in content.items():
        remember(made, key)
        exactly(operator.setitem, made, key, value)
    return made


def _fromkeys(keys: Iterable[Any], value: Any = None) -> dict[Any, Any]:
    return lookups.dict_of([(key, value) for key in lookups.ordered(keys)])


def _counter(*sources: Any, **more: int) -> Any:
    made: Counter[Any] = Counter()
    _counter_update(made, *sources, **more)
    return made


def _counter_update(counter: Counter[Any], *sources: Any, **more: int) -> None:
    _counted(counter, 1, *sources, **more)


def _counter_subtract(counter: Counter[Any], *sources: Any, **more: int) -> None:
    _counted(counter, -1, *sources, **more)


def _counted(counter: Counter[Any], sign: int, *sources: Any, **more: int) -> None:
    source = sources[0] if sources else None
    pairs: list[tuple[Any, Any]] = []
    if isinstance(source, Mapping):
        pairs = list(source.items())
    elif source is not None:
        pairs = [(element, 1) for element in lookups.ordered(source)]
    for key, number in [*pairs, *more.items()]:
        lookups.store(counter, key, lookups.fetch(counter, key) + sign * number)


# Copies and exports.


def _copy(value: Any) -> Any:
    if is_symbolic(value):
        return value
    return _remembered(copy.copy(value)) if type(value) in (dict, set, list) else PLAIN


def _deepcopy(value: Any, memo: Any = None) -> Any:
    return value if is_symbolic(value) else _remembered(copy.deepcopy(value, memo))


def _remembered(value: Any) -> Any:
    """Remember which dictionaries and sets in a copy have keys that depend on the inputs."""
    if isinstance(value, dict | set | frozenset):
        for key in lookups.ordered(value):
            remember(value, key)
    if isinstance(value, dict):
        for item in value.values():
            _remembered(item)
    elif isinstance(value, list | tuple):
        for item in value:
            _remembered(item)
    return value


def _dumps(value: Any, *_rest: Any, **_more: Any) -> Outcome:
    return UNFOLLOWED if bears_deeply(value) else PLAIN


def bears_deeply(value: Any) -> bool:
    """Tell whether anything inside lists and dictionaries depends on the inputs."""
    if isinstance(value, dict):
        return any(bears(key) or bears_deeply(item) for key, item in value.items())
    return any(map(bears_deeply, value)) if isinstance(value, list | tuple) else bears(value)


EAGER: Final[Functions] = {
    ("builtins", "set"): _set,
    ("builtins", "frozenset"): _frozenset,
    ("builtins", "dict"): _dict,
    ("builtins", "dict.fromkeys"): _fromkeys,
    ("collections", "OrderedDict"): _ordered_dict,
    ("collections", "defaultdict"): _defaultdict,
    ("collections", "Counter"): _counter,
    ("collections", "Counter.update"): _counter_update,
    ("collections", "Counter.subtract"): _counter_subtract,
    ("copy", "copy"): _copy,
    ("copy", "deepcopy"): _deepcopy,
    ("json", "dumps"): _dumps,
}
EAGER_METHODS: Final[Methods] = {
    **{(dict, name): summary for name, summary in _DICT_METHODS.items()},
    **{
        (MappingProxyType, name): _DICT_METHODS[name]
        for name in ("get", "copy", "__getitem__", "__contains__")
    },
    **{(kind, name): summary for kind in (list, tuple, deque) for name, summary in _LIST_METHODS.items()},
    **{(kind, name): summary for kind in (set, frozenset) for name, summary in _SET_METHODS.items()},
}
