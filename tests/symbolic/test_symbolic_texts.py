"""Texts that carry pieces behave like plain ones, and what is asked of them becomes a condition."""

import copy
import operator
import pickle
from collections.abc import Callable
from ipaddress import IPv6Address
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.symbolic.plain_agreement import Inputs, at, check, pairs_of_inputs

from penstock._concolic.run import Run
from penstock._concolic.terms import Term, bits, both, const, either, eq, le, lt, negation, sub, var
from penstock._concolic.values.integers import SymInt, integer, term_of
from penstock._concolic.values.segments import Piece, read, written
from penstock._concolic.values.sym_bytes import SymBytes, keep
from penstock._concolic.values.sym_bytes import terms_of as terms_of_octets
from penstock._concolic.values.sym_str import SymStr, join_texts, pieces_of
from penstock._concolic.values.sym_str_build import (
    decimal,
    followed,
    format_value,
    hexadecimal,
    ipv4_text,
    ipv6_text,
    mac_text,
    text,
    to_int,
)

WIDTHS = {"mac": 48, "ip": 32, "port": 16, "digit": 3, "chars": 24, "low": 14, "ip6": 128}
SRC = var("eth_src", 48)
IP = var("ipv4_src", 32)
PORT = var("port", 16)
IP6 = var("ipv6_src", 128)


def written_as(name: str, value: Callable[[str], tuple[int, Term]]) -> str:
    """Return a text of some form; with constants for terms, it is plain."""
    match name:
        case "mac":
            return mac_text(*value("mac"))
        case "capitals":
            return mac_text(*value("mac")).upper()
        case "ip":
            return ipv4_text(*value("ip"))
        case "port" | "digit":
            return decimal(*value(name))
        case "offset":
            number, term = value("port")
            return decimal(number - 300, sub(term, const(300)))
        case "hex":
            return hexadecimal(*value("port"))
        case "padded":
            return hexadecimal(*value("port"), 4)
        case "chars":
            return integer(*value("chars")).to_bytes(3, "big").decode("latin-1")
        case "ascii":
            number, term = value("low")
            data = [integer(number >> 7, bits(term, 7, 7)), integer(number & 127, bits(term, 0, 7))]
            decoded: str = keep(bytes, data).decode("latin-1")
            return decoded
        case form:
            return ipv6_text(*value("ip6"), form)


NAMES = (
    "mac",
    "capitals",
    "ip",
    "port",
    "digit",
    "offset",
    "hex",
    "padded",
    "chars",
    "ascii",
    "ipv6",
    "inet6",
)


class Texts(dict[str, str]):
    """Texts that are made when they are first used, with terms or without."""

    def __init__(self, inputs: Inputs, *, terms: bool) -> None:
        self._inputs = inputs
        self._terms = terms

    def __missing__(self, name: str) -> str:
        self[name] = written_as(name, self._value)
        return self[name]

    def _value(self, name: str) -> tuple[int, Term]:
        value = self._inputs[name]
        return value, var(name, WIDTHS[name]) if self._terms else const(value)


def plain(inputs: Inputs) -> Texts:
    return Texts(inputs, terms=False)


def symbolic(inputs: Inputs) -> Texts:
    return Texts(inputs, terms=True)


Operation = Callable[[Any, Any], Any]

