"""The version of OpenFlow is the one that the controller says it speaks, unless the scenario asks for one."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock._controllers.controller import Controller
from penstock._controllers.tcp import ports
from penstock._engine.building import build
from penstock._fuzz.building import build_setting
from penstock._fuzz.fuzzing import fuzz
from penstock._scenario.scenario import Scenario, scenario_of
from penstock._world.network import Network
from penstock._world.switch import Switch
from penstock.errors import OtherVersion, PenstockError
from penstock.openflow.messages import V10, V13, Hello, greeting

APP = """
from os_ken.base import app_manager

class Idle(app_manager.OSKenApp):
    OFP_VERSIONS = {versions}
"""
PROCESS = """
import socket, struct, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    session, _ = server.accept()
    session.sendall(struct.pack("!BBHI", {version}, 0, 8, 1) + struct.pack("!BBHI", {version}, 5, 8, 2))
    while data := session.recv(4096):
        while len(data) >= 8:
            version, kind, length, xid = struct.unpack_from("!BBHI", data)
            if kind == 2 and version == {version}:
                session.sendall(struct.pack("!BBHI", version, 3, length, xid) + data[8:length])
            data = data[length:]
    session.close()
"""


class Old(Controller):
    """A native program that speaks 1.0."""

    openflow = "1.0"


def version_of(network: Network) -> int:
    return next(made.options.version for made in network.components if isinstance(made, Switch))


def app(folder: Path, name: str, versions: Any) -> dict[str, Any]:
    (folder / f"{name}.py").write_text(APP.format(versions=versions))
    return {"apps": [f"{name}.py"]}


@pytest.mark.parametrize(
    ("versions", "expected"), [([1], V10), ([4], V13), ([1, 4], V13), (None, V13), ([1, 4, 5], V13)]
)
def test_an_app_declares_its_versions_and_the_newest_is_spoken(
    versions: Any, expected: int, tmp_path: Path
) -> None:
    scenario = Scenario(controller=app(tmp_path, "idle", versions), folder=tmp_path)
    assert version_of(build(scenario).network) == expected
    assert build_setting(scenario).version == expected


def test_a_scenario_may_ask_for_an_older_one_but_for_none_that_is_not_spoken(tmp_path: Path) -> None:
    both, new = app(tmp_path, "both", [1, 4]), app(tmp_path, "new", [4])
    asked = Scenario(controller=both, openflow="1.0", folder=tmp_path)
    assert version_of(build(asked).network) == V10
    with pytest.raises(PenstockError, match=r"speaks OpenFlow 1\.3, not 1\.0: leave openflow out"):
        build(Scenario(controller=new, openflow="1.0", folder=tmp_path))


def test_a_native_program_declares_its_version_too() -> None:
    assert version_of(build(Scenario(controller=Old())).network) == V10
    assert version_of(build(Scenario(controller=Old(), openflow="1.3")).network) == V13
    assert version_of(build(Scenario(controller=Controller())).network) == V13


def test_a_version_that_is_not_modelled_is_one_sentence() -> None:
    program = Old()
    program.openflow = "1.4"
    with pytest.raises(PenstockError, match=r"invalid openflow = .* of Old: must be"):
        build(Scenario(controller=program))


def test_several_controllers_speak_the_newest_that_all_of_them_do(tmp_path: Path) -> None:
    tables = {"c0": app(tmp_path, "both", [1, 4]), "c1": app(tmp_path, "old", [1])}
    assert build_setting(Scenario(controllers=tables, folder=tmp_path)).version == V10
    tables["c2"] = app(tmp_path, "new", [4])
    with pytest.raises(OtherVersion, match=r"new.py speaks OpenFlow 1\.3, not 1\.0"):
        build_setting(Scenario(controllers=tables, folder=tmp_path))


def process(folder: Path, version: int, **more: Any) -> Scenario:
    (folder / "speaker.py").write_text(PROCESS.format(version=version))
    table = {"cmd": [sys.executable, "speaker.py", "{port}"], "port": ports.free_port()}
    fuzzing = {"events": 3, "rates": {"migration": 0}}
    return scenario_of({"controller": table, "fuzz": fuzzing, "name": "speaker", **more}, folder)


@pytest.mark.parametrize(("version", "name"), [(V10, "1.0"), (V13, "1.3")])
def test_the_greeting_of_a_process_says_what_it_speaks(version: int, name: str, tmp_path: Path) -> None:
    report = asyncio.run(fuzz(process(tmp_path, version), tmp_path / "runs"))
    assert [folder.name for folder in (tmp_path / "runs").iterdir()] == [report.folder.name]
    assert json.loads((report.folder / "scenario.json").read_text())["openflow"] == name
    assert report.scenario.openflow == name
    assert report.outcome.inputs == 3


def test_a_process_is_asked_for_no_other_version_than_the_scenarios(tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match=r"speaks only OpenFlow 1\.0, the switches 1\.3"):
        asyncio.run(fuzz(process(tmp_path, V10, openflow="1.3"), tmp_path / "runs"))


def test_what_a_greeting_offers() -> None:
    assert greeting(V10) == Hello()
    assert greeting(V13) == Hello(frozenset({V13}))
    assert Hello(None, 5).offers(V13)
    assert not Hello(None, 1).offers(V13)
    assert not Hello(frozenset({5}), 5).offers(V13)
    assert Hello(frozenset({1, 5}), 5).offers(V10)
