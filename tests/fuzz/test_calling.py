"""Switches of a run can be called on with `ovs-ofctl` while it goes on, and the fuzzer does not notice."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.fuzz_lab import LEARNING, fuzz_trace, scenario
from tests.fuzz.live_lab import live_scenario, scripted
from tests.tcp_lab import nothing_left

from penstock._controllers.tcp import ports
from penstock._fuzz.building import build_setting
from penstock._fuzz.fuzzing import Fuzzing, fuzz
from penstock._fuzz.inputs import input_of
from penstock._fuzz.listening import SERVICES
from penstock.errors import PenstockError

PATIENCE_S = 20


@pytest.fixture(scope="module")
def ofctl(require_tool: Callable[..., Path]) -> Path:
    return require_tool("ovs-ofctl")


async def printed(ofctl: Path, port: int, *words: str) -> str:
    """Return what `ovs-ofctl` prints of the switch that listens on a port."""
    command, *more = words
    process = await asyncio.create_subprocess_exec(
        ofctl, "-O", "OpenFlow13", command, f"tcp:127.0.0.1:{port}", *more, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert process.returncode == 0
    return out.decode()


def test_a_live_run_answers_ovs_ofctl_and_records_what_it_did(ofctl: Path, tmp_path: Path) -> None:
    port = ports.free_port()
    given = live_scenario(
        tmp_path, scripted("flow"), topology="linear,2", fuzz={"events": 30, "listen": {"s1": f"ptcp:{port}"}}
    )

    async def conduct(fuzzing: Fuzzing) -> None:
        assert "OFPT_FEATURES_REPLY (OF1.3)" in await printed(ofctl, port, "show")
        await printed(ofctl, port, "add-flow", "priority=7,in_port=1,actions=output:2")
        assert "priority=7,in_port=" in await printed(ofctl, port, "dump-flows")
        assert fuzzing.stage.possible().controllers_up() == ["c0"]
        assert fuzzing.stage.possible().sessions_up() == ["s1-c0", "s2-c0"]
        await fuzzing.run()
        assert "s1" in await printed(ofctl, port, "dump-desc")

    with nothing_left():
        report = asyncio.run(fuzz(given, tmp_path / "runs", conduct=conduct))
    assert port not in ports.listeners()
    trace = fuzz_trace(report.trace)
    asked = [line.sends[0] for line in trace.lines if line.transition == "inject ofctl1:s1"]
    assert "ofctl1:s1 FlowMod(add priority=7 in_port=1 -> output:2)" in asked
    assert not [line.text for line in trace.inputs if "ofctl" in line.text]


def test_a_run_on_virtual_time_is_served_while_a_person_thinks(ofctl: Path, tmp_path: Path) -> None:
    port = ports.free_port()
    given = scenario(fuzz={"events": 20, "listen": {"s2": f"ptcp:{port}"}})

    async def conduct(fuzzing: Fuzzing) -> None:
        assert "actions=CONTROLLER" in await printed(ofctl, port, "dump-flows")
        await fuzzing.run()
        await fuzzing.perform(input_of("check"))
        assert "OFPST_PORT reply" in await printed(ofctl, port, "dump-ports")

    with nothing_left():
        report = asyncio.run(fuzz(given, tmp_path, conduct=conduct))
    assert report.outcome.inputs == 21


def test_callers_are_none_of_the_fuzzers_business() -> None:
    plain = build_setting(scenario(LEARNING))
    listening = build_setting(scenario(LEARNING, fuzz={"listen": {"s1": "ptcp:0"}}))
    assert listening.controllers == plain.controllers == ("c0",)
    assert listening.sessions == plain.sessions
    assert listening.data_channels == plain.data_channels
    assert set(listening.network.names) - set(plain.network.names) == set(SERVICES)


@pytest.mark.parametrize(
    ("listen", "sentence"),
    [
        ({"s9": "ptcp:6654"}, "unknown switch 's9' in listen of .fuzz.: choose s1, s2"),
        ({"s1": 6654}, "invalid listen.s1 = 6654 in .fuzz.: must be a string"),
        ({"s1": "tcp:6654"}, "s1 cannot listen at 'tcp:6654': write ptcp:6654"),
        ({"s1": f"punix:{os.sep}nowhere{os.sep}s1"}, "s1 cannot listen at punix"),
    ],
)
def test_an_address_that_cannot_be_is_refused_in_a_sentence(
    listen: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(PenstockError, match=sentence):
        asyncio.run(fuzz(scenario(fuzz={"events": 1, "listen": listen}), tmp_path))
