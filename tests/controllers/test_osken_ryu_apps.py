"""Ryu 4.34's own apps, unmodified: they load, shake hands, answer, and do the same again when put back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from tests.controllers.osken_lab import control, need_ryu, network_of, write_app

from penstock._controllers.osken.binding import OsKenController
from penstock._controllers.osken.program import Doings, Program
from penstock._world.hosts import host
from penstock._world.world import World
from penstock.openflow.messages import V10, V13

SWITCHING = {
    "example_switch_13": V13,
    "simple_monitor_13": V13,
    "simple_switch": V10,
    "simple_switch_13": V13,
    "simple_switch_igmp_13": V13,
    "simple_switch_lacp_13": V13,
    "simple_switch_rest_13": V13,
    "simple_switch_snort": V13,
    "simple_switch_websocket_13": V13,
}
"""Apps that forward packets, so that a ping is answered."""

ANSWERING = {
    "cbench": V10,
    "simple_switch_stp": V10,
    "simple_switch_stp_13": V13,
}
"""Apps that answer packets in other ways: by a rule, or once a spanning tree stands."""

SERVING = {
    "gui_topology.gui_topology": V13,
    "ofctl_rest": V13,
    "rest_firewall": V13,
    "rest_qos": V13,
    "rest_router": V13,
    "rest_topology": V13,
    "ws_topology": V13,
}
"""Apps that wait for requests from the web, and so leave packets alone."""

APPS = {**SWITCHING, **ANSWERING, **SERVING}


@pytest.fixture(autouse=True)
def _ryu() -> None:
    need_ryu()


def world_of(app: str, version: int | None = None, timers: int | None = 0) -> tuple[World, list[Any]]:
    """Return a world in which h1 and h2 ping each other under an app, and where its steps are recorded."""
    controller = control(f"ryu.app.{app}", shape="linear,2", version=version, timers=timers)
    pings = {"h1": host("ping", to="h2"), "h2": host("ping", to="h1")}
    records: list[Any] = []
    return World(network_of(controller, "linear,2", pings), [records.append]), records


def test_a_dozen_apps_answer_packets() -> None:
    assert len(SWITCHING) + len(ANSWERING) >= 12


@pytest.mark.parametrize("app", APPS)
def test_an_app_shakes_hands_with_the_switches(app: str) -> None:
    world, records = world_of(app)
    controller = world.network.components[0]
    assert isinstance(controller, OsKenController) and controller.version == APPS[app]
    world.run(limit=400)
    assert world.state("c0").joined == {"s1", "s2"}
    said = [flight.message for record in records if record.node == "c0" for flight in record.sends]
    kinds = {type(message).__name__ for message in said}
    assert {"Hello", "FeaturesRequest"} <= kinds
    if APPS[app] == V13:
        assert "StatsRequest" in kinds
    assert not [e for r in records for e in r.events if e.kind in ("crashed", "hung", "malformed")]


@pytest.mark.parametrize("app", SWITCHING)
def test_pings_are_answered_under_an_app_that_forwards(app: str) -> None:
    world, _ = world_of(app)
    world.run(limit=400)
    assert world.state("h1").memory.answered == world.state("h2").memory.answered == 1


@pytest.mark.parametrize("app", ANSWERING)
def test_a_packet_is_answered_with_messages(app: str) -> None:
    world, records = world_of(app)
    world.run(limit=400)
    for _ in range(40):  # the spanning tree needs half a minute and its messages in between
        world.advance(1000)
        world.run(limit=400)
    handed = [r for r in records if r.node == "c0" and type(r.message).__name__ == "PacketIn"]
    assert any(record.sends for record in handed)


def settle(world: World) -> None:
    """Let everything happen that no host begins."""
    while ready := [t for t in world.enabled() if t.verb == "deliver" or t.node == "c0"]:
        world.take(ready[0])


def test_the_spanning_tree_opens_the_ports_in_the_end() -> None:
    world, _ = world_of("simple_switch_stp_13")
    for _ in range(35):
        settle(world)
        world.advance(1000)
    world.run(limit=400)
    assert world.state("h1").memory.answered == world.state("h2").memory.answered == 1


def test_a_web_server_opens_no_socket_and_needs_no_eventlet() -> None:
    program = (
        "import sys, threading, _socket\n"
        "opened = []\n"
        "sys.addaudithook(lambda event, _: opened.append(event) if event.startswith('socket.') else None)\n"
        "from penstock._controllers.osken.binding import OsKenController\n"
        "OsKenController(('ryu.app.simple_switch_websocket_13',), {'s1': 1})\n"
        "print('eventlet' in sys.modules, threading.active_count(), opened)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False 1 []\n"


def test_apps_of_versions_that_the_model_lacks_are_refused_in_a_sentence() -> None:
    for app, version in [
        ("simple_switch_12", "1.2"),
        ("simple_switch_14", "1.4"),
        ("simple_switch_15", "1.5"),
    ]:
        with pytest.raises(Exception, match=f"simple_switch_.. speaks OpenFlow {version}, but the switches"):
            control(f"ryu.app.{app}")


def test_what_python_3_broke_in_an_old_app_is_found() -> None:
    world, records = world_of("simple_switch_lacp")
    world.run(limit=400)
    crashes = [event.detail for record in records for event in record.events if event.kind == "crashed"]
    assert {crash[:2] for crash in crashes} == {("c0", "NameError: name 'buffer' is not defined")}
    assert "in _packet_in_handler" in crashes[0][2]
    assert "penstock" not in crashes[0][2].replace(str(Path.cwd()), "")


# Putting back.


class Call(NamedTuple):
    """One step of a controller: what was asked, what came of it, and the bytes that were sent."""

    method: str
    arguments: tuple[Any, ...]
    step: Any
    sent: tuple[tuple[str, bytes], ...]


class Recorder:
    """Notes what a controller is asked and answers, down to the bytes."""

    def __init__(self, controller: OsKenController, patch: pytest.MonkeyPatch) -> None:
        self.controller = controller
        self.calls: list[Call] = []
        self._sent: list[tuple[str, bytes]] = []
        perform = Program.perform

        def noted(program: Program, *given: Any) -> Doings:
            doings = perform(program, *given)
            self._sent = doings.sent
            return doings

        patch.setattr(Program, "perform", noted)

    def ask(self, method: str, *arguments: Any) -> Call:
        self._sent = []
        step = getattr(OsKenController, method)(self.controller, *arguments)
        return Call(method, arguments, step, tuple(self._sent))

    def record(self, method: str, *arguments: Any) -> Any:
        self.calls.append(self.ask(method, *arguments))
        return self.calls[-1].step

    def differences(self, random: Random) -> Iterator[Call]:
        """Ask everything again, in another order, and yield what is not as it was."""
        for call in random.sample(self.calls, len(self.calls)):
            if self.ask(call.method, *call.arguments) != call:
                yield call


def recorded(controller: OsKenController, patch: pytest.MonkeyPatch, limit: int) -> Recorder:
    """Run pings and timers at random under a controller, noting each step."""
    recorder = Recorder(controller, patch)
    for method in ("act", "receive"):
        patch.setattr(controller, method, lambda *a, method=method: recorder.record(method, *a))
    pings = {"h1": host("ping", to="h2"), "h2": host("ping", to="h1")}
    World(network_of(controller, "linear,2", pings)).run(Random(7), limit)
    return recorder


@pytest.mark.parametrize("app", APPS)
def test_a_state_put_back_gives_the_same_bytes_again(app: str, monkeypatch: pytest.MonkeyPatch) -> None:
    controller = control(f"ryu.app.{app}", shape="linear,2", timers=12)
    recorder = recorded(controller, monkeypatch, 160)
    assert sum(len(call.sent) for call in recorder.calls) >= 4
    assert len({call.step.state for call in recorder.calls}) >= 4
    assert list(recorder.differences(Random(8))) == []


@pytest.mark.parametrize(
    "hidden", ["itertools.accumulate([1] * 99)", "(n for n in range(1, 99))"], ids=["iterator", "generator"]
)
def test_the_comparison_notices_state_that_cannot_be_put_back(
    hidden: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = write_app(
        tmp_path,
        f"""
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.priorities = {hidden}

        @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
        def features(self, ev):
            datapath = ev.msg.datapath
            parser = datapath.ofproto_parser
            datapath.send_msg(parser.OFPFlowMod(datapath, priority=next(self.priorities)))
        """,
    )
    controller = control(app, shape="linear,2", version=V13)
    recorder = recorded(controller, monkeypatch, 40)
    assert list(recorder.differences(Random(8)))
    assert controller.blind_spots in (("itertools.accumulate",), ("builtins.generator",))
