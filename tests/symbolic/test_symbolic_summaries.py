"""What library functions mean for values that depend on the inputs: the same for all inputs of a path."""

from __future__ import annotations

import socket
from ipaddress import IPv6Address
from typing import Any

import pytest
from tests.symbolic.followed_lab import IPV4, IPV6, MAC, Make, data, number, paths, run

MACS = (0, 1, 0xFF, 0x010203040506, 0xFFFFFFFFFFFF, 0x01005E000001, 0xA0B1C2D3E4F5)
ADDRESSES = (0, 1, 0x0A000001, 0x0A000002, 0xC0A80101, 0xE0000001, 0xFFFFFFFF, 0x7F000001)
SIXES = (0, 1, 0x20010DB8 << 96 | 1, 0xFE80 << 112 | 0x1234, (1 << 128) - 1, 0xFFFF0A000001)
BYTES = (0, 1, 9, 10, 127, 128, 200, 255)
WORDS = (0, 1, 0x00FF, 0x0100, 0x0800, 0x7FFF, 0x8000, 0xFFFF)
LONGS = (0, 1, 0xFF, 0x01020304, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)

IMPORTS = """
import array, binascii, copy, functools, ipaddress, itertools, json, operator, re, socket, struct
from ipaddress import ip_address, ip_interface, ip_network, IPv4Address, IPv6Address
import netaddr
from os_ken.lib import addrconv, dpid, ip, mac, type_desc
"""


def found(body: str, kind: tuple[int, Make], values: tuple[int, ...]) -> int:
    """Return how many paths a function of one input has; nothing may be lost, and results agree."""
    source = f"{IMPORTS}\ndef f(x):\n    {body}\n"
    return len(paths(source, {"x": kind}, [{"x": value} for value in values]))


