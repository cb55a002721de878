"""TCP client and server: handshake, data, goodbye, and what losses and copies do to them."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.host_lab import Lab, frame_of, make, told

from penstock._world.component import Endpoint, Event
from penstock._world.faults import Faults
from penstock._world.hosts import TcpClient, TcpServer, host


def lab_of(faults: Faults | None = None, **options: Any) -> Lab:
    return Lab({"h1": host(TcpClient, to="h2", static_arp=True, **options), "h2": host(TcpServer)}, faults)


def test_a_connection_from_handshake_to_goodbye() -> None:
    lab = lab_of(segments=2)
    lab.run()
    assert lab.sent("h1") == [
        "SYN",
        "ACK",
        "PSH+ACK data 1",
        "PSH+ACK data 2",
        "FIN+ACK",
        "ACK",
    ]
    assert lab.sent("h2") == ["SYN+ACK", "ACK", "ACK", "FIN+ACK"]
    for name, other in (("h1", "h2"), ("h2", "10.0.0.1:40000")):
        assert [e.detail for e in lab.events("connected", name)] == [(name, other)]
        assert [e.detail for e in lab.events("closed", name)] == [(name, other)]
    assert lab.memory("h1").stage == "done"
    assert not lab.memory("h2")


def test_the_steps_of_the_client_are_actions() -> None:
    lab = lab_of()
    seen = []
    lab.world.observe(lambda r: seen.append(str(r.transition)) if r.transition.node == "h1" else None)
    lab.run()
    actions = [text for text in seen if not text.startswith("deliver")]
    assert actions == ["h1 connect h2", "h1 send data to h2", "h1 close h2"]


def test_an_unanswered_syn_is_sent_again_as_often_as_allowed() -> None:
    lab = lab_of(Faults(drops=2), syn_retries=2)
    lab.take("h1 connect h2")
    lab.take("drop h1:0")
    lab.take("h1 retransmit SYN")
    lab.take("drop h1:0")
    lab.take("h1 retransmit SYN")
    assert lab.offers("h1") == []
    lab.run()
    assert lab.sent("h1")[:4] == ["SYN", "SYN", "SYN", "ACK"]
    assert lab.memory("h1").stage == "done"


def test_a_syn_that_was_answered_is_not_sent_again() -> None:
    lab = lab_of(syn_retries=5)
    lab.take("h1 connect h2")
    for channel in ("h1:0", "hub:2", "h2:0", "hub:1"):
        lab.take(f"deliver {channel}")
    assert lab.offers("h1") == ["send data to h2"]


def test_a_second_syn_in_flight_does_no_harm() -> None:
    lab = lab_of(syn_retries=1)
    lab.take("h1 connect h2")
    lab.take("h1 retransmit SYN")
    lab.run()
    assert lab.sent("h2")[:2] == ["SYN+ACK", "SYN+ACK"]
    assert len(lab.events("connected", "h1")) == len(lab.events("connected", "h2")) == 1
    assert lab.memory("h1").stage == "done"
    assert not lab.memory("h2")


def test_a_syn_that_comes_late_is_answered_with_where_the_connection_stands() -> None:
    lab = lab_of(Faults(reorders=1, duplicates=1), segments=1)
    lab.take("h1 connect h2")
    lab.take("duplicate h1:0")
    lab.take("deliver h1:0")
    for channel in ("hub:2", "h2:0", "hub:1"):
        lab.take(f"deliver {channel}")
    lab.take("reorder h1:0")
    lab.run()
    assert lab.memory("h1").stage == "done"
    assert not lab.memory("h2")


def test_a_server_that_knows_nothing_of_a_connection_resets_it() -> None:
    h1, h2 = make("h1", host(TcpClient, to="h2", static_arp=True)), make("h2", TcpServer)
    state = h1.act(h1.initial(), "connect h2").state
    greeting = h2.receive(h2.initial(), 0, h1.act(h1.initial(), "connect h2").sends[0].message)
    step = h1.receive(state, 0, greeting.sends[0].message)
    answer = h2.receive(h2.initial(), 0, step.sends[0].message)
    assert told(answer.sends[0].message) == "RST"
    step = h1.receive(step.state, 0, answer.sends[0].message)
    assert step.state.memory.stage == "reset"
    assert step.events[1] == Event("reset", ("h1", "h2"))
    assert h1.actions(step.state) == ()


def test_two_clients_are_kept_apart() -> None:
    lab = Lab(
        {
            "h1": host("tcp-client", to="h2", segments=1),
            "h3": host("tcp-client", to="h2", segments=1),
            "h2": host("tcp-server"),
        }
    )
    lab.world.run(Random(5))
    assert lab.memory("h1").stage == lab.memory("h3").stage == "done"
    assert not lab.memory("h2")


def test_a_segment_for_another_port_is_left_alone() -> None:
    lab = Lab({"h1": host("tcp-client", to="h2", server_port=81), "h2": host("tcp-server")})
    lab.run()
    assert lab.memory("h1").stage == "connecting"
    assert lab.sent("h2") == ["is at"]


def test_data_out_of_order_is_acknowledged_up_to_where_it_is_whole() -> None:
    lab = lab_of(Faults(duplicates=1))
    lab.take("h1 connect h2")
    while "send data to h2" not in lab.offers("h1"):
        lab.world.run(limit=1)
    lab.take("h1 send data to h2")
    while frame_of(lab.world.queue(Endpoint("h1", 0))[0]).tag != "h1#3":
        lab.take("deliver h1:0")
    lab.take("duplicate h1:0")
    lab.run()
    assert lab.sent("h2").count("ACK") == 2
    assert lab.memory("h1").stage == "done"
