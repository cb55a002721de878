"""Natural delay is no violation: correct controllers, every ordering of events, no alarm.

Each network is searched with sleep sets and without: the same states must be found, which is so only
if what the properties see in either order leads them to equal states where it should.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from tests.properties.property_lab import lab, ready
from tests.properties.sample_controllers import (
    Attentive,
    BothWays,
    Buffered,
    BufferedByRule,
    Hub,
    LearningSwitch,
    PathInstaller,
)

from penstock._controllers.controller import Controller
from penstock._controllers.static import StaticController
from penstock._explore.breadth_first import breadth_first
from penstock._explore.compiled_network import CompiledNetwork
from penstock._explore.search import Bounds, Outcome, Search
from penstock._properties.base import Property
from penstock._properties.paths import UseCorrectRoutingTable
from penstock._properties.registry import PROPERTIES, property_named
from penstock._world.faults import Faults
from penstock._world.hosts import HostMaker, host
from penstock._world.topology import topology
from penstock.openflow.messages import V10

PAIR = {"h1": host("client", to="h2", count=2), "h2": host("server")}
PING = {"h1": host("ping", to="h2", count=2)}
EASY = [
    "NoForwardingLoops",
    "NoBlackHoles",
    "NoBlackHolesMobile",
    "NoAmbiguousRules",
    "NoForgottenPackets",
    "ControllerCrash",
    "ControllerHang",
]
"""What every controller that is right satisfies; how direct its paths are is another question."""


def static(shape: str) -> StaticController:
    return StaticController(topology(shape))


def properties(names: list[str]) -> list[Property]:
    return [property_named(name) for name in names]


def both_searches(network: Any, names: list[str]) -> Outcome:
    """Search with and without sleep sets, and return what the first found."""
    start = ready(network)
    outcomes = []
    for sleep in (True, False):
        search = Search(CompiledNetwork(network, properties(names), start), Bounds(), first_only=False)
        outcomes.append(breadth_first(search, sleep=sleep))
    with_sleep, plain = outcomes
    assert [v.message for v in with_sleep.violations] == [v.message for v in plain.violations]
    assert with_sleep.states == plain.states
    assert with_sleep.terminal == plain.terminal
    assert {name for name, times in with_sleep.exercised.items() if times} == {
        name for name, times in plain.exercised.items() if times
    }
    return with_sleep


@pytest.mark.parametrize("hosts", [PAIR, PING], ids=["pair", "ping"])
@pytest.mark.parametrize("shape", ["single,3", "linear,2"])
@pytest.mark.parametrize("program", [Hub, LearningSwitch, Attentive])
def test_controllers_that_are_right(
    program: type[Controller], shape: str, hosts: Mapping[str, HostMaker]
) -> None:
    outcome = both_searches(lab(shape, program(), hosts), EASY)
    assert outcome.result == "exhausted"
    assert {name for name, times in outcome.exercised.items() if times} == {
        "NoForwardingLoops",
        "NoBlackHoles",
        "NoAmbiguousRules",
        "ControllerCrash",
        "ControllerHang",
    }


@pytest.mark.parametrize("hosts", [PAIR, PING], ids=["pair", "ping"])
@pytest.mark.parametrize("shape", ["single,3", "linear,2"])
def test_rules_that_are_there_from_the_start(shape: str, hosts: Mapping[str, HostMaker]) -> None:
    outcome = both_searches(lab(shape, static(shape), hosts), [*EASY, "DirectPaths", "StrictDirectPaths"])
    assert outcome.result == "exhausted"
    assert outcome.exercised["DirectPaths"] and outcome.exercised["StrictDirectPaths"]


@pytest.mark.parametrize(
    ("program", "names"),
    [
        (PathInstaller, ["DirectPaths", "StrictDirectPaths", "NoBlackHoles", "NoForwardingLoops"]),
        (BothWays, ["StrictDirectPaths", "NoBlackHoles", "NoForwardingLoops"]),
    ],
)
def test_controllers_whose_paths_become_direct(program: type[Controller], names: list[str]) -> None:
    outcome = both_searches(lab("linear,2", program(), PAIR), names)
    assert outcome.result == "exhausted"
    assert all(outcome.exercised.values())


@pytest.mark.parametrize("program", [Hub, Buffered, BufferedByRule])
@pytest.mark.parametrize(
    "options",
    [
        {"version": V10},
        {"buffers": 1},
        {"buffers": 2, "version": V10},
        {"reorder": "between-barriers", "buffers": 1},
    ],
    ids=["1.0", "buffers", "buffers-1.0", "reorder"],
)
def test_switches_of_every_kind(program: type[Controller], options: dict[str, Any]) -> None:
    outcome = both_searches(lab("single,2", program(), PAIR, **options), EASY)
    assert outcome.result == "exhausted"
    assert outcome.exercised["NoBlackHoles"]


@pytest.mark.parametrize(
    "faults",
    [
        Faults(drops=1),
        Faults(duplicates=1),
        Faults(reorders=1),
        Faults(link_failures=1),
        Faults(disconnects=1),
    ],
    ids=["drop", "duplicate", "reorder", "link", "disconnect"],
)
def test_faults_are_not_the_controllers_fault(faults: Faults) -> None:
    hosts = {"h1": host("client", to="h2"), "h2": host("server")}
    easy = [name for name in EASY if name not in ("ControllerCrash", "ControllerHang")]
    outcome = both_searches(lab("linear,2", Hub(), hosts, faults), easy)
    assert outcome.result == "exhausted"


def test_every_property_of_the_library_is_tried_somewhere_here_or_has_options() -> None:
    tried = {*EASY, "DirectPaths", "StrictDirectPaths"}
    assert set(PROPERTIES) - tried == {"FlowAffinity", UseCorrectRoutingTable.__name__}
