"""Reductions on or off: the same verdict, on random little programs, networks and properties.

How many there are is 600, or what PENSTOCK_PROGRAMS says.
"""

from __future__ import annotations

import os

import pytest
from tests.verify.random_programs import case

from penstock._explore.search import Bounds
from penstock._verify.verification import verify

SEEDS = int(os.environ.get("PENSTOCK_PROGRAMS", "600"))
PORTIONS = 6
LEAST = 0.84 * SEEDS
"""How many cases must be small enough to be compared."""
AT_MOST = Bounds(states=1_000)
"""Larger ones are left out: without reductions they take too long."""


@pytest.mark.parametrize("portion", range(PORTIONS))
def test_verdicts_agree_with_reductions_on_and_off(portion: int) -> None:
    verdicts = []
    for seed in range(portion, SEEDS, PORTIONS):
        model, properties = case(seed)
        off = verify(model, properties, "off", bounds=AT_MOST)
        if off.verdict == "bounded":
            continue
        on = verify(model, properties, "penstock")
        assert on.verdict == off.verdict, seed
        assert not on.diverged and not off.diverged, seed
        assert on.states <= off.states, seed
        verdicts.append(on.verdict)
    assert len(verdicts) >= LEAST / PORTIONS
    assert min(verdicts.count("proved"), verdicts.count("violated")) > LEAST / PORTIONS / 10
