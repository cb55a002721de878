"""Functions that are there already get rewritten code, and nothing else of a program changes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from penstock._base.users_code import load_file
from penstock._concolic.code.in_place import follow_modules, sources
from penstock._concolic.run import MARK, Run
from penstock._concolic.space import Variable
from penstock._concolic.values.integers import integer

SOURCE = """\
import functools

known = {1: "one", 2: "two"}

def look_up(key):
    return known.get(key, "none")

class Table:
    entries = {5: "five"}

    def find(self, key):
        return self.entries[key] if key in self.entries else None

    @staticmethod
    def fixed(key):
        return key in {7, 8}

    @property
    def size(self):
        return len(self.entries)

def maker(table):
    def inner(key):
        return key in table
    return inner

closure = maker({3: 4})
by_name = {"a": lambda key: key in known}
pair = (lambda key: key in known, lambda key: key in known)

@functools.wraps(look_up)
def wrapped(*arguments):
    return look_up(*arguments)

cached = functools.lru_cache(lambda key: key in known)
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    file = tmp_path / "to_follow.py"
    file.write_text(SOURCE)
    made = load_file(file, "module")
    yield made
    del sys.modules[made.__name__]


def decisions(call: object, value: int) -> int:
    """Return how often a function of one number decided by it."""
    variable = Variable("x", 8)
    with Run() as run:
        assert callable(call)
        call(integer(value, variable.term))
    return len(run.decisions)


def test_functions_methods_closures_and_lambdas_are_followed(module: ModuleType) -> None:
    table = module.Table()
    follow_modules([module])
    assert MARK in vars(module)
    assert decisions(module.look_up, 9) == 2
    assert decisions(table.find, 5) == 1
    assert decisions(module.Table.fixed, 9) == 2
    assert decisions(module.closure, 3) == 1
    assert decisions(module.by_name["a"], 2) == 2
    assert decisions(module.wrapped, 1) == 1


def test_objects_stay_the_same_and_results_too(module: ModuleType) -> None:
    before = dict(vars(module))
    follow_modules([module])
    assert all(vars(module)[name] is value for name, value in before.items())
    assert [module.look_up(key) for key in (1, 3)] == ["one", "none"]
    assert module.Table().size == 1
    assert module.cached(1) is True
    assert module.closure.__code__.co_freevars == ("table",)


def test_two_lambdas_in_one_line_are_told_apart(module: ModuleType) -> None:
    follow_modules([module])
    assert [made(1) for made in module.pair] == [True, True]
    assert [decisions(made, 1) for made in module.pair] == [1, 1]


def test_a_second_time_nothing_happens(module: ModuleType) -> None:
    follow_modules([module])
    code = module.look_up.__code__
    follow_modules([module])
    assert module.look_up.__code__ is code


def test_tracebacks_still_name_the_line(module: ModuleType) -> None:
    follow_modules([module])
    with pytest.raises(TypeError) as raised:
        module.Table().find([])
    assert raised.traceback[-1].lineno == SOURCE.splitlines().index(
        "        return self.entries[key] if key in self.entries else None"
    )


def test_a_module_without_a_source_is_left_alone() -> None:
    bare = ModuleType("bare")
    bare.act = functools.partial(print)  # type: ignore[attr-defined]
    follow_modules([bare, sys])
    assert MARK not in vars(bare)
    assert sources([bare, sys]) == []
