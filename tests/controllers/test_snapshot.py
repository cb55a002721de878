"""Snapshots: what a program holds is saved, told apart, and put back into the very same objects."""

from __future__ import annotations

import array
import collections
import copy
import datetime
import functools
import itertools
import math
import operator
import random
import re
import struct
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock._controllers.outside import Settings
from penstock._controllers.snapshot import Heap, Walk, take
from penstock.errors import PenstockError


class Thing:
    """An object with attributes."""

    shared: list[Any]
    a: Any
    age: Any
    deep: Any
    name: Any
    value: Any
    weak: Any

    def __init__(self, **attributes: Any) -> None:
        self.__dict__.update(attributes)


class Base:
    """An object with a private slot."""

    __slots__ = ("__secret",)

    def __init__(self) -> None:
        self.__secret = 1

    def change(self) -> None:
        self.__secret += 1

    def look(self) -> int:
        return self.__secret


class Slotted(Base):
    """An object with slots of its own, one of which may be empty."""

    __slots__ = ("empty", "full")

    def __init__(self) -> None:
        super().__init__()
        self.full = [1]


class Pair(NamedTuple):
    """A tuple with names."""

    left: Any
    right: Any


class Bag(collections.OrderedDict[str, int]):
    """A dictionary with attributes besides."""

    owner: str


def put_back(value: Any, change: Any, look: Any = repr) -> bool:
    """Tell whether a change shows in the digest, and is undone by restoring."""
    heap = Heap([value])
    before, seen = heap.take(), look(value)
    change(value)
    after = heap.take()
    assert look(value) != seen
    heap.enter(before)
    return before != after and look(value) == seen and heap.take() == before


def counter() -> Any:
    """Return a function that counts its calls in what it closes over."""
    calls = 0

    def count() -> int:
        nonlocal calls
        calls += 1
        return calls

    count.look = lambda: calls  # type: ignore[attr-defined]
    return count


def remembering(item: Any, past: list[Any] = []) -> None:  # noqa: B006
    """Remember items in a default value."""
    past.append(item)


@pytest.mark.parametrize(
    ("value", "change"),
    [
        ({"a": 1}, lambda d: d.update(b=2)),
        ({"a": 1}, lambda d: d.clear()),
        ([1, [2]], lambda items: items[1].append(3)),
        ({1, 2}, lambda members: members.add(3)),
        (collections.deque([1]), lambda items: items.appendleft(0)),
        (bytearray(b"ab"), lambda octets: octets.extend(b"c")),
        (array.array("H", [1, 2]), lambda numbers: numbers.append(3)),
        (collections.defaultdict(list), lambda d: d["new"].append(1)),
        (collections.OrderedDict(a=1, b=2), lambda d: d.move_to_end("a")),
        (collections.Counter("ab"), lambda c: c.update("a")),
        (([],), lambda pair: pair[0].append(1)),
        (Pair([], 1), lambda pair: pair.left.append(1)),
        (functools.partial(print, []), lambda call: call.args[0].append(1)),
    ],
    ids=lambda value: type(value).__name__ if not callable(value) else "",
)
def test_containers_are_put_back(value: Any, change: Any) -> None:
    assert put_back(value, change)


def nested(depth: int) -> list[Any]:
    inner: list[Any] = []
    for _ in range(depth):
        inner = [inner]
    return inner


def test_what_is_deeper_than_functions_may_call_themselves_is_saved_too() -> None:
    thing = Thing(deep=nested(5_000))
    limit = sys.getrecursionlimit()
    before = take([thing])
    thing.deep = []
    assert take([thing]) != before
    before.restore()
    assert len(thing.deep) == 1 and take([thing]) == before
    assert sys.getrecursionlimit() == limit


def test_what_is_far_too_deep_is_one_sentence() -> None:
    with pytest.raises(PenstockError, match="too deeply inside each other to be saved"):
        take([Thing(deep=nested(200_000))])


def test_objects_are_put_back_with_attributes_slots_and_contents() -> None:
    thing = Thing(a=1, inner=Thing(b=2))
    assert put_back(thing, lambda t: setattr(t.inner, "b", 3), lambda t: t.inner.b)
    assert put_back(thing, lambda t: setattr(t, "new", 3), lambda t: sorted(vars(t)))
    assert put_back(thing, lambda t: delattr(t, "a"), lambda t: sorted(vars(t)))
    slotted = Slotted()
    assert put_back(slotted, lambda s: s.change(), lambda s: s.look())
    assert put_back(slotted, lambda s: setattr(s, "empty", 1), lambda s: hasattr(s, "empty"))
    assert put_back(slotted, lambda s: s.full.append(2), lambda s: list(s.full))
    bag = Bag(x=1)
    bag.owner = "me"

    def change(bag: Bag) -> None:
        bag.update(y=2)
        bag.owner = "you"

    assert put_back(bag, change, lambda b: (list(b), b.owner))


def test_an_ordered_dictionary_keeps_its_order_when_put_back() -> None:
    bag = collections.OrderedDict.fromkeys("abc")
    heap = Heap([bag])
    before = heap.take()
    bag.move_to_end("a")
    del bag["b"]
    heap.take()
    heap.enter(before)
    assert list(bag) == ["a", "b", "c"]
    assert list(reversed(bag)) == ["c", "b", "a"]


