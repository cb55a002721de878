"""Programs that compare or add a packet's port to something whose class would read it without asking.

Each is one *kind* of number met in one *way*: every kind in every way, truth by construction.  The program
crashes for the UDP packet whose destination port is 12345.  Besides, there are programs that read texts and
times in unusual ways, or read back what they have put into a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.soundness.packet_programs import packet_program
from tests.soundness.programs import Program

_ENUMERATION = "class E(enum.IntEnum):\n    A = 12345"
_NUMBER = "class N(int):\n    pass"

_KINDS: Final[dict[str, tuple[str, str]]] = {
    "float": ("", "12345.0"),
    "decimal": ("", "decimal.Decimal(12345)"),
    "fraction": ("", "fractions.Fraction(12345)"),
    "complex": ("", "complex(12345)"),
    "enumeration": (_ENUMERATION, "E.A"),
    "own_number": (_NUMBER, "N(12345)"),
}
"""By name: what stands before the class, and the number 12345."""

_WAYS: Final[dict[str, str]] = {
    "left": "C == X",
    "right": "X == C",
    "unequal": "not C != X",
    "in_list": "X in [C]",
    "in_tuple": "X in (0, C)",
    "in_deque": "X in collections.deque([C])",
    "in_set": "X in {0, C}",
    "key": "{C: 1}.get(X)",
    "subscript": "{C: 1, 0: 0}[X if X in {C: 1} else 0]",
    "tuple": "(C, 1) == (X, 1)",
    "list": "[1, C] == [1, X]",
    "operator": "operator.eq(C, X)",
    "count": "[C].count(X)",
    "count_of": "operator.countOf([C], X)",
    "added": "C + X == 24690",
    "taken_away": "C - X == 0",
    "multiplied": "C * X == 152399025",
    "sum": "sum([C, X]) == 24690",
    "sum_from": "sum([X], C) == 24690",
    "reduced": "functools.reduce(operator.add, [X], C) == 24690",
    "accumulated": "list(itertools.accumulate([C, X]))[1] == 24690",
    "mapped": "list(map(operator.mul, [C], [X])) == [152399025]",
    "in_place": "in_place(C, X) == 24690",
    "in_place_item": "in_place_item([C], X) == [24690]",
}
_ORDERS: Final[dict[str, str]] = {
    "neither": "not C < X and not C > X",
    "chained": "C <= X <= C",
    "largest": "max(C, X) == X and min(C, X) == X",
    "sorted": "sorted([C, X])[0] == X and sorted([X, C])[-1] == X",
    "bisected": "bisect.bisect_left([C], X) == 0 and bisect.bisect_right([C], X) == 1",
    "tuple_order": "(C, 0) <= (X, 0) <= (C, 0)",
    "heap": "heapq.nsmallest(1, [C, X])[0] == X and heapq.nlargest(1, [C, X])[0] == X",
}
"""What asks for an order, which not all numbers have."""

_UNORDERED: Final = ("complex",)

_HELPERS = """
def in_place(c, x):
    c += x
    return c
def in_place_item(items, x):
    items[0] += x
    return items"""

_TEXTS: Final[dict[str, tuple[str, str]]] = {
    "bytes_template": ("", "b'%d' % X == b'12345'"),
    "bytes_hexadecimal": ("", "b'%04x' % X == b'3039'"),
    "bytearray_template": ("", "bytearray(b'%d') % X == b'12345'"),
    "bytearray_left": ("", "bytearray(b'09') == data[36:38]"),
    "bytearray_in": ("", "data[36:38] in [bytearray(b'09')]"),
    "text_enumeration": ("class S(str, enum.Enum):\n    A = '12345'", "S.A == str(X)"),
    "own_text": ("class S(str):\n    pass", "S('12345') == f'{X}'"),
    "minutes": ("import time", "time.gmtime(X).tm_sec == 45 and 12300 < X < 12360"),
    "time_text": ("import time", "time.strftime('%H:%M:%S', time.gmtime(X)) == '03:25:45'"),
    "duration": ("import datetime", "datetime.timedelta(seconds=1) * X == datetime.timedelta(seconds=12345)"),
    "repeated_deque": ("", "i4 and len(collections.deque([0]) * i4.ttl) == 33"),
    "cached": (
        "D = []\n@functools.lru_cache(None)\ndef f(p):\n    D.append(p)\n    return p\nf(12345)\n"
        "def again(p):\n    before = len(D)\n    f(p)\n    return len(D) == before",
        "again(X)",
    ),
    "context": (
        "def f(p):\n    c = decimal.Context()\n    c.prec = p + 1\n    return c.prec",
        "f(X) == 12346",
    ),
    "error_end": ("", "UnicodeDecodeError('ascii', b'', 0, X, '').end == 12345"),
    "missing": (
        "class M(enum.Enum):\n    A = 12345\n    B = 1\n    @classmethod\n    def _missing_(cls, v):\n"
        "        return cls.A if v == 12346 else cls.B",
        "M(X + 1) is M.A",
    ),
    "level": ("import logging", "logging.getLevelName(X) == 'Level 12345'"),
    "match_read": ("", "p.OFPMatch(eth_type=0x800, ip_proto=17, udp_dst=X)['udp_dst'] == 12345"),
    "match_items": ("", "('udp_dst', 12345) in list(p.OFPMatch(udp_dst=X).items())"),
    "match_text": ("", "'12345' in str(p.OFPMatch(udp_dst=X))"),
    "action_read": ("", "p.OFPActionOutput(X).port == 12345"),
    "data_read": ("", "p.OFPEchoRequest(dp, data=data[36:38]).data == b'09'"),
    "field_bytes": ("", "o.oxm_from_user('udp_dst', X)[1] == b'09'"),
    "written_packet": (
        "def written(pkt):\n    made = packet.Packet()\n    for each in pkt.protocols:\n"
        "        if not isinstance(each, bytes):\n            made.add_protocol(each)\n    made.serialize()\n"
        "    return bytes(made.data)",
        "written(pkt)[36:38] == b'09'",
    ),
}
"""Other values that are read, or read back: what stands before the class, and when it crashes."""


def programs() -> Iterator[Program]:
    """Yield all programs."""
    for kind, (before, number) in _KINDS.items():
        ways = _WAYS if kind in _UNORDERED else {**_WAYS, **_ORDERS}
        for way, test in ways.items():
            told = test.replace("C", number).replace("X", "u.dst_port")
            yield packet_program(f"{kind}_{way}", "operands", f"{before}{_HELPERS}", f"u and {told}")
    for name, (before, test) in _TEXTS.items():
        told = test.replace("X", "u.dst_port")
        yield packet_program(name, "operands", before, f"u and {told}")
