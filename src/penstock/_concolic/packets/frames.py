"""Frames made from inputs: as bytes, as terms, and as bytes that a run follows.

A `FrameSpace` knows every frame that `layouts` can express.  Given a value for each input it makes
the frame, with right lengths and checksums; and it says what each header field is as a term.

A `SymFrame` is such a frame in the hands of a program.  It looks like bytes.  What a byte means
depends on the frame's shape, so looking at one decides the shape as far as that byte, and no
further: the first 14 bytes decide nothing, the byte after them whether there is a tag and what the
Ethernet type is.  The end of a frame stays open too: a slice to the end is a `SymFrame` again, and
`length` is a number that the run follows.  Only `len` itself, or a look at every byte, settles on
the length that the frame happens to have; the run is told of the loss.

Checksums are followed as if they were constant: no program decides by them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, Final, SupportsIndex, cast

from penstock._concolic.packets import layouts
from penstock._concolic.packets.domain import LONGEST_PAYLOAD, Addresses, Sender, constraints, variables
from penstock._concolic.packets.headers import INPUTS, PAYLOAD_SIZE, Header, chosen, input_term
from penstock._concolic.packets.layouts import FIRST_TYPE, FRAME, PRESENT, stack
from penstock._concolic.run import lose
from penstock._concolic.solving.compiled import Evaluator
from penstock._concolic.space import Inputs, Space
from penstock._concolic.terms import FALSE, Term, add, bits, const, either, eq, join, le, sub
from penstock._concolic.values.escapes import Symbolic
from penstock._concolic.values.integers import decide, integer, pinned
from penstock._concolic.values.sym_bytes import SymBytes, octets
from penstock._concolic.values.sym_str_build import ipv4_text, ipv6_text, mac_text
from penstock.openflow.fields import BY_NAME, ETH_IPV4
from penstock.packet import checksum

_evaluate: Final = Evaluator()

SHORTEST: Final = 14
"""How many bytes every frame has, whose meaning depends on no shape."""

_START: Final = (*FRAME.octets, bits(FIRST_TYPE, 8, 8), bits(FIRST_TYPE, 0, 8))

DERIVED: Final[Mapping[str, Term]] = {
    "first_type": FIRST_TYPE,
    "ip_tos": join(((input_term("ip_dscp"), 6), (input_term("ip_ecn"), 2))),
    "ipv4_length": layouts.IPV4.length,
    "ipv6_length": layouts.IPV6.length_inside,
    "udp_length": layouts.UDP.length,
    "length": FRAME.length,
}
"""Numbers in headers that several inputs make up."""

_LENGTH, _PAYLOAD, _PAYLOAD_LENGTH = FRAME.length, input_term("payload"), input_term("payload_length")

NO_PAYLOAD: Final = eq(_PAYLOAD_LENGTH, FALSE)
"""Whether a frame has no opaque bytes, where it could."""

BLANK_PAYLOAD: Final = eq(_PAYLOAD, FALSE)
"""Whether all opaque bytes are zero."""


def _fields_present() -> dict[str, Term]:
    """Return under which condition each input is in a frame."""
    found: dict[str, list[Term]] = {}
    for header in layouts.headers():
        for name in header.inputs & BY_NAME.keys():
            found.setdefault(name, []).append(PRESENT[header.name])
    return {name: either(*conditions) for name, conditions in found.items()}


class FrameSpace:
    """All frames there can be, between these addresses and perhaps from one sender only."""

    fields: Mapping[str, Term] = {name: input_term(name) for name in INPUTS}
    """Every header field as a term, OpenFlow's and others."""

    present: Mapping[str, Term] = {**_fields_present(), **PRESENT}
    """Under which condition a header, or one of OpenFlow's fields, is there; by name."""

    length: Term = _LENGTH
    """How many bytes a frame has."""

    def __init__(
        self, addresses: Addresses, *, sender: Sender | None = None, longest: int = LONGEST_PAYLOAD
    ) -> None:
        self.addresses = addresses
        self.sender = sender
        self.space = Space(variables(addresses, sender), constraints(sender, longest))

    @cached_property
    def usual(self) -> Inputs:
        """The values that inputs have where nothing depends on them."""
        return {variable.name: variable.preferred[0] for variable in self.space.variables}

    def data(self, inputs: Inputs) -> bytes:
        """Return the frame that the inputs make."""
        made = bytearray()
        starts: list[tuple[Header, int]] = []
        for header in stack(lambda condition: bool(_evaluate(condition, inputs))):
            starts.append((header, len(made)))
            made += _evaluate(header.term, inputs).to_bytes(header.size)
        if starts[-1][0].payload:
            length = inputs["payload_length"]
            made += inputs["payload"].to_bytes(PAYLOAD_SIZE).ljust(length, b"\0")[:length]
        for header, start in reversed(starts):
            if header.checksum is not None:
                at, scope = header.checksum
                covered = bytes(made[start : start + header.size] if scope == "header" else made[start:])
                extra = _pseudo(inputs) + len(covered) if scope == "pseudo" else 0
                found = checksum(covered, extra)
                if header is layouts.UDP and not found:
                    found = 0xFFFF  # zero would say that there is none (RFC 768)
                made[start + at : start + at + 2] = found.to_bytes(2)
        return bytes(made)

    def follow(self, inputs: Inputs) -> SymFrame:
        """Return the frame that the inputs make, to be followed."""
        return _view(_Source(inputs, self.data(inputs)), 0)


