"""Two checkouts compared: a side that fails is told, and fails the run."""

from __future__ import annotations

import pytest
from bench.against import Measured, passes, row_of, told

WELL = Measured(1.0, 0, {"states": 7})


def test_same_figures_have_a_ratio() -> None:
    row = row_of([WELL._replace(seconds=1.2)], [WELL])
    assert (row["ratio"], row["same"], row["failed"]) == (1.2, True, {})
    assert passes(row, 1.3) and not passes(row, 1.1)


@pytest.mark.parametrize(
    "failure",
    [Measured(0.1, 2, "", "no such file"), Measured(0.1, 0, "", "no such file"), WELL._replace(status=-9)],
)
def test_sides_that_fail_alike_are_not_the_same(failure: Measured) -> None:
    row = row_of([failure], [failure])
    assert not row["same"] and row["ratio"] is None
    assert set(row["failed"]) == {"here", "there"}
    assert not passes(row, 1.3)
    assert f"failed there: {failure.said}" in told("MOCS", row)


def test_one_run_of_several_that_fails_is_enough() -> None:
    row = row_of([WELL, WELL], [WELL, Measured(0.1, 2, "", "killed")])
    assert row["failed"] == {"there": "killed"} and not passes(row, 1.3)


def test_what_is_found_or_bounded_is_no_failure() -> None:
    assert not any(WELL._replace(status=status).failed for status in (0, 1, 3))