WITH_A_TEXT: tuple[Operation, ...] = (
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, operator.add),
    lambda one, other: other in one,
    lambda one, other: one.startswith(other),
    lambda one, other: one.startswith((other, "0")),
    lambda one, other: one.startswith(other, 2),
    lambda one, other: one.endswith(other),
    lambda one, other: one.endswith(other, 1, 8),
    lambda one, other: one.removeprefix(other),
    lambda one, other: one.removesuffix(other),
    lambda one, other: one.find(other),
    lambda one, other: one.rfind(other),
    lambda one, other: one.find(other, 1, -1),
    lambda one, other: one.rfind(other, -4),
    lambda one, other: one.index(other),
    lambda one, other: one.rindex(other),
    lambda one, other: one.count(other),
    lambda one, other: one.count(other, 2),
    lambda one, other: one.split(other),
    lambda one, other: one.split(other, 1),
    lambda one, other: one.rsplit(other, 1),
    lambda one, other: one.partition(other),
    lambda one, other: one.rpartition(other),
    lambda one, other: one.replace(other, "<>"),
    lambda one, other: one.replace(other, "", 1),
    lambda one, other: one.strip(other),
    lambda one, other: one.lstrip(other),
    lambda one, other: one.rstrip(other),
    lambda one, other: join_texts(one, [other, "x", other]),
    lambda one, other: join_texts(", ", [one, other]),
    lambda one, other: format_value(one, "") + "/" + other,
)
ALONE: tuple[Callable[[Any], Any], ...] = (
    *(len, bool, list, operator.itemgetter(0), operator.itemgetter(-1), operator.itemgetter(40)),
    *(operator.itemgetter(slice(*bounds)) for bounds in ((2, 5), (None, -2), (-3, None), (None, None, -1))),
    *(lambda one, name=name: getattr(one, name)() for name in sorted(dir(str)) if name.startswith("is")),
    *(
        lambda one, name=name: getattr(one, name)()
        for name in ("lower", "upper", "casefold", "strip", "split", "rsplit", "splitlines", "expandtabs")
    ),
    *(lambda one, name=name: getattr(one, name)(7) for name in ("ljust", "rjust", "center", "zfill")),
    *(lambda one, name=name: one.encode(name) for name in ("ascii", "latin-1", "utf-8", "utf-16")),
    *(lambda one, base=base: to_int(one, base) for base in (0, 8, 10, 16)),
    *(lambda one, spec=spec: format_value(one, spec) for spec in ("s", "20", ">20", "*^21", ".3", "")),
    *(lambda one: one * 2, lambda one: 3 * one, lambda one: one * 0, lambda one: "-" + one),
)


class Case(NamedTuple):
    """A program on a text with something before and after it, and mostly another text or a constant."""

    operation: int
    alone: bool
    name: str
    before: str
    after: str
    other: str
    is_constant: bool

    def __call__(self, values: Texts) -> Any:
        subject = join_texts("", [self.before, values[self.name], self.after])
        if self.alone:
            return ALONE[self.operation](subject)
        return WITH_A_TEXT[self.operation](subject, self.other if self.is_constant else values[self.other])


@st.composite
def cases(draw: st.DrawFn) -> tuple[Case, Inputs, Inputs]:
    """Draw a program, with a constant that mostly has to do with the text, and inputs for it."""
    inputs, others = draw(pairs_of_inputs(WIDTHS))
    name = draw(st.sampled_from(NAMES))
    kind = draw(st.sampled_from(["alone", "constant", "constant", "constant", "text"]))
    before = draw(st.sampled_from(["", "", "", "0x", "-", " ", "a1", "\n"]))
    after = draw(st.sampled_from(["", "", "", "/8", ":", "1", " ", "ß"]))
    operation = draw(st.integers(0, len(ALONE if kind == "alone" else WITH_A_TEXT) - 1))
    other = draw(st.sampled_from(NAMES))
    if kind == "constant":
        other = before + plain(draw(st.sampled_from([inputs, others])))[name] + after
        if draw(st.booleans()):
            start = draw(st.integers(0, len(other)))
            other = other[start : start + draw(st.integers(0, 8))]
        other = draw(st.just(other) | st.sampled_from([":", ".", "", "0", "1", "10", "a", "fe80", "::", " "]))
    return Case(operation, kind == "alone", name, before, after, other, kind == "constant"), inputs, others


@settings(max_examples=500)
@given(cases())
def test_a_program_on_texts_does_what_it_does_on_plain_ones(case: Any) -> None:
    program, inputs, others = case
    check(program, plain, symbolic, inputs, others)


# Comparisons.


