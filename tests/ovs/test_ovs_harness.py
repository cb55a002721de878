"""The private Open vSwitch: it does what it is told, stands still, and leaves nothing behind."""

import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.ovs import instance
from bench.ovs.bridge import Bridge, BridgePlan, BridgePort
from bench.ovs.instance import OpenVSwitch
from bench.ovs.jsonrpc import CommandFailed

from bench import ovs_diff
from penstock import _doctor
from penstock.errors import PenstockError
from penstock.openflow.actions import ApplyActions, Output
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import (
    V10,
    V13,
    EchoReply,
    EchoRequest,
    FlowCommand,
    FlowFlag,
    FlowMod,
    FlowRemoved,
    OpenFlowMessage,
    PacketIn,
    PortStatus,
)
from penstock.openflow.wire import decode, encode

FRAME = bytes.fromhex("000000000002 000000000001 88b5") + b"hello"
PORTS = (BridgePort(1, "t1-eth1", 0x020000000001), BridgePort(2, "t1-eth2", 0x020000000002))


def plan(version: int = V13, controllers: tuple[str, ...] = ("c0",)) -> BridgePlan:
    return BridgePlan("t1", 7, version, PORTS, 7, controllers)


def rule(**more: int) -> FlowMod:
    return FlowMod(FlowCommand.ADD, ANYTHING, (ApplyActions((Output(2),)),), **more)


def answers(arrived: dict[str, list[bytes]]) -> list[OpenFlowMessage]:
    return [decode(data) for data in arrived["c0"]]


@pytest.mark.ovs
class TestBridge:
    """A bridge whose controllers, cables and clock are in our hands."""

    @pytest.mark.parametrize("version", [V10, V13])
    def test_a_frame_follows_the_rules(self, ovs: OpenVSwitch, version: int) -> None:
        with Bridge(ovs, plan(version)) as bridge:
            bridge.send("c0", encode(rule(), version))
            bridge.settle()
            bridge.inject(1, FRAME)
            bridge.settle(2)
            assert bridge.frames() == {2: [FRAME]}
            assert bridge.frames() == {}

    def test_every_controller_is_sent_a_packet_that_missed(self, ovs: OpenVSwitch) -> None:
        with Bridge(ovs, plan(V10, ("c0", "c1"))) as bridge:
            bridge.inject(2, FRAME)
            arrived = bridge.settle(2)
            for controller in ("c0", "c1"):
                (packet_in,) = map(decode, arrived[controller])
                assert isinstance(packet_in, PacketIn)
                assert (packet_in.in_port, packet_in.data) == (2, FRAME)

    def test_the_clock_moves_only_when_told_and_then_exactly(self, ovs: OpenVSwitch) -> None:
        with Bridge(ovs, plan()) as bridge:
            bridge.send("c0", encode(rule(hard_timeout=2, flags=FlowFlag.SEND_FLOW_REM), V13))
            bridge.settle()
            ovs.advance(1_999)
            assert answers(bridge.settle()) == []
            ovs.advance(2)
            (removed,) = answers(bridge.settle())
            assert isinstance(removed, FlowRemoved)
            assert (removed.duration_sec, removed.duration_nsec) == (2, 1_000_000)

    def test_removals_are_told_of_before_the_next_step(self, ovs: OpenVSwitch) -> None:
        with Bridge(ovs, plan()) as bridge:
            for port in range(1, 30):
                match = Match.of(in_port=port)
                message = FlowMod(FlowCommand.ADD, match, flags=FlowFlag.SEND_FLOW_REM)
                bridge.send("c0", encode(message, V13))
            bridge.settle()
            bridge.send("c0", encode(FlowMod(FlowCommand.DELETE), V13))
            told = answers(bridge.settle())
            ovs.finish_removals()
            assert len(told + answers(bridge.settle())) == 29

    def test_a_link_that_goes_down_is_reported(self, ovs: OpenVSwitch) -> None:
        with Bridge(ovs, plan()) as bridge:
            bridge.link(1, False)
            told = answers(bridge.settle(4))
            assert told
            assert all(isinstance(message, PortStatus) and message.desc.port_no == 1 for message in told)

    def test_each_bridge_starts_empty(self, ovs: OpenVSwitch) -> None:
        with Bridge(ovs, plan()) as bridge:
            bridge.send("c0", encode(rule(), V13))
            bridge.settle()
        with Bridge(ovs, plan()) as bridge:
            bridge.inject(1, FRAME)
            bridge.settle(2)
            assert bridge.frames() == {}

    def test_a_controller_gets_its_answers_in_order(self, ovs: OpenVSwitch) -> None:
        with Bridge(ovs, plan()) as bridge:
            for number in range(5):
                bridge.send("c0", encode(EchoRequest(bytes([number])), V13))
            assert answers(bridge.settle()) == [EchoReply(bytes([number])) for number in range(5)]

    def test_a_refused_control_command_says_why(self, ovs: OpenVSwitch) -> None:
        with pytest.raises(CommandFailed, match="not a valid command"):
            ovs.control("no/such/command")


