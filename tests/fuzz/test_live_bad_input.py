"""A controller that does not do its part: one sentence with its last lines, and nothing left running."""

from pathlib import Path

import pytest
from tests.fuzz.live_lab import live_scenario, on_stage, scripted
from tests.tcp_lab import nothing_left

from penstock._controllers.tcp import ports
from penstock._controllers.tcp.session import Patience
from penstock._fuzz.live_harness import LiveHarness
from penstock._world.transition import Record
from penstock.errors import PenstockError


async def nothing(stage: LiveHarness, records: list[Record]) -> None:
    pytest.fail("The stage has opened.")


def refused(tmp_path: Path, controller: dict[str, object], **options: object) -> str:
    """Return the sentence that opening a network with a controller ends with."""
    scenario = live_scenario(tmp_path, controller, topology="linear,2")
    with nothing_left(), pytest.raises(PenstockError) as caught:
        on_stage(scenario, tmp_path, nothing, **options)
    assert int(scenario.controllers["c0"]["port"]) not in ports.listeners()  # type: ignore[index]
    return str(caught.value)


def test_one_that_never_listens(tmp_path: Path) -> None:
    told = refused(tmp_path, {"cmd": ["sh", "-c", "echo thinking; exec sleep 60"]}, listening_s=1.5)
    assert told.startswith("c0 did not listen on port ")
    assert told.endswith(" within 1.5 seconds; its last lines were: thinking")


def test_one_that_listens_on_another_port(tmp_path: Path) -> None:
    other = ports.free_port()
    controller = scripted()
    controller["cmd"][3] = str(other)
    told = refused(tmp_path, controller, listening_s=1.5)
    assert f"within 1.5 seconds but on {other}: give that port, or write {{port}} into the command" in told
    assert other not in ports.listeners()


def test_one_that_dies_in_the_handshake(tmp_path: Path) -> None:
    told = refused(tmp_path, scripted("dies"))
    assert told == "c0 ended with status 7; its last lines were: heard Hello | cannot go on"


def test_one_that_sends_garbage(tmp_path: Path) -> None:
    told = refused(tmp_path, scripted("garbage"))
    assert told.startswith("c0 sent 48 54 54 50 2f 31 2e 31 where a greeting was due, which is no OpenFlow")
    assert "; its last lines were: " in told


def test_one_that_speaks_another_version_only(tmp_path: Path) -> None:
    told = refused(tmp_path, scripted("version=1"))
    assert told.startswith("c0 speaks only OpenFlow 1.0, the switches 1.3, when s1 connected to port ")
    assert "its last lines were: " in told and "heard Error(0,0)" in told


def test_one_that_says_nothing(tmp_path: Path) -> None:
    told = refused(tmp_path, scripted("silent"), patience=Patience(greeting_s=0.2))
    assert told.startswith("c0 did not greet within 0.2 seconds, when s1 connected to port ")


def test_one_that_greets_and_then_asks_nothing(tmp_path: Path) -> None:
    told = refused(tmp_path, scripted("mute"), joining_s=0.5)
    assert told.startswith(
        "c0 did not complete the handshake with s1, s2 in 0.5 seconds; its last lines were:"
    )


def test_one_that_speaks_plainly_where_tls_is_wanted(tmp_path: Path) -> None:
    told = refused(tmp_path, {**scripted(), "tls": True})
    assert told.startswith("c0 could not be reached (")


def test_files_of_tls_that_are_not_there(tmp_path: Path) -> None:
    told = refused(tmp_path, {**scripted(), "tls": {"cert": "nowhere.pem"}})
    assert "nowhere.pem cannot be used (No such file or directory): give certificates in PEM form" in told
