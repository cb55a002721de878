"""Conditions in words: what is true of a packet that takes a path, for people.

    >>> condition_in_words(path.condition, space, {("mac", 2): "h2"})
    'eth_type is IPv4 and eth_dst is h2 and tcp_dst is at least 1024'

What several conditions say of one input becomes one statement, and what follows from the rest is left
out: an address that is h2 need not be told to be none of the others.  Everything else is written as
arithmetic that a programmer can read.  Statements come in the order in which their inputs were first
asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from penstock._concolic.run import Decision
from penstock._concolic.solving.allowed import Allowed, Comparison, Slice, comparison, conjuncts, slice_of
from penstock._concolic.space import Space
from penstock._concolic.terms import Term, evaluate, parts_of, truth
from penstock.addresses import BROADCAST_MAC, ipv4_text, ipv6_text, mac_text
from penstock.openflow import fields

Names = Mapping[tuple[str, int], str]
"""What people call values, by the kind (or the name) of an input and the value."""

WELL_KNOWN: Final[Names] = {
    ("mac", BROADCAST_MAC): "broadcast",
    ("eth_type", fields.ETH_IPV4): "IPv4",
    ("eth_type", fields.ETH_ARP): "ARP",
    ("eth_type", fields.ETH_IPV6): "IPv6",
    ("eth_type", fields.ETH_LLDP): "LLDP",
    ("eth_type", fields.ETH_VLAN): "VLAN",
    ("eth_type", fields.ETH_QINQ): "QinQ",
    ("eth_type", 0x8809): "a slow protocol",
    ("ip_proto", fields.IP_ICMP): "ICMP",
    ("ip_proto", 2): "IGMP",
    ("ip_proto", fields.IP_TCP): "TCP",
    ("ip_proto", fields.IP_UDP): "UDP",
    ("ip_proto", fields.IP_ICMPV6): "ICMPv6",
}
"""Values that have a name everywhere."""

_GROUP_BIT: Final = 40
"""The bit of a MAC address that says that it names a group."""

_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth")


def say(what: Decision | Term, space: Space, names: Names | None = None) -> str:
    """Return what one decision comes to, or what one condition means."""
    term = what.holds if isinstance(what, Decision) else what
    return _Writer(space, names or {}).condition(truth(term), True)


def condition_in_words(conditions: Iterable[Term], space: Space, names: Names | None = None) -> str:
    """Return what several conditions mean together; nothing if they say nothing."""
    parts = dict.fromkeys(part for condition in conditions for part in conjuncts(condition))
    return " and ".join(_Writer(space, names or {}).statements(list(parts)))


class _Writer:
    """Writes conditions on the inputs of a space."""

    def __init__(self, space: Space, names: Names) -> None:
        self._space = space
        self._names = names

    # Conditions together.

    def statements(self, conditions: Sequence[Term]) -> Iterator[str]:
        """Yield what conditions say, one statement for each input or relation."""
        allowed: dict[str, Allowed] = {}
        rest: list[Term] = []
        for condition in conditions:
            found = comparison(condition)
            known = allowed.setdefault(found.bits.name, Allowed(found.bits.of)) if found else None
            if known is None or not known.learn(condition):
                rest.append(condition)
        fixed = {name: value for name, known in allowed.items() for value in known.values(1) or ()}
        rest = [part for part in rest if not part.variables <= fixed.keys() or not evaluate(part, fixed)]
        relations = self._merged(rest, True, all_of=True, inside=len(conditions) > 1)
        told: set[str] = set()
        for condition in conditions:
            for name in sorted(condition.variables - told):
                if name in allowed:
                    yield from self._input(name, allowed[name])
            told |= condition.variables
            if condition in relations:
                yield relations[condition]

    def _input(self, name: str, allowed: Allowed) -> Iterator[str]:
        """Yield what is known of one input."""
        whole = Slice(name, 0, allowed.width, allowed.width)
        if values := allowed.values(1):
            yield self._equality(whole, values, True)
            return
        for start, width in _runs(allowed.mask):
            bits = Slice(name, start, width, allowed.width)
            yield self._equality(bits, [allowed.fixed >> start & (1 << width) - 1], True)
        # What the bounds and the bits leave out anyway need not be said.
        without = allowed.without
        allowed.without = set()
        others = sorted(value for value in without if value in allowed)
        low, high = allowed.low, allowed.high
        bounded = (low > 0, high < (1 << allowed.width) - 1)
        while bounded[0] and low in others:
            others.remove(low)
            low += 1
        while bounded[1] and high in others:
            others.remove(high)
            high -= 1
        if all(bounded):
            yield f"{name} is between {self._value(whole, low)} and {self._value(whole, high)}"
        elif any(bounded):
            limit = (
                f"at least {self._value(whole, low)}" if bounded[0] else f"at most {self._value(whole, high)}"
            )
            yield f"{name} is {limit}"
        if others:
            yield self._equality(whole, others, False)

    def _merged(
        self, conditions: Sequence[Term], holds: bool, *, all_of: bool, inside: bool = True
    ) -> dict[Term, str]:
        """Return conditions in words; comparisons of the same bits with several numbers become one.

        The result is by condition, for comparisons that became one by the first of them.
        """
        texts: dict[Term, str] = {}
        numbers: dict[Slice, list[int]] = {}
        first: dict[Slice, Term] = {}
        for condition in conditions:
            found = comparison(condition)
            if found is None or found.op != "==" or (found.holds == holds) == all_of:
                texts[condition] = self.condition(condition, holds, inside=inside)
            else:
                texts.setdefault(first.setdefault(found.bits, condition), "")
                numbers.setdefault(found.bits, []).append(found.number)
        for bits, condition in first.items():
            texts[condition] = self._equality(bits, numbers[bits], not all_of)
        return texts

    # One condition.

    def condition(self, term: Term, holds: bool, *, inside: bool = False) -> str:
        """Return what it means that a condition holds, or that it does not, `inside` a larger one."""
        found = comparison(term)
        if found is not None:
            return self._comparison(found._replace(holds=found.holds == holds))
        match term.op:
            case "not":
                return self.condition(term.operands[0], not holds, inside=inside)
            case "and" | "or":
                all_of = (term.op == "and") == holds
                texts = self._merged(term.operands, holds, all_of=all_of).values()
                text = (" and " if all_of else " or ").join(texts)
                return f"({text})" if inside and len(texts) > 1 else text
            case "==":
                one, other = (self._number(operand, inside=False) for operand in term.operands)
                if term.operands[1].value is not None:
                    return f"{one} is {other}" if holds else f"{one} is not {other}"
                return f"{one} equals {other}" if holds else f"{one} differs from {other}"
            case "<":
                one, other = (self._number(operand, inside=False) for operand in term.operands)
                return f"{one} is below {other}" if holds else f"{one} is at least {other}"
            case "const":
                return "always" if bool(term.value) == holds else "never"
            case _:
                return f"{self._number(term, inside=False)} is {'not ' if holds else ''}0"

    def _comparison(self, found: Comparison) -> str:
        bits, op, number, holds = found
        if op == "==":
            return self._equality(bits, [number], holds)
        if holds:
            return f"{_subject(bits)} is at most {self._value(bits, number - 1)}"
        return f"{_subject(bits)} is at least {self._value(bits, number)}"

    def _equality(self, bits: Slice, numbers: Sequence[int], holds: bool) -> str:
        """Return that bits of an input are one of some numbers, or none of them."""
        if bits.width == 1 and not bits.whole and not holds:
            numbers, holds = [1 - numbers[0]], True
        kind = self._space.by_name[bits.name].kind
        top = bits.start + bits.width == bits.of and not bits.whole
        subject, verb, opposite = _subject(bits), "is", "is not"
        values = [self._value(bits, number) for number in numbers]
        if bits.name == "vlan_vid" and bits.width == 1 and 1 << bits.start == fields.VID_PRESENT:
            return f"it has {'a' if numbers[0] else 'no'} VLAN tag"
        if kind == "mac" and bits.width == 1 and bits.start == _GROUP_BIT:
            return f"{bits.name} is {'a group address' if numbers[0] else 'unicast'}"
        if kind in ("ipv4", "ipv6") and top:
            write = ipv4_text if kind == "ipv4" else ipv6_text
            values = [f"{write(number << bits.start)}/{bits.width}" for number in numbers]
            subject, verb, opposite = bits.name, "is in", "is not in"
        elif kind == "mac" and top and bits.width % 8 == 0 and bits.width > 8:
            subject, verb, opposite = bits.name, "starts with", "does not start with"
        if len(values) == 1:
            return f"{subject} {verb if holds else opposite} {values[0]}"
        return f"{subject} {verb} {'one' if holds else 'none'} of {', '.join(values)}"

    # Numbers.

    def _value(self, bits: Slice, number: int) -> str:
        """Return a value of some bits of an input as people write it."""
        kind = self._space.by_name[bits.name].kind
        if not bits.whole:
            if kind == "mac" and bits.width > 8 and bits.width % 8 == 0 and bits.start % 8 == 0:
                return number.to_bytes(bits.width // 8).hex(":")
            return f"{number:#x}" if kind in ("mac", "ipv6", "hex") and bits.width > 3 else str(number)
        for names in (self._names, WELL_KNOWN):
            for key in ((bits.name, number), (kind, number)):
                if key in names:
                    return names[key]
        match kind:
            case "mac":
                return mac_text(number)
            case "ipv4":
                return ipv4_text(number)
            case "ipv6":
                return ipv6_text(number)
            case "hex":
                return f"0x{number:0{(bits.width + 3) // 4}x}"
            case _:
                return str(number)

    def _number(self, term: Term, *, inside: bool = True) -> str:
        """Return a number as arithmetic, in brackets where it would be misread."""
        bits = slice_of(term)
        if bits is not None:
            return _subject(bits)
        operands = term.operands
        match term.op:
            case "const":
                return str(term.value)
            case "bits":
                start, width = term.args[1], term.args[2]
                assert isinstance(start, int) and isinstance(width, int)
                return f"{_bits(start, width)} of {self._number(operands[0])}"
            case "join":
                return f"({' followed by '.join(self._number(part) for part, _ in parts_of(term))})"
            case "ite":
                condition, one, other = operands
                chosen = self.condition(truth(condition), True)
                return f"({self._number(one)} if {chosen} else {self._number(other)})"
            case "==" | "<" | "not" | "and" | "or":
                return f"(1 if {self.condition(term, True)} else 0)"
            case op:
                text = f" {op} ".join(map(self._number, operands))
                return f"({text})" if inside else text


def _subject(bits: Slice) -> str:
    """Return what people call some bits of an input."""
    if bits.whole:
        return bits.name
    if bits.width == 8 and bits.start % 8 == 0 and bits.of % 8 == 0:
        place = (bits.of - bits.start) // 8 - 1
        if bits.start == 0:
            return f"the last byte of {bits.name}"
        if place < len(_ORDINALS):
            return f"the {_ORDINALS[place]} byte of {bits.name}"
    return f"{_bits(bits.start, bits.width)} of {bits.name}"


def _bits(start: int, width: int) -> str:
    return f"bit {start}" if width == 1 else f"the number in bits {start} to {start + width - 1}"


def _runs(mask: int) -> Iterator[tuple[int, int]]:
    """Yield where runs of ones are in a number, the highest first, and how long they are."""
    while mask:
        end = mask.bit_length()
        width = end - (~mask & (1 << end) - 1).bit_length()
        yield end - width, width
        mask &= (1 << end - width) - 1
