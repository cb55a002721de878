"""Bytes that carry terms behave like plain ones."""

import copy
import operator
import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.symbolic.plain_agreement import Inputs, check, pairs_of_inputs

from penstock._concolic.run import Run
from penstock._concolic.terms import Term, bits, both, const, eq, lt, negation, sub, var
from penstock._concolic.values.integers import integer, term_of
from penstock._concolic.values.sym_bytes import (
    SymBytes,
    from_hex,
    from_int,
    join_octets,
    keep,
    octets,
    same_octets,
    terms_of,
    to_int,
)
from penstock._concolic.values.sym_str import SymStr, pieces_of
from penstock._concolic.values.sym_str_build import mac_text

WIDTHS = {"mac": 48, "type": 16, "letter": 7}
DST = var("eth_dst", 48)
TYPE = var("eth_type", 16)


def frame(inputs: Inputs, term: Callable[[str], Term]) -> dict[str, bytes]:
    """Return the start of a frame with constants amid, the same number in the other order, and a letter."""
    values = {name: integer(inputs[name], term(name)) for name in WIDTHS}
    start = values["mac"].to_bytes(6, "big") + b"\x00\x01\x02" + values["type"].to_bytes(2, "big")
    return {
        "frame": start,
        "little": values["type"].to_bytes(2, "little"),
        "letters": b"a," + keep(bytes, [values["letter"]]) + b", ",
    }


def plain(inputs: Inputs) -> dict[str, bytes]:
    return frame(inputs, lambda name: const(inputs[name]))


def symbolic(inputs: Inputs) -> dict[str, bytes]:
    return frame(inputs, lambda name: var(name, WIDTHS[name]))


WITH_BYTES: tuple[Callable[[Any, Any], Any], ...] = (
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, operator.add),
    lambda one, other: other + one,
    lambda one, other: other in one,
    lambda one, other: one.startswith(other),
    lambda one, other: one.endswith((other, b"\0")),
    lambda one, other: one.removeprefix(other),
    lambda one, other: one.removesuffix(other),
    lambda one, other: one.find(other),
    lambda one, other: one.rfind(other, 1),
    lambda one, other: one.index(other),
    lambda one, other: one.rindex(other),
    lambda one, other: one.count(other),
    lambda one, other: one.split(other),
    lambda one, other: one.rsplit(other, 1),
    lambda one, other: one.rsplit(sep=other, maxsplit=1),
    lambda one, other: one.partition(other),
    lambda one, other: one.rpartition(other),
    lambda one, other: one.replace(other, b"<>"),
    lambda one, other: one.strip(other),
    lambda one, other: one.lstrip(other),
    lambda one, other: one.rstrip(other),
    lambda one, other: join_octets(one, [other, b"x", other]),
)
ALONE: tuple[Callable[[Any], Any], ...] = (
    *(len, bool, list, lambda one: one.hex(), operator.itemgetter(0)),
    *(operator.itemgetter(slice(*bounds)) for bounds in ((2, 5), (None, -2), (6, 9), (None, None, -1))),
    *(operator.itemgetter(7), operator.itemgetter(-1), operator.itemgetter(50)),
    *(lambda one, sep=sep: one.hex(sep) for sep in (":", b"-")),
    *(lambda one, group=group: one.hex(":", group) for group in (2, -2, 3, 0)),
    *(lambda one, order=order: to_int(one, order) for order in ("big", "little")),
    *(lambda one, order=order: to_int(one[:2], order, signed=True) for order in ("big", "little")),
    *(lambda one, name=name: one.decode(name) for name in ("ascii", "latin-1", "utf-8", "utf-16")),
    *(lambda one, name=name: getattr(one, name)() for name in sorted(dir(bytes)) if name.startswith("is")),
    *(lambda one, name=name: getattr(one, name)() for name in ("strip", "split", "lower", "upper", "title")),
    *(lambda one, name=name: getattr(one, name)(20) for name in ("ljust", "rjust", "center", "zfill")),
    *(lambda one: one * 2, lambda one: 2 * one, lambda one: 7 in one, lambda one: one.find(0)),
    *(lambda one: keep(bytes, list(one)), lambda one: keep(bytes, one), lambda one: from_hex(one.hex(" "))),
    lambda one: from_int(one[0] - 3, 1),
    lambda one: from_int(one[0] - 130, 1, signed=True),
)


