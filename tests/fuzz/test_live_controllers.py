"""Real controllers run the virtual network: Faucet, Ryu's learning switch, Open vSwitch's test controller."""

import asyncio
from pathlib import Path

import pytest
from tests.fuzz.live_lab import REAL, live_scenario, on_stage, real, received
from tests.tcp_lab import nothing_left

from penstock._fuzz.fuzzing import fuzz
from penstock._fuzz.harness import Harness
from penstock._fuzz.inputs import input_of
from penstock._fuzz.live_harness import LiveHarness
from penstock._world.transition import Record

LINEAR_3 = {1: 2, 2: 3, 3: 2}
WITH_SPARE_PORTS = {1: 3, 2: 4, 3: 3}
VERSIONS = {"faucet": "1.3", "ryu": "1.3", "ovs-testcontroller": "1.0"}


@pytest.mark.parametrize("name", REAL)
def test_a_ping_crosses_the_network(name: str, tmp_path: Path) -> None:
    scenario = live_scenario(tmp_path, real(name, tmp_path, LINEAR_3), openflow=VERSIONS[name])

    async def ping(stage: LiveHarness, records: list[Record]) -> None:
        assert len(stage.possible().sessions_up("c0")) == 3
        for number in (1, 2):
            await stage.perform(input_of(f"send h1 to h3 ping {number}"))
            assert await stage.quiesce(10_000)
        assert [text for text in received(records, "h1") if "ICMP" in text] == [
            "received h1 h3#2 [ICMP echo reply 10.0.0.3 > 10.0.0.1 seq 1]",
            "received h1 h3#3 [ICMP echo reply 10.0.0.3 > 10.0.0.1 seq 2]",
        ]

    with nothing_left():
        stage = on_stage(scenario, tmp_path, ping)
    assert stage.unanswered == []
    assert stage.deaths == []
    assert stage.answered == 6


@pytest.mark.parametrize("name", REAL)
def test_five_hundred_events_are_survived_and_none_is_left_unanswered(name: str, tmp_path: Path) -> None:
    rates = {"controller_crash": 0.02, "wait": 0.5, "migration": 1}
    scenario = live_scenario(
        tmp_path,
        real(name, tmp_path, WITH_SPARE_PORTS),
        openflow=VERSIONS[name],
        fuzz={"events": 500, "seed": 1, "profile": "everything", "rates": rates},
    )
    stages: list[Harness] = []

    def remember(stage: Harness) -> tuple[()]:
        stages.append(stage)
        return ()

    with nothing_left():
        report = asyncio.run(fuzz(scenario, tmp_path / "runs", invariants=remember))
    (stage,) = stages
    assert isinstance(stage, LiveHarness)
    assert report.outcome.inputs == 500
    assert stage.unanswered == []
    assert stage.answered > 500
    assert stage.deaths == []
    assert {"send", "fail", "recover", "disconnect", "move", "limit"} <= set(report.outcome.by_verb)