def test_what_functions_hold_is_put_back() -> None:
    count = counter()
    assert put_back(count, lambda f: f(), lambda f: f.look())
    assert put_back(remembering, lambda f: f(1), lambda f: list(f.__defaults__[0]))
    assert put_back(Thing(call=remembering), lambda t: t.call(2), lambda t: list(t.call.__defaults__[0]))


def test_a_random_generator_is_put_back() -> None:
    dice = random.Random(5)
    heap = Heap([dice])
    before = heap.take()
    first = dice.random()
    assert heap.take() != before
    heap.enter(before)
    assert dice.random() == first


def test_variables_of_modules_and_classes_count_where_they_are_asked_for() -> None:
    class Owner:
        total = 0
        names: list[str] = []  # noqa: RUF012

    heap = Heap([], namespaces=[Owner])
    before = heap.take()
    Owner.total += 1
    Owner.names.append("x")
    Owner.extra = 1  # type: ignore[attr-defined]
    assert heap.take() != before
    heap.enter(before)
    assert (Owner.total, Owner.names, hasattr(Owner, "extra")) == (0, [], False)
    assert heap.take() == before
    thing = Thing(kind=Owner)
    outside = take([thing])
    Owner.total += 1
    assert take([thing]) == outside


def test_equal_graphs_have_equal_digests_however_they_came_about() -> None:
    assert take([{"a": 1, "b": {2, 3}}]) == take([{"b": {3, 2}, "a": 1}])
    inner: list[Any] = []
    assert take([[inner, inner]]) != take([[[], []]])
    assert take([1]) != take([True])
    assert take([1]) != take([1.0])
    assert take(["1"]) != take([1])
    assert take([Pair(1, 2)]) != take([Pair(1, 3)])
    assert take([datetime.timedelta(1)]) != take([datetime.timedelta(2)])
    loop: list[Any] = []
    loop.append(loop)
    assert take([loop]) == take([loop])


def test_the_order_of_keys_counts_where_a_heap_says_so() -> None:
    one, other = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    assert Heap([one], ordered=True).take() != Heap([other], ordered=True).take()
    assert Heap([Thing(a=1, b=2)], ordered=True).take() == Heap([Thing(b=2, a=1)], ordered=True).take()


def test_members_and_keys_that_are_objects_are_sorted_by_what_they_hold() -> None:
    def graph(order: str) -> list[Any]:
        things = {name: Thing(name=name) for name in order}
        return [set(things.values()), {thing: thing for thing in things.values()}]

    assert take(graph("abcdef")) == take(graph("fbdeca"))
    assert take(graph("abc")) != take(graph("abd"))


def test_a_set_gives_its_members_in_the_same_order_after_it_was_put_back() -> None:
    members = {8, 0, 16, 24}
    heap = Heap([members])
    before = heap.take()
    order = list(members)
    members.discard(0)
    members.update(range(100))
    heap.take()
    heap.enter(before)
    assert list(members) == order


def test_entering_writes_only_what_differs() -> None:
    calm, busy = Thing(a=1), Thing(a=1)
    heap = Heap([[calm, busy]])
    one = heap.take()
    busy.a = 2
    two = heap.take()
    shared = [entry for entry in one.entries if any(entry is other for other in two.entries)]
    assert {id(entry[0]) for entry in one.entries} - {id(entry[0]) for entry in shared} == {id(busy)}
    heap.enter(one)
    assert busy.a == 1
    calm.a = 9
    heap.enter(two)
    assert calm.a == 9, "what did not differ was left alone"
    heap.forget()
    heap.enter(two)
    assert calm.a == 1


def test_what_cannot_be_looked_into_is_said() -> None:
    hidden = Thing(numbers=enumerate([1, 2]), weak=weakref.ref(Thing), marker=object())
    assert take([hidden]).opaque == {"builtins.enumerate"}
    assert take([Thing(count=itertools.count())]).opaque == {"itertools.count"}
    assert take([Thing(method=Thing.__init__, lock=__import__("threading").Lock())]).opaque == frozenset()


def test_types_can_be_treated_specially() -> None:
    def write(walk: Walk, value: Thing) -> None:
        walk.notes.append(value.name)
        walk.out.append(f"thing {value.name}")

    heap = Heap([[Thing(name="x", age=1)]], special={Thing: write})
    snapshot = heap.take()
    assert snapshot.notes == ("x",)
    assert heap.take() == snapshot
    assert Heap([[Thing(name="x", age=2)]], special={Thing: write}).take() == snapshot
    frozen = Thing(age=1)
    fixed = Heap([frozen], fixed=lambda kind: kind is Thing)
    before = fixed.take()
    frozen.age = 2
    assert fixed.take() == before


ATOMS = st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab", max_size=2)
GRAPHS = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abc", max_size=1), inner, max_size=3)
        | st.sets(st.integers(0, 40), max_size=4)
        | st.builds(lambda value: Thing(value=value), inner)
        | st.tuples(inner, inner)
    ),
    max_leaves=12,
)


