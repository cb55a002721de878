"""Objects that keep their content in C are saved and put back like any other."""

from __future__ import annotations

import ctypes
import decimal
import enum
import functools
import gc
import io
import logging
import mmap
import queue
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from penstock._controllers.c_contents import LOST
from penstock._controllers.snapshot import Heap


class Pair(ctypes.Structure):
    """Two numbers."""

    _fields_ = (("one", ctypes.c_int), ("other", ctypes.c_double))


class Pointing(ctypes.Structure):
    """A pointer, which says nothing that lasts."""

    _fields_ = (("text", ctypes.c_char_p),)


def _set(name: str, value: Any) -> Callable[[Any], None]:
    return lambda thing: setattr(thing, name, value)


def _advance(thing: Any) -> None:
    next(thing)


CASES: dict[str, tuple[Callable[[], Any], Callable[[Any], None], Callable[[Any], Any]]] = {
    "StringIO": (lambda: io.StringIO("abc"), lambda b: b.write("xyz"), lambda b: (b.getvalue(), b.tell())),
    "BytesIO": (lambda: io.BytesIO(b"abc"), lambda b: b.truncate(1), lambda b: b.getvalue()),
    "mmap": (lambda: mmap.mmap(-1, 8), lambda m: m.write(b"x"), lambda m: (m[:], m.tell())),
    "memoryview": (lambda: memoryview(bytearray(3)), lambda m: m.__setitem__(1, 7), bytes),
    "c_int": (lambda: ctypes.c_int(1), _set("value", 2), lambda c: c.value),
    "Structure": (lambda: Pair(1, 2.0), _set("other", 3.0), lambda c: (c.one, c.other)),
    "Array": (lambda: (ctypes.c_int * 2)(), lambda c: c.__setitem__(1, 4), list),
    "Lock": (threading.Lock, lambda k: k.acquire(), lambda k: k.locked()),
    "RLock": (threading.RLock, lambda k: k.acquire(), lambda k: k._is_owned()),
    "decimal": (decimal.Context, _set("prec", 5), lambda c: c.prec),
    "decimal flags": (decimal.Context, lambda c: c.divide(1, 3), lambda c: dict(c.flags)),
    "SimpleQueue": (queue.SimpleQueue, lambda q: q.put(1), lambda q: q.qsize()),
    "partial": (lambda: functools.partial(int, x=1), _set("mark", 1), lambda p: dict(vars(p))),
    "list iterator": (lambda: iter([1, 2, 3]), _advance, lambda i: i.__length_hint__()),
    "zip": (
        lambda: zip([1, 2], "ab", strict=True),
        _advance,
        lambda z: z.__reduce__()[1][0].__length_hint__(),
    ),
    "logger": (lambda: logging.Logger("x"), lambda g: g.setLevel(7), lambda g: g.level),
    "logger handlers": (
        lambda: logging.Logger("x"),
        lambda g: g.addHandler(logging.NullHandler()),
        lambda g: len(g.handlers),
    ),
    "function": (lambda: lambda: None, _set("mark", 1), lambda f: dict(vars(f))),
    "thread local": (threading.local, _set("mark", 1), lambda t: dict(vars(t))),
    "mappingproxy": (lambda: types.MappingProxyType({}), lambda m: gc.get_referents(m)[0].update(a=1), dict),
}


@pytest.mark.parametrize("name", CASES)
def test_content_is_told_apart_and_put_back(name: str) -> None:
    make, change, look = CASES[name]
    thing = make()
    if name == "function":
        thing.first = 0
    heap = Heap([[thing]])
    before, seen = heap.take(), look(thing)
    change(thing)
    after, changed = heap.take(), look(thing)
    assert (after == before) == (changed == seen)
    assert after.opaque == frozenset()
    heap.enter(before)
    assert look(thing) == seen
    assert heap.take() == before
    heap.enter(after)
    assert look(thing) == changed


def test_an_iterator_that_is_at_its_end_for_good_is_remembered_as_lost() -> None:
    thing = iter([1])
    heap = Heap([[thing]])
    before = heap.take()
    list(thing)
    heap.take()
    LOST.clear()
    heap.enter(before)
    assert {"builtins.list_iterator"} == LOST
    LOST.clear()


def test_what_cannot_be_read_is_called_opaque_also_inside_of_a_class_of_ones_own() -> None:
    class Mine(io.FileIO):
        pass

    class Box(weakref.WeakSet[Any]):
        pass

    assert Heap([[(n for n in "ab")]]).take().opaque == {"builtins.generator"}
    assert Heap([[Pointing(b"x")]]).take().opaque
    assert not Heap([[Box()]]).take().opaque
    with Mine(0, closefd=False) as file:
        assert Heap([[file]]).take().opaque


def test_members_of_an_enumeration_have_attributes_if_it_is_the_programs_own() -> None:
    class Colour(enum.Enum):
        RED = 1

    own = Heap([[Colour.RED]], own={__name__})
    before = own.take()
    Colour.RED.mark = 1  # type: ignore[attr-defined]
    assert own.take() != before
    own.enter(before)
    assert not hasattr(Colour.RED, "mark")
    assert Heap([[Colour.RED]]).take() == Heap([[Colour.RED]]).take()


def test_a_class_that_is_made_inside_a_function_keeps_its_variables() -> None:
    class Local:
        count = 0

    heap = Heap([[Local()]], own={__name__})
    before = heap.take()
    Local.count = 5
    assert heap.take() != before
    heap.enter(before)
    assert Local.count == 0
