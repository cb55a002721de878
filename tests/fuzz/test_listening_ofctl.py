"""A virtual switch that listens cannot be told from Open vSwitch by `ovs-ofctl`, nor by other callers."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from bench.ovs.bridge import Bridge, BridgePlan, BridgePort
from bench.ovs.instance import OpenVSwitch
from tests.fuzz.calling_lab import PATIENCE_S, Caller, greeted

from penstock._controllers.tcp.remote import RemoteController
from penstock._fuzz.listening import SERVICES, Listening, with_services
from penstock._world.assembly import build_network
from penstock._world.component import Endpoint
from penstock._world.faults import Faults
from penstock._world.switch import Switch, SwitchOptions
from penstock._world.topology import topology
from penstock._world.transition import Record
from penstock._world.world import World
from penstock.errors import PenstockError
from penstock.openflow.messages import V10, V13, Hello, PortStatus, SetConfig

FLAGS = {V10: "OpenFlow10", V13: "OpenFlow13"}

COMMANDS = {
    V10: (
        "show TARGET",
        "add-flow TARGET priority=5,in_port=1,actions=output:2",
        "add-flow TARGET priority=7,ip,nw_dst=10.0.0.0/8,idle_timeout=10,actions=mod_nw_dst:1.2.3.4,output:3",
        "-F OpenFlow10 dump-flows TARGET",
        "-F OpenFlow10 dump-flows TARGET in_port=1",
        "-F OpenFlow10 dump-aggregate TARGET",
        "-F OpenFlow10 mod-flows TARGET in_port=1,actions=output:3",
        "-F OpenFlow10 dump-flows TARGET",
        "dump-ports TARGET",
        "dump-ports TARGET 2",
        "dump-ports-desc TARGET",
        "dump-tables TARGET",
        "mod-port TARGET 1 down",
        "mod-port TARGET s1-eth2 no-flood",
        "show TARGET",
        "mod-port TARGET 9 down",
        "probe TARGET",
        "set-frags TARGET drop",
        "get-frags TARGET",
        "packet-out TARGET in_port=3,packet=ffffffffffff0000000000010800,actions=output:2",
        "dump-ports TARGET 2",
        "--strict del-flows TARGET priority=7,ip,nw_dst=10.0.0.0/8",
        "-F OpenFlow10 dump-flows TARGET",
        "del-flows TARGET",
        "-F OpenFlow10 dump-flows TARGET",
    ),
    V13: (
        "show TARGET",
        "add-flow TARGET priority=5,in_port=1,actions=output:2",
        "add-flow TARGET priority=7,ip,nw_dst=10.0.0.0/8,idle_timeout=10,actions=mod_nw_dst:1.2.3.4,output:3",
        "add-flow TARGET table=3,tcp,tp_dst=80,actions=drop",
        "dump-flows TARGET",
        "dump-flows TARGET table=3",
        "dump-aggregate TARGET",
        "mod-flows TARGET in_port=1,actions=output:3",
        "dump-flows TARGET",
        "dump-ports TARGET",
        "dump-ports TARGET 2",
        "dump-ports-desc TARGET",
        "dump-tables TARGET",
        "mod-port TARGET 1 down",
        "mod-port TARGET s1-eth2 no-forward",
        "show TARGET",
        "mod-port TARGET 9 down",
        "probe TARGET",
        "set-frags TARGET drop",
        "get-frags TARGET",
        "packet-out TARGET in_port=1,packet=ffffffffffff0000000000010800,actions=output:3",
        "dump-ports TARGET 3",
        "add-group TARGET group_id=1,type=all,bucket=output:1",
        "dump-groups TARGET",
        "dump-group-stats TARGET",
        "dump-group-features TARGET",
        "add-group TARGET group_id=1,type=all,bucket=output:1",
        "add-meter TARGET meter=1,kbps,band=type=drop,rate=1000",
        "dump-meters TARGET",
        "del-groups TARGET",
        "dump-groups TARGET",
        "--strict del-flows TARGET priority=7,ip,nw_dst=10.0.0.0/8",
        "dump-flows TARGET",
        "del-flows TARGET",
        "dump-flows TARGET",
    ),
}
"""What is said to both.

