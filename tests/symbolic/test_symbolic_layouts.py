"""Layouts: what a frame may be made of, and which fields decide it."""

from __future__ import annotations

import pytest
from tests.symbolic.frame_strategies import usual

from penstock._concolic.packets import layouts
from penstock._concolic.packets.frames import FrameSpace
from penstock._concolic.packets.headers import INPUTS, digit, input_term
from penstock._concolic.terms import evaluate
from penstock.openflow.fields import BY_NAME


def names_in(**changes: int) -> list[str]:
    values = usual(**changes)
    return [header.name for header in layouts.stack(lambda condition: bool(evaluate(condition, values)))]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ["ethernet", "type", "ipv4", "icmp"]),
        ({"vlan_vid": 0x1005}, ["ethernet", "vlan", "type", "ipv4", "icmp"]),
        ({"eth_type": 0x0806}, ["ethernet", "type", "arp"]),
        ({"eth_type": 0x88B5}, ["ethernet", "type"]),
        ({"ip_proto": 6}, ["ethernet", "type", "ipv4", "tcp"]),
        ({"eth_type": 0x86DD, "ip_proto": 6}, ["ethernet", "type", "ipv6", "tcp"]),
        ({"eth_type": 0x86DD, "ip_proto": 1}, ["ethernet", "type", "ipv6"]),
        ({"ip_proto": 2, "igmp_type": 0x11}, ["ethernet", "type", "ipv4", "igmp", "igmpv2"]),
        (
            {"ip_proto": 2, "igmp_type": 0x11, "igmp_v3": 1},
            ["ethernet", "type", "ipv4", "igmp", "igmpv3_query"],
        ),
        ({"ip_proto": 2, "igmp_type": 0x22}, ["ethernet", "type", "ipv4", "igmp", "igmpv3_report"]),
        ({"eth_type": 0x8809}, ["ethernet", "type", "slow", "lacp"]),
        ({"eth_type": 0x8809, "slow_subtype": 2}, ["ethernet", "type", "slow", "slow_other"]),
        ({"eth_type": 0x88CC}, ["ethernet", "type", "lldp", "lldp_own"]),
    ],
)
def test_fields_decide_which_headers_there_are(changes: dict[str, int], expected: list[str]) -> None:
    assert names_in(**changes) == expected
    present = {name for name, condition in layouts.PRESENT.items() if evaluate(condition, usual(**changes))}
    assert present == set(expected)


def test_a_header_that_several_may_carry_has_one_condition() -> None:
    assert str(layouts.PRESENT["tcp"]) in (
        "((eth_type == 2048) or (eth_type == 34525)) and (ip_proto == 6)",
        "(ip_proto == 6) and ((eth_type == 2048) or (eth_type == 34525))",
    )


@pytest.mark.parametrize(
    ("header", "size"),
    [
        ("arp", 28),
        ("ipv4", 20),
        ("ipv6", 40),
        ("tcp", 20),
        ("udp", 8),
        ("icmp", 8),
        ("lacp", 110),
        ("vlan", 4),
    ],
)
def test_headers_have_the_sizes_of_the_standards(header: str, size: int) -> None:
    assert {found.name: found.size for found in layouts.headers()}[header] == size


def test_every_header_is_a_whole_number_of_bytes() -> None:
    assert all(sum(part.bits for part in header.parts) % 8 == 0 for header in layouts.headers())


def test_fields_are_those_of_openflow_with_its_widths() -> None:
    known = {name: width for name, width in INPUTS.items() if name in BY_NAME}
    assert len(known) > 25
    # OpenFlow has room for operations of 16 bits, but looks at eight.
    assert {name: BY_NAME[name].bits for name in known} == {**known, "arp_op": 16}
    assert known.keys() <= FrameSpace.present.keys()


def test_digits_are_written_as_hexadecimal_does() -> None:
    nibble = input_term("igmp_type")
    written = [chr(evaluate(digit(nibble), {"igmp_type": value})) for value in range(16)]
    assert "".join(written) == "0123456789abcdef"
