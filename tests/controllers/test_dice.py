"""Dice that can be decided, and what a program does outside of its memory."""

from __future__ import annotations

import importlib
import importlib.machinery
import itertools
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from penstock._controllers.osken.dice import MOST, Dice
from penstock._controllers.outside import Settings, watching


def rolled(draw: Callable[[Dice], Any], limit: int = 200) -> list[Any]:
    """Return what can be drawn if every roll is decided in every way."""
    dice, found = Dice(), list[Any]()
    waiting: list[tuple[int, ...]] = [()]
    while waiting and len(found) < limit:
        decided = waiting.pop()
        dice.seed(0)
        dice.lay_out(decided)
        drawn = draw(dice)
        if len(dice.rolls) > len(decided):
            waiting += [(*decided, k) for k in range(dice.rolls[len(decided)].outcomes)]
        else:
            found.append(drawn)
    return found


def test_small_rolls_have_every_outcome_once() -> None:
    assert sorted(rolled(lambda dice: dice.choice("abc"))) == ["a", "b", "c"]
    assert sorted(rolled(lambda dice: dice.randint(1, 6))) == [1, 2, 3, 4, 5, 6]
    assert sorted(rolled(lambda dice: (dice.getrandbits(1), dice.randrange(3)))) == sorted(
        itertools.product(range(2), range(3))
    )

    def shuffled(dice: Dice) -> tuple[int, ...]:
        items = [1, 2, 3]
        dice.shuffle(items)
        return tuple(items)

    assert sorted(rolled(shuffled)) == sorted(itertools.permutations([1, 2, 3]))


def test_of_large_rolls_both_ends_are_tried_and_it_is_known_that_there_are_more() -> None:
    found = rolled(lambda dice: dice.randrange(1000))
    assert {0, 999} <= set(found)
    assert len(found) == MOST
    dice = Dice()
    dice.randrange(1000)
    dice.random()
    assert [roll.complete for roll in dice.rolls] == [False, False]


def test_what_is_done_outside_is_told_with_where(tmp_path: Path) -> None:
    told: dict[str, str] = {}

    def tell(what: str, where: str) -> None:
        told.setdefault(what, where)

    with watching(tell):
        (tmp_path / "file").write_text("x")
        subprocess.run([sys.executable, "-c", ""], check=True)
    (tmp_path / "later").mkdir()
    assert set(told) == {"files", "other processes"}
    assert told["files"].startswith("test_dice.py:")


def test_reading_is_not_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    told: list[str] = []
    with watching(lambda what, _: told.append(what)):
        assert (tmp_path / "file").read_text() == "x"
    assert told == []


def test_compiled_code_that_an_import_writes_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "met_late.py").write_text("import pathlib\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "compiled"))
    told: list[str] = []
    with watching(lambda what, _: told.append(what)):
        importlib.import_module("met_late")
    assert list((tmp_path / "compiled").rglob("met_late*.pyc"))
    assert told == []


class WritingLoader(importlib.machinery.SourceFileLoader):
    """A loader that writes something of its own, as that of pytest does."""

    def exec_module(self, module: ModuleType) -> None:
        Path(self.path).with_suffix(".compiled").write_text("x")
        super().exec_module(module)


def test_what_a_loader_writes_is_not_told(tmp_path: Path) -> None:
    (tmp_path / "loaded.py").write_text("x = 1\n")
    finder = importlib.machinery.FileFinder(str(tmp_path), (WritingLoader, [".py"]))
    told: list[str] = []
    sys.meta_path.insert(0, SimpleNamespace(find_spec=lambda name, *_: finder.find_spec(name)))
    try:
        with watching(lambda what, _: told.append(what)):
            assert importlib.import_module("loaded").x == 1
    finally:
        del sys.meta_path[0]
    assert (tmp_path / "loaded.compiled").exists()
    assert told == []


def test_what_a_module_does_when_it_is_imported_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "writes_at_once.py").write_text(f"open({str(tmp_path / 'file')!r}, 'w').close()\n")
    monkeypatch.syspath_prepend(tmp_path)
    told: list[str] = []
    with watching(lambda _, where: told.append(where)):
        importlib.import_module("writes_at_once")
    assert told == ["writes_at_once.py:1"]


def test_pythons_settings_are_put_back() -> None:
    before = Settings.read()
    sys.setrecursionlimit(before[0] + 11)
    assert Settings.read() != before
    Settings.write(before)
    assert Settings.read() == before