ONE_PATH: dict[str, tuple[tuple[int, Make], tuple[int, ...], list[str]]] = {
    "numbers": (
        number(16),
        WORDS,
        [
            "return int(x), abs(x), divmod(x, 7), pow(x, 2), round(x), sum([x, 1]), +x, -x, ~x",
            "return int.from_bytes(x.to_bytes(2, 'big'), 'little'), x.to_bytes(2, 'little')",
            "return hex(x), str(x), repr(x), format(x), format(x, 'x'), format(x, '04x'), f'{x:#06x}'",
            "return f'{x}', f'a{x}b{x:04x}', f'{x!r}-{x!s}', f'{x:0{4}x}', f'{x=}', f'{(x, 1)}', f'{[x]}'",
            "return '%d' % x, '%s.%d' % (x, x), '%04x' % x, '%.4x' % x, '%(k)d%%' % {'k': x}, '%i' % (x,)",
            "return '{}'.format(x), '{0:04x}{0}'.format(x)",
            "return '{a}-{b[0]}'.format(a=x, b=[x]), '{:{}}'.format(x, 'd')",
            "return ','.join([str(x), 'a']), '-'.join(map(str, (x, 1))), ' '.join(f'{i}' for i in [x, x])",
            "return '{k}'.format_map({'k': x}), str([x, 'a']), repr((x,)), str({'k': 1})",
            "return struct.pack('!H', x), struct.pack('<HB', x, 1)",
            "return struct.Struct('>I').pack(x), struct.pack('!q', -x)",
            "return struct.unpack('!BB', struct.pack('!H', x))",
            "return struct.unpack('<h', struct.pack('>H', x ^ x))",
            "return socket.htons(x), socket.ntohs(x), socket.htonl(x), socket.ntohl(x)",
            "return bytes([x >> 8, x & 255]), bytes((x % 256 for _ in 'ab')), chr(x & 127), ord(chr(x >> 8))",
            "return list(map(int, [x])), sorted([x]), max([x]), min(x, x)",
            "return functools.reduce(operator.add, [x, 1, x])",
            "return functools.partial(int)(x), functools.partial(operator.add, 1)(x)",
            "return list(itertools.chain([x], [1]))",
            "return copy.copy(x), copy.deepcopy([x, {'a': (x,)}])[1]['a'][0]",
            "return type(x) is int, type(x == 1) is bool",
            "return isinstance(x == 1, bool), isinstance(x, (bool, str))",
            "return getattr(x, 'real'), hasattr(x, 'no'), callable(x), x.bit_length if False else 0",
            "return dpid.dpid_to_str(x), dpid.str_to_dpid(dpid.dpid_to_str(x))",
            "return type_desc.Int2.from_user(x), type_desc.Int4.to_user(type_desc.Int4.from_user(x))",
        ],
    ),
    "MAC addresses": (
        MAC,
        MACS,
        [
            "return mac.haddr_to_bin(x), mac.haddr_to_int(x), mac.haddr_to_str(mac.haddr_to_bin(x))",
            "return mac.haddr_bitand(mac.haddr_to_bin(x), b'\\xff\\xff\\x00\\x00\\x00\\x01'), len(x)",
            "return addrconv.mac.text_to_bin(x), addrconv.mac.bin_to_text(addrconv.mac.text_to_bin(x))",
            "return int(x.replace(':', ''), 16), bytes.fromhex(x.replace(':', ''))",
            "return int(x[:2], 16), int(x.split(':')[5], 16)",
            "return binascii.unhexlify(x.replace(':', '')), binascii.hexlify(mac.haddr_to_bin(x))",
            "return ':'.join('%02x' % b for b in mac.haddr_to_bin(x))",
            "return f'<{x}>', '%s' % x, '{:>17}'.format(x), str(x)",
            "return int(netaddr.EUI(x)), str(netaddr.EUI(x)), netaddr.EUI(x).packed, netaddr.EUI(x).words",
            "return str(netaddr.EUI(x, dialect=netaddr.mac_unix))",
            "return str(netaddr.EUI(x, dialect=netaddr.mac_cisco))",
            "return bool(re.match(mac.HADDR_PATTERN, x))",
            "return re.fullmatch('(..):.*', x).group(1), netaddr.valid_mac(x)",
            "return re.compile(r'[0-9a-f]{2}(:[0-9a-f]{2}){5}$').search(x) is not None, x.upper(), repr(x)",
            "return type_desc.MacAddr.from_user(x)",
            "return type_desc.MacAddr.to_user(type_desc.MacAddr.from_user(x))",
        ],
    ),
    "IPv4 addresses": (
        IPV4,
        ADDRESSES,
        [
            "return socket.inet_aton(x), socket.inet_pton(socket.AF_INET, x)",
            "return socket.inet_ntoa(socket.inet_aton(x))",
            "return struct.unpack('!I', socket.inet_aton(x))[0]",
            "return ip.ipv4_to_int(x), ip.ipv4_to_bin(x), ip.text_to_int(x)",
            "return ip.ipv4_to_str(ip.ipv4_to_int(x)), ip.ipv4_to_str(ip.ipv4_to_bin(x)), ip.valid_ipv4(x)",
            "return ip.bin_to_text(ip.text_to_bin(x)), addrconv.ipv4.text_to_bin(x), netaddr.valid_ipv4(x)",
            "return int(ip_address(x)), str(ip_address(x)), ip_address(x).packed, ip_address(x).exploded",
            "return int(IPv4Address(x) + 0), ip_address(x).version, f'{ip_address(x)}', '%s' % ip_address(x)",
            "return int(netaddr.IPAddress(x)), str(netaddr.IPAddress(x))",
            "return netaddr.IPAddress(x).packed, netaddr.IPAddress(x).words",
            "return str(ip_network(x + '/24', strict=False))",
            "return str(ip_interface(x + '/8')), ip_address(x).compressed",
            "return [int(part) for part in x.split('.')]",
            "return bytes(map(int, x.split('.'))),[*map(int, x.split('.'))]",
        ],
    ),
    "IPv6 addresses": (
        IPV6,
        SIXES,
        [
            "return socket.inet_pton(socket.AF_INET6, x), ip.ipv6_to_bin(x)",
            "return ip.ipv6_to_int(x), ip.text_to_bin(x)",
            "return int(ip_address(x)), str(ip_address(x)), ip_address(x).packed",
            "return int(netaddr.IPAddress(x)), ip.ipv6_to_str(ip.ipv6_to_int(x))",
            "return addrconv.ipv6.bin_to_text(ip.ipv6_to_bin(x))",
            "return socket.inet_ntop(socket.AF_INET6, socket.inet_pton(socket.AF_INET6, x))",
            "return ip.valid_ipv6(x)",
        ],
    ),
    "numbers of addresses": (
        number(32),
        LONGS,
        [
            "return str(IPv4Address(x)), str(ip_address(x)), int(ip_address(x)), netaddr.IPAddress(x).value",
            "return ip.ipv4_to_str(x), str(netaddr.IPAddress(x, 4))",
            "return IPv4Address(x).packed, int(IPv4Address(x) + 0)",
            "return str(netaddr.EUI(x, version=48)), IPv6Address(x).packed, struct.pack('!I', x)",
        ],
    ),
    "bytes": (
        data(4),
        LONGS,
        [
            "return struct.unpack('!I', x), struct.unpack('<hH', x)",
            "return struct.unpack('=bBxB', x), struct.unpack('!2s?c', x)",
            "return struct.unpack_from('!H', x, 1), struct.unpack_from('B', x, offset=3)",
            "return list(struct.iter_unpack('!H', x))",
            "return struct.Struct('!HH').unpack(x)",
            "return struct.Struct('<I').unpack_from(x), struct.unpack('!I', b'abcd')",
            "return int.from_bytes(x, 'big'), int.from_bytes(x[1:3], 'little', signed=True)",
            "return int.from_bytes([x[0], 1], 'big')",
            "return socket.inet_ntoa(x), str(ip_address(x))",
            "return IPv4Address(x).packed, ip.bin_to_text(x), ip.ipv4_to_str(x)",
            "return bytes(x), b''.join([x, b'a', x[:1]]), x.hex()",
            "return binascii.b2a_hex(x), [ord(x[i:i + 1]) for i in range(4)]",
            "return memoryview(x)[1:].tobytes(), array.array('B', x).tolist()",
            "return array.array('B', x)[2], memoryview(x)[0]",
            "return mac.haddr_to_str(x + b'ab'), mac.haddr_bitand(x, b'\\xff\\x00')",
            "return struct.pack('!4sx2s', x, x)",
            "return type_desc.Int4.to_user(x), type_desc.IPv4Addr.to_user(x)",
            "return netaddr.strategy.ipv4.packed_to_int(x)",
        ],
    ),
}


