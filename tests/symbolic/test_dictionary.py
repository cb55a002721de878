"""The constants of a program are found wherever they are written or kept."""

from __future__ import annotations

import pytest

from penstock._concolic.packets.headers import PAYLOAD_SIZE
from penstock._concolic.space import Variable
from penstock._symbolic.dictionary import dictionary_of

PORT = Variable("udp_dst", 16)
MAC = Variable("eth_dst", 48)
ADDRESS = Variable("ipv4_dst", 32)


@pytest.mark.parametrize(
    "source",
    [
        "x = 12345",
        "def f(p):\n    def g(): return p == 12345\n    return g",
        "class A:\n    TABLE = {12345: 'a'}",
        "x = p in {1, 2, 12345}",
        "x = 0x30 << 8 | 0x39",
        "x = 100 * 123 + 45",
        "x = p == '12345'",
        "x = p == '54321'[::-1]",
        "x = p == '3039'",
        "x = p == b'\\x30\\x39'",
        "x = p == b'\\x39\\x30'",
        "x = p > 12344",
        "x = p == 12345.0",
        "x = p ^ 0xffff == 53190",
        "x = text.endswith('0011000000111001')",
        "x = name == 'eth-12345-up'",
        "x = text == 'p=0x3039;'",
        "x = repr(address) == \"IPAddress('0.0.48.57')\"",
        "x = address.reverse_dns == '57.48.0.0.in-addr.arpa.'",
        "x = p == 0x00503039",
        "x = p == 0x30390050",
    ],
)
def test_a_port_in_the_source_is_tried(source: str) -> None:
    assert 12345 in dictionary_of([source]).values(PORT)


@pytest.mark.parametrize("text", ["00:00:00:00:00:2a", "<00:00:00:00:00:2A>", "00-00-00-00-00-2A"])
def test_a_mac_address_is_tried(text: str) -> None:
    assert 42 in dictionary_of([f"x = {text!r}"]).values(MAC)


@pytest.mark.parametrize("text", ["10.9.8.7", "10.9.8.6/31", "10.9.8.0/29", "10.9.8.7/32"])
def test_an_ip_address_or_prefix_is_tried(text: str) -> None:
    assert 0x0A090807 in dictionary_of([f"x = {text!r}"]).values(ADDRESS)


class Helper:
    """Keeps a number."""

    LIMIT = 54321

    def __init__(self) -> None:
        self.wanted = [{"port": (12345,)}]

    def __getattr__(self, name: str) -> object:
        raise AssertionError("a program is looked at, not asked")


def test_what_a_program_has_worked_out_is_tried_and_nothing_of_it_is_run() -> None:
    memory = [{"__name__": __name__, "helper": Helper(), "kind": Helper, "call": lambda port=777: port}]
    assert {12345, 54321, 777} <= set(dictionary_of([], memory).values(PORT))


def test_objects_of_libraries_are_not_looked_into() -> None:
    assert 12345 not in dictionary_of([], [{"__name__": "app", "helper": Helper()}]).values(PORT)


def test_what_refers_to_itself_comes_to_an_end() -> None:
    circle: list[object] = [12345]
    circle.append(circle)
    assert 12345 in dictionary_of([], [{"circle": circle}]).values(PORT)


def test_a_payload_is_what_a_text_is() -> None:
    values = dictionary_of(["x = data.startswith(b'GET')"]).values(Variable("payload", 8 * PAYLOAD_SIZE))
    assert int.from_bytes(b"GET".ljust(PAYLOAD_SIZE, b"\0")) in values


def test_rare_numbers_come_first_and_each_value_once() -> None:
    values = list(dictionary_of(["x = (1, 2, 3, 12345)"]).values(PORT))
    assert values[0] == 12345
    assert len(values) == len(set(values))
    assert all(0 <= value < 1 << 16 for value in values)


def test_only_rare_numbers_are_tried_where_that_is_asked() -> None:
    assert list(dictionary_of(["x = (1, 22, 300)"]).values(PORT, rare=True))[:1] == [300]
    assert not {0, 1, 22} & set(dictionary_of(["x = (1, 22, 300)"]).values(PORT, rare=True))


def test_a_source_that_is_none_has_no_constants() -> None:
    assert dictionary_of(["def"]) == ((), (), ())
