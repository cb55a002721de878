"""What happens to real controllers on a live stage, and what they do by themselves, is seen in the model."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.fuzz.live_lab import live_scenario, on_stage, scripted
from tests.tcp_lab import nothing_left, until

from penstock._controllers.tcp.session import Patience
from penstock._fuzz.inputs import input_of
from penstock._fuzz.live_harness import LiveHarness
from penstock._world.transition import Record
from penstock.errors import PenstockError
from penstock.openflow.messages import Role

BOTH = ["s1-c0", "s2-c0"]


def pid_of(stage: LiveHarness, controller: str = "c0") -> int:
    pid = stage._processes[controller].pid
    assert pid is not None
    return pid


def lines_of(folder: Path, kind: str) -> list[str]:
    """Return the inputs or log lines of the trace in a folder."""
    key = {"input": "input", "log": "text"}[kind]
    lines = map(json.loads, (folder / "trace.jsonl").read_text().splitlines())
    return [line[key] for line in lines if kind in line]


async def do(stage: LiveHarness, *inputs: str) -> None:
    for text in inputs:
        await stage.perform(input_of(text))
    assert await stage.quiesce(10_000)


def test_sessions_go_and_come_back_as_inputs_say(tmp_path: Path) -> None:
    async def act(stage: LiveHarness, records: list[Record]) -> None:
        assert stage.possible().sessions_up() == BOTH
        await do(stage, "disconnect s1-c0")
        assert stage.possible().sessions_up() == ["s2-c0"]
        assert not stage.world.state("s1").sessions["c0"].up
        await do(stage, "reconnect s1-c0")
        assert stage.possible().sessions_up() == BOTH
        await do(stage, "partition c0")
        assert stage.possible().sessions_up() == []
        await do(stage, "heal c0")
        assert stage.possible().sessions_up() == BOTH
        await do(stage, "fail s2")
        assert stage.possible().sessions_up() == ["s1-c0"]
        await do(stage, "recover s2")
        assert stage.possible().sessions_up() == BOTH
        assert stage.world.state("s2").sessions["c0"].up

    with nothing_left():
        stage = on_stage(live_scenario(tmp_path, scripted(), topology="linear,2"), tmp_path, act)
    assert stage.unanswered == []
    assert (tmp_path / "c0.log").read_text().count("heard FeaturesReply") == 6


def test_what_an_input_did_has_it_among_its_causes(tmp_path: Path) -> None:
    async def act(stage: LiveHarness, records: list[Record]) -> None:
        await do(stage, "crash c0", "restart c0")

    on_stage(live_scenario(tmp_path, scripted(), topology="single,2"), tmp_path, act)
    lines = [*map(json.loads, (tmp_path / "trace.jsonl").read_text().splitlines())]
    inputs = {line["input"]: line["step"] for line in lines if "input" in line}
    steps = {line["transition"]: line.get("causes", []) for line in lines if "transition" in line}
    assert inputs["crash c0"] in steps["fabric disconnect s1-c0"]
    assert inputs["crash c0"] in steps["fabric crash c0"]
    assert inputs["restart c0"] in steps["fabric restart c0"]


def test_a_controller_is_killed_and_started_again(tmp_path: Path) -> None:
    async def act(stage: LiveHarness, records: list[Record]) -> None:
        first = pid_of(stage)
        await do(stage, "disconnect s2-c0", "crash c0")
        assert stage.possible().controllers_down() == ["c0"]
        assert not Path(f"/proc/{first}").exists()
        await do(stage, "restart c0")
        assert stage.possible().controllers_up() == ["c0"]
        # A session that was cut before stays so.
        assert stage.possible().sessions_up() == ["s1-c0"]
        await do(stage, "reconnect s2-c0")
        assert stage.possible().sessions_up() == BOTH

    with nothing_left():
        stage = on_stage(live_scenario(tmp_path, scripted(), topology="linear,2"), tmp_path, act)
    assert stage.deaths == [] and stage.unanswered == []


def test_a_death_is_noticed_and_told_and_can_be_mended(tmp_path: Path) -> None:
    async def act(stage: LiveHarness, records: list[Record]) -> None:
        os.kill(pid_of(stage), signal.SIGKILL)
        await until(lambda: stage.deaths, "the death was noticed")
        assert stage.possible().controllers_down() == ["c0"]
        assert stage.possible().sessions_up() == []
        await do(stage, "restart c0")
        assert stage.possible().sessions_up() == BOTH

    with nothing_left():
        stage = on_stage(live_scenario(tmp_path, scripted(), topology="linear,2"), tmp_path, act)
    (death,) = stage.deaths
    assert death.startswith("c0 ended by signal 9; its last lines were: ")
    assert death in lines_of(tmp_path, "log")


def test_a_controller_that_does_not_answer_is_told_of(tmp_path: Path) -> None:
    async def act(stage: LiveHarness, records: list[Record]) -> None:
        await stage.perform(input_of("send h1 to h2 ping 1"))
        await until(lambda: stage.unanswered, "the answer was overdue")
        assert not await stage.quiesce(200)

    scenario = live_scenario(tmp_path, scripted("deaf"), topology="single,2")
    assert on_stage(scenario, tmp_path, act, answer_s=0.2).unanswered == ["send h1 to h2 ping 1 (s1-c0)"]


def test_a_session_without_signs_of_life_is_given_up(tmp_path: Path) -> None:
    async def act(stage: LiveHarness, records: list[Record]) -> None:
        def gone() -> bool:
            return any("fabric disconnect s1-c0" in str(record) for record in records[seen:])

        seen = len(records)
        await until(gone, "the switch gave the controller up")

    scenario = live_scenario(tmp_path, scripted("deaf"), topology="single,2")
    on_stage(scenario, tmp_path, act, patience=Patience(idle_s=0.2, dead_s=0.2))
    assert any("s1-c0: the controller answered nothing for 0." in text for text in lines_of(tmp_path, "log"))


def test_an_idle_session_stays_up_by_echoes(tmp_path: Path) -> None:
    async def act(stage: LiveHarness, records: list[Record]) -> None:
        log = tmp_path / "c0.log"
        await until(lambda: log.read_text().count("EchoRequest") > 3, "the switch had asked often enough")
        assert stage.possible().sessions_up() == ["s1-c0"]

    scenario = live_scenario(tmp_path, scripted(), topology="single,2")
    on_stage(scenario, tmp_path, act, patience=Patience(idle_s=0.05, dead_s=5))
    assert not [text for text in lines_of(tmp_path, "log") if "the controller" in text]


def test_what_cannot_be_read_is_refused_as_by_a_real_switch(tmp_path: Path) -> None:
    async def act(stage: LiveHarness, records: list[Record]) -> None:
        await until(lambda: "Error(1,1)" in (tmp_path / "c0.log").read_text(), "the controller was refused")
        assert stage.possible().sessions_up() == ["s1-c0"]

    on_stage(live_scenario(tmp_path, scripted("odd"), topology="single,2"), tmp_path, act)
    assert "s1-c0: Only a switch sends a BarrierReply." in lines_of(tmp_path, "log")


def test_several_controllers_have_their_roles(tmp_path: Path) -> None:
    async def act(stage: LiveHarness, records: list[Record]) -> None:
        roles = {name: session.role for name, session in stage.world.state("s1").sessions.items()}
        assert roles == {"c0": Role.MASTER, "c1": Role.SLAVE}
        await do(stage, "crash c0")
        assert stage.possible().sessions_up() == ["s1-c1", "s2-c1"]

    scenario = live_scenario(
        tmp_path, scripted("role=master"), scripted("role=slave", "flow"), topology="linear,2"
    )
    with nothing_left():
        stage = on_stage(scenario, tmp_path, act)
    assert stage.unanswered == []
    # A slave may not change anything.
    assert "heard Error(1,10)" in (tmp_path / "c1.log").read_text()
    assert "heard Error" not in (tmp_path / "c0.log").read_text()


def test_a_session_over_tls(tmp_path: Path, require_tool: Callable[..., Path]) -> None:
    tool = require_tool("openssl")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    arguments = f"req -x509 -newkey rsa:2048 -nodes -subj /CN=controller -keyout {key} -out {cert} -days 2"
    subprocess.run([tool, *arguments.split()], check=True, capture_output=True)

    async def act(stage: LiveHarness, records: list[Record]) -> None:
        assert stage.possible().sessions_up() == ["s1-c0"]
        await do(stage, "send h1 to h2 ping 1")

    controller = {**scripted(f"cert={cert}", f"key={key}"), "tls": {"ca": "cert.pem"}}
    with nothing_left():
        on_stage(live_scenario(tmp_path, controller, topology="single,2"), tmp_path, act)
    assert "heard FeaturesReply(dpid=0x1)" in (tmp_path / "c0.log").read_text()


def test_one_controller_that_cannot_be_started_keeps_no_other_running(tmp_path: Path) -> None:
    async def act(stage: LiveHarness, records: list[Record]) -> None:
        pytest.fail("The stage has opened.")

    scenario = live_scenario(tmp_path, scripted(), {"cmd": ["false"]}, topology="single,2")
    with nothing_left(), pytest.raises(PenstockError, match="c1 ended with status 1 before it listened"):
        on_stage(scenario, tmp_path, act)
