"""Hosts at work: what they send and answer, over a hub that everybody hears."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
from tests.host_lab import DIRECTORY, Lab, frame_of, make, told

from penstock._world.assembly import build_network
from penstock._world.component import Endpoint, Event
from penstock._world.fabric import Mobility
from penstock._world.faults import Faults
from penstock._world.frame import Frame
from penstock._world.hosts import Client, Host, Ping, Server, Turn, host
from penstock._world.signals import Carrier
from penstock._world.topology import TopologyBuilder, topology
from penstock._world.world import World
from penstock.errors import PenstockError
from penstock.openflow.fields import ETH_ARP, ETH_IPV4, ETH_LLDP
from penstock.packet import IPv4, arp_request, ethernet, parse, ping_request, udp_datagram


class TestEveryHost:
    def test_frames_are_tagged_in_the_order_they_are_sent(self) -> None:
        lab = Lab({"h1": host("ping", to="h2")})
        lab.run()
        assert [frame_of(event.detail[1]).tag for event in lab.events("sent", "h1")] == ["h1#1", "h1#2"]
        assert [frame_of(event.detail[1]).tag for event in lab.events("sent", "h2")] == ["h2#1", "h2#2"]

    def test_frames_for_others_are_ignored_and_those_for_all_received(self) -> None:
        lab = Lab({"h1": host("ping", to="h2")})
        lab.run()
        assert len(lab.events("received", "h3")) == 1
        assert [told(event.detail[1]) for event in lab.events("ignored", "h3")] == ["is at", "ping", "pong"]
        assert lab.sent("h3") == []

    @pytest.mark.parametrize(
        "data",
        [
            b"too short",
            ethernet("00:00:00:00:00:02", "00:00:00:00:00:01", ETH_IPV4, b"no datagram").to_bytes(),
            ethernet("00:00:00:00:00:02", "00:00:00:00:00:01", ETH_ARP, b"no ARP").to_bytes(),
            ethernet("01:80:c2:00:00:0e", "00:00:00:00:00:01", ETH_LLDP, b"").to_bytes(),
            ping_request(
                eth_src=1, eth_dst="00:00:00:00:00:02", ip_src="10.0.0.1", ip_dst="10.0.0.9"
            ).to_bytes(),
        ],
        ids=["short", "broken IP", "broken ARP", "multicast", "another's IP"],
    )
    def test_what_makes_no_sense_to_a_host_is_not_answered(self, data: bytes) -> None:
        h2 = make("h2")
        step = h2.receive(h2.initial(), 0, Frame(data, "x#1"))
        assert step.sends == ()
        assert step.state == h2.initial()
        assert [event.kind for event in step.events] in (["ignored"], ["received"])

    def test_the_link_going_down_and_up_is_no_news_to_a_plain_host(self) -> None:
        h2 = make("h2")
        assert h2.receive(h2.initial(), "fabric", Carrier(0, up=False)).state == h2.initial()

    def test_states_are_equal_when_the_same_happened(self) -> None:
        one, other = Lab({"h1": host("ping", to="h2")}), Lab({"h1": host("ping", to="h2")})
        one.run()
        other.world.run(Random(3))
        assert one.world.snapshot() == other.world.snapshot()
        assert hash(one.world.snapshot()) == hash(other.world.snapshot())


class TestArp:
    def test_an_address_is_asked_for_before_the_first_packet_only(self) -> None:
        lab = Lab({"h1": host("ping", to="h2", count=2, burst=1)})
        lab.run()
        assert lab.sent("h1") == ["who has", "ping", "ping"]
        assert lab.sent("h2") == ["is at", "pong", "pong"]

    def test_one_question_serves_all_the_packets_that_wait(self) -> None:
        lab = Lab({"h1": host("ping", to="h2", count=3)})
        for _ in range(3):
            lab.take("h1 send ping h2")
        assert lab.sent("h1") == ["who has"]
        lab.run()
        assert lab.sent("h1") == ["who has", "ping", "ping", "ping"]
        assert lab.memory("h1").answered == 3

    def test_a_static_table_needs_no_questions(self) -> None:
        lab = Lab({"h1": host("ping", to="h2", static_arp=True)})
        lab.run()
        assert lab.sent("h1") == ["ping"]
        assert lab.memory("h1").answered == 1

    def test_who_was_asked_knows_the_asker(self) -> None:
        lab = Lab({"h1": host("ping", to="h2")})
        lab.run()
        _, asker, ip = DIRECTORY["h1"]
        assert dict(lab.world.state("h2").neighbours.known) == {ip: asker}
        assert not lab.world.state("h3").neighbours.known

    def test_a_lost_question_is_asked_again_as_often_as_allowed(self) -> None:
        lab = Lab({"h1": host("ping", to="h2", arp_retries=1)}, Faults(drops=2))
        lab.take("h1 send ping h2")
        lab.take("drop h1:0")
        assert lab.offers("h1") == ["ask again for 10.0.0.2"]
        lab.take("h1 ask again for 10.0.0.2")
        assert lab.offers("h1") == []
        lab.run()
        assert lab.sent("h1") == ["who has", "who has", "ping"]
        assert lab.memory("h1").answered == 1

    def test_a_neighbour_that_announces_another_address_is_believed(self) -> None:
        h1 = make("h1", host("ping", to="h2"))
        asked = h1.act(h1.initial(), "send ping h2").state
        announced = arp_request(eth_src=0xA, ip_src="10.0.0.2", ip_dst="10.0.0.2")
        step = h1.receive(asked, 0, Frame(announced.to_bytes()))
        assert [parse(frame_of(send.message).data).dst for send in step.sends] == [0xA]


class TestPing:
    def test_every_request_is_answered_once(self) -> None:
        lab = Lab({"h1": host(Ping, to="h2", count=3)})
        lab.run()
        assert lab.memory("h1") == (3, (), 3)
        assert [event.detail for event in lab.events("answered", "h1")] == [("h1", 1), ("h1", 2), ("h1", 3)]

    def test_at_most_a_burst_is_unanswered(self) -> None:
        lab = Lab({"h1": host("ping", to="h2", count=3, burst=2, static_arp=True)})
        lab.take("h1 send ping h2")
        lab.take("h1 send ping h2")
        assert lab.offers("h1") == []
        lab.run()
        assert lab.memory("h1").answered == 3

    def test_an_answer_that_comes_twice_counts_once(self) -> None:
        lab = Lab({"h1": host("ping", to="h2", static_arp=True)}, Faults(duplicates=1))
        lab.take("h1 send ping h2")
        lab.take("duplicate h1:0")
        lab.run()
        assert lab.sent("h2") == ["pong", "pong"]
        assert lab.memory("h1") == (1, (), 1)


class TestClientAndServer:
    def test_the_client_sends_its_packets_and_the_server_answers_each(self) -> None:
        lab = Lab({"h1": host(Client, to="h2", count=3), "h2": host(Server)})
        lab.run()
        assert lab.sent("h1") == ["udp 1", "udp 2", "udp 3"]
        assert lab.sent("h2") == ["udp 1", "udp 2", "udp 3"]
        assert lab.memory("h1").received == 3

    def test_receiving_and_replying_are_separate(self) -> None:
        lab = Lab({"h1": host("client", to="h2", count=2), "h2": host("server")})
        lab.take("h1 send to h2")
        lab.take("deliver h1:0")
        lab.take("deliver hub:2")
        assert lab.offers("h2") == ["reply to h1"]
        assert lab.sent("h2") == []
        assert "h1 send to h2" in [str(transition) for transition in lab.world.enabled()]
        lab.take("h2 reply to h1")
        assert lab.sent("h2") == ["udp 1"]

    def test_the_burst_limit_is_replenished_by_what_is_received(self) -> None:
        lab = Lab({"h1": host("client", to="h2", count=5, burst=2), "h2": host("server")})
        lab.take("h1 send to h2")
        lab.take("h1 send to h2")
        assert lab.offers("h1") == []
        while not lab.events("received", "h1"):
            lab.world.run(limit=1)
        assert lab.offers("h1") == ["send to h2"]
        lab.run()
        assert lab.memory("h1") == (5, 5, 2)

    def test_without_answers_a_client_falls_silent_at_its_burst(self) -> None:
        lab = Lab({"h1": host("client", to="h2", count=5, burst=2)})
        lab.run()
        assert lab.sent("h1") == ["udp 1", "udp 2"]

    def test_client_and_server_may_ask_for_addresses_too(self) -> None:
        lab = Lab({"h1": host("client", to="h2", static_arp=False), "h2": host("server")})
        lab.run()
        assert lab.sent("h1") == ["who has", "udp 1"]
        assert lab.memory("h1").received == 1

    def test_a_request_from_outside_is_answered_to_its_address(self) -> None:
        h2 = make("h2", Server)
        request = udp_datagram(
            eth_src=9, eth_dst=h2.mac, ip_src="10.0.0.77", ip_dst=h2.ip, udp_src=7, udp_dst=7
        )
        state = h2.receive(h2.initial(), 0, Frame(request.to_bytes())).state
        assert h2.actions(state) == ("reply to 10.0.0.77",)


class TestMobileHosts:
    def world(self, mobility: Mobility) -> World:
        drawn = TopologyBuilder()
        drawn.add_switch("s1", ports=(9,))
        for name in ("h1", "h2"):
            drawn.add_host(name)
            drawn.add_link(name, "s1")
        network = build_network(
            drawn.build(), hosts={"h1": host("ping", to="h2", count=2, mobility=mobility)}
        )
        return World(network)

    def test_any_host_can_be_mobile(self) -> None:
        world = self.world(Mobility(("s1:9",)))
        world.take("h1 send ping h2")
        record = world.take("fabric move h1 to s1:9")
        assert [str(flight.channel) for flight in record.lost] == ["h1:0"]
        world.take("h1 send ping h2")
        fabric = world.network.fabric
        assert fabric.peer(world.state("fabric"), Endpoint("h1", 0)) == Endpoint("s1", 9)
        assert world.queue(Endpoint("h1", 0)) == ()

    def test_an_announced_move_reaches_switch_and_host(self) -> None:
        world = self.world(Mobility(("s1:9",), carrier=True))
        world.run(limit=1)
        assert [p for p, status in world.state("s1").ports.items() if not status.link and p < 100] == [9]
        world.take("fabric move h1 to s1:9")
        world.run()
        assert [p for p, status in world.state("s1").ports.items() if not status.link and p < 100] == [1]

    @pytest.mark.parametrize(
        ("place", "said"),
        [
            ("s1:7", "h1 cannot move to s1:7, which does not exist: s1 has the ports 1, 2, 9"),
            ("s9:1", "h1 cannot move to 's9:1': name a switch and its port, as in s2:3"),
            ("s1", "h1 cannot move to 's1': name a switch and its port"),
        ],
    )
    def test_a_place_that_does_not_exist_is_refused(self, place: str, said: str) -> None:
        with pytest.raises(PenstockError, match=said):
            self.world(Mobility((place,)))

    def test_a_host_that_is_attached_nowhere_cannot_move(self) -> None:
        drawn = TopologyBuilder()
        drawn.add_switch("s1", ports=(1,))
        drawn.add_host("h1")
        with pytest.raises(PenstockError, match="h1 is attached nowhere and so cannot move"):
            build_network(drawn.build(), hosts={"h1": host("host", mobility=Mobility(("s1:1",)))})


class TestUsersOwnHosts:
    def test_a_subclass_says_what_it_does_in_small_methods(self) -> None:
        @dataclass(eq=False, kw_only=True)
        class Announcer(Host):
            times: int = 1

            def start(self) -> int:
                return self.times

            def offers(self, memory: int) -> tuple[str, ...]:
                return ("announce",) if memory else ()

            def perform(self, memory: int, action: str) -> Turn:
                packet = arp_request(eth_src=self.mac, ip_src=self.ip, ip_dst=self.ip)
                return Turn(memory - 1, (packet,), (Event(action, (self.name,)),))

        lab = Lab({"h1": host(Announcer, times=2)})
        lab.run()
        assert lab.sent("h1") == ["who has", "who has"]
        assert len(lab.events("announce", "h1")) == 2

    def test_a_subclass_may_listen_to_everything_and_notice_its_link(self) -> None:
        class Sniffer(Host):
            def start(self) -> tuple[object, ...]:
                return ()

            def accepts(self, packet: Any) -> bool:
                return True

            def hear(self, memory: tuple[object, ...], packet: Any) -> Turn:
                return Turn((*memory, type(packet.payload)))

            def notice(self, memory: tuple[object, ...], signal: Any) -> Turn:
                return Turn((*memory, signal))

        lab = Lab({"h1": host("client", to="h2"), "h3": Sniffer}, Faults(link_failures=1))
        lab.take("h1 send to h2")
        lab.run()
        lab.take("fabric fail h3-hub")
        lab.run()
        assert lab.memory("h3") == (IPv4, Carrier(0, up=False))

    def test_an_action_that_is_offered_must_be_performed(self) -> None:
        class Lazy(Host):
            def offers(self, memory: object) -> tuple[str, ...]:
                return ("work",)

        lazy = make("h1", Lazy)
        with pytest.raises(NotImplementedError, match="Lazy offers 'work' but does not perform it"):
            lazy.act(lazy.initial(), "work")


class TestMistakes:
    def test_an_unknown_kind_is_refused(self) -> None:
        with pytest.raises(PenstockError, match="unknown kind of host 'pong': did you mean 'ping'"):
            host("pong")
        with pytest.raises(PenstockError, match="unknown kind of host 'x': use one of host, ping, client"):
            host("x")

    def test_a_class_that_is_no_host_is_refused(self) -> None:
        with pytest.raises(PenstockError, match="unknown kind of host <class 'int'>"):
            host(int)  # type: ignore[arg-type]

    def test_an_unknown_option_is_refused_with_those_there_are(self) -> None:
        with pytest.raises(PenstockError, match=r"unknown key 'speed' in a Ping: it may have .*to, .*count"):
            host("ping", speed=3)

    def test_an_option_that_is_missing_is_named(self) -> None:
        with pytest.raises(PenstockError, match="missing 'to' in a Ping: must be a string"):
            host("ping")

    def test_what_makes_no_host_is_refused(self) -> None:
        with pytest.raises(PenstockError, match="h1 cannot be made from 'ping'"):
            build_network(topology("single,2"), hosts={"h1": "ping"})  # type: ignore[dict-item]

    def test_a_host_that_is_not_in_the_topology_is_refused(self) -> None:
        with pytest.raises(PenstockError, match="unknown host 'h7'"):
            build_network(topology("single,2"), hosts={"h7": host("host")})

    def test_an_unknown_destination_is_refused(self) -> None:
        with pytest.raises(PenstockError, match="unknown host 'h9' for h1: the hosts are h1, h2; an IPv4"):
            build_network(topology("single,2"), hosts={"h1": host("ping", to="h9")})

    @pytest.mark.parametrize(
        ("kind", "options"),
        [
            ("ping", {"to": "h2", "count": -1}),
            ("client", {"to": "h2", "burst": 0}),
            ("tcp-client", {"to": "h2", "syn_retries": -2}),
            ("host", {"arp_retries": -1}),
        ],
    )
    def test_a_number_that_is_too_small_is_refused(self, kind: str, options: dict[str, Any]) -> None:
        with pytest.raises(
            PenstockError, match=r"invalid \w+ = -?\d in a \w+: must be an integer of at least \d"
        ):
            build_network(topology("single,2"), hosts={"h1": host(kind, **options)})
