"""With reductions, every search comes to the same states at rest and finds the same violations.

Each condition that the reductions rest on is also switched off in turn: then something must go missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from reducible_systems import is_small, random_cells, searched

from penstock.explore import ample, quiet
from penstock.explore.ample import Ample
from penstock.explore.cells import Cells
from penstock.explore.footprints import Footprints
from penstock.explore.foresight import Foresight
from penstock.explore.quiet import Quiet
from penstock.explore.reductions import reduced
from penstock.explore.watching import Watching

SYSTEMS = 50
"""How many systems of each sort are compared."""

SORTS = {
    "plain": {},
    "endless": {"restless": True},
    "faulty": {"faults": True},
    "aware": {"aware": True},
    "endless and faulty": {"restless": True, "faults": True},
    "endless, faulty and aware": {"restless": True, "faults": True, "aware": True},
}
NONE = {"faults": False, "aware": False, "restless": False}

WAYS = [
    (("footprints",), "breadth", True),
    (("footprints",), "depth", True),
    (("ample",), "breadth", False),
    (("ample",), "depth", True),
    (("ample", "footprints"), "breadth", True),
    (("ample", "footprints"), "depth", True),
    (("ample", "footprints"), "depth", False),
]


@pytest.mark.parametrize("sort", SORTS)
def test_reductions_lose_neither_states_at_rest_nor_violations(sort: str) -> None:
    seed = compared = violated = smaller = 0
    while compared < SYSTEMS:
        seed += 1
        cells = random_cells(seed, **{**NONE, **SORTS[sort]})
        if not is_small(cells):
            continue
        compared += 1
        full = searched(cells, None)
        violated += bool(full.outcome.violations)
        for reductions, order, sleep in WAYS:
            search = searched(cells, reduced(cells, reductions), order=order, sleep=sleep)
            assert search.found == full.found, (seed, reductions, order, sleep)
            assert search.outcome.states <= full.outcome.states, (seed, reductions, order, sleep)
        smaller += search.outcome.states < full.outcome.states
    assert SYSTEMS // 5 < violated < SYSTEMS
    assert smaller > SYSTEMS // 10


@pytest.mark.parametrize("sort", SORTS)
def test_quiet_cells_alone_lose_nothing_either(sort: str) -> None:
    seed = compared = smaller = 0
    while compared < SYSTEMS:
        seed += 1
        cells = random_cells(seed, **{**NONE, **SORTS[sort]})
        if not is_small(cells):
            continue
        compared += 1
        full, search = searched(cells, None), searched(cells, without_foresight(cells), sleep=True)
        assert search.found == full.found, seed
        smaller += search.outcome.states < full.outcome.states
    assert smaller > 2


def without_foresight(cells: Cells) -> Ample:
    footprints = Footprints(cells)
    quiet_cells, full = Quiet(cells, footprints), reduced(cells, ["footprints"])
    foresight = Foresight(cells, quiet_cells, footprints, allowance=0, share=0)
    return Ample(cells, (full.plain, full.wary), quiet_cells, foresight)


def _never(*_: Any) -> bool:
    return False


def _always(*_: Any) -> bool:
    return True


MUTANTS: dict[str, tuple[object, str, Callable[..., Any]]] = {
    "C1: others of the same cell may come before": (Foresight, "_is_harmless", _always),
    "C1: properties and onlookers may care": (Foresight, "_matters", _never),
    "C1: messages may come to a quiet cell": (Quiet, "_reaches", lambda *_: 0),
    "C1: others of the cell may come before a single one": (Quiet, "_commutes", _always),
    "C1: messages may come before a single one": (quiet, "_are_silent", _always),
    "C1: what the fabric may still do": (Cells, "is_settled", _always),
    "C2: what properties read": (Quiet, "is_unread", _always),
    "C3: chains of witnesses end": (ample._Forest, "beyond", lambda _self, _state, found: found[0]),
    "sleep sets: properties may care": (Watching, "commute", _always),
    "footprints: both orders are tried": (Footprints, "_tried", _always),
}


FIRST_SEEDS = {"C1: messages may come before a single one": 414}
"""Where to begin, for conditions that few systems hang on."""


@pytest.mark.parametrize("mutant", MUTANTS)
def test_without_any_one_of_the_conditions_something_is_lost(
    mutant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name, instead = MUTANTS[mutant]
    for seed in range(FIRST_SEEDS.get(mutant, 1), 500):
        for sort in SORTS.values():
            cells = random_cells(seed, **{**NONE, **sort})
            if not is_small(cells):
                continue
            wanted = searched(cells, None).found
            with monkeypatch.context() as patch:
                patch.setattr(owner, name, instead)
                lost = loses(cells, wanted)
            if lost:
                assert not loses(cells, wanted), "with the condition, nothing is lost"
                return
    pytest.fail("nothing was lost")


def loses(cells: Cells, wanted: object) -> bool:
    """Tell whether a search with all reductions, or one by quiet cells alone, comes to something else."""
    for make in (lambda: reduced(cells, ["ample", "footprints"]), lambda: without_foresight(cells)):
        for order, sleep in (("breadth", True), ("depth", False)):
            if searched(cells, make(), order=order, sleep=sleep).found != wanted:
                return True
    return False