def mac(value: int = 0x0A0B0C0D0E0F) -> str:
    return mac_text(value, SRC)


def ip(value: int = 0x0A000001) -> str:
    return ipv4_text(value, IP)


def condition(answer: Any) -> Term:
    """Return the condition of an answer, which must not have been decided or lost."""
    return term_of(answer)


def test_an_address_as_text_is_asked_for_its_number() -> None:
    assert condition(mac() == "01:00:00:00:00:02") == eq(SRC, const(0x010000000002))
    assert condition(mac() != "01:00:00:00:00:02") == negation(eq(SRC, const(0x010000000002)))
    assert condition(ip() == "10.0.0.2") == eq(IP, const(0x0A000002))
    assert condition(mac() == mac_text(1, var("eth_dst", 48))) == eq(SRC, var("eth_dst", 48))
    assert condition(ipv6_text(1, IP6) == "fe80::1") == eq(IP6, const((0xFE80 << 112) + 1))


@pytest.mark.parametrize(
    "other",
    [
        *("0A:0B:0C:0D:0E:0F", "0a:0b:0c:0d:0e", "0a-0b-0c-0d-0e-0f", "", "10.0.0.1", "0a:0b:0c:0d:0e:0f "),
        *("0a:0b:0c:0d:0e:0g",),
    ],
)
def test_a_text_that_is_written_otherwise_is_not_equal_and_decides_nothing(other: str) -> None:
    with Run() as run:
        assert (mac() == other) is False and (mac() != other) is True
        assert (ip() == "10.0.0.01") is False and (ip() == "10.0.0.256") is False
        assert (ipv6_text(1, IP6) == "0:0::1") is False
        assert (mac() == ip()) is False
    assert not run.decisions and not run.losses


def test_addresses_are_ordered_by_their_numbers() -> None:
    assert condition(mac() < "0b:00:00:00:00:00") == lt(SRC, const(0x0B0000000000))
    assert condition(mac() >= mac_text(1, var("eth_dst", 48))) == negation(lt(SRC, var("eth_dst", 48)))
    with Run() as run:
        assert sorted([mac(), "00:00:00:00:00:01"])[0] == "00:00:00:00:00:01"
    assert len(run.decisions) == 1 and not run.losses


def test_two_ways_to_read_a_text_are_both_considered() -> None:
    pair = text([Piece(PORT, "d", "1"), Piece(var("b", 8), "d", "12")], "112")
    assert condition(pair == "112") == either(
        both(eq(PORT, const(1)), eq(var("b", 8), const(12))),
        both(eq(PORT, const(11)), eq(var("b", 8), const(2))),
    )


def test_a_start_or_an_end_is_asked_for_the_numbers_in_it() -> None:
    assert condition(mac().startswith("01:80:c2")) == eq(bits(SRC, 24, 24), const(0x0180C2))
    assert condition(mac().startswith(("33:33", "01:8"))) == either(
        eq(bits(SRC, 32, 16), const(0x3333)), eq(bits(SRC, 36, 12), const(0x018))
    )
    assert condition(mac().endswith(":ff")) == eq(bits(SRC, 0, 8), const(0xFF))
    assert condition(ip().startswith("10.")) == eq(bits(IP, 24, 8), const(10))
    assert condition(ip().startswith("25")) == either(
        eq(bits(IP, 24, 8), const(25)), le(const(250), bits(IP, 24, 8))
    )
    assert condition(ipv6_text(1, IP6).startswith("fe80:")) == eq(bits(IP6, 112, 16), const(0xFE80))
    assert (mac().startswith("zz"), ip().endswith(".")) == (False, False)


# Parts.


