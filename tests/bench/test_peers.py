"""The search counts what others count: SPIN on the same experiment, NICE in its Table 1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from bench.nice_table1 import PAPER, measure

from bench import spin

PINGS = 4
STATES = 16_284


def test_spin_counts_the_same_states(require_tool: Callable[..., Path]) -> None:
    require_tool("spin")
    require_tool("gcc")
    found = spin.spin(PINGS)
    assert found["states"] == STATES
    assert found["transitions"] == spin.penstock(PINGS, spin.native)["transitions"] + 1


def test_a_native_controller_has_as_many_states() -> None:
    assert spin.penstock(PINGS, spin.native)["states"] == STATES


def test_ryus_own_learning_switch_has_as_many_states(ryu_sources: Path) -> None:
    assert spin.penstock(PINGS, spin.ryu)["states"] == STATES


@pytest.mark.parametrize("pings", [2, 3])
def test_nices_own_model_has_the_counts_of_the_paper(pings: int) -> None:
    row = measure("nice", pings)
    assert {"transitions": row["transitions"], "states": row["states"]} == {
        count: PAPER[pings][count] for count in ("transitions", "states")
    }


def test_the_counts_of_the_exact_model_stay_as_they_are() -> None:
    row = measure("exact", 3)
    assert (row["transitions"], row["states"]) == (8468, 3616)