With 1.0 the flow format is named, because Open vSwitch would else be asked in its own.  Queues, bundles,
the kinds of meter band and what a switch is called are left out: there the two differ, rightly.
"""


class Printed(NamedTuple):
    """What `ovs-ofctl` came to."""

    status: int
    out: str
    err: str


@pytest.fixture(scope="module")
def ofctl(require_tool: Callable[..., Path]) -> Path:
    return require_tool("ovs-ofctl")


@pytest.fixture(scope="module")
def ovs(require_tool: Callable[..., Path]) -> Iterator[OpenVSwitch]:
    for program in ("ovs-vswitchd", "ovsdb-server", "ovsdb-tool"):
        require_tool(program)
    with OpenVSwitch() as running:
        yield running


async def run(ofctl: Path, version: int, target: str, command: str) -> Printed:
    words = [target if word == "TARGET" else word for word in command.split()]
    process = await asyncio.create_subprocess_exec(
        ofctl,
        *("-O", FLAGS[version], *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    except TimeoutError:
        process.kill()
        await process.wait()
        raise
    assert process.returncode is not None
    return Printed(process.returncode, out.decode(), err.decode())


def network(version: int = V13) -> World:
    controllers, options = with_services([RemoteController("c0")], SwitchOptions(version=version))
    faults = Faults(disconnects=10_000, switch_failures=10, link_failures=10)
    shape = topology("single,3")
    return World(build_network(shape, controllers=controllers, switches=options, faults=faults))


Talk = Callable[[World, str], Awaitable[None]]


def with_listener(talk: Talk, version: int = V13, address: str = "ptcp:0") -> None:
    """Have a network whose s1 listens, and talk to it."""

    async def all_of_it() -> None:
        world = network(version)
        listening = Listening(world, proceed=world.run)
        try:
            await talk(world, await listening.listen("s1", address))
        finally:
            listening.close()

    asyncio.run(all_of_it())


def switch_of(world: World) -> Switch:
    found = world.network.components[world.network.places["s1"]]
    assert isinstance(found, Switch)
    return found


def flows(world: World) -> int:
    return sum(len(table) for table in world.state("s1").tables.values())


class TestBesideOpenVSwitch:
    @pytest.mark.ovs
    @pytest.mark.parametrize("version", [V10, V13])
    def test_ovs_ofctl_prints_the_same_of_both(self, version: int, ofctl: Path, ovs: OpenVSwitch) -> None:
        async def talk(world: World, target: str) -> None:
            ports = tuple(
                BridgePort(spec.number, spec.name, spec.hw_addr) for spec in switch_of(world).chassis.ports
            )
            with Bridge(ovs, BridgePlan("s1", 1, version, ports, 1, ())):
                real = f"unix:{ovs.folder / 's1.mgmt'}"
                for command in COMMANDS[version]:
                    ours = comparable(await run(ofctl, version, target, command), target)
                    theirs = comparable(await run(ofctl, version, real, command), real)
                    assert ours == theirs, command

        with_listener(talk, version)


def comparable(printed: Printed, target: str) -> tuple[int, list[str]]:
    """Return what was printed without what may differ: transactions, time, the order of a list.

    Counters that a dummy device does not have are printed by Open vSwitch as `?`.  It takes as many groups
    as there are numbers, our switches `MOST_GROUPS`.
    """
    text = (printed.out + printed.err).replace(target, "TARGET").replace("=?", "=0")
    varying = r"\(xid=0x[0-9a-f]+\)|duration=[0-9.]+s|max_groups=0x[0-9a-f]+|^[-0-9T:]+Z\|"
    text = re.sub(varying, "", text, flags=re.MULTILINE)
    return printed.status, sorted(text.splitlines())


class TestWhatOfctlDoes:
    @pytest.mark.parametrize(
        ("version", "reason"),
        [
            (V10, "version negotiation failed"),  # it wants 1.4 then
            (V13, "Error OFPBRC_BAD_VENDOR for: ONFT_BUNDLE_CONTROL"),
        ],
    )
    def test_a_bundle_is_refused_and_nothing_changes(
        self, version: int, reason: str, ofctl: Path, tmp_path: Path
    ) -> None:
        file = tmp_path / "flows.txt"
        file.write_text("in_port=1,actions=output:2\nin_port=2,actions=output:1\n")

        async def talk(world: World, target: str) -> None:
            refused = await run(ofctl, version, target, f"--bundle add-flows TARGET {file}")
            assert (refused.status, flows(world)) == (1, 0)
            assert reason in refused.err
            taken = await run(ofctl, version, target, f"add-flows TARGET {file}")
            assert (taken.status, flows(world)) == (0, 2)

        with_listener(talk, version)

    def test_a_port_goes_down_and_the_controller_hears_of_it(self, ofctl: Path) -> None:
        async def talk(world: World, target: str) -> None:
            told: list[Record] = []
            world.observe(told.append)
            await run(ofctl, V13, target, "mod-port TARGET s1-eth2 down")
            assert not world.state("s1").ports[2].usable
            assert [r.node for r in told if isinstance(r.message, PortStatus)] == ["c0"]

        with_listener(talk)

    def test_a_packet_out_reaches_a_host(self, ofctl: Path) -> None:
        async def talk(world: World, target: str) -> None:
            told: list[Record] = []
            world.observe(told.append)
            await run(
                ofctl,
                V13,
                target,
                "packet-out TARGET in_port=1,packet=ffffffffffff0000000000010800,actions=2",
            )
            assert [r.node for r in told if r.at == Endpoint("h2", 0)] == ["h2"]

        with_listener(talk)

    def test_thousands_of_long_entries_are_listed(self, ofctl: Path, tmp_path: Path) -> None:
        actions = ",".join(f"set_field:{number}->tcp_dst,output:1" for number in range(45))
        lines = [f"tcp,tcp_src={number},actions={actions}\n" for number in range(2000)]
        file = tmp_path / "flows.txt"
        file.write_text("".join(lines))

        async def talk(world: World, target: str) -> None:
            assert (await run(ofctl, V13, target, f"add-flows TARGET {file}")).status == 0
            assert flows(world) == len(lines)
            listed = await run(ofctl, V13, target, "dump-flows TARGET")
            assert len(re.findall(r"tp_src=\d+", listed.out)) == len(lines)

        with_listener(talk)

    def test_another_version_is_refused_and_the_next_call_served(self, ofctl: Path) -> None:
        async def talk(_: World, target: str) -> None:
            assert "version negotiation failed" in (await run(ofctl, V10, target, "probe TARGET")).err
            assert (await run(ofctl, V13, target, "probe TARGET")).status == 0

        with_listener(talk)

    def test_a_switch_listens_on_a_unix_socket_too(self, ofctl: Path, tmp_path: Path) -> None:
        path = tmp_path / "s1.mgmt"

        async def talk(_: World, target: str) -> None:
            assert target == f"unix:{path}"
            assert (await run(ofctl, V13, target, "probe TARGET")).status == 0

        with_listener(talk, address=f"punix:{path}")
        assert not path.exists()


class TestCallers:
    def test_a_caller_is_told_nothing_that_he_did_not_ask_for(self) -> None:
        async def talk(world: World, target: str) -> None:
            caller = await greeted(target)
            world.take("fabric fail h3-s1")
            world.run()
            assert await caller.until_barrier() == []
            caller.say(SetConfig(0, 128))
            assert await caller.until_barrier() == []
            world.take("fabric recover h3-s1")
            world.run()
            assert await caller.until_barrier() == ["PortStatus"]
            await caller.hang_up()

        with_listener(talk)

    def test_he_who_calls_while_all_places_are_taken_waits(self) -> None:
        async def talk(_: World, target: str) -> None:
            served = [await greeted(target) for _ in SERVICES]
            late = await Caller.call(target)
            late.say(Hello())
            hello = asyncio.create_task(late.hear())
            assert await served[0].until_barrier() == []
            assert not hello.done()
            await served[2].hang_up()
            assert isinstance(await hello, Hello)
            assert await late.until_barrier() == []

        with_listener(talk)

    def test_a_switch_without_power_hangs_up_and_answers_again_later(self) -> None:
        async def talk(world: World, target: str) -> None:
            caller = await greeted(target)
            world.take("fabric fail s1")
            world.run()
            assert await caller.hear() is None
            assert await (await Caller.call(target)).hear() is None
            world.take("fabric recover s1")
            world.run()
            assert await (await greeted(target)).until_barrier() == []

        with_listener(talk)

    def test_what_one_caller_left_open_is_over_for_the_next(self) -> None:
        async def talk(world: World, target: str) -> None:
            caller = await greeted(target)
            caller.say(SetConfig(0, 128))
            assert await caller.until_barrier() == []
            await caller.hang_up()
            assert (await greeted(target)) is not None
            assert world.state("s1").sessions["ofctl1"].miss_send_len == 0

        with_listener(talk)


class TestBadInput:
    def test_an_address_of_another_kind_is_one_sentence(self) -> None:
        with pytest.raises(PenstockError, match="s1 cannot listen at 'tcp:1': write ptcp:6654"):
            with_listener(nothing, address="tcp:1")

    def test_a_port_that_is_taken_is_one_sentence(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with pytest.raises(PenstockError, match=f"s1 cannot listen at ptcp:{port}: .*in use"):
                with_listener(nothing, address=f"ptcp:{port}")

    def test_a_network_without_places_for_callers_cannot_be_called_on(self) -> None:
        world = World(build_network(topology("single,2"), controllers=RemoteController("c0")))
        with pytest.raises(PenstockError, match="build the network with ofctl1, ofctl2"):
            Listening(world, world.run)

    def test_only_switches_listen(self) -> None:
        async def listen() -> None:
            world = network()
            await Listening(world, world.run).listen("h1", "ptcp:0")

        with pytest.raises(PenstockError, match="unknown switch 'h1'"):
            asyncio.run(listen())


async def nothing(_world: World, _target: str) -> None:
    """Say nothing."""
