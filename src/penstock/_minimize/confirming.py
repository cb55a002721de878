"""Confirming a result: a minimal sequence is played once more with all the patience that its run had.

Replays with real processes are short of patience while inputs are left out (see `live_replay`), so what
they say of the last few is a good guess.  It stands if a careful replay shows the violation, in one of a few
tries; else everything is done again with care.  If that is broken off, it is what goes on the next time.
Exact replays need no confirmation, nor do those that were careful all along.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from penstock._minimize.ddmin import Minimal
from penstock._minimize.live_replay import LiveReproducer
from penstock._minimize.progress import Announce, kept_under
from penstock._minimize.reproducing import Reproducer
from penstock._minimize.worker import Origin

_LEAST_TRIES: Final = 3


def confirming_tries(minimal: Minimal) -> int:
    """Return how often a minimal sequence with real processes is played until the violation is seen."""
    return max(minimal.tries, _LEAST_TRIES)


def is_confirmed(minimal: Minimal, reproducer: Reproducer) -> bool:
    """Tell whether a result that was found with less patience stands with all of it."""
    if not isinstance(reproducer, LiveReproducer) or reproducer.waiting.careful:
        return True
    patient = reproducer.with_script(minimal.script).with_waiting(replace(reproducer.waiting, careful=True))
    return patient.run(minimal.inputs, tries=confirming_tries(minimal)).reproduced


def confirmed(
    origin: Origin,
    search: Callable[[Origin], Minimal],
    folder: Path,
    announce: Announce = lambda _: None,
) -> tuple[Minimal, Origin]:
    """Return what a search for few inputs finds, if need be with care, and the origin as it was searched.

    `folder` is where the search keeps its answers.
    """
    careful = replace(origin, waiting=replace(origin.waiting, careful=True), again=True)
    if not _is_begun(careful, folder):
        minimal = search(origin)
        announce("confirming that what is left shows it")
        if is_confirmed(minimal, origin.reproducer(minimal.script)):
            return minimal, origin
        announce("once more from the beginning, with more patience")
    return search(careful), careful


def _is_begun(origin: Origin, folder: Path) -> bool:
    """Tell whether the answers in a folder are those of a search from this origin."""
    kept = kept_under(folder)
    return kept.endswith(f" {origin.terms}") and kept.startswith(f"{origin.script().digest()} ")