def test_what_is_cut_from_an_address_keeps_its_numbers() -> None:
    with Run() as run:
        assert [condition(to_int(part, 16)) for part in mac().split(":")] == [
            bits(SRC, place, 8) for place in range(40, -1, -8)
        ]
        assert [condition(to_int(part)) for part in ip().split(".")] == [
            bits(IP, place, 8) for place in range(24, -1, -8)
        ]
        assert condition(to_int(mac().replace(":", ""), 16)) == SRC
        assert condition(to_int(mac()[1], 16)) == bits(SRC, 40, 4)
        assert condition(to_int("0x" + mac()[:2], 16)) == bits(SRC, 40, 8)
        assert pieces_of(ip().rpartition(".")[0]) == pieces_of(ip())[:-2]
        assert mac()[2] == ":" and len(mac()) == 17 and bool(ip())
    assert not run.decisions and not run.losses


def test_the_run_decides_how_wide_a_number_is_where_that_matters() -> None:
    with Run() as run:
        assert len(decimal(443, PORT)) == 3
    assert [decision.holds for decision in run.decisions] == [
        *(negation(lt(PORT, const(limit))) for limit in (10, 100)),
        lt(PORT, const(1000)),
    ]
    with Run() as run:
        assert ip().find(".") == 2
    assert len(run.decisions) == 2


def test_a_character_that_may_be_there_or_not_decides_where_a_text_is_split() -> None:
    with Run() as run:
        assert mac()[:2].split("a") == ["0", ""]
    assert [str(decision.holds) for decision in run.decisions[:2]] == [
        "not (eth_src[44:48] == 10)",
        "eth_src[40:44] == 10",
    ]
    assert not run.losses


def test_a_digit_that_is_none_decides_whether_reading_a_number_fails() -> None:
    with Run() as run, pytest.raises(ValueError, match="invalid literal"):
        to_int(mac()[:2])
    assert [str(decision.holds) for decision in run.decisions] == [
        "eth_src[44:48] < 10",
        "not (eth_src[40:44] < 10)",
    ]
    assert not run.losses
    with pytest.raises(ValueError, match="invalid literal"):
        to_int(mac(), 16)


def test_capitals_and_small_letters_keep_the_number() -> None:
    assert condition(mac().upper() == "0A:0B:0C:0D:0E:10") == eq(SRC, const(0x0A0B0C0D0E10))
    assert pieces_of(mac().upper().lower()) == pieces_of(mac())
    assert (mac().upper() == "0a:0b:0c:0d:0e:10") is False


# Formatting.

FORMATS = (
    "",
    "d",
    "x",
    "X",
    "02x",
    "04x",
    "#x",
    "#06x",
    "016x",
    "5d",
    "05d",
    "<8",
    ">8x",
    "*^9",
    "c",
    "+d",
    ",",
)


@settings(max_examples=200)
@given(st.sampled_from(FORMATS), pairs_of_inputs({"port": 16}), st.integers(-40, 5))
def test_a_number_is_formatted_with_its_term(spec: str, inputs: Any, offset: int) -> None:
    check(
        lambda values: format_value(values["port"] + offset, spec),
        dict,
        lambda values: {"port": SymInt(values["port"], PORT)},
        *inputs,
    )


def test_formats_that_have_a_form_are_not_lost() -> None:
    with Run() as run:
        found = [
            format_value(integer(171, var("c", 8)), spec) for spec in ("", "d", "x", "X", "02x", "#06x", "c")
        ]
    assert found == ["171", "171", "ab", "AB", "ab", "0x00ab", "«"]
    assert all(isinstance(one, SymStr) for one in found) and not run.losses
    assert [decision.holds for decision in run.decisions if decision.condition.variables != {"c"}] == []


def test_a_number_below_zero_has_its_sign() -> None:
    with Run() as run:
        found = format_value(integer(-93, sub(PORT, const(100))), "d")
    assert found == "-93" and [str(one.holds) for one in run.decisions] == ["port < 100"]
    assert condition(to_int(found)) == sub(PORT, const(100))


def test_joining_keeps_all_pieces() -> None:
    found = join_texts("/", ["host", mac(), decimal(7, PORT)])
    assert condition(found == "host/00:00:00:00:00:01/80") == both(eq(SRC, const(1)), eq(PORT, const(80)))
    assert join_texts(mac(), ["a", "b"]) == f"a{mac()}b" and join_texts(",", ["a", "b"]) == "a,b"
    assert type(join_texts(",", ["a", "b"])) is str
    with pytest.raises(TypeError):
        join_texts(",", ["a", 1])  # type: ignore[list-item]


