"""Judging a program of the soundness tests by an engine, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

from tests.soundness.programs import Program

from penstock._check.check import check
from penstock._scenario.scenario import scenario_of
from penstock._verdict.verdict import Result, Verdict
from penstock._verify.proof import prove
from penstock.errors import PenstockError

SECONDS: Final = 20.0
"""How long a proof may take."""


class Judged(NamedTuple):
    """What an engine made of a program: found, clear or bounded; and the reasons, if it is bounded."""

    word: str
    reasons: tuple[str, ...] = ()


def by_check(program: Program, folder: Path) -> Judged:
    """Search a program's runs."""
    return _judged(check(scenario_of(dict(program.scenario), written(program, folder))).verdict)


def by_verify(program: Program, folder: Path) -> Judged:
    """Prove a program right, or not; a scenario that no proof can be made of is refused with the reason."""
    table = dict(program.scenario)
    # A program that counts packets has no end of states: whoever proves it sets a limit.
    table["search"] = {"seconds": SECONDS, **table.get("search", {})}
    scenario = scenario_of(table, written(program, folder))
    try:
        return _judged(prove(scenario).verdict)
    except PenstockError as refused:
        return Judged("bounded", (str(refused),))


def _judged(verdict: Verdict) -> Judged:
    words = {Result.VIOLATED: "found", Result.BOUNDED: "bounded"}
    return Judged(words.get(verdict.result, "clear"), verdict.reasons)


def is_right(judged: Judged, truth: str, reason: str) -> bool:
    """Tell whether a result is right: exact, or bounded for the reason that is expected."""
    if judged.word == "bounded":
        return bool(reason) and any(reason in each for each in judged.reasons)
    return judged.word == {"bug": "found", "safe": "clear"}[truth]


def written(program: Program, folder: Path) -> Path:
    """Write a program into a folder, and return that."""
    for name, text in program.files.items():
        (folder / name).write_text(text)
    return folder