@pytest.mark.parametrize(
    ("kind", "at"), [(kind, at) for kind, (_, _, bodies) in ONE_PATH.items() for at in range(len(bodies))]
)
def test_nothing_is_decided_or_lost(kind: str, at: int) -> None:
    make, values, bodies = ONE_PATH[kind]
    assert found(bodies[at], make, values) == 1


def test_the_long_form_of_ipv6_is_decided_only_where_python_has_two() -> None:
    assert found("return ip_address(x).exploded", IPV6, SIXES) == 1 + ("." in str(IPv6Address("::ffff:0:1")))


DECIDED: list[tuple[str, tuple[int, Make], tuple[int, ...], int]] = [
    ("return 'big' if struct.unpack('!H', x[2:])[0] > 255 else 'small'", data(4), LONGS, 2),
    ("return mac.is_multicast(mac.haddr_to_bin(x)) and 'multi'", MAC, MACS, 2),
    ("return ip_address(x) in ip_network('10.0.0.0/8')", IPV4, ADDRESSES, 2),
    (
        "return bool(ip_address(x).is_multicast) and 1, ip_address(x) == ip_address('10.0.0.1')",
        IPV4,
        ADDRESSES,
        3,
    ),
    ("return ip_address(x) in {ip_address('10.0.0.1'): 1, ip_address('10.0.0.2'): 2}", IPV4, ADDRESSES, 3),
    ("return ip_address(x).is_private and 1, ip_address(x) < ip_address('10.0.0.2')", IPV4, ADDRESSES, 3),
    ("return netaddr.IPAddress(x) in netaddr.IPNetwork('10.0.0.0/8')", IPV4, ADDRESSES, 2),
    ("return netaddr.IPAddress(x) in netaddr.IPSet(['10.0.0.0/30', '192.168.1.1'])", IPV4, ADDRESSES, 3),
    ("return netaddr.IPAddress(x) in netaddr.IPRange('10.0.0.2', '192.168.1.1')", IPV4, ADDRESSES, 3),
    ("return netaddr.IPAddress(x) == netaddr.IPAddress('10.0.0.1')", IPV4, ADDRESSES, 1),
    ("return netaddr.EUI(x) == netaddr.EUI(1), {netaddr.EUI(1): 'a'}.get(netaddr.EUI(x))", MAC, MACS, 2),
    ("return ip_address(x).version if x else 0", number(34), (0, 1, 1 << 32, (1 << 33) + 1), 3),
    ("return bytes([x])", number(9), (0, 255, 256, 511), 2),
    ("return struct.pack('B', x)", number(9), (0, 255, 256, 511), 2),
    ("return struct.pack('!b', x - 200)", number(8), BYTES, 2),
    ("return bool(x), str(x == 1)", number(8), BYTES, 2),
    ("return 'x{}'.format(x > 9), f'{x > 9}', '%s' % (x > 9)", number(8), BYTES, 2),
    ("return ['f' if b > 127 else 'e' for b in x]", data(2), WORDS, 4),
    ("return b'\\x01' in x, x.startswith(b'\\x01')", data(2), WORDS, 2),
    ("return 'ab10cd'.find(str(x)), '1-2'.split(str(x))", number(4), tuple(range(16)), 6),
    ("return struct.unpack('!H', x)", data(4), LONGS, 1),
    ("return struct.unpack_from('!H', x, 3)", data(4), LONGS, 1),
    ("return ip_network(x + '/24')", IPV4, ADDRESSES, 2),
]