def test_pieces_are_found_in_the_characters_that_they_come_to() -> None:
    made = text(["port ", Piece(PORT, "d"), " of ", Piece(SRC, "x")], "port 7 of ff")
    assert [part.shown for part in pieces_of(made) if isinstance(part, Piece)] == ["7", "ff"]
    with Run() as run:
        assert type(text([Piece(PORT, "d"), Piece(SRC, "d")], "112")) is str
    assert run.losses.total() == 1


@settings(max_examples=150)
@given(st.integers(0, (1 << 128) - 1), st.integers(0, 7), st.sampled_from(["ipv6", "inet6"]))
def test_the_text_of_an_ipv6_address_is_read_back(value: int, groups: int, form: str) -> None:
    value &= (1 << 16 * groups) - 1
    assert read(written(value, form), form) == value
    assert int(IPv6Address(written(value, form))) == value


def test_text_becomes_bytes_and_text_again() -> None:
    with Run() as run:
        found = mac().encode()
        assert isinstance(found, SymBytes) and terms_of_octets(found)[2] == const(ord(":"))
        assert at(found.decode(), {"eth_src": 0x1F}) == "00:00:00:00:00:1f"
    assert not run.losses


# What is lost.


@pytest.mark.parametrize(
    ("act", "value"),
    [
        pytest.param(lambda: hash(mac()), hash("0a:0b:0c:0d:0e:0f"), id="hash"),
        (lambda: str(mac()), "0a:0b:0c:0d:0e:0f"),
        (lambda: f"{mac()}", "0a:0b:0c:0d:0e:0f"),
        (lambda: repr(mac()), "'0a:0b:0c:0d:0e:0f'"),
        (lambda: operator.mod("%s.", mac()), "0a:0b:0c:0d:0e:0f."),
        (lambda: int(mac()[:2].replace("a", "1")), 1),
        (lambda: mac().title(), "0A:0B:0C:0D:0E:0F"),
        (lambda: mac().translate({58: "-"}), "0a-0b-0c-0d-0e-0f"),
        (lambda: mac().encode("utf-16-le")[:4], b"0\0a\0"),
        (lambda: ipv6_text(1, IP6)[0], ":"),
        (lambda: len(ipv6_text(1, IP6)), 3),
        (lambda: next(iter(ipv6_text(1, IP6))), ":"),
        (lambda: ip() < "10.0.0.2", True),
        (lambda: ip().strip(mac()[0]), "10.0.0.1"),
        (lambda: to_int("1_" + decimal(7, PORT)), 17),
    ],
)
def test_what_has_no_pieces_is_lost_and_gives_the_plain_value(act: Any, value: Any) -> None:
    with Run() as run:
        found = act()
    assert run.losses.total() == 1
    assert type(found) is type(value) and found == value


def test_every_method_of_str_is_followed_or_loses() -> None:
    # A static method that never sees the text.
    harmless = {"maketrans"}
    special = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__repr__", "__str__"}
    own = set(dir(str)) - set(dir(object)) | special | {"__format__", "__reduce__"}
    assert {name for name in own if getattr(SymStr, name) == getattr(str, name)} == harmless


def test_a_plain_text_is_asked_for_one_that_depends_on_inputs() -> None:
    assert condition(followed("00:00:00:00:00:01").startswith(mac()[:2])) == eq(bits(SRC, 40, 8), const(0))
    assert type(followed("abc").upper()) is str and followed("").split(",") == [""]
    assert not followed("")


def test_copies_keep_the_pieces() -> None:
    for copied in (copy.copy(mac()), copy.deepcopy(mac()), pickle.loads(pickle.dumps(mac()))):
        assert pieces_of(copied) == pieces_of(mac())
