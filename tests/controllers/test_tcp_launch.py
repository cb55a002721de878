"""os-ken and Ryu apps run as controllers of their own, with os-ken's real threads and sockets."""

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.tcp_lab import nothing_left, until

from penstock._controllers.tcp import ports
from penstock._controllers.tcp.process import ControllerProcess, Program
from penstock._controllers.tcp.session import ControlSession, connect
from penstock.openflow.messages import V10, V13, Error, FeaturesRequest, Hello, OpenFlowMessage

LAUNCH = (sys.executable, "-m", "penstock.launch")

APP = """\
from ryu.base import app_manager
from ryu.controller import ofp_event
from ryu.controller.handler import HANDSHAKE_DISPATCHER, set_ev_cls
from ryu.lib import hub
from ryu.ofproto import ofproto_v1_3

class Greeter(app_manager.RyuApp):
    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]

    @set_ev_cls(ofp_event.EventOFPHello, HANDSHAKE_DISPATCHER)
    def greeted(self, event):
        print("greeted by", event.msg.version, "on", hub.HUB_TYPE)
"""

RUDE = 'raise ValueError("no manners")'
FAILURES = {
    "at once": RUDE,
    "by a timer": f"def fail():\n            {RUDE}\n        hub.spawn_after(0.01, fail)",
}


def failing_app(when: str) -> str:
    """Return an app that raises when it is greeted, or after it was."""
    return APP.replace('print("greeted by", event.msg.version, "on", hub.HUB_TYPE)', FAILURES[when])


def launched(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*LAUNCH, *words], capture_output=True, text=True, timeout=60)


def converse(folder: Path, version: int, *options: str) -> tuple[list[OpenFlowMessage], list[str]]:
    """Launch the little app, greet it in a version, and return what it said and printed."""
    (folder / "greeter.py").write_text(APP)
    program = Program("c0", (*LAUNCH, "greeter.py", "--port", "{port}", *options), ports.free_port(), folder)
    heard: list[OpenFlowMessage] = []
    lines: list[str] = []
    over: list[bool] = []
    process = ControllerProcess(program, on_line=lines.append)

    async def run() -> None:
        await process.start()
        try:
            session = await connect(
                lambda: ControlSession(version, on_message=heard.append, on_close=lambda: over.append(True)),
                ("127.0.0.1", program.port),
            )
            session.send(Hello(frozenset({version})))
            await until(lambda: over or len(heard) > 1, "the app had answered")
            await until(lambda: any("greeted" in line for line in lines) or over, "the app had printed")
            session.close("was hung up on")
        finally:
            await process.stop()

    with nothing_left(program):
        asyncio.run(run())
    return heard, lines


@pytest.mark.parametrize("hub", ["native", "eventlet"])
def test_an_app_in_a_file_talks_to_a_switch(hub: str, tmp_path: Path) -> None:
    heard, lines = converse(tmp_path, V13, "--hub", hub)
    assert [type(message) for message in heard] == [Hello, FeaturesRequest]
    assert f"greeted by 4 on {hub}" in lines


def test_an_app_refuses_a_version_that_it_does_not_speak(tmp_path: Path) -> None:
    heard, _ = converse(tmp_path, V10)
    assert isinstance(heard[0], Hello) and heard[0].version == V13
    assert not any(isinstance(message, FeaturesRequest) for message in heard)
    assert all(isinstance(message, Error) for message in heard[1:])


def test_an_app_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    told = launched("no_such_app")
    assert told.returncode == 2
    assert told.stderr == "no_such_app failed to import: No module named 'no_such_app'; check its name.\n"
    told = launched(str(tmp_path / "nothing.py"))
    assert told.returncode == 2
    assert told.stderr == f"There is no file {tmp_path / 'nothing.py'}: check the path of the app.\n"


def test_a_file_without_an_app_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty_app.py").write_text("x = 1\n")
    told = launched(str(tmp_path / "empty_app.py"))
    assert told.returncode == 2
    assert told.stderr.startswith("empty_app has no app in it")


def test_an_option_that_os_ken_does_not_know_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "greeter.py").write_text(APP)
    told = launched(str(tmp_path / "greeter.py"), "--frobnicate")
    assert told.returncode == 2
    assert told.stderr.splitlines()[-1] == "os-ken does not know what --frobnicate means: see above."


@pytest.mark.parametrize("when", FAILURES)
@pytest.mark.parametrize("hub", ["native", "eventlet"])
def test_an_app_that_raises_ends_the_process_if_that_is_asked_for(
    hub: str, when: str, tmp_path: Path
) -> None:
    (tmp_path / "failing.py").write_text(failing_app(when))
    words = (*LAUNCH, "failing.py", "--port", "{port}", "--hub", hub, "--end-on-error")
    program = Program("c0", words, ports.free_port(), tmp_path)
    process = ControllerProcess(program)

    async def run() -> None:
        await process.start()
        try:
            session = await connect(
                lambda: ControlSession(V13, on_message=lambda _: None, on_close=lambda: None),
                ("127.0.0.1", program.port),
            )
            session.send(Hello(frozenset({V13})))
            await until(lambda: process.ended is not None, "the process had ended")
        finally:
            await process.stop()

    asyncio.run(run())
    assert process.end_story().startswith("c0 ended with status 1; its last lines were: ")
    assert process.end_story().endswith("ValueError: no manners")


def test_a_port_that_is_taken_ends_it(tmp_path: Path) -> None:
    (tmp_path / "greeter.py").write_text(APP)
    first = Program("c0", (*LAUNCH, "greeter.py", "--port", "{port}"), ports.free_port(), tmp_path)
    second: list[subprocess.CompletedProcess[str]] = []

    async def run() -> None:
        process = ControllerProcess(replace(first, patience_s=60))
        await process.start()
        try:
            arguments = (str(tmp_path / "greeter.py"), "--port", str(first.port))
            second.append(await asyncio.to_thread(launched, *arguments))
        finally:
            await process.stop()

    asyncio.run(run())
    assert second[0].returncode == 1
    assert second[0].stderr.splitlines()[-1] == f"The server on port {first.port} has ended."