class Case(NamedTuple):
    """A program on bytes, and mostly others or a constant."""

    operation: int
    alone: bool
    name: str
    other: str
    constant: bytes | None

    def __call__(self, values: Any) -> Any:
        if self.alone:
            return ALONE[self.operation](values[self.name])
        other = values[self.other] if self.constant is None else self.constant
        return WITH_BYTES[self.operation](values[self.name], other)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Case, Inputs, Inputs]:
    """Draw a program, with a constant that mostly has to do with the bytes, and inputs for it."""
    inputs, others = draw(pairs_of_inputs(WIDTHS))
    names = st.sampled_from(["frame", "little", "letters"])
    name, other, alone = draw(names), draw(names), draw(st.sampled_from([True, False, False]))
    operation = draw(st.integers(0, len(ALONE if alone else WITH_BYTES) - 1))
    constant = plain(draw(st.sampled_from([inputs, others])))[name]
    if draw(st.booleans()):
        start = draw(st.integers(0, len(constant)))
        constant = constant[start : start + draw(st.integers(0, 4))]
    choice = st.just(constant) | st.none() | st.sampled_from([b"", b"\0", b"\0\1", b",", b"a"])
    return Case(operation, alone, name, other, draw(choice)), inputs, others


@settings(max_examples=400)
@given(cases())
def test_a_program_on_bytes_does_what_it_does_on_plain_ones(case: Any) -> None:
    program, inputs, others = case
    check(program, plain, symbolic, inputs, others)


def dst(value: int = 0x0A0B0C0D0E0F) -> Any:
    return integer(value, DST).to_bytes(6, "big")


def test_bytes_of_a_number_know_which_of_its_bits_they_are() -> None:
    assert terms_of(dst()) == tuple(bits(DST, place, 8) for place in range(40, -1, -8))
    assert term_of(dst()[0]) == bits(DST, 40, 8)
    assert [term_of(byte) for byte in dst()[4:]] == [bits(DST, 8, 8), bits(DST, 0, 8)]
    assert term_of(to_int(dst())) == DST
    assert term_of(to_int(dst()[::-1], "little")) == DST


def test_comparing_bytes_asks_for_the_number() -> None:
    assert term_of(dst() == b"\xff" * 6) == eq(DST, const((1 << 48) - 1))
    assert term_of(dst() != b"\xff" * 6) == negation(eq(DST, const((1 << 48) - 1)))
    assert term_of(dst() < b"\1\0\0\0\0\0") == lt(DST, const(1 << 40))
    assert term_of(dst()[:3] == b"\x01\x80\xc2") == eq(bits(DST, 24, 24), const(0x0180C2))
    assert term_of(dst().startswith(b"\x01\x80")) == eq(bits(DST, 32, 16), const(0x0180))
    assert (dst() == b"\xff") is False and (dst() + b"\1" == b"\0" * 7) is False
    assert dst() != "text" and dst() == bytearray(dst().plain)


def test_constants_amid_bytes_stay_constants() -> None:
    joined = join_octets(b"", [b"\x08\x00", integer(6, TYPE).to_bytes(2, "big"), b"\xff"])
    assert terms_of(joined) == (const(8), const(0), bits(TYPE, 8, 8), bits(TYPE, 0, 8), const(255))
    assert type(joined[:2]) is bytes and type(joined[0]) is int
    assert type(octets(b"ab", [const(97), const(98)])) is bytes


def test_hexadecimal_digits_of_bytes_are_a_text_that_keeps_them() -> None:
    assert term_of(dst().hex(":") == "01:00:00:00:00:02") == eq(DST, const(0x010000000002))
    assert dst().hex(":").pieces == pieces_of(mac_text(0x0A0B0C0D0E0F, DST))
    assert terms_of(from_hex(mac_text(5, DST).replace(":", ""))) == terms_of(dst())


