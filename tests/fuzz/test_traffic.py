"""Talkers say what they are told and answer like hosts; odd frames are odd."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from penstock._fuzz.inputs import PROTOCOLS, SendPacket
from penstock._fuzz.traffic import ODD_FRAMES, FuzzHost, Order, Station, odd_frame, order_of
from penstock._world.frame import Frame
from penstock._world.hosts.host import Address
from penstock._world.signals import FABRIC
from penstock.errors import PenstockError
from penstock.packet import (
    ARP,
    TCP,
    UDP,
    Echo,
    Ethernet,
    TcpFlags,
    arp_reply,
    parse,
    tcp_segment,
    udp_datagram,
)

H1, H2 = Station("h1", 1, 0x0A000001, 0), Station("h2", 2, 0x0A000002, 0)
STATIONS = {"h1": H1, "h2": H2}


def talker(**options: Any) -> FuzzHost:
    directory = {s.name: Address(s.name, s.mac, s.ip) for s in STATIONS.values()}
    return FuzzHost(name="h1", mac=H1.mac, ip=H1.ip, directory=directory, **options)


def sent(step_sends: tuple[object, ...]) -> list[Ethernet]:
    return [parse(send.message.data) for send in step_sends]  # type: ignore[attr-defined]


def test_a_talker_asks_for_an_address_and_then_sends_what_it_was_told() -> None:
    host = talker()
    asked = host.receive(host.initial(), FABRIC, order_of(SendPacket("h1", "h2", "ping", 3), STATIONS))
    [question] = sent(asked.sends)
    assert isinstance(question.payload, ARP) and question.payload.tpa == H2.ip
    answer = arp_reply(eth_src=2, eth_dst=1, ip_src=H2.ip, ip_dst=H1.ip)
    told = host.receive(asked.state, 0, Frame(answer.to_bytes()))
    [ping] = sent(told.sends)
    assert ping.dst == H2.mac and ping.find(Echo) == Echo(1, 3, b"")
    again = host.receive(told.state, FABRIC, order_of(SendPacket("h1", "h2", "udp", 1), STATIONS))
    assert sent(again.sends)[0].find(UDP) is not None


def test_frames_have_names_only_where_somebody_follows_them() -> None:
    for named in (True, False):
        host = talker(named=named)
        step = host.receive(host.initial(), FABRIC, order_of(SendPacket("h1", "everybody", "arp"), STATIONS))
        assert bool(step.sends[0].message.tag) is named  # type: ignore[attr-defined]


def test_a_datagram_to_the_echo_service_comes_back_and_its_answer_does_not() -> None:
    addresses: dict[str, Any] = {"eth_src": 2, "eth_dst": 1, "ip_src": H2.ip, "ip_dst": H1.ip}
    host = talker()
    asked = udp_datagram(**addresses, udp_src=1025, udp_dst=7, payload=b"1")
    [back] = sent(host.receive(host.initial(), 0, Frame(asked.to_bytes())).sends)
    assert back.find(UDP) == UDP(7, 1025, b"1") and back.dst == 2
    answered = udp_datagram(**addresses, udp_src=7, udp_dst=7)
    assert not host.receive(host.initial(), 0, Frame(answered.to_bytes())).sends


def test_a_connection_is_opened_acknowledged_and_closed() -> None:
    addresses: dict[str, Any] = {"eth_src": 2, "eth_dst": 1, "ip_src": H2.ip, "ip_dst": H1.ip}
    host = talker()

    def answer(flags: TcpFlags, *, dst: int = 80, seq: int = 10, payload: bytes = b"") -> TCP | None:
        segment = tcp_segment(**addresses, tcp_src=5000, tcp_dst=dst, flags=flags, seq=seq, payload=payload)
        packets = sent(host.receive(host.initial(), 0, Frame(segment.to_bytes())).sends)
        return packets[0].find(TCP) if packets else None

    greeted = answer(TcpFlags.SYN)
    assert greeted is not None and greeted.flags == TcpFlags.SYN | TcpFlags.ACK and greeted.ack == 11
    opened = answer(TcpFlags.SYN | TcpFlags.ACK, dst=1024)
    assert opened is not None and opened.flags == TcpFlags.ACK
    taken = answer(TcpFlags.ACK, payload=b"abc")
    assert taken is not None and taken.ack == 13
    closed = answer(TcpFlags.FIN, seq=0xFFFFFFFF)
    assert closed is not None and closed.flags & TcpFlags.FIN and closed.ack == 0
    assert answer(TcpFlags.ACK) is None and answer(TcpFlags.RST) is None


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_protocol_can_be_sent_to_a_host_and_to_everybody(protocol: str) -> None:
    for to in ("h2", "everybody"):
        order = order_of(SendPacket("h1", to, protocol, 70000), STATIONS)
        assert isinstance(order, Order) and order.packet.src == H1.mac
        parse(order.packet.to_bytes())
        assert "Order(" in str(order)


def test_strangers_neither_send_nor_receive() -> None:
    for host, to in (("h9", "h1"), ("h1", "h9"), ("everybody", "h1")):
        with pytest.raises(PenstockError, match="unknown host"):
            order_of(SendPacket(host, to, "ping"), STATIONS)


def test_odd_frames_are_of_many_kinds_and_follow_the_seed() -> None:
    def frames(seed: int) -> list[tuple[Station, bytes]]:
        random = Random(seed)
        return [odd_frame(random, [H1, H2]) for _ in range(400)]

    found = frames(1)
    assert found == frames(1) != frames(2)
    assert all(14 <= len(data) <= 200 for _, data in found)
    assert len({data for _, data in found}) > len(ODD_FRAMES)
