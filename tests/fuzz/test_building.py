"""A scenario becomes the setting of a run; what makes no sense is refused in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.fuzz.fuzz_lab import EXAMPLES, LEARNING, Flooder, scenario

from penstock._engine.building import build
from penstock._fuzz.building import build_setting
from penstock._fuzz.traffic import FuzzHost
from penstock._scenario.scenario import Scenario, scenario_of
from penstock._world.component import Endpoint
from penstock._world.hosts import Ping
from penstock._world.switch import Switch
from penstock.errors import PenstockError


def hosts_of(setting: Any) -> dict[str, object]:
    return {made.name: made for made in setting.network.components if made.name.startswith("h")}


def test_hosts_without_a_kind_talk_and_others_are_what_they_are() -> None:
    setting = build_setting(scenario(topology="single,3", hosts={"h2": {"kind": "ping", "to": "h1"}}))
    hosts = hosts_of(setting)
    assert setting.talkers == ("h1", "h3") and isinstance(hosts["h1"], FuzzHost)
    assert isinstance(hosts["h2"], Ping) and "h2" in setting.acts_alone


def test_switches_have_a_spare_port_where_hosts_migrate_and_none_elsewhere() -> None:
    roaming = build_setting(scenario(topology="linear,2"))
    assert roaming.places == (Endpoint("s1", 3), Endpoint("s2", 3))
    assert roaming.homes == {"h1": Endpoint("s1", 1), "h2": Endpoint("s2", 1)}
    settled = build_setting(scenario(topology="linear,2", fuzz={"rates": {"migration": 0}}))
    switches = [made for made in settled.network.components if isinstance(made, Switch)]
    assert not settled.places and all(len(made.chassis.ports) == 2 for made in switches)


def test_packets_have_names_only_where_properties_follow_them() -> None:
    for properties, named in (([], False), (["NoBlackHoles"], True)):
        host = hosts_of(build_setting(scenario(properties=properties)))["h1"]
        assert isinstance(host, FuzzHost) and host.named is named


def test_several_controllers_each_have_a_session_with_every_switch() -> None:
    setting = build_setting(Scenario(controllers={"c0": Flooder(), "c1": Flooder()}, topology="linear,2"))
    assert setting.controllers == ("c0", "c1") and not setting.commands
    assert len(setting.sessions) == 4


def test_a_command_is_read_and_stands_in_the_network_as_a_remote_controller() -> None:
    table = {"cmd": "faucet --verbose 'two words'", "port": 6700, "cwd": "here", "env": {"A": "b"}}
    setting = build_setting(scenario(table))
    command = setting.commands["c0"]
    assert command.cmd == ("faucet", "--verbose", "two words")
    assert (command.port, command.cwd, command.env, command.tls) == (6700, Path("here"), {"A": "b"}, False)
    assert setting.network.components[0].actions(setting.network.components[0].initial()) == ()


def test_parallel_links_are_told_apart_by_their_ports(tmp_path: Path) -> None:
    (tmp_path / "two.py").write_text(
        "from mininet.topo import Topo\n"
        "class Two(Topo):\n"
        "    def build(self):\n"
        "        a, b = self.addSwitch('s1'), self.addSwitch('s2')\n"
        "        self.addLink(a, b), self.addLink(a, b)\n"
        "        self.addLink(self.addHost('h1'), a)\n"
        "topos = {'two': Two}\n"
    )
    given = Scenario(Flooder(), topology={"mininet": "two.py"}, folder=tmp_path)
    setting = build_setting(given)
    assert [is_long for _, is_long in setting.links] == [False, True, True]


@pytest.mark.parametrize(
    ("controller", "hint"),
    [
        ({"cmd": ""}, "cmd of a controller is empty"),
        ({"cmd": 5}, "must be a list of strings"),
        ({"cmd": "'open"}, "invalid cmd"),
        ({"cmd": "x", "port": 0}, "must be an integer from 1 to 65535"),
        ({"cmd": "x", "port": "6653"}, "must be an integer from 1 to 65535"),
        ({"cmd": "x", "prot": 1}, "did you mean 'port'"),
        ({"cmd": "x", "env": {"A": 1}}, "invalid env.A = 1 in .controller.: must be a string"),
        ({"cmd": "x", "cwd": 1}, "must be a path"),
        ({"cmd": "x", "tls": 1}, "must be true or false or a table"),
        ({}, "names no controller"),
    ],
)
def test_a_controller_that_makes_no_sense_is_refused(controller: dict[str, Any], hint: str) -> None:
    with pytest.raises(PenstockError, match=hint):
        build_setting(scenario(controller))


def test_two_processes_do_not_share_a_port() -> None:
    with pytest.raises(PenstockError, match="Two controllers listen on port 6653"):
        build_setting(Scenario(controllers={"c0": {"cmd": "x"}, "c1": {"cmd": "y"}}))


@pytest.mark.parametrize(
    "table",
    [
        {"controller": {"cmd": "faucet", "port": 6653}},
        {"controllers": {"c0": LEARNING, "c1": LEARNING}},
    ],
)
def test_a_search_refuses_processes_and_several_controllers(table: dict[str, Any]) -> None:
    with pytest.raises(PenstockError, match="use penstock fuzz"):
        build(scenario_of(table, Path()))


@pytest.mark.parametrize(
    ("table", "hint"),
    [
        ({"events": 0}, "must be an integer of at least 1"),
        ({"events": True}, "must be an integer of at least 1"),
        ({"events": None}, "needs an end"),
        ({"seconds": -1}, "must be a number above 0"),
        ({"seed": "x"}, "must be an integer"),
        ({"order": "sorted"}, 'must be "fifo" or "random"'),
        ({"profile": "lnks"}, "did you mean 'links'"),
        ({"profile": 3}, "must be a string"),
        ({"rates": [1]}, "must be a table of numbers of at least 0"),
        ({"rates": {"x": 1}}, "unknown kind of input"),
        ({"after_crash": "cry"}, 'must be "continue", "restart" or "stop"'),
        ({"policy": 4}, "must be a string"),
        ({"policy": "missing.py:change"}, "no file missing.py"),
        ({"rates": {"policy": 1}}, "write policy = "),
        ({"evnts": 5}, "did you mean 'events'"),
    ],
)
def test_a_table_of_fuzzing_that_makes_no_sense_is_refused(table: dict[str, Any], hint: str) -> None:
    with pytest.raises(PenstockError, match=hint) as refusal:
        build_setting(scenario(fuzz=table))
    assert str(refusal.value).replace(str(EXAMPLES), "").count(".") < 4


@pytest.mark.parametrize(
    ("table", "hint"),
    [
        ({"fuzz": 5}, "invalid fuzz = 5 in the scenario: must be a table"),
        ({"controllers": {"c0": 5}}, "invalid controllers.c0 = 5 in the scenario: must be a table"),
        ({"controller": {"cmd": "x"}, "controllers": {"c1": {"cmd": "y"}}}, "keep one of them"),
    ],
)
def test_tables_of_a_scenario_that_are_none_are_refused(table: dict[str, Any], hint: str) -> None:
    with pytest.raises(PenstockError, match=hint):
        scenario_of(table, Path())


def test_a_policy_function_is_loaded_from_the_users_file(tmp_path: Path) -> None:
    (tmp_path / "policy.py").write_text("def change(view, number):\n    return number\nvalue = 3\n")
    setting = build_setting(Scenario(Flooder(), folder=tmp_path, fuzz={"policy": "policy.py:change"}))
    assert setting.policies["change"](None, 4) == 4
    with pytest.raises(PenstockError, match="is not a function"):
        build_setting(Scenario(Flooder(), folder=tmp_path, fuzz={"policy": "policy.py:value"}))
