"""A run with more packets than the scenario has is told, and is no violation of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock._cli.verifying import proof_lines
from penstock._scenario.scenario import scenario_of
from penstock._verdict.verdict import Bound, Result, Why
from penstock._verify.proof import Proof, prove

COUNTING = """
from penstock._controllers.controller import FLOOD, Controller
from penstock.openflow.actions import Output
from penstock.openflow.messages import NO_MAX_LEN, PortNo


class App(Controller):
    def __init__(self):
        self.seen = 0

    def switch_join(self, switch):
        self.install(switch, actions=(Output(PortNo.CONTROLLER, NO_MAX_LEN),), priority=0)

    def packet_in(self, switch, message):
        self.seen += 1
        if self.seen == 3:
            raise RuntimeError("three")
        self.packet_out(switch, message, FLOOD)
"""


def proof(folder: Path, **hosts: Any) -> Proof:
    """Return what is proved of a program that crashes at the third packet."""
    (folder / "counting.py").write_text(COUNTING)
    table = {
        "topology": "single,2",
        "properties": ["ControllerCrash"],
        "controller": {"native": "counting.py:App"},
        "hosts": hosts,
    }
    return prove(scenario_of(table, folder), output=folder / "traces")


@pytest.mark.parametrize(
    "hosts",
    [{}, {"h1": {"count": 1}}, {"h1": {"count": 2}, "h2": {"count": 1}}],
    ids=["no counts", "not for all", "enough"],
)
def test_a_run_that_the_scenario_allows_is_a_violation(hosts: dict[str, Any], tmp_path: Path) -> None:
    found = proof(tmp_path, **hosts)
    assert (found.verdict.result, found.beyond) == (Result.VIOLATED, [])


def test_a_run_with_more_packets_is_told_as_beyond_the_scenario(tmp_path: Path) -> None:
    found = proof(tmp_path, h1={"count": 1}, h2={"count": 1})
    assert found.verdict.result is Result.BOUNDED and not found.findings
    (refutation,) = found.beyond
    assert refutation.trace is not None and refutation.trace.exists()
    assert [bound.why for bound in found.bounds if isinstance(bound, Bound)] == [Why.SCOPE]
    told = "\n".join(proof_lines(found))
    assert "Beyond the scenario: ControllerCrash" in told
    assert "h1 sends 3 packets" in told
