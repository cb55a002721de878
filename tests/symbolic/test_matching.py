"""Matches as conditions on header fields."""

from __future__ import annotations

from tests.symbolic.forwarding_lab import FIELDS

from penstock._concolic.terms import const, evaluate
from penstock._symbolic.forwarding.matching import ALWAYS, NEVER, Header, Verdict
from penstock.openflow.match import Match

HEADER = Header(FIELDS)


def holds(verdict: Verdict, **values: int) -> tuple[bool, bool]:
    """Return whether a match surely and whether it possibly accepts a packet; other fields are 0."""
    packet = {**dict.fromkeys(FIELDS, 0), **values}
    return bool(evaluate(verdict.sure, packet)), bool(evaluate(verdict.possible, packet))


def test_a_match_is_the_conjunction_of_its_fields() -> None:
    verdict = HEADER.accepted_by(Match.of(eth_type=0x0800, ip_proto=6, tcp_dst=80))
    assert verdict.is_exact
    assert str(verdict.sure) == "(eth_type == 2048) and (ip_proto == 6) and (tcp_dst == 80)"


def test_masks_look_at_some_bits_only() -> None:
    verdict = HEADER.accepted_by(Match.of(eth_type=0x0800, ipv4_dst="10.0.0.0/8"))
    assert str(verdict.sure) == "(eth_type == 2048) and (ipv4_dst[24:32] == 10)"


def test_what_a_packet_does_not_have_is_read_as_zero() -> None:
    zero, other = HEADER.accepted_by(Match.of(tcp_dst=0)), HEADER.accepted_by(Match.of(tcp_dst=80))
    assert holds(zero, eth_type=0x0806, tcp_dst=80) == (True, True)
    assert holds(other, eth_type=0x0806, tcp_dst=80) == (False, False)
    assert holds(other, eth_type=0x0800, ip_proto=6, tcp_dst=80) == (True, True)


def test_lengths_in_place_of_a_type_are_one_type() -> None:
    verdict = HEADER.accepted_by(Match.of(eth_type=0x05FF))
    assert holds(verdict, eth_type=38) == holds(verdict, eth_type=0x05FF) == (True, True)
    assert holds(verdict, eth_type=0x0800) == (False, False)
    assert HEADER.accepted_by(Match.of(eth_type=38)) == NEVER
    low_bits = HEADER.accepted_by(Match.of(eth_type=(0xFF, 0xFF)))
    assert holds(low_bits, eth_type=38) == (True, True)


def test_a_priority_is_there_only_in_a_tag() -> None:
    verdict = HEADER.accepted_by(Match.of(vlan_vid=(0x1000, 0x1000), vlan_pcp=0))
    assert holds(verdict, vlan_vid=0x1007) == (True, True)
    assert holds(verdict, vlan_vid=0) == (False, False)


def test_fields_that_are_constant_decide_at_once() -> None:
    header = HEADER.changed({"eth_type": const(0x0806), "in_port": const(3)})
    assert header.accepted_by(Match.of(in_port=3, eth_type=0x0806)) == ALWAYS
    assert header.accepted_by(Match.of(eth_type=0x0800, ipv4_dst=9)) == NEVER


def test_on_an_unknown_field_there_are_two_conditions() -> None:
    header = HEADER.changed({"ipv4_dst": None})
    verdict = header.accepted_by(Match.of(eth_type=0x0800, ipv4_dst=9))
    assert holds(verdict, eth_type=0x0800) == (False, True)
    assert holds(verdict, eth_type=0x0806) == (False, False)
    assert holds(verdict.negated, eth_type=0x0800) == (False, True)
    assert holds(verdict.negated, eth_type=0x0806) == (True, True)


def test_reverse_arp_may_have_the_fields_of_arp() -> None:
    verdict = HEADER.accepted_by(Match.of(eth_type=0x8035, arp_op=1))
    assert holds(verdict, eth_type=0x8035, arp_op=1) == (False, True)
    assert HEADER.accepted_by(Match.of(eth_type=0x0806, arp_op=1)).is_exact


def test_headers_are_values() -> None:
    assert Header(FIELDS) == HEADER and hash(Header(FIELDS)) == hash(HEADER)
    assert HEADER.changed({"eth_dst": const(1)}) != HEADER
    assert set(HEADER.only("eth_dst", "eth_src")) == {"eth_dst", "eth_src"}