def _pseudo(inputs: Inputs) -> int:
    """Return the sum of both addresses and the protocol, which transports put in their checksums."""
    version = "ipv4" if inputs["eth_type"] == ETH_IPV4 else "ipv6"
    return inputs[f"{version}_src"] + inputs[f"{version}_dst"] + inputs["ip_proto"]


Naming = Callable[[Term], Term]
"""Calls the inputs in a term by other names."""


class _Source:
    """What a frame was made from, and what it is."""

    __slots__ = ("data", "inputs", "naming")

    def __init__(self, inputs: Inputs, data: bytes) -> None:
        self.inputs = inputs
        self.data = data
        self.naming: Naming | None = None
        """What the inputs are called, if not by their own names."""


class SymFrame(SymBytes):
    """A frame, or its end from the byte `start` on, that is looked at no further than needed."""

    source: _Source
    start: int

    # What headers are made from.

    def _named(self, term: Term) -> Term:
        naming = self.source.naming
        return term if naming is None else naming(term)

    def age(self, naming: Naming) -> None:
        """Call the inputs of this frame by other names from now on, unless they are already."""
        self.source.naming = self.source.naming or naming

    def decide(self, condition: Term) -> bool:
        """Return whether a condition holds; the run takes note of it."""
        return decide(self._named(condition), bool(_evaluate(condition, self.source.inputs)))

    def has(self, header: str) -> bool:
        """Return whether a header is in the frame; just this is decided."""
        return self.decide(PRESENT[header])

    def inside(self, header: Header) -> Header | None:
        """Return which header comes after one that is in the frame; just this is decided."""
        return chosen(header, self.decide)

    def number(self, what: str | Term) -> int:
        """Return an input, or what is made up of some, as a number that is followed."""
        term = _meaning(what)
        return integer(int(_evaluate(term, self.source.inputs)), self._named(term))

    def mac(self, what: str | Term) -> str:
        """Return a MAC address as a text that is followed."""
        term = _meaning(what)
        return mac_text(_evaluate(term, self.source.inputs), self._named(term))

    def ipv4(self, what: str | Term) -> str:
        """Return an IPv4 address as a text that is followed."""
        term = _meaning(what)
        return ipv4_text(_evaluate(term, self.source.inputs), self._named(term))

    def ipv6(self, what: str | Term) -> str:
        """Return an IPv6 address as a text that is followed, as os-ken writes it."""
        term = _meaning(what)
        return ipv6_text(_evaluate(term, self.source.inputs), self._named(term), "inet6")

    def bytes_of(self, term: Term, size: int) -> bytes:
        """Return a number as bytes that are followed."""
        value = _evaluate(term, self.source.inputs).to_bytes(size)
        term = self._named(term)
        return octets(value, tuple(bits(term, 8 * at, 8) for at in range(size - 1, -1, -1)))

    @property
    def whole(self) -> bytes:
        """The frame from its first byte on, not followed."""
        return self.source.data

    @property
    def payload(self) -> bytes:
        """The opaque bytes after the last header; the whole shape is decided."""
        return _view(self.source, self._headers_end()[0])

    def after(self, header: Header, more: int = 0) -> bytes:
        """Return all that comes `more` bytes after a header that is in the frame."""
        end = more
        for outer in stack(self.decide):
            end += outer.size
            if outer is header:
                break
        return _view(self.source, end)

    @property
    def chassis(self) -> bytes:
        """By what name LLDP knows its sender; which sort of name it is, is decided."""
        if self.inside(layouts.ANY_LLDP) is layouts.LLDP_OWN:
            return self.bytes_of(layouts.LLDP_OWN_CHASSIS, 21)
        return self.bytes_of(input_term("lldp_chassis"), 6)

    @property
    def length(self) -> int:
        """How many bytes there are, as a number that is followed.

        Of a whole frame this decides nothing; of its end, the shape.
        """
        if self.start < SHORTEST:
            return self.number(sub(_LENGTH, const(self.start)))
        end, last = self._headers_end()
        rest = _PAYLOAD_LENGTH if last.payload else FALSE
        return self.number(add(rest, const(end - self.start)))

    def _headers_end(self) -> tuple[int, Header]:
        """Return how many bytes the headers take, and the last of them; the whole shape is decided."""
        headers = list(stack(self.decide))
        return sum(header.size for header in headers), headers[-1]

    # Bytes.

    def _all_terms(self) -> tuple[Term, ...]:
        if self._headers_end()[1].payload:
            lose("the length of a frame")
        return self._known_to(len(self.source.data))[self.start :]

    terms = cast("tuple[Term, ...]", property(_all_terms))
    """A term for each byte; the whole shape is decided, and the length is settled on."""

    def __len__(self) -> int:
        if self._headers_end()[1].payload:
            lose("the length of a frame")
        return bytes.__len__(self)

    def __bool__(self) -> bool:
        return self.start < SHORTEST or bool(self.length)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, bytes):
            return NotImplemented
        if isinstance(other, SymFrame):
            if self.source is other.source and self.start == other.start:
                return True
            lose("==")
            return self.plain == other.plain
        size = len(other)
        return bool(self.length == size) and bool(self._between(self.start, self.start + size) == other)

    def __ne__(self, other: object) -> bool:
        return not self == other if isinstance(other, bytes) else NotImplemented

    __hash__ = SymBytes.__hash__

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, slice):
            return self._byte(pinned(key, "index"))
        first, last = (None if bound is None else pinned(bound, "slice") for bound in (key.start, key.stop))
        if key.step not in (None, 1) or (first or 0) < 0 or (last or 0) < 0:
            return octets(self.plain, self.terms)[first : last : key.step]
        begin = self.start + (first or 0)
        return self._from(begin) if last is None else self._between(begin, self.start + last)

    def __iter__(self) -> Iterator[int]:
        return iter(octets(self.plain, self.terms))

    def startswith(self, prefix: Any, start: SupportsIndex | None = None, end: Any = None) -> bool:
        """Tell whether the bytes begin in a way; no more of them is looked at."""
        if start is not None or end is not None or not isinstance(prefix, bytes):
            return octets(self.plain, self.terms).startswith(prefix, start, end)
        found: bool = self[: len(prefix)] == prefix
        return found

    def _byte(self, index: int) -> int:
        if index < 0:
            return octets(self.plain, self.terms)[index]
        at = self.start + index
        known = self._known_to(at + 1)
        if len(known) <= at:
            raise IndexError("index out of range")
        return integer(self.source.data[at], known[at])

    def _from(self, first: int) -> bytes:
        """Return the bytes from one on, to wherever the end is."""
        if first <= SHORTEST or self.decide(le(const(first), _LENGTH)):
            return _view(self.source, first)
        return b""

    def _between(self, first: int, last: int) -> bytes:
        if last <= first:
            return b""
        known = self._known_to(last)
        if len(known) < last:
            return self._from(first)
        return octets(self.source.data[first:last], known[first:])

    def _known_to(self, last: int) -> tuple[Term, ...]:
        """Return the terms of the frame's first bytes; fewer if the frame ends before."""
        found = self._terms_to(last)
        return found if self.source.naming is None else tuple(map(self.source.naming, found))

    def _terms_to(self, last: int) -> tuple[Term, ...]:
        if last <= SHORTEST:
            return _START[:last]
        found: list[Term] = []
        for header in stack(self.decide):
            found += self._octets(header, len(found))
            if len(found) >= last:
                return tuple(found[:last])
        if header.payload:
            size = last - len(found)
            if not self.decide(le(const(size), input_term("payload_length"))):
                size = len(self.source.data) - len(found)
            found += (bits(_PAYLOAD, 8 * at, 8) for at in range(PAYLOAD_SIZE - 1, -1, -1)[:size])
            found += (FALSE,) * (size - PAYLOAD_SIZE)
        return tuple(found)

    def _octets(self, header: Header, start: int) -> tuple[Term, ...]:
        """Return the terms of a header that begins at some byte."""
        if header.checksum is None:
            return header.octets
        at = header.checksum[0]
        found = (const(byte) for byte in self.source.data[start + at : start + at + 2])
        return (*header.octets[:at], *found, *header.octets[at + 2 :])


class SymBuffer(bytearray, Symbolic):
    """A frame copied into a `bytearray`: followed until somebody changes it."""

    source: SymFrame

    @property
    def plain(self) -> bytearray:
        """The bytes alone, unnoticed."""
        return bytearray.__getitem__(self, slice(None))

    @property
    def frame(self) -> SymFrame | None:
        """The frame that this still is, if nobody has changed it."""
        return self.source if self.plain == self.source.plain else None

    def __getitem__(self, key: Any) -> Any:
        frame = self.frame
        return bytearray.__getitem__(self, key) if frame is None else frame[key]


def buffer(frame: SymFrame) -> SymBuffer:
    """Return a copy of a frame that can be changed."""
    made = SymBuffer(frame.plain)
    made.source = frame
    return made


def _view(source: _Source, start: int) -> SymFrame:
    made = bytes.__new__(SymFrame, source.data[start:])
    made.source = source
    made.start = start
    return made


def _meaning(what: str | Term) -> Term:
    if isinstance(what, Term):
        return what
    return DERIVED[what] if what in DERIVED else input_term(what)
