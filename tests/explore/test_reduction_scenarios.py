"""The thirteen scenarios with each reduction: the same is broken, and the same states are at rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.explore.reducible_systems import Noting

from penstock._engine.building import build
from penstock._explore.breadth_first import breadth_first
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.reductions import reduced
from penstock._scenario.scenario import load_scenario

EXAMPLES = Path(__file__).parents[2] / "examples" / "nice"
SCENARIOS = sorted(path.stem for path in EXAMPLES.glob("*.toml"))

WAYS = [("sleep",), ("sleep", "footprints"), ("ample",), ("sleep", "ample"), ("sleep", "ample", "footprints")]


def rest_states(search: Noting) -> set[frozenset[tuple[str, Any]]]:
    """Return the states of all components wherever a search came to rest."""
    return {frozenset(search.cells.component_states(state).items()) for state in search.resting}


def broken(search: Noting) -> set[tuple[str, str]]:
    return {(each.property, each.message) for each in search.outcome.violations}


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_reduction_finds_what_the_full_search_finds(name: str) -> None:
    built = build(load_scenario(EXAMPLES / f"{name}.toml"))
    cells = CompiledNetwork(built.network, built.properties, built.start)
    full = Noting(cells)
    breadth_first(full, sleep=False)
    assert not full.outcome.stopped_by
    assert bool(full.outcome.violations) == name.startswith("bug")
    for reductions in WAYS:
        search = Noting(cells, reduced(cells, reductions))
        breadth_first(search, sleep="sleep" in reductions)
        assert broken(search) == broken(full), reductions
        assert rest_states(search) == rest_states(full), reductions
        assert search.outcome.transitions <= full.outcome.transitions, reductions


def test_the_mended_load_balancer_is_cut_to_a_ninth() -> None:
    """NICE's DPOR cuts its load balancer by a factor of 9 at best (Table 5)."""
    built = build(load_scenario(EXAMPLES / "load_balancer_mended.toml"))
    cells = CompiledNetwork(built.network, built.properties, built.start)
    full, search = Noting(cells), Noting(cells, reduced(cells, ["sleep", "ample", "footprints"]))
    breadth_first(full, sleep=False)
    breadth_first(search, sleep=True)
    assert search.outcome.transitions * 9 < full.outcome.transitions