def plain(value: Any) -> Any:
    """Return a value as plain data, to compare by."""
    if isinstance(value, Thing):
        return ("thing", plain(vars(value)))
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return (type(value).__name__, [plain(item) for item in value])
    return (type(value).__name__, value)


def mess_up(value: Any, random: random.Random) -> None:
    """Change some of what a graph holds."""
    children: list[Any] = []
    changes: list[Callable[[], object]] = []
    if isinstance(value, list):
        children = list(value)
        changes = [value.clear, lambda: value.append([7]), value.reverse, lambda: None]
    elif isinstance(value, dict):
        children = list(value.values())
        changes = [value.clear, lambda: value.update(z=7), lambda: None]
    elif isinstance(value, set):
        changes = [value.clear, lambda: value.update(range(50)), lambda: None]
    elif isinstance(value, Thing):
        children = [value.value]
        changes = [lambda: setattr(value, "value", 7), lambda: setattr(value, "more", 7), lambda: None]
    elif isinstance(value, tuple):
        children = list(value)
    if changes:
        random.choice(changes)()
    for child in children:
        mess_up(child, random)


@given(GRAPHS, st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=150)
def test_any_graph_is_put_back_after_any_changes(graph: Any, chance: random.Random, ordered: bool) -> None:
    heap = Heap([graph], ordered=ordered)
    states = []
    for _ in range(4):
        states.append((heap.take(), copy.deepcopy(plain(graph))))
        mess_up(graph, chance)
    heap.forget()
    for snapshot, content in chance.sample(states, len(states)):
        heap.enter(snapshot)
        assert plain(graph) == content
        again = heap.take()
        assert again == snapshot
        assert Heap([graph], ordered=ordered).take() == snapshot
    for (one, content), (other, other_content) in itertools.combinations(states, 2):
        assert (one == other) == (content == other_content) or not ordered


def _one(value: object = 1) -> object:
    return value


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda: 1, lambda: 2),
        (lambda n=1: n, lambda n=2: n),
        (eval("lambda: 1"), eval("lambda: 2")),
        (math.pow, operator.pow),
        (re.compile("a"), re.compile("b")),
        (re.compile("a"), re.compile("a", re.IGNORECASE)),
        (struct.Struct("H"), struct.Struct("I")),
        (property(lambda _: 1), property(lambda _: 2)),
        (staticmethod(len), staticmethod(abs)),
        (functools.partial(_one, 1).func, functools.partial(_one, 1)),
    ],
)
def test_things_of_one_name_are_told_apart(one: object, other: object) -> None:
    assert take([Thing(held=one)]) != take([Thing(held=other)])


def test_functions_of_one_line_are_told_apart_and_each_is_itself() -> None:
    several = [[lambda: 1, lambda: 2][place] for place in (0, 1, 0)]
    first, second, again = (take([Thing(held=function)]) for function in several)
    assert first == again != second


def test_an_object_is_given_back_the_class_that_it_had() -> None:
    class Open:
        pass

    class Closed:
        pass

    door: Any = Closed()
    heap = Heap([Thing(door=door)])
    closed = heap.take()
    door.__class__ = Open
    assert heap.take() != closed
    heap.enter(closed)
    assert type(door) is Closed
    assert heap.take() == closed


def test_the_code_and_the_names_of_a_function_are_put_back() -> None:
    def answer() -> int:
        return 1

    def other() -> int:
        return 2

    heap = Heap([answer])
    before = heap.take()
    answer.__code__, answer.__name__ = other.__code__, "changed"
    assert heap.take() != before
    heap.enter(before)
    assert (answer(), answer.__name__) == (1, "answer")


def test_what_only_a_weak_reference_leads_to_is_not_seen_for_certain() -> None:
    kept, given_up = Thing(), Thing()
    holder = Thing(kept=kept, weak=[weakref.ref(kept), weakref.ref(kept)])
    assert not Heap([holder], own={__name__}).take().opaque
    holder.weak.append(weakref.ref(given_up))
    assert Heap([holder], own={__name__}).take().opaque == {f"{__name__}.Thing"}


@given(GRAPHS, GRAPHS, st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=100)
def test_roots_that_are_said_to_be_calm_count_all_the_same(
    calm: Any, lively: Any, chance: random.Random, ordered: bool
) -> None:
    heap = Heap([lively, calm], ordered=ordered, calm=[calm])
    states = []
    for graph in (lively, calm, lively, lively, calm, lively):
        states.append((heap.take(), copy.deepcopy(plain([lively, calm]))))
        mess_up(graph, chance)
    heap.forget()
    for snapshot, content in chance.sample(states, len(states)):
        heap.enter(snapshot)
        assert plain([lively, calm]) == content
        assert heap.take() == snapshot
        assert Heap([lively, calm], ordered=ordered, calm=[calm]).take() == snapshot


def test_how_large_stacks_are_is_not_changed_by_looking() -> None:
    before = threading.stack_size(262_144)
    try:
        assert Settings.read()[-1] == Settings.read()[-1] == 262_144
    finally:
        threading.stack_size(before)