def test_bytes_that_are_no_characters_decide_whether_decoding_fails() -> None:
    data = integer(200, bits(TYPE, 0, 8)).to_bytes(1, "big")
    with Run() as run, pytest.raises(UnicodeDecodeError):
        data.decode("ascii")
    assert [decision.holds for decision in run.decisions] == [negation(lt(bits(TYPE, 0, 8), const(128)))]
    assert not run.losses
    assert isinstance(data.decode("latin-1"), SymStr)


def test_a_number_below_zero_is_read_back_from_its_bytes() -> None:
    number = integer(-2, sub(bits(TYPE, 0, 8), const(100)))
    with Run() as run:
        data = number.to_bytes(2, "big", signed=True)
        assert to_int(data, signed=True) == -2
        assert not run.losses
    assert term_of(to_int(data)).low >= 0


def test_what_is_no_byte_decides_whether_making_bytes_fails() -> None:
    with Run() as run, pytest.raises(ValueError, match="range"):
        keep(bytes, [1, integer(300, TYPE)])
    assert [decision.holds for decision in run.decisions] == [negation(lt(TYPE, const(256)))]


def test_an_index_or_a_bound_that_depends_on_inputs_is_decided_if_it_has_few_values() -> None:
    words = integer(1, var("words", 4))
    with Run() as run:
        assert dst()[words] == 0x0B
        assert dst()[words * 2 :].plain == b"\x0c\x0d\x0e\x0f"
    assert not run.losses
    assert [str(decision.holds) for decision in run.decisions] == [
        *("not (words == 0)", "words == 1", "eth_dst[32:40] == 11"),
        "words < 8",
    ]


def test_equality_is_a_condition_on_its_own() -> None:
    assert same_octets(dst(), b"\0" * 6) == eq(DST, const(0))
    assert same_octets(b"ab", b"ab").value == 1 and same_octets(dst(), b"").value == 0
    pair = join_octets(b"", [integer(1, TYPE).to_bytes(2, "big"), dst()])
    assert same_octets(pair, b"\0" * 8) == both(eq(TYPE, const(0)), eq(DST, const(0)))


@pytest.mark.parametrize(
    ("act", "value"),
    [
        pytest.param(lambda: hash(dst()), hash(b"\x0a\x0b\x0c\x0d\x0e\x0f"), id="hash"),
        (lambda: bytes(dst()), b"\x0a\x0b\x0c\x0d\x0e\x0f"),
        (lambda: int.from_bytes(dst(), "big"), 0x0A0B0C0D0E0F),
        (lambda: repr(dst()[1:3]), r"b'\x0b\x0c'"),
        (lambda: dst().translate(None, b"\x0a"), b"\x0b\x0c\x0d\x0e\x0f"),
        (lambda: keep(bytearray, dst()), bytearray(b"\x0a\x0b\x0c\x0d\x0e\x0f")),
        (lambda: bytearray(b"\0") + dst()[:1], bytearray(b"\x00\x0a")),
        (lambda: dst().isalpha(), False),
        (lambda: to_int(dst() * 50) & 0xFF, 0x0F),
        (lambda: dst() * 50 < b"\x0a" * 300, False),
    ],
)
def test_what_has_no_terms_is_lost_and_gives_the_plain_value(act: Any, value: Any) -> None:
    with Run() as run:
        found = act()
    assert run.losses.total() == 1
    assert type(found) is type(value) and found == value


def test_every_method_of_bytes_is_followed_or_loses() -> None:
    # The length does not depend on inputs; a static method never sees the bytes; buffers, which can be seen
    # from Python 3.12 on, are the way of functions written in C, and those have summaries.
    harmless = {"__len__", "maketrans", "__buffer__"} & set(dir(bytes))
    special = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__repr__", "__str__"}
    own = set(dir(bytes)) - set(dir(object)) | special | {"__format__", "__reduce__"}
    assert {name for name in own if getattr(SymBytes, name) == getattr(bytes, name)} == harmless


def test_copies_keep_the_terms() -> None:
    for copied in (copy.copy(dst()), copy.deepcopy(dst()), pickle.loads(pickle.dumps(dst()))):
        assert terms_of(copied) == terms_of(dst())
