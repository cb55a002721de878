"""Each input does to the network what it says, on virtual time."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest
from tests.fuzz.fuzz_lab import Flooder, opened, perform, scenario, written

from penstock._fuzz.harness import Harness, View
from penstock._world.component import Endpoint
from penstock._world.signals import FABRIC
from penstock.errors import PenstockError
from penstock.openflow.messages import Experimenter, OpenFlowMessage


def rested(stage: Harness) -> None:
    assert asyncio.run(stage.quiesce(1000))


def entries(stage: Harness, switch: str) -> int:
    return stage.possible().entries(switch)


def heard(stage: Harness, host: str, what: str) -> int:
    """Return how often a host received something of which the text tells."""
    return sum(
        event.startswith(f"received {host} ") and what in event
        for line in written(stage).lines
        for event in line.events
    )


@pytest.fixture
def stage(tmp_path: Path) -> Harness:
    return opened(tmp_path, scenario(fuzz={"deliveries": 0}))


def test_opening_lets_all_switches_join(stage: Harness) -> None:
    assert entries(stage, "s1") == entries(stage, "s2") == 1
    assert stage.courier.is_idle


@pytest.mark.parametrize(
    ("protocol", "there", "back"),
    [
        ("ping", "echo request", "echo reply"),
        ("udp", "UDP", "UDP"),
        ("tcp", "TCP", "TCP"),
        ("arp", "ARP", "ARP"),
    ],
)
def test_hosts_send_and_answer(stage: Harness, protocol: str, there: str, back: str) -> None:
    perform(stage, f"send h1 to h2 {protocol} 1", "wait 10")
    assert heard(stage, "h2", there) and heard(stage, "h1", back)


def test_a_broadcast_reaches_everybody(tmp_path: Path) -> None:
    stage = opened(tmp_path, scenario(topology="single,3"))
    perform(stage, "send h1 to everybody arp 1", "wait 10")
    assert heard(stage, "h2", "ARP") and heard(stage, "h3", "ARP")


def test_an_unanswered_question_is_asked_again_with_the_next_packet(stage: Harness) -> None:
    perform(stage, "fail s1-s2", "send h1 to h2 ping 1", "wait 10", "recover s1-s2", "wait 10")
    assert not heard(stage, "h1", "echo reply")
    perform(stage, "send h1 to h2 ping 2", "wait 10")
    assert heard(stage, "h1", "echo reply")


def test_an_injected_frame_leaves_the_port_with_its_tag_and_its_bytes(stage: Harness) -> None:
    frame = "ffffffffffff" + "000000000001" + "9000" + "00" * 10
    perform(stage, f"inject h1:0 {frame} odd", "wait 10")
    line = next(line for line in written(stage).lines if line.transition == "inject h1:0")
    assert line.wire is not None and line.wire.hex() == frame and line.version == 0
    assert any(send.startswith("h1:0 odd") for send in line.sends)


def test_links_switches_sessions_and_controllers_fail_and_recover(stage: Harness) -> None:
    now = stage.possible()
    perform(stage, "fail s1-s2")
    assert now.links_cut() == ["s1-s2"] and "s1-s2" not in now.links_up()
    perform(stage, "fail s1", "wait 1")
    assert now.switches_off() == ["s1"] and not stage.world.state("s1").powered
    assert "h1-s1" not in now.links_up()
    perform(stage, "recover s1", "recover s1-s2", "wait 1")
    assert stage.world.state("s1").powered and not now.links_cut()
    perform(stage, "disconnect s1-c0", "wait 1")
    assert now.sessions_cut() == ["s1-c0"] and not stage.world.state("s1").sessions["c0"].up
    perform(stage, "reconnect s1-c0", "wait 1")
    assert stage.world.state("s1").sessions["c0"].up
    perform(stage, "crash c0", "wait 1")
    assert now.controllers_down() == ["c0"] and not now.sessions_up()
    perform(stage, "restart c0", "wait 1")
    assert now.controllers_up() == ["c0"]
    perform(stage, "send h1 to h2 ping 1", "wait 10")
    assert heard(stage, "h1", "echo reply")


def test_a_partition_cuts_all_sessions_of_a_controller_until_it_heals(stage: Harness) -> None:
    now = stage.possible()
    perform(stage, "partition c0", "wait 1")
    assert now.sessions_cut() == ["s1-c0", "s2-c0"] and now.to_heal() == ["c0"]
    perform(stage, "heal c0", "wait 1")
    assert now.sessions_up() == ["s1-c0", "s2-c0"] and not now.to_heal()


def test_frames_on_their_way_are_dropped_doubled_and_reordered(tmp_path: Path) -> None:
    stage = opened(tmp_path, scenario(fuzz={"deliveries": 1}))
    frames = [f"{n:012x}" + "000000000001" + "9000" for n in (2, 3)]
    stage.courier.hold(Endpoint("h1", 0))
    perform(stage, *(f"inject h1:0 {frame} f{n}" for n, frame in enumerate(frames)))
    perform(stage, "reorder h1:0")
    queue = stage.world.queue(Endpoint("h1", 0))
    assert [frame.tag for frame in queue] == ["f1", "f0"]  # type: ignore[attr-defined]
    perform(stage, "duplicate h1:0", "drop h1:0")
    assert len(stage.world.queue(Endpoint("h1", 0))) == 2


def test_control_messages_wait_while_their_channel_is_held(stage: Harness) -> None:
    perform(stage, "hold s1:c0", "send h1 to h2 ping 1", "wait 100")
    assert not heard(stage, "h2", "ARP") and stage.world.queue(Endpoint("s1", "c0"))
    perform(stage, "release s1:c0", "wait 10")
    assert heard(stage, "h2", "ARP")


def test_a_delayed_channel_goes_on_after_its_time(stage: Harness) -> None:
    perform(stage, "delay h1:0 by 300", "send h1 to h2 ping 1", "wait 299")
    assert not heard(stage, "h2", "ARP")
    perform(stage, "wait 1", "wait 1")
    assert heard(stage, "h2", "ARP")


def test_a_moved_host_is_reached_where_it_is(stage: Harness) -> None:
    assert ("h1", Endpoint("s2", 3)) in stage.possible().moves()
    perform(stage, "move h1 to s2:3", "send h1 to h2 ping 1", "wait 10")
    assert heard(stage, "h1", "echo reply")
    assert ("h1", Endpoint("s1", 1)) in stage.possible().moves()
    assert ("h2", Endpoint("s2", 3)) not in stage.possible().moves()
    assert "h1-s2" in stage.possible().links_up()


def test_a_limited_table_refuses_entries_and_an_unlimited_one_takes_them(stage: Harness) -> None:
    perform(stage, "limit s1 to 1", "send h1 to h2 ping 1", "wait 10")
    assert entries(stage, "s1") == 1 and stage.possible().limited_switches() == ["s1"]
    refused = [event for line in written(stage).lines for event in line.events if "refused" in event]
    assert refused and "table-full" in refused[0]
    perform(stage, "unlimit s1", "send h1 to h2 ping 2", "wait 10")
    assert entries(stage, "s1") > 1 and not stage.possible().limited_switches()


def test_a_forgotten_entry_is_gone_and_no_controller_is_told(stage: Harness) -> None:
    perform(stage, "forget s1 1")
    rested(stage)
    assert entries(stage, "s1") == 0
    told = next(line for line in written(stage).lines if line.message == "EntryForgotten(1)")
    assert told.sends == () and any("forgotten" in event for event in told.events)
    perform(stage, "forget s1 7")
    assert entries(stage, "s1") == 0


def test_ignored_flow_mods_come_to_nothing_and_later_ones_count(stage: Harness) -> None:
    perform(stage, "ignore s1 1", "send h1 to h2 arp 1", "wait 10", "send h2 to h1 ping 1", "wait 10")
    ignored = [event for line in written(stage).lines for event in line.events if "flow-mod-ignored" in event]
    assert len(ignored) == 1
    before = entries(stage, "s1")
    perform(stage, "send h1 to h2 tcp 1", "wait 10")
    assert entries(stage, "s1") >= before > 1


def test_a_faulty_switch_stays_so_when_it_is_switched_off_and_on(stage: Harness) -> None:
    perform(stage, "limit s1 to 1", "fail s1", "recover s1", "wait 10", "send h1 to h2 ping 1", "wait 10")
    assert entries(stage, "s1") <= 1


def test_waiting_lets_entries_time_out(stage: Harness) -> None:
    perform(stage, "send h1 to h2 ping 1", "wait 10")
    assert entries(stage, "s1") > 1
    perform(stage, "wait 6000")
    assert entries(stage, "s1") == 1 and stage.now() == 6010


def test_a_packet_in_a_loop_does_not_keep_a_wait_from_ending(tmp_path: Path) -> None:
    stage = opened(tmp_path, scenario(Flooder(), topology="ring,3"))
    perform(stage, "send h1 to everybody arp 1", "wait 50")
    assert stage.now() == 50 and not stage.courier.is_idle
    assert not asyncio.run(stage.quiesce(100))


def test_a_storm_does_not_fill_the_wires_for_ever(tmp_path: Path) -> None:
    stage = opened(tmp_path, scenario(Flooder(), topology="mesh,4"))
    perform(stage, *["send h1 to everybody arp 1"] * 5, "wait 600")
    longest = max(len(stage.world.queue(channel)) for channel in stage.setting.data_channels)
    assert 0 < longest <= 110


def test_a_policy_function_is_called_with_a_view_and_the_number(tmp_path: Path) -> None:
    calls: list[tuple[int, int]] = []
    heard_messages: list[OpenFlowMessage] = []

    class Listener(Flooder):
        def other(self, switch: str, message: OpenFlowMessage) -> None:
            if isinstance(message, Experimenter):
                self.told = message.exp_type
                heard_messages.append(message)

    def change(view: View, number: int) -> None:
        calls.append((view.now, number))
        view.tell("c0", "s1", Experimenter(1, number))

    given = scenario(Listener())
    stage = opened(tmp_path, given)
    stage.setting.policies["change"] = change  # type: ignore[index]
    perform(stage, "wait 5", "policy change 17", "wait 1")
    assert calls == [(5, 17)] and [message.exp_type for message in heard_messages] == [17]  # type: ignore[attr-defined]
    with pytest.raises(PenstockError, match="unknown policy function 'other'"):
        perform(stage, "policy other 1")


@pytest.mark.parametrize(
    "text",
    [
        "fail s9",
        "recover s1",
        "restart c0",
        "drop h1:0",
        "move h1 to s1:1",
        "move h1 to s9:1",
        "limit s9 to 5",
        "send h9 to h1 ping 1",
        "send h1 to h9 ping 1",
        "send everybody to h1 ping 1",
        "inject c0:s1 00",
        "hold s1:9",
        "inject fabric:s1 00",
    ],
)
def test_what_cannot_be_done_is_refused_and_leaves_no_line(stage: Harness, text: str) -> None:
    before = stage.recorder.step
    with pytest.raises(PenstockError):
        perform(stage, text)
    assert stage.recorder.step == before
    assert not written(stage).inputs
    perform(stage, "send h1 to h2 ping 1")
    assert [line.text for line in written(stage).inputs] == ["send h1 to h2 ping 1"]


def test_what_the_fabric_says_is_possible_is_what_the_view_says(tmp_path: Path) -> None:
    """The names and conditions of links, nodes, sessions and moves are the fabric's own."""
    stage = opened(tmp_path, scenario(topology="ring,3"))
    for text in ("wait 1", "fail s1-s2", "fail s3", "disconnect s1-c0", "move h1 to s2:4", "crash c0"):
        perform(stage, text)
        now = stage.possible()
        offered = set(stage.setting.network.fabric.actions(stage.world.state(FABRIC)))
        claimed = {
            *(f"fail {name}" for name in (*now.links_up(), *now.switches_on())),
            *(f"recover {name}" for name in (*now.links_cut(), *now.switches_off())),
            *(f"disconnect {name}" for name in now.sessions_up()),
            *(f"reconnect {name}" for name in now.sessions_cut()),
            *(f"crash {name}" for name in now.controllers_up()),
            *(f"restart {name}" for name in now.controllers_down()),
            *(f"move {host} to {place}" for host, place in now.moves()),
        }
        assert claimed == offered, text


def test_nothing_follows_any_more_once_the_time_of_a_run_is_over(stage: Harness) -> None:
    rested(stage)
    stage.until = time.monotonic()
    perform(stage, "send h1 to h2 ping 1")
    assert stage.run() == 0
    assert not stage.courier.is_idle
    stage.until = None
    assert stage.run() > 0
