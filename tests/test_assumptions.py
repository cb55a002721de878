"""What a search takes for granted is said, with what would cover it."""

from __future__ import annotations

from pathlib import Path

from penstock._engine.assumptions import assumptions_of_search
from penstock._engine.building import build
from penstock._scenario.scenario import Scenario

HUB = Path(__file__).parents[1] / "examples" / "controllers"


def told(**fields: object) -> str:
    scenario = Scenario(folder=HUB, controller={"native": "hub.py:Hub"}, **fields)  # type: ignore[arg-type]
    return "\n".join(assumptions_of_search(build(scenario)))


def test_faults_without_a_budget_are_named_with_their_fields() -> None:
    text = told(faults={"link_failures": 2})
    assert "switches fail (switch_failures)" in text and "links fail (link_failures)" not in text
    assert "It happens at most 2 times that links fail: link_failures in [faults]." in text


def test_what_a_property_no_longer_judges_after_a_failure_is_said() -> None:
    unjudged = "NoBlackHoles no longer judges what becomes of packets"
    assert unjudged in told(faults={"disconnects": 1}, properties=["NoBlackHoles"])
    assert unjudged not in told(faults={"drops": 1}, properties=["NoBlackHoles"])
    assert unjudged not in told(faults={"disconnects": 1}, properties=["ControllerCrash"])


def test_hosts_that_find_out_what_to_send_have_limits() -> None:
    text = told(hosts={"h1": {"count": 3}, "h2": {"spoofs": True}})
    assert "A host sends at most 3 packets: count in [hosts.NAME]." in text
    assert "fragments" in text and "spoofs in [hosts.NAME]" in text
    assert "fragments" not in told(hosts={"h1": {"kind": "ping", "to": "h2"}, "h2": {"kind": "server"}})


def test_switches_that_keep_no_packets_are_named_with_what_has_them_do_so() -> None:
    assert "no buffer_id: buffers in [switches]" in told()
    assert "buffer_id" not in told(switches={"buffers": 1})


def test_counters_and_the_order_of_messages() -> None:
    assert "counters in [switches]" in told() and "between-barriers" in told()
    assert "counters" not in told(switches={"counters": True})
