"""The programs of known truth notice it if Penstock forgets something."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.soundness.corpus import corpus
from tests.soundness.judging import by_check, is_right

from penstock._concolic.run import Run
from penstock._controllers import reservations
from penstock._controllers.snapshot import Heap
from penstock._controllers.surface import Surface
from penstock._explore import reexecution
from penstock._symbolic.discovery import Discovery
from penstock._symbolic.trials import Trials

LOSS = "packets that could not be found"
"""Why a result is bounded if a value was lost."""

PROGRAMS = {program.name: program for program in corpus()}


def _without_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the variables of modules out of the state, with nothing to notice it."""
    made = Heap.__init__

    def init(self: Heap, roots: Any, **options: Any) -> None:
        made(self, roots, **{**options, "namespaces": ()})

    monkeypatch.setattr(Heap, "__init__", init)
    monkeypatch.setattr(Surface, "changed", lambda _self: ([], []))
    monkeypatch.setattr(reexecution, "_differs", lambda *_: None)


def _losses_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Run, "lose", lambda _self, _what: None)
    monkeypatch.setattr(Trials, "escapes", lambda _self, **_: [])


def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell packets apart by the handler's paths alone."""
    monkeypatch.setattr(Discovery, "refine", lambda _self, **_: False)


def _files_unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reservations, "outside", lambda _noticed: ())
    monkeypatch.setattr(reexecution, "_differs", lambda *_: None)


MUTANTS: list[tuple[Callable[[pytest.MonkeyPatch], None], str]] = [
    (_without_namespaces, "osken_global_bug"),
    (_losses_forgotten, "classes_chained_is"),
    (_losses_forgotten, "kept_attribute"),
    (_nothing_kept, "kept_bool"),
    (_files_unnoticed, "osken_file_bug"),
]


@pytest.mark.parametrize(("mutate", "name"), MUTANTS, ids=lambda each: getattr(each, "__name__", each))
def test_a_mutant_is_caught(
    mutate: Callable[[pytest.MonkeyPatch], None], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = PROGRAMS[name]
    (tmp_path / "plain").mkdir()
    (tmp_path / "mutant").mkdir()
    assert is_right(by_check(program, tmp_path / "plain"), program.check, program.reason or LOSS)
    mutate(monkeypatch)
    judged = by_check(program, tmp_path / "mutant")
    # Where one net is taken away another may catch it: the result is bounded then, for a reason not expected.
    assert not is_right(judged, program.check, program.reason), judged
