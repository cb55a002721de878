"""What tests of live runs share: the real controllers, scripted ones, and a stage to put them on."""

import asyncio
import contextlib
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from tests.required_tools import do_without, find_tool

from penstock._base.ryu_names import source_folders
from penstock._controllers.tcp import ports
from penstock._fuzz.building import build_setting
from penstock._fuzz.live_harness import LiveHarness
from penstock._fuzz.recorder import Recorder
from penstock._scenario.scenario import Scenario, scenario_of
from penstock._trace.trace import TraceWriter
from penstock._world.transition import Record

ROOT = Path(__file__).parents[2]
FAUCET = ROOT / ".cache" / "faucet-1.10.12" / "bin" / "osken-manager"
SCRIPTED = Path(__file__).with_name("scripted_controller.py")
REAL = ("faucet", "ryu", "ovs-testcontroller")

Table = dict[str, Any]


def faucet(folder: Path, topology_ports: Mapping[int, int]) -> Table:
    """Return Faucet with one VLAN on all ports; each switch's number comes with how many ports it has."""
    if not FAUCET.exists():
        do_without("Faucet is missing: make setup installs it into an environment of its own.")
    lines = ["vlans: {office: {vid: 100}}", "dps:"]
    for dpid, count in topology_ports.items():
        lines += [f"  s{dpid}:", f"    dp_id: {dpid}", '    hardware: "Open vSwitch"', "    interfaces:"]
        lines += [f"      {port}: {{native_vlan: office}}" for port in range(1, count + 1)]
    (folder / "faucet.yaml").write_text("\n".join(lines) + "\n")
    environment = {
        "FAUCET_CONFIG": str(folder / "faucet.yaml"),
        "FAUCET_LOG": "STDOUT",
        "FAUCET_EXCEPTION_LOG": "STDERR",
        "FAUCET_PROMETHEUS_PORT": "0",
        "FAUCET_PROMETHEUS_ADDR": "127.0.0.1",
    }
    command = [str(FAUCET), "--ofp-listen-host=127.0.0.1", "--ofp-tcp-listen-port={port}", "faucet.faucet"]
    return {"cmd": command, "env": environment}


def ryu(app: str = "ryu.app.simple_switch_13") -> Table:
    """Return one of Ryu's own apps under the launcher."""
    if not source_folders():
        do_without("The sources of Ryu are missing: make setup fetches them.")
    return {"cmd": [sys.executable, "-m", "penstock.launch", app, "--port", "{port}"]}


def ovs_testcontroller() -> Table:
    """Return Open vSwitch's controller."""
    tool = find_tool("ovs-testcontroller")
    return {"cmd": [str(tool), "--unixctl=none", "ptcp:{port}:127.0.0.1"]}


def real(name: str, folder: Path, topology_ports: Mapping[int, int]) -> Table:
    """Return a real controller by its name."""
    if name == "faucet":
        return faucet(folder, topology_ports)
    return ryu() if name == "ryu" else ovs_testcontroller()


def scripted(*words: str) -> Table:
    """Return a controller that does what the words say."""
    return {"cmd": [sys.executable, "-u", str(SCRIPTED), "{port}", *words]}


def live_scenario(folder: Path, *controllers: Table, topology: str = "linear,3", **more: Any) -> Scenario:
    """Return a scenario with these controllers, c0 and so on, each on a port of its own."""
    tables = {f"c{place}": {"port": ports.free_port(), **table} for place, table in enumerate(controllers)}
    fuzz = {"rates": {"migration": 0}, **more.pop("fuzz", {})}
    return scenario_of({"topology": topology, "controllers": tables, "fuzz": fuzz, **more}, folder)


def received(records: list[Record], host: str) -> list[str]:
    """Return what a host received, each in words."""
    return [
        str(event)
        for record in records
        for event in record.events
        if event.kind == "received" and record.node == host
    ]


def on_stage(
    scenario: Scenario,
    folder: Path,
    act: Callable[[LiveHarness, list[Record]], Awaitable[None]],
    **options: Any,
) -> LiveHarness:
    """Open a stage, have something done on it, and close it whatever happens."""
    setting = build_setting(scenario)
    writer = TraceWriter(folder / "trace.jsonl", scenario.table(), scenario.folder)
    with contextlib.closing(Recorder(writer, setting.version)) as recorder:
        stage = LiveHarness(setting, recorder, **options)
        records: list[Record] = []
        stage.observers.append(records.append)

        async def run() -> None:
            try:
                await stage.open()
                await act(stage, records)
            finally:
                await stage.close()

        asyncio.run(run())
    return stage