def gone(pids: tuple[int, ...], patience_s: float = 10) -> bool:
    """Tell whether processes end; waits for the ends themselves."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        ended, _, _ = select.select([handle], [], [], patience_s)
        os.close(handle)
        if not ended:
            return False
    return True


@pytest.mark.ovs
class TestEnd:
    """Whatever happens, no daemon and no file stays."""

    def test_closing_ends_the_daemons_and_removes_the_folder(self, require_tool: Callable[..., Path]) -> None:
        require_tool("ovs-vswitchd")
        with OpenVSwitch() as running:
            pids, folder = running.pids, running.folder
            assert len(pids) == 2
            assert folder.is_dir()
        assert gone(pids)
        assert not folder.exists()
        running.close()

    def test_an_error_inside_ends_them_too(self, require_tool: Callable[..., Path]) -> None:
        require_tool("ovs-vswitchd")
        with pytest.raises(ZeroDivisionError), OpenVSwitch() as running:
            pids, folder = running.pids, running.folder
            raise ZeroDivisionError
        assert gone(pids)
        assert not folder.exists()

    @pytest.mark.parametrize("fatal", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
    def test_a_killed_harness_takes_its_daemons_with_it(
        self, require_tool: Callable[..., Path], fatal: signal.Signals
    ) -> None:
        require_tool("ovs-vswitchd")
        text = (
            "import signal\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "from bench.ovs.instance import OpenVSwitch\n"
            "with OpenVSwitch() as ovs:\n"
            "    print(*ovs.pids, flush=True)\n"
            "    signal.pause()\n"
        )
        root = Path(instance.__file__).parents[2]
        with tempfile.TemporaryDirectory() as folder:
            child = subprocess.Popen(
                [sys.executable, "-c", text],
                cwd=root,
                env=os.environ | {"TMPDIR": folder},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            assert child.stdout is not None
            pids = tuple(map(int, child.stdout.readline().split()))
            child.send_signal(fatal)
            try:
                child.communicate(timeout=10)
            finally:
                child.kill()
            assert len(pids) == 2
            assert gone(pids)
            assert fatal != signal.SIGINT or not any(Path(folder).iterdir())


class TestMissing:
    """Without Open vSwitch there is one sentence, naming what to install."""

    @pytest.fixture(autouse=True)
    def no_programs(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        monkeypatch.setattr(_doctor, "SYSTEM_FOLDERS", ())

    def test_starting_it_refuses(self) -> None:
        with pytest.raises(PenstockError, match="install the Debian package openvswitch-switch"):
            OpenVSwitch()

    def test_the_command_exits_with_2(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert ovs_diff.main(["--programs", "1"]) == 2
        assert "ovs-vswitchd" in capsys.readouterr().err
