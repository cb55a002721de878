"""A real controller's place in the model, the names of packets that it sends back, and files of TLS."""

from pathlib import Path

import pytest

from penstock._controllers.held import Ledger
from penstock._controllers.tcp.remote import RemoteController
from penstock._controllers.tcp.tls import Tls, tls_of
from penstock._world.assembly import build_network
from penstock._world.component import Component, Endpoint
from penstock._world.topology import topology
from penstock._world.world import World
from penstock.errors import PenstockError
from penstock.openflow.actions import Output
from penstock.openflow.match import Match
from penstock.openflow.messages import NO_BUFFER, FeaturesRequest, Hello, PacketIn, PacketOut


def packet_in(data: bytes, tag: str) -> PacketIn:
    return PacketIn(NO_BUFFER, len(data), 0, Match.of(in_port=1), data, tag=tag)


def packet_out(data: bytes) -> PacketOut:
    return PacketOut(NO_BUFFER, 1, (Output(2),), data)


def test_it_does_nothing_by_itself_and_what_it_is_sent_changes_nothing() -> None:
    controller = RemoteController("c0")
    assert isinstance(controller, Component)
    world = World(build_network(topology("single,2"), controllers=controller))
    assert controller.actions(world.state("c0")) == ()
    before = world.state("c0")
    # What the process says enters from outside; the switch answers, and the answer is seen in a record.
    world.inject(Endpoint("c0", "s1"), FeaturesRequest(xid=5))
    world.take("deliver c0:s1")
    answer = world.take("deliver s1:c0")
    assert answer.node == "c0" and getattr(answer.message, "xid", None) == 5
    assert world.state("c0") == before
    with pytest.raises(PenstockError, match="c0 cannot 'jump': it is a process of its own"):
        controller.act(before, "jump")


def test_a_packet_that_comes_back_has_its_name_again() -> None:
    ledger = Ledger()
    ledger.hand_over("s1", packet_in(b"one", "h1#1"))
    ledger.hand_over("s1", packet_in(b"two", "h2#1"))
    ledger.hand_over("s1", Hello())
    assert [
        getattr(ledger.take_back("s1", packet_out(data)), "tag", None) for data in (b"two", b"one", b"new")
    ] == [
        "h2#1",
        "h1#1",
        "",
    ]


def test_of_two_packets_alike_the_last_one_counts_copies_keep_its_name_and_old_ones_are_forgotten() -> None:
    ledger = Ledger()
    ledger.hand_over("s1", packet_in(b"same", "h1#1"))
    ledger.hand_over("s1", packet_in(b"same", "h1#2"))
    assert getattr(ledger.take_back("s1", packet_out(b"same")), "tag", None) == "h1#2"
    for number in range(1000):
        ledger.hand_over("s1", packet_in(b"%d" % number, f"h1#{number}"))
    assert getattr(ledger.take_back("s1", packet_out(b"same")), "tag", None) == "h1#2"
    for number in range(1000):
        ledger.take_back("s1", packet_out(b"%d" % number))
    assert getattr(ledger.take_back("s1", packet_out(b"same")), "tag", None) == ""
    assert getattr(ledger.take_back("s1", packet_out(b"0")), "tag", None) == "h1#0"


def test_what_a_scenario_says_of_tls(tmp_path: Path) -> None:
    assert tls_of(False, tmp_path) is None
    assert tls_of(True, tmp_path) == Tls()
    assert tls_of({"ca": "ca.pem"}, tmp_path) == Tls(ca=tmp_path / "ca.pem")
    with pytest.raises(PenstockError, match="tls of a controller has no 'certificate': use cert, key, ca"):
        tls_of({"certificate": "x"}, tmp_path)


def test_files_that_are_no_certificates_are_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("nothing of that kind")
    with pytest.raises(PenstockError, match=r"The TLS files .*cert\.pem cannot be used"):
        Tls(cert=tmp_path / "cert.pem").context()
    with pytest.raises(PenstockError, match="has no certificate: give cert too"):
        Tls(key=tmp_path / "key.pem").context()
