"""Of many objects it is asked together whether they have changed: as exactly as of each alone."""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from penstock._controllers.c_contents import c_part
from penstock._controllers.contents import NAMESPACE, Namespace, Part, Together, parts_of
from penstock._controllers.snapshot import FUNCTION, Heap


class Plain:
    shared = 1

    def __init__(self) -> None:
        self.name, self.friends = "Ann", ["Bob"]


def function(default: int = 1) -> int:
    return default


def other(default: int = 1) -> int:
    return default + 1


def with_odd_text() -> None:
    pass


with_odd_text.__doc__ = ("default",)  # type: ignore[assignment]


def held() -> tuple[dict[str, Any], Together]:
    """Return objects of all kinds by names, and what tells whether they have changed."""
    cell = types.CellType(1)
    objects: dict[str, Any] = {
        "first": {"a": 1, "b": 2},
        "second": {"c": 3},
        "list": [1, 2],
        "next list": [3],
        "deque": deque([1]),
        "set": {1, 2},
        "object": Plain(),
        "cell": cell,
        "empty cell": types.CellType(),
        "class": Namespace(types.new_class("Made", (), {}, lambda names: names.update(level=1))),
        "function": types.FunctionType(function.__code__, {}, "f", (1,)),
        "odd function": types.FunctionType(with_odd_text.__code__, {}, "g"),
        "bytes": bytearray(b"ab"),
    }
    objects["odd function"].__doc__ = ("default",)
    return objects, Together(
        [(each, parts, read(each, parts)) for each in objects.values() if (parts := of(each))]
    )


def of(value: Any) -> tuple[Part, ...]:
    if isinstance(value, Namespace):
        return (NAMESPACE,)
    if isinstance(value, types.FunctionType):
        return (FUNCTION,)
    return parts_of(type(value), c_part(type(value)), ordered=True)


def read(value: Any, parts: tuple[Part, ...]) -> tuple[Any, ...]:
    return tuple(part.read(value) for part in parts)


def move_between_dicts(objects: dict[str, Any]) -> None:
    value = objects["first"].pop("b")
    rest = dict(objects["second"])
    objects["second"].clear()
    objects["second"].update(b=value, **rest)


def move_between_lists(objects: dict[str, Any]) -> None:
    objects["next list"].insert(0, objects["list"].pop())


def exchange_default_and_text(objects: dict[str, Any]) -> None:
    odd = objects["odd function"]
    odd.__defaults__, odd.__doc__ = odd.__doc__, None


def rename_key(objects: dict[str, Any]) -> None:
    objects["second"]["d"] = objects["second"].pop("c")


CHANGES: list[Callable[[dict[str, Any]], Any]] = [
    move_between_dicts,
    move_between_lists,
    exchange_default_and_text,
    rename_key,
    lambda objects: objects["first"].update(a=5),
    lambda objects: objects["list"].reverse(),
    lambda objects: objects["deque"].append(2),
    lambda objects: objects["set"].add(3),
    lambda objects: setattr(objects["object"], "name", "Bea"),
    lambda objects: setattr(objects["object"], "__dict__", {}),
    lambda objects: setattr(objects["cell"], "cell_contents", 2),
    lambda objects: delattr(objects["cell"], "cell_contents"),
    lambda objects: setattr(objects["empty cell"], "cell_contents", None),
    lambda objects: setattr(objects["class"].owner, "level", 2),
    lambda objects: setattr(objects["class"].owner, "other", 2),
    lambda objects: setattr(objects["function"], "__code__", other.__code__),
    lambda objects: setattr(objects["function"], "__defaults__", (2,)),
    lambda objects: setattr(objects["function"], "__kwdefaults__", {"default": 3}),
    lambda objects: setattr(objects["function"], "count", 1),
    lambda objects: setattr(objects["function"], "__qualname__", "elsewhere"),
    lambda objects: objects["bytes"].append(1),
]


def test_what_has_not_changed_is_as_it_was() -> None:
    objects, together = held()
    objects["first"].update(a=objects["first"]["a"])
    objects["list"].append(9)
    objects["list"].pop()
    assert together.are_as_they_were()


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_of_one_of_them_is_noticed(change: Callable[[dict[str, Any]], Any]) -> None:
    objects, together = held()
    change(objects)
    assert not together.are_as_they_were()


def test_the_function_of_a_method_is_looked_at_again_each_time() -> None:
    holder = Plain()
    changing = types.FunctionType(function.__code__, {}, "f", (1,))
    holder.friends = [types.MethodType(changing, holder)]  # type: ignore[list-item]
    heap = Heap([holder])
    texts = {heap.take().digest}
    for name, value in (("__defaults__", (2,)), ("__code__", other.__code__), ("count", 1)):
        setattr(changing, name, value)
        texts.add(heap.take().digest)
    assert len(texts) == 4
