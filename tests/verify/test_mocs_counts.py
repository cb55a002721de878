"""The states of MOCS's own models, to the digit; `python -m bench.mocs` has the larger ones."""

from __future__ import annotations

import pytest
from bench.mocs import BUILDERS, CASES, Case, agrees, main, measure

from penstock._verify.verification import verify

SMALL = 5_000


def _of(mode: str) -> list[Case]:
    return [case for case in CASES if case.mode == mode and (case.reference or SMALL) <= SMALL]


@pytest.mark.parametrize("case", _of("mocs") + _of("ample") + _of("kuai"), ids=str)
def test_as_many_states_as_in_the_authors_models(case: Case) -> None:
    row = measure(case)
    assert case.reference in (None, row["states"])
    assert agrees(row)


def test_without_reductions_there_are_far_more() -> None:
    model, properties = BUILDERS["stateless-firewall"](1, 2)
    assert verify(model, properties, "mocs").states == 6
    assert verify(model, properties, "off").states > 100


@pytest.mark.parametrize(
    ("program", "violating"), [("message-reordering", 18), ("hasty-update", 2), ("consistent-update", 0)]
)
def test_as_many_states_violate(program: str, violating: int) -> None:
    row = measure(next(case for case in CASES if (case.program, case.mode) == (program, "mocs")))
    assert row["violating"] == violating
    assert row["verdict"] == ("violated" if violating else "proved")


@pytest.mark.parametrize("case", [case for case in _of("penstock") if case.switches < 4], ids=str)
def test_penstocks_own_method_needs_no_more(case: Case) -> None:
    assert agrees(measure(case))


@pytest.mark.parametrize(("switches", "states"), [(1, 62), (2, 152)])
def test_rules_before_a_barrier_are_added_at_once(switches: int, states: int) -> None:
    model, properties = BUILDERS["stateful-firewall"](switches, 2)
    found = verify(model, properties, shortest=False)
    assert (found.verdict, found.states) == ("proved", states)
    assert "add" in found.eager


@pytest.mark.parametrize("switches", [2, 3, 4])
def test_penstock_proves_mac_learning_with_fewer_states(switches: int) -> None:
    cases = [
        case for case in CASES if (case.program, case.switches, case.hosts) == ("mac-learning", switches, 2)
    ]
    rows = {case.mode: measure(case) for case in cases if case.mode in ("mocs", "penstock")}
    assert {row["verdict"] for row in rows.values()} == {"proved"}
    assert rows["penstock"]["states"] * 2 < rows["mocs"]["states"]


def test_a_case_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "mac-learning,9x9"]) == 2
    assert "mac-learning" in capsys.readouterr().err
