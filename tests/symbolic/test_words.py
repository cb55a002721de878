"""Conditions read like sentences, and say nothing twice."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies_terms import SPACE, conditions

from penstock._concolic.pretty_print import condition_in_words, say
from penstock._concolic.run import Run
from penstock._concolic.space import Space, Variable
from penstock._concolic.terms import (
    FALSE,
    TRUE,
    Term,
    add,
    bits,
    both,
    const,
    either,
    eq,
    ite,
    join,
    le,
    lt,
    mul,
    negation,
    shr,
)
from penstock.addresses import ipv4, ipv6, mac

INPUTS = Space(
    (
        Variable("in_port", 32),
        Variable("eth_type", 16, kind="hex"),
        Variable("eth_src", 48, kind="mac"),
        Variable("eth_dst", 48, kind="mac"),
        Variable("vlan_vid", 13, kind="hex"),
        Variable("ip_proto", 8),
        Variable("ipv4_dst", 32, kind="ipv4"),
        Variable("ipv6_dst", 128, kind="ipv6"),
        Variable("tcp_dst", 16),
    )
)
PORT, TYPE, SRC, DST, VLAN, PROTO, IPV4, IPV6, TCP = (variable.term for variable in INPUTS.variables)
NAMES = {("mac", 1): "h1", ("mac", 2): "h2", ("ipv4", ipv4("10.0.0.1")): "h1", ("in_port", 4): "the uplink"}


def is_(term: Term, value: int) -> Term:
    return eq(term, const(value))


def not_(term: Term, value: int) -> Term:
    return negation(is_(term, value))


@pytest.mark.parametrize(
    ("held", "words"),
    [
        ([], ""),
        ([TRUE], ""),
        ([FALSE], "never"),
        # Values as people write them.
        ([is_(TYPE, 0x0800)], "eth_type is IPv4"),
        ([is_(TYPE, 0x0842)], "eth_type is 0x0842"),
        ([is_(PROTO, 6), is_(TCP, 80)], "ip_proto is TCP and tcp_dst is 80"),
        ([is_(DST, 2)], "eth_dst is h2"),
        ([is_(DST, 3)], "eth_dst is 00:00:00:00:00:03"),
        ([is_(DST, mac("ff:ff:ff:ff:ff:ff"))], "eth_dst is broadcast"),
        ([is_(IPV4, ipv4("10.0.0.1"))], "ipv4_dst is h1"),
        ([is_(IPV4, ipv4("10.0.0.9"))], "ipv4_dst is 10.0.0.9"),
        ([is_(IPV6, ipv6("fe80::1"))], "ipv6_dst is fe80::1"),
        ([is_(PORT, 4)], "in_port is the uplink"),
        # Several conditions on one input.
        ([not_(TYPE, 0x88CC), is_(TYPE, 0x0806)], "eth_type is ARP"),
        ([is_(TYPE, 0x0806), lt(const(1535), TYPE)], "eth_type is ARP"),
        ([not_(DST, 1)], "eth_dst is not h1"),
        ([not_(DST, 2), is_(TYPE, 0x0800), not_(DST, 1)], "eth_dst is none of h1, h2 and eth_type is IPv4"),
        ([le(TCP, const(1023))], "tcp_dst is at most 1023"),
        ([lt(const(1023), TCP)], "tcp_dst is at least 1024"),
        (
            [lt(const(20), TCP), le(TCP, const(1023)), not_(TCP, 21), not_(TCP, 80), not_(TCP, 8080)],
            "tcp_dst is between 22 and 1023 and tcp_dst is not 80",
        ),
        ([lt(const(20), TCP), le(TCP, const(100)), not_(TCP, 100)], "tcp_dst is between 21 and 99"),
        ([lt(const(20), TCP), lt(TCP, const(22))], "tcp_dst is 21"),
        # Bits.
        ([is_(bits(DST, 40, 1), 1)], "eth_dst is a group address"),
        ([negation(is_(bits(DST, 40, 1), 1)), not_(DST, 1)], "eth_dst is unicast and eth_dst is not h1"),
        ([is_(bits(DST, 40, 1), 1), not_(DST, 1)], "eth_dst is a group address"),
        ([is_(bits(DST, 24, 24), 0x0180C2)], "eth_dst starts with 01:80:c2"),
        ([not_(bits(DST, 24, 24), 0x0180C2)], "eth_dst does not start with 01:80:c2"),
        ([is_(bits(DST, 40, 8), 0x33)], "the first byte of eth_dst is 0x33"),
        (
            [not_(bits(DST, 0, 8), 5), not_(bits(DST, 0, 8), 6)],
            "the last byte of eth_dst is none of 0x5, 0x6",
        ),
        ([is_(bits(DST, 8 * at, 8), at) for at in range(6)], "eth_dst is 05:04:03:02:01:00"),
        ([is_(bits(IPV4, 8, 24), ipv4("10.0.0.0") >> 8)], "ipv4_dst is in 10.0.0.0/24"),
        ([not_(bits(IPV4, 8, 24), ipv4("10.0.0.0") >> 8)], "ipv4_dst is not in 10.0.0.0/24"),
        ([is_(bits(IPV6, 64, 64), ipv6("fe80::") >> 64)], "ipv6_dst is in fe80::/64"),
        ([is_(bits(IPV6, 72, 8), 7)], "the number in bits 72 to 79 of ipv6_dst is 0x7"),
        ([is_(bits(VLAN, 12, 1), 1)], "it has a VLAN tag"),
        ([lt(bits(TCP, 4, 8), const(3))], "the number in bits 4 to 11 of tcp_dst is at most 2"),
        ([negation(lt(bits(TCP, 4, 8), const(3)))], "the number in bits 4 to 11 of tcp_dst is at least 3"),
        # Relations.
        ([eq(SRC, DST)], "eth_dst equals eth_src"),
        ([negation(eq(SRC, DST)), is_(SRC, 1), is_(DST, 2)], "eth_dst is h2 and eth_src is h1"),
        ([lt(TCP, PORT)], "tcp_dst is below in_port"),
        ([negation(lt(TCP, PORT))], "tcp_dst is at least in_port"),
        ([is_(add(TCP, PORT), 5)], "tcp_dst + in_port is 5"),
        ([not_(add(mul(TCP, PORT), PORT), 5)], "(tcp_dst * in_port) + in_port is not 5"),
        ([is_(bits(add(TCP, PORT), 2, 3), 5)], "the number in bits 2 to 4 of (tcp_dst + in_port) is 5"),
        (
            [eq(join([(bits(TCP, 0, 8), 8), (PROTO, 8)]), VLAN)],
            "vlan_vid equals (the last byte of tcp_dst followed by ip_proto)",
        ),
        (
            [lt(shr(TCP, bits(PORT, 0, 2)), PORT)],
            "tcp_dst >> the number in bits 0 to 1 of in_port is below in_port",
        ),
        ([ite(is_(TYPE, 0x0800), TCP, PORT)], "(tcp_dst if eth_type is IPv4 else in_port) is not 0"),
        ([is_(add(eq(TCP, PORT), PORT), 5)], "(1 if in_port equals tcp_dst else 0) + in_port is 5"),
        # Connectives.
        ([either(is_(TCP, 80), is_(TCP, 443))], "tcp_dst is one of 80, 443"),
        ([either(is_(TCP, 80), is_(PORT, 1))], "tcp_dst is 80 or in_port is 1"),
        (
            [negation(both(is_(TCP, 80), is_(PROTO, 6))), is_(PORT, 1)],
            "(tcp_dst is not 80 or ip_proto is not TCP) and in_port is 1",
        ),
        (
            [either(both(is_(TYPE, 0x0806), is_(PORT, 1)), is_(TCP, 80))],
            "(eth_type is ARP and in_port is 1) or tcp_dst is 80",
        ),
        ([negation(either(is_(TCP, 80), is_(TCP, 443)))], "tcp_dst is none of 80, 443"),
    ],
    ids=str,
)
def test_conditions_together_are_said_in_words(held: list[Term], words: str) -> None:
    assert condition_in_words(held, INPUTS, NAMES) == words


def test_a_decision_is_said_as_it_went() -> None:
    with Run() as run:
        run.decide(is_(DST, 2), False)
        run.decide(lt(TCP, const(1024)), True)
    assert [say(decision, INPUTS, NAMES) for decision in run.decisions] == [
        "eth_dst is not h2",
        "tcp_dst is at most 1023",
    ]


def test_a_single_condition_can_be_said_without_names() -> None:
    assert say(is_(DST, 2), INPUTS) == "eth_dst is 00:00:00:00:00:02"
    assert say(TCP, INPUTS) == "tcp_dst is not 0"
    assert say(TRUE, INPUTS) == "always"


@settings(max_examples=100)
@given(st.lists(conditions, min_size=1, max_size=4))
def test_whatever_is_asked_can_be_said(held: list[Term]) -> None:
    text = condition_in_words(held, SPACE)
    assert text.count("(") == text.count(")")
    assert condition_in_words([*held, held[0]], SPACE) == text
    for condition in held:
        assert say(condition, SPACE) != say(negation(condition), SPACE)
