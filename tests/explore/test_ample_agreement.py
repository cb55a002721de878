"""With reductions, every search comes to the same states at rest and finds the same violations.

Each condition that the reductions rest on is also switched off in turn: then something must go missing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count, islice
from typing import Any

import pytest
from tests.explore.reducible_systems import Noting, is_small, random_cells, searched
from tests.little_components import Talker, network, wire

from penstock._explore import ample, local_independence
from penstock._explore.ample import Ample
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.footprints import Footprints
from penstock._explore.local_independence import LocalIndependence
from penstock._explore.lookahead import Lookahead
from penstock._explore.property_cells import Watching
from penstock._explore.reductions import reduced
from penstock._explore.search import Successors

SYSTEMS = 50
"""How many systems of each sort are compared."""

SORTS: dict[str, dict[str, bool]] = {
    "plain": {},
    "endless": {"restless": True},
    "faulty": {"faults": True},
    "aware": {"aware": True},
    "sparsely aware": {"sparse": True},
    "endless and faulty": {"restless": True, "faults": True},
    "endless, faulty and aware": {"restless": True, "faults": True, "aware": True},
    "endless and sparsely aware": {"restless": True, "sparse": True},
}

WAYS = [
    (("footprints",), "breadth", True),
    (("footprints",), "depth", True),
    (("ample",), "breadth", False),
    (("ample",), "depth", True),
    (("ample", "footprints"), "breadth", True),
    (("ample", "footprints"), "depth", True),
    (("ample", "footprints"), "depth", False),
]


def small_systems(sort: str) -> Iterator[tuple[int, CompiledNetwork, Noting]]:
    """Yield systems of a sort that are small enough, by their seeds, each with its full search."""
    found = ((seed, random_cells(seed, **SORTS[sort])) for seed in count(1))
    small = ((seed, cells, searched(cells, None)) for seed, cells in found if is_small(cells))
    return islice(small, SYSTEMS)


@pytest.mark.parametrize("sort", SORTS)
def test_reductions_lose_neither_states_at_rest_nor_violations(sort: str) -> None:
    violated = smaller = 0
    for seed, cells, full in small_systems(sort):
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
    smaller = 0
    for seed, cells, full in small_systems(sort):
        search = searched(cells, without_foresight(cells), sleep=True)
        assert search.found == full.found, seed
        smaller += search.outcome.states < full.outcome.states
    assert smaller > 2


class Watchful(Talker):
    """Talks of its own accord, and yet it looks at another."""

    reads = ("onlooked",)

    def actions(self, state: tuple[int, tuple[Any, ...]]) -> tuple[str, ...]:
        raise AssertionError("an aware component is asked for its actions with the others in view")

    def actions_given(self, state: tuple[int, tuple[Any, ...]], _seen: Mapping[str, Any]) -> tuple[str, ...]:
        return super().actions(state)


@pytest.mark.parametrize("order", ["breadth", "depth"])
@pytest.mark.parametrize("reductions", [("ample",), ("ample", "footprints")])
@pytest.mark.parametrize("sleep", [True, False])
def test_a_message_of_an_aware_cell_may_still_come_first(
    order: str, reductions: tuple[str, ...], sleep: bool
) -> None:
    # With nothing in its inbox an aware cell has no transitions but its actions, and those count.
    talkers = [Watchful("aware", (1,), 1), Talker("onlooked", ()), Talker("early", (1,), 1), Talker("idle")]
    idle = Talker("elsewhere", (1,), 1)
    wires = [wire("hearer:1", "early:1"), wire("hearer:2", "aware:1"), wire("elsewhere:1", "idle:1")]
    cells = CompiledNetwork(network([Talker("hearer", (1, 2)), *talkers, idle], wires))
    full = searched(cells, None)
    found = searched(cells, reduced(cells, reductions), order=order, sleep=sleep)
    heard = {str(cells.component_states(state)["hearer"][1][0]) for state in found.resting}
    assert heard == {"early#1", "aware#1"}
    assert found.found == full.found and found.outcome.states < full.outcome.states


def without_foresight(cells: CompiledNetwork) -> Ample:
    footprints = Footprints(cells)
    quiet_cells, full = LocalIndependence(cells, footprints), reduced(cells, ["footprints"])
    foresight = Lookahead(cells, quiet_cells, footprints, allowance=0, share=0)
    return Ample(cells, (full.expand_all, full.expand_with_sleep_sets), quiet_cells, foresight)


def _never(*_: Any) -> bool:
    return False


def _always(*_: Any) -> bool:
    return True


MUTANTS: dict[str, tuple[object, str, Callable[..., Any]]] = {
    "C1: others of the same cell may come before": (Lookahead, "_is_harmless", _always),
    "C1: properties and onlookers may care": (Lookahead, "_matters", _never),
    "C1: messages may come to a quiet cell": (LocalIndependence, "_reaches", lambda *_: 0),
    "C1: others of the cell may come before a single one": (LocalIndependence, "_commutes", _always),
    "C1: messages may come before a single one": (local_independence, "_are_silent", _always),
    "C1: what the fabric may still do": (CompiledNetwork, "is_settled", _always),
    "C1: what aware cells do and look at": (LocalIndependence, "_is_aloof", _always),
    "C2: what properties read": (LocalIndependence, "is_unread", _always),
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
            cells = random_cells(seed, **sort)
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


def loses(cells: CompiledNetwork, wanted: object) -> bool:
    """Tell whether a search with all reductions, or one by quiet cells alone, comes to something else."""
    makers: list[Callable[[], Successors]] = [
        lambda: reduced(cells, ["ample", "footprints"]),
        lambda: without_foresight(cells),
    ]
    for make in makers:
        for order, sleep in (("breadth", True), ("depth", False)):
            if searched(cells, make(), order=order, sleep=sleep).found != wanted:
                return True
    return False
