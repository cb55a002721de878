"""Values of any kind: whether they depend on inputs, what they are without, and when two are equal."""

from collections import OrderedDict, defaultdict
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Any, NamedTuple

import netaddr
import pytest

from penstock._concolic.run import Run
from penstock._concolic.terms import FALSE, TRUE, Term, both, const, eq, var
from penstock._concolic.values.integers import SymBool, integer
from penstock._concolic.values.parts import bears, concrete, equality, is_symbolic
from penstock._concolic.values.sym_str_build import ipv6_text, mac_text

PORT = var("in_port", 16)
SRC = var("eth_src", 48)
PLAIN_SRC = "00:00:00:00:00:07"


class Key(NamedTuple):
    dpid: int
    mac: str


@dataclass(frozen=True, slots=True)
class Entry:
    port: int
    name: str = "entry"


def port() -> int:
    return integer(7, PORT)


def src() -> str:
    return mac_text(7, SRC)


def symbolic_address(kind: type, plain: object) -> Any:
    """Return an address of a library whose number depends on an input."""
    made = kind(plain)
    name = "_ip" if hasattr(made, "_ip") else "_value"
    object.__setattr__(made, name, integer(getattr(made, name), SRC))
    return made


HOLDERS: list[tuple[Any, Any]] = [
    (port(), 7),
    (src(), PLAIN_SRC),
    (port().to_bytes(2, "big"), b"\0\7"),
    (port() == 7, True),
    ((1, src()), (1, PLAIN_SRC)),
    (Key(1, src()), Key(1, PLAIN_SRC)),
    ([1, (port(),)], [1, (7,)]),
    ({src(): {"port": port()}}, {PLAIN_SRC: {"port": 7}}),
    ({(1, port())}, {(1, 7)}),
    (frozenset({port()}), frozenset({7})),
    (defaultdict(dict, {1: port()}), defaultdict(dict, {1: 7})),
    (OrderedDict(a=port()), OrderedDict(a=7)),
    (Entry(port()), Entry(7)),
    (symbolic_address(IPv4Address, "10.0.0.1"), IPv4Address("10.0.0.1")),
    (symbolic_address(IPv6Address, "fe80::1"), IPv6Address("fe80::1")),
    (symbolic_address(netaddr.IPAddress, "10.0.0.1"), netaddr.IPAddress("10.0.0.1")),
    (symbolic_address(netaddr.EUI, PLAIN_SRC), netaddr.EUI(PLAIN_SRC)),
]


@pytest.mark.parametrize(("value", "plain"), HOLDERS, ids=lambda value: type(value).__name__)
def test_whatever_holds_a_value_bears_it_and_has_a_plain_counterpart(value: Any, plain: Any) -> None:
    with Run() as run:
        assert bears(value) and not bears(plain)
        found = concrete(value)
        assert concrete(plain) is plain
    assert not run.decisions and not run.losses
    assert not bears(found) and found == plain and type(found) is type(plain)
    assert bears(value), "the value itself must not change"


@pytest.mark.parametrize("value", [None, 5, "text", b"data", 1.5, object(), (1, "a"), [], {}, Entry])
def test_plain_values_bear_nothing_and_stay_themselves(value: Any) -> None:
    assert not is_symbolic(value) and not bears(value) and concrete(value) is value


def test_only_the_values_themselves_are_symbolic() -> None:
    assert all(is_symbolic(value) for value, _ in HOLDERS[:4])
    assert not any(is_symbolic(value) for value, _ in HOLDERS[4:])


def test_a_list_that_contains_itself_has_an_end() -> None:
    endless: list[Any] = [1]
    endless.append(endless)
    assert not bears(endless)


def test_a_truth_value_is_true_or_false_without_its_condition() -> None:
    assert (
        isinstance(port() == 7, SymBool) and concrete(port() == 7) is True and concrete(port() == 8) is False
    )


SEVEN = eq(PORT, const(7))
ADDRESS = eq(SRC, const(7))


@pytest.mark.parametrize(
    ("one", "other", "condition"),
    [
        (port(), 7, SEVEN),
        (7, port(), SEVEN),
        (port(), True, eq(PORT, const(1))),
        (port(), 70_000, FALSE),
        (src(), PLAIN_SRC, ADDRESS),
        (src(), "7", FALSE),
        (port().to_bytes(2, "big"), b"\0\7", SEVEN),
        ((1, src(), port()), (1, PLAIN_SRC, 7), both(ADDRESS, SEVEN)),
        ((1, src()), (2, PLAIN_SRC), FALSE),
        ((1, src()), (1,), FALSE),
        (Key(1, src()), (1, PLAIN_SRC), ADDRESS),
        (((port(), object()), 1), ((7, object()), 2), FALSE),
        (symbolic_address(IPv4Address, 9), IPv4Address(7), ADDRESS),
        (symbolic_address(netaddr.EUI, 9), netaddr.EUI(PLAIN_SRC), ADDRESS),
        (symbolic_address(netaddr.IPAddress, "0.0.0.9"), netaddr.IPAddress("::1"), FALSE),
        (port(), "7", FALSE),
        (src(), b"7", FALSE),
        (src(), None, FALSE),
        (5, 5, TRUE),
        ([1], [1], TRUE),
        ("a", "b", FALSE),
    ],
)
def test_when_two_values_are_equal_is_a_condition(one: Any, other: Any, condition: Term) -> None:
    with Run() as run:
        assert equality(one, other) == condition
    assert not run.decisions and not run.losses


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (port(), 7.0),
        (port(), object()),
        (ipv6_text(1, var("ip", 128)), ipv6_text(1, var("ip", 128), "inet6")),
    ],
)
def test_where_no_condition_says_it_python_has_to_be_asked(one: Any, other: Any) -> None:
    assert equality(one, other) is None