@pytest.mark.parametrize(("body", "kind", "values", "expected"), DECIDED)
def test_what_depends_on_the_inputs_is_decided(
    body: str, kind: tuple[int, Make], values: tuple[int, ...], expected: int
) -> None:
    assert found(body, kind, values) == expected


@pytest.mark.parametrize(
    ("pattern", "method", "kind", "fits"),
    [
        (r"([0-9a-f]{2}:){5}[0-9a-f]{2}$", "match", MAC, True),
        (r"(?:[0-9A-F]{2}[:-]?){6}", "match", MAC, None),
        (r"^[0-9a-fg-z:]+$", "search", MAC, True),
        (r"\d+\.\d+\.\d+\.\d+", "fullmatch", IPV4, True),
        (r"\d{1,3}(\.\d{1,3}){3}", "fullmatch", IPV4, True),
        (r"\d{3}(\.\d{3}){3}", "fullmatch", IPV4, None),
        (r"10\.", "match", IPV4, None),
        (r"[a-f:]+", "fullmatch", IPV4, False),
        (r"\w+-", "search", MAC, False),
        (r".{17}", "fullmatch", MAC, True),
        (r".{16}$", "match", MAC, False),
        (r"[^g-z]*?:", "match", MAC, True),
        (r"02:.*:0[1-9]$", "match", MAC, None),
        (r"(02|..):", "match", MAC, True),
        (r"(.).*\1", "match", MAC, None),
    ],
)
def test_a_pattern_fits_all_texts_or_none_or_is_lost(
    pattern: str, method: str, kind: tuple[int, Make], fits: bool | None
) -> None:
    source = f"{IMPORTS}\nP = re.compile({pattern!r})\ndef f(x):\n    return P.{method}(x) is not None\n"
    done = run(source, {"x": kind}, {"x": 0x01020304})
    assert done.decisions == ()
    assert done.losses == (() if fits is not None else (f"Pattern.{method}",))
    assert fits is None or done.result is fits


def test_groups_at_places_that_may_vary_are_lost() -> None:
    source = (
        f"{IMPORTS}\ndef f(x):\n    m = re.match('(.)(.*?):(.)', x)\n    return m[1], m.group(3), m.end()\n"
    )
    done = run(source, {"x": MAC}, {"x": 1})
    assert done.losses == ("group", "span")


LOST: list[tuple[str, tuple[int, Make], int, str]] = [
    ("return hash(x)", MAC, 3, "hash"),
    ("return float(x)", number(8), 3, "float"),
    ("return json.dumps({'a': [x]})", number(8), 3, "dumps"),
    ("return binascii.crc32(x)", data(2), 3, "crc32"),
    ("return bytearray(x)", data(2), 3, "bytearray"),
    ("b = bytearray(2)\n    struct.pack_into('!H', b, 0, x)\n    return bytes(b)", number(8), 3, "pack_into"),
    ("b = bytearray(2)\n    b[0] = x\n    return bytes(b)", number(8), 3, "bytearray item"),
    ("return struct.unpack('!f', x)", data(4), 3, "unpack"),
    ("return re.match('00:00:00:00:00:0[1-3]', x) is not None", MAC, 3, "match"),
    ("return bin(x)", number(8), 3, "bin"),
    ("return socket.inet_aton(x + 'x')", IPV4, 3, "inet_aton"),
]


@pytest.mark.parametrize(("body", "kind", "value", "what"), LOST)
def test_what_cannot_be_followed_is_lost_by_name(
    body: str, kind: tuple[int, Make], value: int, what: str
) -> None:
    done = run(f"{IMPORTS}\ndef f(x):\n    {body}\n", {"x": kind}, {"x": value})
    assert done.losses == (what,)


@pytest.mark.parametrize(
    ("text", "failure"),
    [("10.0.0.1/40", "ValueError"), ("10.0.0.1", None), ("10.0.0.1/8", "ValueError")],
)
def test_failures_are_those_of_the_library(text: str, failure: Any) -> None:
    prefix = text.removeprefix("10.0.0.1")
    body = f"return str(ip_network(x + {prefix!r}))"
    done = run(f"{IMPORTS}\ndef f(x):\n    {body}\n", {"x": IPV4}, {"x": 0x0A000001})
    assert (done.result if failure else None) == failure


def test_the_order_of_the_host_does_not_matter_to_the_network() -> None:
    done = run(f"{IMPORTS}\ndef f(x):\n    return socket.htons(x)\n", {"x": number(16)}, {"x": 0x0102})
    assert done.expected == socket.htons(0x0102)
    assert str(done.result.term) == "x[0:8]:8 ++ x[8:16]:8" or socket.htons(1) == 1
