"""What a controller sends is the packet whose data it carries, whenever it sends it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock._controllers.held import KEEPS, RELEASES, Held, Holding, Naming, Sent, held, named
from penstock._world.component import Send
from penstock.openflow.actions import Action, Output
from penstock.openflow.match import ANYTHING, Match
from penstock.openflow.messages import (
    NO_BUFFER,
    EchoRequest,
    FlowCommand,
    FlowMod,
    PacketIn,
    PacketInReason,
    PacketOut,
    PortNo,
)
from penstock.packet import Ethernet, IPv4, VlanTag, arp_request, ping_request, udp_datagram

ONE, TWO = (
    udp_datagram(
        eth_src=1, eth_dst=2, ip_src="10.0.0.1", ip_dst="10.0.0.2", udp_src=7, udp_dst=7, payload=payload
    )
    for payload in (b"one", b"two")
)
assert isinstance(ONE.payload, IPv4)
FLOOD = (Output(PortNo.FLOOD),)


def packet(tag: str, data: bytes, buffer_id: int = NO_BUFFER, switch: str = "s1") -> Held:
    return Held(tag, data, buffer_id, switch)


def out(
    data: bytes, switch: str = "s1", actions: tuple[Action, ...] = FLOOD, buffer_id: int = NO_BUFFER
) -> Send:
    return Send(switch, PacketOut(buffer_id, 1, actions, data))


def after(
    holding: Holding, *sends: Send, given: Held | None = None, changed: bool = True, busy: bool = False
) -> Sent:
    return named("c0", holding, given, sends, changed=changed, busy=busy)


def tags(sent: Sent) -> list[str]:
    return [getattr(send.message, "tag", "-") for send in sent.sends]


def test_a_packet_is_known_in_the_same_call_and_later() -> None:
    a, b = packet("h1#1", ONE.to_bytes()), packet("h2#1", TWO.to_bytes())
    sent = out(a.data).message
    assert isinstance(sent, PacketOut)
    assert after((), out(a.data), given=a) == Sent((Send("s1", replace(sent, tag="h1#1")),), ())
    kept = after((a,), given=b)
    assert kept.holding == (a, b)
    later = after(kept.holding, out(b.data), out(a.data, "s2"))
    assert (tags(later), later.holding) == (["h2#1", "h1#1"], ())


def test_what_left_no_trace_in_memory_is_not_held() -> None:
    a, b = packet("h1#1", ONE.to_bytes()), packet("h1#2", TWO.to_bytes())
    assert after((a,), given=b, changed=False).holding == (a,)


def test_the_same_twice_means_two_packets_and_different_ones_are_copies() -> None:
    same = ONE.to_bytes()
    both = (packet("h1#1", same), packet("h1#2", same))
    assert tags(after(both, out(same), out(same))) == ["h1#1", "h1#2"]
    copied = after(both, out(same, actions=(Output(1),)), out(same, actions=(Output(2),)))
    assert (tags(copied), copied.holding) == (["h1#1", "h1#1"], both[1:])


def test_of_equal_packets_the_one_just_given_comes_first() -> None:
    same = ONE.to_bytes()
    sent = after((packet("h1#1", same),), out(same), given=packet("h1#2", same))
    assert (tags(sent), sent.holding) == (["h1#2"], (packet("h1#1", same),))


def test_a_buffer_is_a_switchs_own() -> None:
    a, b = packet("h1#1", b"", 3, "s1"), packet("h2#1", b"", 3, "s2")
    assert tags(after((a, b), out(b"", "s2", buffer_id=3))) == ["h2#1"]
    rule = Send("s1", FlowMod(FlowCommand.ADD, ANYTHING, (), buffer_id=3))
    assert after((a, b), rule) == Sent((rule,), (b,))


@pytest.mark.parametrize(
    "version",
    [
        replace(ONE, src=9),
        replace(ONE, dst=9, src=8),
        replace(ONE, tags=(VlanTag(5),)),
        replace(ONE, payload=replace(ONE.payload, ttl=63)),
        replace(ONE, dst=3, payload=replace(ONE.payload, dst=0x0A000003)),
    ],
)
def test_a_packet_that_was_rewritten_is_known_again(version: Ethernet) -> None:
    holding = (packet("h1#1", ONE.to_bytes()), packet("h1#2", TWO.to_bytes()))
    sent = after(holding, out(version.to_bytes()))
    assert (tags(sent), sent.holding) == (["h1#1"], holding[1:])


def test_of_two_that_it_may_be_a_version_of_the_one_with_its_addresses_counts() -> None:
    assert isinstance(ONE.payload, IPv4)
    other = replace(ONE, payload=replace(ONE.payload, dst=0x0A000003))
    holding = (packet("h1#1", other.to_bytes()), packet("h1#2", ONE.to_bytes()))
    assert tags(after(holding, out(replace(ONE, src=9).to_bytes()))) == ["h1#2"]


def test_other_packets_have_no_name() -> None:
    ping = ping_request(eth_src=1, eth_dst=2, ip_src="10.0.0.1", ip_dst="10.0.0.2").to_bytes()
    arp = arp_request(eth_src=1, ip_src="10.0.0.1", ip_dst="10.0.0.2").to_bytes()
    holding = (packet("h1#1", ONE.to_bytes()),)
    assert after(holding, out(ping), out(arp), out(b"x")) == Sent((out(ping), out(arp), out(b"x")), holding)


def test_a_packet_out_without_actions_drops_the_packet_just_given() -> None:
    given = packet("h1#1", ONE.to_bytes())
    assert tags(after((), out(b"", actions=()), given=given)) == ["h1#1"]
    assert tags(after((given,), out(b"", actions=()))) == [""]


def test_a_program_that_is_still_busy_may_send_more_of_it() -> None:
    given = packet("h1#1", ONE.to_bytes())
    first = after((), out(given.data, actions=(Output(1),)), given=given, busy=True)
    assert [(event.kind, event.detail) for event in first.events] == [(KEEPS, ("c0", "h1#1"))]
    second = after(first.holding, out(given.data, actions=(Output(2),)), busy=True)
    assert (tags(second), second.events) == (["h1#1"], ())
    last = after(second.holding)
    assert [(event.kind, event.detail) for event in last.events] == [(RELEASES, ("c0", "h1#1"))]
    assert last.holding == ()


def test_only_packets_with_names_are_held() -> None:
    message = PacketIn(NO_BUFFER, 3, PacketInReason.NO_MATCH, Match.of(in_port=1), b"abc")
    assert held("s1", message) is None
    assert held("s1", replace(message, tag="h1#1")) == packet("h1#1", b"abc")


class TestASearch:
    """What a program holds is no part of its state before it sends a packet on in another call."""

    a, b = packet("h1#1", ONE.to_bytes()), packet("h2#1", TWO.to_bytes())

    def test_what_is_sent_on_at_once_is_held_by_nobody(self) -> None:
        naming = Naming()
        sent = naming.named("c0", self.a, [out(self.a.data)], busy=False)
        assert sent is not None and (tags(sent), sent.holding) == (["h1#1"], ())
        assert naming.named("c0", self.b, [], busy=False) == Sent((), ())
        assert not naming.holds

    def test_what_is_sent_on_later_is_noticed(self) -> None:
        naming = Naming()
        assert naming.named("c0", self.a, [], busy=False) is not None
        assert naming.named("c0", None, [out(self.a.data, "s2")], busy=False) is None
        assert naming.holds

    def test_so_it_is_if_another_run_sent_it_before_it_was_handed_over(self) -> None:
        naming = Naming()
        assert naming.named("c0", None, [out(self.a.data)], busy=False) is not None
        assert naming.named("c0", self.b, [out(self.b.data)], busy=False) is not None
        assert naming.named("c0", self.a, [], busy=False) is None

    def test_a_packet_is_no_rewriting_of_another_if_it_is_one_itself(self) -> None:
        alike = udp_datagram(
            eth_src=1,
            eth_dst=2,
            ip_src="10.0.0.1",
            ip_dst="10.0.0.2",
            udp_src=8,
            udp_dst=7,
            payload=b"one",
        ).to_bytes()
        other = packet("h3#1", alike)
        naming = Naming()
        assert naming.named("c0", other, [], busy=False) is not None
        assert naming.named("c0", self.a, [out(alike)], busy=False) is None
        # The same if the other one is handed over in a run that is tried later.
        naming = Naming()
        assert naming.named("c0", self.a, [out(alike)], busy=False) is not None
        assert naming.named("c0", other, [], busy=False) is None

    def test_so_is_a_buffer_that_is_released_later(self) -> None:
        naming = Naming()
        kept = packet("h1#1", ONE.to_bytes()[:20], buffer_id=7)
        assert naming.named("c0", kept, [], busy=False) is not None
        assert naming.named("c0", self.b, [out(b"", buffer_id=7)], busy=False) is None

    def test_the_same_packet_out_twice_may_be_two_packets(self) -> None:
        naming = Naming()
        twin = self.a._replace(tag="h1#2")
        assert naming.named("c0", self.a, [], busy=False) is not None
        assert naming.named("c0", twin, [out(self.a.data)], busy=False) is not None
        assert naming.named("c0", twin, [out(self.a.data), out(self.a.data)], busy=False) is None

    def test_a_program_that_is_not_done_with_a_packet_holds_it(self) -> None:
        assert Naming().named("c0", self.a, [out(self.a.data)], busy=True) is None

    def test_what_a_program_makes_itself_is_nobodys(self) -> None:
        naming = Naming()
        assert naming.named("c0", self.a, [out(TWO.to_bytes())], busy=False) is not None
        assert naming.named("c0", self.a, [out(TWO.to_bytes())], busy=False) is not None
        assert not naming.holds


def test_a_packet_that_a_switch_is_to_give_back_is_held() -> None:
    given = packet("h1#1", ONE.to_bytes())
    echo = Send("s1", EchoRequest(data=b"mine" + given.data))
    assert named("c0", (), given, [echo], changed=False, busy=False).holding == (given,)
    assert named("c0", (), given, [], changed=False, busy=False).holding == ()
